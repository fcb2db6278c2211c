"""The tool that runs a program over the folder's tables and Python files, in the sandbox."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pointwork.errors import ToolError
from pointwork.tools import ToolContext, ToolResult, builtin_tools
from pointwork.tools.sandbox import missing_means

pytestmark = pytest.mark.skipif(bool(missing_means()), reason="no sandbox here")

TRIPS = "day,boat,hours\n2024-05-01,Heron,1.5\n2024-05-02,Marten,2\n2024-06-03,Heron,3\n"
FARES = "PRICE = 4.6\n\ndef fare(adults: int) -> float:\n    return PRICE * adults\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "trips.csv").write_text(TRIPS)
    (tmp_path / "fares.py").write_text(FARES)
    return tmp_path


def run(code: str, root: Path | None) -> ToolResult:
    return asyncio.run(builtin_tools()["program"].call({"code": code}, ToolContext(root=root)))


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ('print(sum(row["hours"] for row in trips if row["boat"] == "Heron"))', "4.5"),
        ('print(max(row["day"] for row in trips if row["day"].month == 5))', "2024-05-02"),
        ('print(Counter(row["boat"] for row in trips).most_common(1)[0][0])', "Heron"),
        ("print(fare(3))", "13.8"),
        ("print(0.1 + 0.2)", "0.3"),
        ('print(round(convert(70, "km/h", "knots"), 3))', "37.797"),
        ('print(convert(20, "degC", "degF"))', "68"),
        ("print(add(date(2024, 1, 31), months=1), weekday(date(1996, 11, 9)))", "2024-02-29 Saturday"),
        ("print(add(date(2024, 3, 15), months=-3, weeks=1))", "2023-12-22"),
        ('print("first")\nprint("last")', "last"),
        ('print("version 2.1.0 of", 3.0)', "version 2.1.0 of 3"),
        ('print(convert(3, unit="kilometres", to="furlongs") > 14)', "True"),
    ],
)
def test_what_is_there(root: Path, code: str, answer: str) -> None:
    assert run(code, root).answer == answer


def test_a_time_of_day_is_kept(root: Path) -> None:
    (root / "calls.csv").write_text("at,who\n2024-05-01 09:30:00,Ann\n2024-05-01 17:45:00,Ben\n")
    assert run('print(calls[1]["at"] - calls[0]["at"])', root).answer == "8:15:00"


def test_the_folder_is_walked_only_for_functions_that_it_may_define(root: Path, monkeypatch: Any) -> None:
    from pointwork.tools import program

    def walked(_: Path) -> None:
        pytest.fail("walked")

    monkeypatch.setattr(program, "_modules", walked)
    code = "def half(n):\n    return n / 2\nprint(half(sum(row['hours'] for row in trips)))"
    assert run(code, root).answer == "3.25"


def test_evidence_is_what_the_program_read(root: Path) -> None:
    sources = [source for source, _ in run("print(len(trips), fare(1))", root).evidence]
    assert sources == ["table:trips.csv", "file:fares.py", "tool:program"]
    assert [source for source, _ in run("print(1)", root).evidence] == ["tool:program"]


def test_without_a_folder_it_computes() -> None:
    assert run("print(math.sqrt(49))", None).answer == "7"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print(1 / 0)", "division by zero"),
        ("x = 3", "printed nothing"),
        ("print(nobody)", "'nobody' is not defined"),
        ("print(convert(1, 'kg', 'm'))", "kg is no m"),
        ("print(convert(1, 'flurb', 'm'))", "no unit 'flurb'"),
        ("print(open('/etc/passwd').read())", "No such file"),
        ("print(", "was never closed"),
    ],
)
def test_what_fails_says_why(root: Path, code: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        run(code, root)


def test_a_table_that_is_too_large_is_not_loaded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pointwork.tools import program

    monkeypatch.setattr(program, "MAX_ROWS", 2)
    with pytest.raises(ToolError, match="trips has 3 rows, over 2"):
        run("print(len(trips))", root)


def test_the_folders_files_can_not_reach_out(root: Path) -> None:
    (root / "fares.py").write_text("def fare(n):\n    return open('/etc/passwd').read()\n")
    with pytest.raises(ToolError, match="No such file|Permission"):
        run("print(fare(1))", root)
