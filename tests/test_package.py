"""The package as others get it: what a wheel installs, what an import costs, what may import what."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import pointwork
from pointwork.extras import available, require

PROJECT = Path(__file__).parent.parent
FOLDERS = ("agents", "router", "memory", "tools", "mcp_servers", "training")


@pytest.mark.slow
def test_a_wheel_installs_pointwork_and_nothing_else(tmp_path: Path) -> None:
    """Built from the sdist, installed into a new environment: one top-level name, every module, one command."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(tmp_path), str(PROJECT)], check=True, stdout=-3)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"pointwork"}
    tracked = subprocess.run(["git", "ls-files", "*.py"], cwd=PROJECT, capture_output=True, text=True, check=True)
    ours = [p for p in tracked.stdout.split() if p.startswith(("src/pointwork/", *(f"{f}/" for f in FOLDERS)))]
    assert len(ours) > 50
    for path in ours:
        assert ("pointwork/" + path).replace("pointwork/src/pointwork/", "pointwork/") in names, (
            f"{path} is missing"
        )
    assert "pointwork/py.typed" in names
    data = {name.rpartition("/task_steps_")[2] for name in names if "/task_steps_" in name}
    assert "facts.jsonl" in data  # of a recipe that anybody can train
    alone = ("cases", "kinds", "places", "queried", "sums", "twins")  # only benchmarks learn from these
    assert not [name for name in data if name.startswith(alone)]

    home = tmp_path / "clean"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = home / "bin" / "python"
    before = set((home / "lib").glob("python*/site-packages/*"))
    subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    added = {path.name for path in set((home / "lib").glob("python*/site-packages/*")) - before}
    assert {name for name in added if not name.endswith(".dist-info")} == {"pointwork"}
    assert (home / "bin" / "pointwork").exists()
    run = subprocess.run(
        [str(python), "-c", "import pointwork; print(pointwork.__file__)"], capture_output=True, text=True
    )
    assert run.stdout.strip().startswith(str(home))


def test_an_import_pulls_in_nothing_heavy_and_is_quick() -> None:
    """Time is printed, not asserted on beyond a bound that only a mistake can reach."""
    code = (
        "import time, sys; t = time.perf_counter(); import pointwork; d = time.perf_counter() - t;"
        "print(d); print(*sys.modules, sep='\\n')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, *modules = run.stdout.split()
    for heavy in ("torch", "litellm", "langgraph", "sqlalchemy", "numpy", "duckdb", "xllamacpp"):
        assert heavy not in modules
    assert float(seconds) < 30


# What only a run needs, what only a team needs too, what only its records need too.
REFUSED = {"runs list --wrong", "runs show none", "memory read m1", "router rollback"}
RUNS = {"duckdb", "jsonschema", "langchain_core", "langgraph", "litellm", "mcp", "torch", "xllamacpp"}
TEAM = RUNS | {"pointwork.agents.services", "pointwork.agents.team", "pointwork.tools"}
RECORDS = TEAM | {"numpy", "pointwork.router", "pointwork.settings", "sqlalchemy"}


@pytest.mark.parametrize(
    ("lines", "without"),
    [
        (["--version", "--help", "runs --help", "run --help", "train model --help", "runs list --wrong"], RECORDS),
        (["models list", "runs list", "runs show none"], TEAM | {"numpy"}),
        (["memory list", "memory read m1", "router rollback", "router versions"], TEAM),
        (["agents", "router show", "tools list"], RUNS),
    ],
    ids=["reads nothing", "reads runs", "reads memory", "needs a team"],
)
def test_a_command_loads_only_what_it_needs(lines: list[str], without: set[str], tmp_path: Path) -> None:
    """Of several in one process, what a later one loads is told from what an earlier one did."""
    code = """
import json, sys
from pointwork.cli.app import run_app
loaded = {line: (run_app(line.split()), sorted(sys.modules)) for line in sys.argv[1:]}
print()
print(json.dumps(loaded))
"""
    (tmp_path / "pointwork.toml").write_text('encoder = "static"')  # the other one needs torch
    run = subprocess.run(
        [sys.executable, "-c", code, *lines],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr
    loaded: dict[str, tuple[int, list[str]]] = json.loads(run.stdout.splitlines()[-1])
    assert list(loaded) == lines
    for line, (status, modules) in loaded.items():
        assert status == (2 if line in REFUSED else 0), f"{line}: {run.stderr}"
        assert "pointwork.cli.app" in modules
        assert not (heavy := without & set(modules)), f"{line}: {heavy}"


@pytest.mark.parametrize("name", FOLDERS)
def test_every_folder_is_a_room_of_the_package(name: str) -> None:
    link = PROJECT / "src" / "pointwork" / name
    assert link.is_symlink()
    assert link.resolve() == PROJECT / name
    code = (
        f"import sys, pointwork.{name} as m; assert m.__doc__; assert not {{'torch', 'litellm'}} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_public_names_are_few_and_all_there() -> None:
    assert len(pointwork.__all__) <= 15
    for name in pointwork.__all__:
        assert getattr(pointwork, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = pointwork.nothing  # pyright: ignore[reportAttributeAccessIssue]


def test_the_import_rules_are_checked_over_all_packages() -> None:
    """import-linter passes when it finds nothing, so say what it must have found."""
    run = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports")], cwd=PROJECT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout
    analyzed = re.search(r"Analyzed (\d+) files", run.stdout)
    modules = [p for folder in ("src/pointwork", *FOLDERS) for p in (PROJECT / folder).rglob("*.py")]
    assert analyzed
    assert int(analyzed[1]) >= len(modules)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ImportError, match=r"pip install 'pointwork\[local\]'"):
        require("xllamacpp")
    assert not available("pointwork_that_is_not_there")


def test_every_folder_of_code_is_a_package_that_says_what_lives_there() -> None:
    """Without ``__init__.py`` a folder works from the checkout and is missing in the wheel."""
    roots = [PROJECT / folder for folder in ("src/pointwork", *FOLDERS)]
    folders = {path.parent for root in roots for path in root.rglob("*.py") if "examples" not in path.parts}
    folders = {f for f in folders if "starter" not in f.parts and "versions" not in f.parts}
    silent = [
        str(folder.relative_to(PROJECT))
        for folder in folders
        if not (init := folder / "__init__.py").is_file() or not init.read_text().lstrip().startswith('"""')
    ]
    assert not silent
