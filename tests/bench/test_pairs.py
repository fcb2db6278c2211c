"""Runs beside each other: paired differences, what is different about them, and how they are printed and drawn."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.bench.pairs import beside, changes, paired_interval
from pointwork.bench.plot import draw
from pointwork.bench.report import Run, summarise, wilson
from pointwork.bench.runner import Folder, Record, about_run
from pointwork.bench.systems import Setup
from pointwork.bench.tasks import Task
from pointwork.cli import output
from pointwork.cli.app import run_app
from pointwork.errors import UsageError
from pointwork.settings import Settings

RECORD = Record("t", "tables", "", "team", False, "", "ok", "", (), (), (), "", 1e-4, 1.0, 90, 10, 1)


def records(*right: int, tasks: int = 10, system: str = "team") -> list[Record]:
    """Tasks 0 … of two kinds, of which some were answered rightly."""
    return [
        replace(RECORD, task=f"t{n}", kind=("tables", "lookup")[n % 2], right=n in right, system=system)
        for n in range(tasks)
    ]


def run_of(name: str, answers: list[Record], **about: Any) -> Run:
    known = {
        "tasks_digest": "d",
        "models": {"planner": "local:", "judge": "local:"},
        "settings": {"run": {"judge": False}},
    }
    return Run(name, known | about, summarise(answers), answers)


def test_only_the_same_tasks_count_and_each_kind_has_a_row() -> None:
    base, other = run_of("base", records(0, 1, 2)), run_of("other", records(1, 2, 3, 4))
    pairs, remarks = beside([base, other], "base", "team")
    assert remarks == []
    assert [pair.kind for pair in pairs] == ["tables", "lookup", "all"]
    whole = pairs[-1]
    assert (whole.tasks, whole.base, whole.right, whole.gained, whole.lost) == (10, 3, 4, 2, 1)
    assert whole.difference == pytest.approx(0.1)
    assert whole.low < 0.1 < whole.high
    assert sum(pair.gained for pair in pairs[:-1]) == whole.gained


def test_what_was_not_asked_of_both_is_left_out_and_said() -> None:
    base, half = run_of("base", records(0, 1, 9)), run_of("half", records(0, tasks=4))
    elsewhere, silent = (
        run_of("elsewhere", records(0), tasks_digest="e"),
        run_of("silent", records(0, system="loop")),
    )
    pairs, remarks = beside([base, half, elsewhere, silent], "base", "team")
    assert {pair.run for pair in pairs} == {"half"}
    assert (pairs[-1].tasks, pairs[-1].base, pairs[-1].right) == (4, 2, 1)
    said = "; ".join(remarks)
    assert "half and base share 4 tasks (of 4 and 10)" in said
    assert "elsewhere was asked other tasks" in said
    assert "silent has no answer of team" in said


@pytest.mark.parametrize(
    ("base", "system", "why"),
    [("gone", "team", "no run 'gone'; there are one, two"), ("one", "loop", "no answer of the system 'loop'")],
)
def test_nothing_to_compare_is_said(base: str, system: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        beside([run_of("one", records(0)), run_of("two", records(1), tasks_digest="e")], base, system)
    with pytest.raises(UsageError, match="two was asked other tasks"):
        beside([run_of("one", records(0)), run_of("two", records(1), tasks_digest="e")], "one", "team")


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_the_paired_interval(gained: int, lost: int, same: int) -> None:
    tasks = gained + lost + same
    low, high = paired_interval(gained, lost, tasks)
    assert -1 <= low <= high <= 1
    # whoever is put first: the mirror image
    mirrored = paired_interval(lost, gained, tasks)
    assert (low, high) == pytest.approx((-mirrored[1], -mirrored[0]))
    if gained > lost:
        assert low + high > 0
    if tasks and gained == lost:
        assert low < 0 < high


def test_an_interval_of_pairs_worked_by_hand() -> None:
    # gained 8, lost 2 of 48: (9 - 3) / 50 = 0.12; sqrt((0.18 + 0.06 - 0.0144) / 50) = 0.0671714; times 1.959964
    assert paired_interval(8, 2, 48) == pytest.approx((0.12 - 0.1316535, 0.12 + 0.1316535), abs=1e-5)
    # answers that go together are told apart where the two shares' own intervals overlap
    assert paired_interval(10, 0, 100)[0] > 0
    assert wilson(40, 100)[1] > wilson(50, 100)[0]


def test_changes_are_named_by_their_path() -> None:
    before = {
        "models": {"planner": "a", "judge": "a"},
        "settings": {"run": {"judge": False, "max_turns": 6}},
        "seed": 0,
    }
    after = {
        "models": {"planner": "b", "judge": "b"},
        "settings": {"run": {"judge": True, "max_turns": 6}},
        "seed": 0,
    }
    assert changes(before, before) == []
    assert changes(before, after) == ["models: a → b", "run.judge: false → true"]
    assert changes(before, before | {"models": {"planner": "a", "judge": "c"}})


def test_a_run_goes_on_in_a_folder_that_an_older_version_wrote(tmp_path: Path) -> None:
    about = about_run(Setup(Settings()), [Task("t", "own", "x", None, None, "", {})], {"planner": "m"}, "mine")  # type: ignore[arg-type]
    Folder(tmp_path / "run", about)
    file = tmp_path / "run" / "run.json"
    kept = json.loads(file.read_text())
    del kept["settings"]["run"]["workspace"], kept["settings"]["budget"]
    file.write_text(json.dumps(kept))
    Folder(tmp_path / "run", about)
    limited = Settings.model_validate({"budget": {"tokens": 9}})
    other = about_run(Setup(limited), [Task("t", "own", "x", None, None, "", {})], {"planner": "m"}, "mine")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="settings"):
        Folder(tmp_path / "run", other)


@pytest.mark.parametrize("count", [1, 3, 30])
def test_pictures_of_few_and_many_runs(tmp_path: Path, count: int) -> None:
    runs = [run_of(f"run $_{n}", records(n % 10) + records(0, system="parsers")) for n in range(count)]
    runs = [
        Run(r.name, r.about, [replace(w, usd=0.0) if w.system == "parsers" else w for w in r.rows]) for r in runs
    ]
    draw(runs, tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_where_nothing_cost_anything(tmp_path: Path) -> None:
    run = run_of("free", records(0))
    draw([Run(run.name, run.about, [replace(row, usd=0.0) for row in run.rows])], tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 5000


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs ``pointwork bench …``: exit code, stdout, stderr."""
    monkeypatch.setattr(output.out, "_file", None)
    monkeypatch.setattr(output.err, "_file", None)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run_app(["bench", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_variants_side_by_side_from_the_command_line(cli: Any, tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    rows = [{"task": "What is 17% of 2340?", "answer": 397.8}, {"task": "What is 3 * 5?", "answer": 16}]
    mine.write_text("\ufeff" + "".join(json.dumps(row) + "\n" for row in rows))
    for name, value in (("on", "true"), ("off", "false")):
        where = str(tmp_path / "runs" / name)
        arguments = (
            "--tasks",
            str(mine),
            "--systems",
            "parsers",
            "--set",
            f"run.show_budget={value}",
            "--out",
            where,
        )
        assert cli("starter", *arguments)[0] == 0
    code, out, _ = cli("report", "--out", str(tmp_path / "runs"), "--against", "on", "--system", "parsers")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["kind", "on,", "parsers", "off"]
    assert lines[1].split()[:5] == ["own", "1/2", "50%", "1/2", "+0%"]
    assert "off: run.show_budget: true → false" in out
    code, out, _ = cli(
        "report", "--out", str(tmp_path / "runs"), "--against", "on", "--system", "parsers", "--json"
    )
    said = json.loads(out)
    assert (said["against"], [pair["run"] for pair in said["pairs"]]) == ("on", ["off"])
    code, _, err = cli("report", "--out", str(tmp_path / "runs"), "--against", "on", "--system", "nobody")
    assert code == 2
    assert "no system 'nobody'" in err


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ({"task": "x" * 20_001, "answer": 1}, "task: has 20,001 characters"),
        ({"task": "half \ud800 a pair", "answer": 1}, "task: is no valid text"),
    ],
)
def test_tasks_that_no_team_takes_are_refused_before_the_run(
    cli: Any, tmp_path: Path, line: dict[str, Any], why: str
) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text(json.dumps(line) + "\n")
    code, _, err = cli("starter", "--tasks", str(mine), "--systems", "parsers", "--out", str(tmp_path / "run"))
    assert code == 2
    assert why in err
