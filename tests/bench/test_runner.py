"""Runs on a scripted model: what is counted, kept and gone on with."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pointwork.bench.pairs import changes
from pointwork.bench.report import ALL, MULTI, runs_in, summarise, wilson
from pointwork.bench.runner import Folder, Record, about_run, in_blocks, latest, read_records, run
from pointwork.bench.systems import SYSTEMS, Answer, Bench, Setup, seed_of
from pointwork.bench.tasks import Task, load_tasks
from pointwork.errors import ProviderError, UsageError
from pointwork.memory.playbook import Playbook
from pointwork.models import ChatRequest, Price, ScriptedClient, Step
from pointwork.settings import RunSettings, Settings
from pointwork.store import Store
from pointwork.store.tables import runs

ROWS = [
    {"id": "sum", "kind": "arithmetic", "task": "What is 17% of 2340?", "answer": 397.8},
    {
        "id": "who",
        "kind": "lookup",
        "task": "Who painted the north gate?",
        "answer": "Ilse Brandt",
        "files": "farm",
    },
    {"id": "units", "kind": "tables", "task": "Total units of cheese?", "answer": 95, "files": "farm"},
]


@pytest.fixture
def tasks(tmp_path: Path) -> list[Task]:
    """Three tasks over two files."""
    farm = tmp_path / "farm"
    farm.mkdir()
    (farm / "notes.md").write_text("# Notes\n\nThe north gate was painted by Ilse Brandt in 1987.\n")
    (farm / "sales.csv").write_text("product,units\ncheese,40\nwool,12\ncheese,55\n")
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return load_tasks(path)


def saying(reply: Any) -> ScriptedClient:
    """A model that always says the same, whatever the schema."""
    return ScriptedClient([Step(reply, times=None)], price=Price(9, 9))


def setup(client: ScriptedClient, **options: Any) -> Setup:
    settings = Settings(run=RunSettings(max_turns=2, max_replans=0))
    return Setup(settings, clients={"worker-small": client}, **options)


def ask(client: ScriptedClient, system: str, task: Task) -> Answer:
    with Bench(setup(client)) as bench:
        return bench.ask(system, task)


def test_the_model_alone_sees_the_task_and_nothing_else(tasks: list[Task]) -> None:
    client = saying("Ilse Brandt")
    answer = ask(client, "alone", tasks[1])
    assert answer.text == "Ilse Brandt"
    [request] = client.requests
    assert request.messages[-1]["content"] == tasks[1].text
    assert request.schema is None
    assert answer.used.calls == 1
    # the stated price, not the client's own
    assert answer.used.usd == pytest.approx(
        (answer.used.prompt_tokens * 0.10 + answer.used.completion_tokens * 0.40) / 1e6, abs=2e-9
    )


def test_the_loop_has_all_tools_and_no_planner(tasks: list[Task]) -> None:
    calls = [
        {"call": {"tool": "grep_files", "arguments": {"pattern": "north gate"}}},
        {"call": {"tool": "answer", "arguments": {"text": "Ilse Brandt"}}},
    ]
    client = ScriptedClient([*calls])
    answer = ask(client, "loop", tasks[1])
    client.assert_consumed()
    assert answer.text == "Ilse Brandt"
    assert answer.steps[0].startswith("grep_files")
    assert "by Ilse Brandt in 1987" in client.requests[1].messages[-1]["content"]
    assert "- query_table(" in client.requests[0].messages[0]["content"]


def test_the_parsers_need_no_model(tasks: list[Task]) -> None:
    client = ScriptedClient([])
    with Bench(setup(client)) as bench:
        said = [bench.ask("parsers", task) for task in tasks]
    assert [task.checker.right(answer.text) for task, answer in zip(tasks, said, strict=True)] == [True] * 3
    assert [answer.used.calls for answer in said] == [0, 0, 0]
    client.assert_consumed()


def test_the_meter_agrees_with_the_ledger(tasks: list[Task]) -> None:
    from pointwork.agents import Team
    from pointwork.bench.metering import Meters

    def reply(request: ChatRequest) -> str:
        return json.dumps({"answer": "Ilse Brandt"}) if request.schema else "words"

    meters = Meters(Settings(), Price(0.10, 0.40), {"worker-small": saying(reply)})
    with Team(config=Settings(), store="sqlite://", models=meters.by_role, root=tasks[1].root) as team:
        cost = team.run("Write a few words about gates").cost  # what a model must be asked for
    used = meters.take()
    assert used.calls == cost.calls > 0
    assert used.prompt_tokens + used.completion_tokens == cost.tokens
    assert used.usd == pytest.approx(cost.usd)
    assert meters.take().calls == 0


def test_the_team_starts_anew_with_each_task_and_the_random_router_differs(tasks: list[Task]) -> None:
    client = saying("Ilse Brandt")
    with Bench(setup(client)) as bench:
        first, again = bench.ask("team", tasks[0]), bench.ask("team", tasks[0])
        assert bench.ask("random-router", tasks[0]).text == "397.8"
    assert first.text == again.text == "397.8"
    assert first.author == "instant"
    assert first.arms == again.arms
    assert seed_of(0, "sum") != seed_of(0, "who") != seed_of(1, "who")


def test_what_fails_is_a_wrong_answer_and_not_the_end(tasks: list[Task]) -> None:
    client = saying(ProviderError("the server is away"))
    answer = ask(client, "alone", tasks[0])
    assert (answer.text, answer.status) == ("", "failed")
    assert "the server is away" in answer.error
    with Bench(setup(client)) as bench, pytest.raises(UsageError, match="no system 'nobody'"):
        bench.ask("nobody", tasks[0])


def _about(options: Setup, tasks: list[Task]) -> dict[str, Any]:
    return about_run(options, tasks, {"worker-small": "scripted"}, "mine.jsonl")


def _run(
    folder: Path, tasks: list[Task], client: ScriptedClient, systems: tuple[str, ...] = ("parsers", "alone")
) -> list[Record]:
    options = setup(client)
    with Bench(options) as bench:
        return list(run(bench, tasks, systems, Folder(folder, _about(options, tasks))))


def test_success_is_counted_right(tmp_path: Path, tasks: list[Task]) -> None:
    _run(tmp_path / "run", tasks, saying("Ilse Brandt"))
    rows = {(row.kind, row.system): row for row in summarise(read_records(tmp_path / "run"))}
    assert (rows[ALL, "parsers"].right, rows[ALL, "alone"].right, rows[ALL, "alone"].tasks) == (3, 1, 3)
    assert rows["lookup", "alone"].success == 1
    assert rows["arithmetic", "alone"].cost_of_pass is None
    alone = rows[ALL, "alone"]
    assert alone.cost_of_pass == pytest.approx(alone.usd * 3)
    assert rows[ALL, "parsers"].usd == 0
    assert MULTI not in {kind for kind, _ in rows}


def test_a_run_goes_on_where_it_was(tmp_path: Path, tasks: list[Task]) -> None:
    first = saying("Ilse Brandt")
    _run(tmp_path / "run", tasks[:2], first, ("alone",))
    # a process that was killed while it wrote
    with (tmp_path / "run" / "records.jsonl").open("a") as file:
        file.write('{"task": "un')
    second = saying("95")
    with Bench(setup(second)) as bench:
        folder = Folder(tmp_path / "run", _about(setup(second), tasks[:2]))
        added = list(run(bench, tasks, ["alone"], folder))
    assert [record.task for record in added] == ["units"]
    assert len(second.requests) == 1
    assert [record.right for record in read_records(tmp_path / "run")] == [False, True, True]


def test_no_task_is_asked_twice_in_a_row(tasks: list[Task]) -> None:
    """The second system would find the model's cache warm."""
    many = [Task(f"t{n}", "own", "x", tasks[0].checker, None, "", {}) for n in range(30)]
    order = [(task.id, system) for task, system in in_blocks(many, ["team", "alone"])]
    assert len(set(order)) == len(order) == 60
    asked = [id_ for id_, _ in order]
    assert min(asked.index(id_, asked.index(id_) + 1) - asked.index(id_) for id_ in set(asked)) >= 6


def test_another_run_does_not_go_into_the_same_folder(tmp_path: Path, tasks: list[Task]) -> None:
    Folder(tmp_path / "run", _about(setup(saying("x")), tasks))
    with pytest.raises(UsageError, match="another seed .*give another --out"):
        Folder(tmp_path / "run", _about(setup(saying("x"), seed=1), tasks))
    with pytest.raises(UsageError, match="another tasks_digest"):
        Folder(tmp_path / "run", _about(setup(saying("x")), tasks[1:]))
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="can not write"):
        Folder(tmp_path / "file", {})
    (tmp_path / "run" / "records.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match=r"records\.jsonl:1 is not an answer"):
        read_records(tmp_path / "run")


def test_an_answer_without_a_server_is_asked_again(tmp_path: Path, tasks: list[Task]) -> None:
    away = _run(tmp_path / "run", tasks, saying(ProviderError("away")), ("alone",))
    assert all(record.error for record in away)
    back = _run(tmp_path / "run", tasks, saying("397.8"), ("alone",))
    assert [record.right for record in back] == [True, False, False]
    assert [record.right for record in latest(read_records(tmp_path / "run"))] == [True, False, False]


def test_a_server_that_stays_away_ends_the_run(tmp_path: Path, tasks: list[Task]) -> None:
    more = [Task(f"t{n}", "own", "Say yes", tasks[0].checker, None, "", {}) for n in range(9)]
    with pytest.raises(ProviderError, match="stopped after 5 errors in a row, the last: .*away"):
        _run(tmp_path / "run", more, saying(ProviderError("away")), ("alone",))
    assert len(read_records(tmp_path / "run")) == 5


def test_teams_that_learn_keep_their_store(tmp_path: Path, tasks: list[Task]) -> None:
    with Bench(setup(saying("x"), learn=True, folder=tmp_path)) as bench:
        bench.ask("team", tasks[0])
        bench.ask("team", tasks[0])
    assert (tmp_path / "team.db").exists()
    with closing(Store(f"sqlite:///{tmp_path / 'team.db'}")) as store:
        roots = {row["root"] for row in store.rows(select(runs.c.root))}
    assert [Path(root).is_dir() for root in roots] == [True]  # what failed there can be run again


def test_each_team_begins_with_the_playbook_it_is_given(tmp_path: Path, tasks: list[Task]) -> None:
    book = Playbook(Store("sqlite://"))
    book.add("words", "Write about gates in one line.", sources=["run:1"])
    client = saying(_anything)
    own = Task("x", "own", "Write a few words about gates", tasks[1].checker, None, "", {})
    for given in ((), tuple(book.bullets())):
        options = setup(client, playbook=given)
        asked = len(client.requests)
        with Bench(options) as bench:
            bench.ask("team", own)
            bench.ask("team", own)
        told = [request.messages[-1]["content"].count("in one line. (run:1; ") for request in client.requests]
        assert max(told[asked:]) == len(given)  # the second team has it once, too
    about, bare = _about(options, tasks), _about(setup(client), tasks)
    assert bare["playbook"] is None
    assert changes(bare, about) == [f"playbook: null → {about['playbook']}"]
    Folder(tmp_path / "run", bare)
    with pytest.raises(UsageError, match="another playbook"):
        Folder(tmp_path / "run", about)


def record(**values: Any) -> Record:
    plain: dict[str, Any] = {
        **{
            "task": "t",
            "kind": "two-step",
            "split": "",
            "system": "team",
            "right": True,
            "text": "",
            "status": "ok",
        },
        **{"author": "model", "steps": (), "arms": (), "missing": (), "error": "", "usd": 1e-5, "seconds": 1.0},
        **{"prompt_tokens": 60, "completion_tokens": 40, "calls": 2},
    }
    return Record(**(plain | values))


def test_whose_plan_the_right_answers_had() -> None:
    authors = ["program", "repaired", "splitter", "model"]
    records = [record(task=str(n), author=a, right=n < 3) for n, a in enumerate(authors)]
    records += [record(task="9", kind="three-step", author="splitter"), record(task="7", system="alone", author="")]
    rows = {(row.kind, row.system): row for row in summarise(records)}
    assert rows["two-step", "team"].planned == pytest.approx(2 / 3)
    assert rows[MULTI, "team"].planned == pytest.approx(2 / 4)
    assert rows[ALL, "alone"].planned is None


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (0, 0, 0.0, 1.0),
        (40, 84, 0.3729, 0.5816),
    ],
)
def test_wilson_intervals(right: int, of: int, low: float, high: float) -> None:
    assert wilson(right, of) == pytest.approx((low, high), abs=5e-4)


def test_runs_are_found_below_a_folder(tmp_path: Path, tasks: list[Task]) -> None:
    with pytest.raises(UsageError, match="there is no run in"):
        runs_in(tmp_path / "absent")
    for name in ("one", "two"):
        _run(tmp_path / "runs" / name, tasks, saying("95"), ("alone",))
    assert {found.name for found in runs_in(tmp_path / "runs")} == {"one", "two"}
    [alone] = runs_in(tmp_path / "runs" / "one")
    total = alone.total("alone")
    assert total is not None
    assert (total.right, total.tasks) == (1, 3)


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name not in ("parsers",)])
def test_each_system_keeps_to_its_task_s_folder(
    system: str, tasks: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task without files must not see the folder that the user happens to be in."""
    (tmp_path / "secret.md").write_text("The painted north gate is a secret.")
    monkeypatch.chdir(tmp_path)
    client = saying(_anything)
    lone = Task("x", "own", "Who painted the north gate?", tasks[1].checker, None, "", {})
    ask(client, system, lone)
    assert not any("secret" in message["content"] for request in client.requests for message in request.messages)


def _anything(request: ChatRequest) -> str:
    if request.schema is None:
        return "nothing"
    properties = request.schema.get("properties", {})
    if "subtasks" in properties:
        return json.dumps({"subtasks": [{"task": "Who painted it?", "capability": "lookup", "answer": "text"}]})
    if "answer" in properties:
        return json.dumps({"answer": "nobody"})
    return json.dumps({"call": {"tool": "search_files", "arguments": {"query": "north gate"}}})
