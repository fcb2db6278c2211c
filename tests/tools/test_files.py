"""Files: nothing outside the root is read by any path, link or pattern; what is inside is found and cited."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointwork.errors import ToolDenied, ToolError
from pointwork.tools import Tool, ToolContext, ToolResult, passages, paths
from pointwork.tools.files import find_files, grep_files, list_files, read_file, search_files, search_passages

SECRET = "the-treasure-is-under-the-old-oak"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "docs" / "deep").mkdir(parents=True)
    (folder / "notes.md").write_text(
        "# Plan\n\nBuy apples.\nSell pears.\n\n# Risks\n\nThe bridge may be closed in winter.\n"
    )
    (folder / "docs" / "guide.txt").write_text("How to switch a wagon\nto the right line.\n")
    (folder / "docs" / "deep" / "Ledger_2024.csv").write_text("day,amount\n2024-01-01,5\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\0\0\0")
    (folder / "latin.txt").write_bytes("Café\r\nNaïve\r\n".encode("latin-1"))
    (folder / ".env").write_text(f"KEY={SECRET}")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "junk.js").write_text("wagon")
    (tmp_path / "outside.txt").write_text(SECRET)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "treasure.txt").write_text(SECRET)
    return folder


def run(tool: Tool, root: Path | None, **arguments: Any) -> ToolResult:
    return asyncio.run(tool.call(arguments, ToolContext(root=root)))


def test_list(root: Path) -> None:
    everything = [f["path"] for f in run(list_files, root).value]
    assert everything == ["latin.txt", "notes.md", "picture.png", "docs/guide.txt", "docs/deep/Ledger_2024.csv"]
    for pattern, expected in [
        ("*.md", ["notes.md"]),
        ("*.CSV", ["docs/deep/Ledger_2024.csv"]),
        ("docs", ["docs/guide.txt", "docs/deep/Ledger_2024.csv"]),
        ("docs/*", ["docs/guide.txt"]),
        ("docs/**", ["docs/guide.txt", "docs/deep/Ledger_2024.csv"]),
        ("**/*.txt", ["latin.txt", "docs/guide.txt"]),
        ("./notes.md", ["notes.md"]),
    ]:
        assert [f["path"] for f in run(list_files, root, pattern=pattern).value] == expected, pattern
    with pytest.raises(ToolError, match=r"no file fits '\*\.doc'; there are 5 files: \.csv, \.md"):
        run(list_files, root, pattern="*.doc")


def test_find(root: Path) -> None:
    assert run(find_files, root, query="the ledger of 2024").value == ["docs/deep/Ledger_2024.csv"]
    with pytest.raises(ToolError, match="search_files"):
        run(find_files, root, query="zebra")


def test_read(root: Path) -> None:
    result = run(read_file, root, path="notes.md", start_line=3, end_line=4)
    assert result.value["text"] == "Buy apples.\nSell pears."
    assert result.evidence == (("file:notes.md:3-4", "Buy apples.\nSell pears."),)
    assert "go on with start_line=5" in result.text
    assert run(read_file, root, path="latin.txt").value["text"] == "Caf\ufffd\nNa\ufffdve"
    for forgiving in (
        "GUIDE.TXT",
        "guide",
        "docs\\guide.txt",
        " 'docs/guide.txt' ",
        "file:docs/guide.txt:1-2",
        "./docs/guide.txt",
    ):
        assert run(read_file, root, path=forgiving).value["path"] == "docs/guide.txt", forgiving
    assert run(read_file, root, path=str(root / "notes.md")).value["path"] == "notes.md"
    assert run(read_file, root, path="notes.md", start_line=-5, end_line=99).value["end_line"] == 8
    for path, lines, message in [
        ("nots.md", (1, 0), r"no file 'nots.md'; there are notes.md"),
        ("picture.png", (1, 0), "binary file"),
        ("docs", (1, 0), "is a folder"),
        ("notes.md", (99, 0), "has 8 lines"),
        ("notes.md", (4, 2), "end_line 2 is before"),
        ("", (1, 0), "not a usable path"),
        ("a\0b", (1, 0), "not a usable path"),
        ("x" * 5000, (1, 0), "not a usable path"),
        ("y" * 900, (1, 0), "not a usable path|no file"),
    ]:
        with pytest.raises(ToolError, match=message):
            run(read_file, root, path=path, start_line=lines[0], end_line=lines[1])


def test_long_files_come_in_parts(root: Path) -> None:
    (root / "long.txt").write_text("\n".join(f"line {i}" for i in range(1, 1001)))
    first = run(read_file, root, path="long.txt")
    assert first.value["end_line"] == 200
    second = run(read_file, root, path="long.txt", start_line=201)
    assert second.value["text"].startswith("line 201\n")
    (root / "wide.txt").write_text("x" * 100_000)
    assert len(run(read_file, root, path="wide.txt").text) < 10_000


@pytest.mark.parametrize(
    "path",
    [
        "../outside.txt",
        "docs/../../outside.txt",
        "/etc/passwd",
        "..",
        "docs\\..\\..\\outside.txt",
        "~/x/../../etc/passwd",
    ],
)
def test_paths_outside_are_refused(root: Path, path: str) -> None:
    with pytest.raises(ToolDenied):
        run(read_file, root, path=path)


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        "docs/.env.production",
        "id_rsa",
        "server.PEM",
        ".aws/config",
        ".git/config",
        ".netrc",
        "secrets.json",
    ],
)
def test_secrets_are_refused_by_name_and_through_links(root: Path, name: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text(SECRET)
    (root / "harmless.txt").symlink_to(root / name)
    for path in (name, "harmless.txt"):
        with pytest.raises(ToolDenied, match="keys or passwords"):
            run(read_file, root, path=path)
    assert SECRET not in run(grep_files, root, pattern="treasure").text
    (root / ".env.example").write_text("KEY=")
    assert run(read_file, root, path=".env.example").value["text"] == "KEY="


def test_links(root: Path, tmp_path: Path) -> None:
    (root / "out.txt").symlink_to(tmp_path / "outside.txt")
    (root / "outdir").symlink_to(tmp_path / "elsewhere")
    (root / "chain1").symlink_to(root / "chain2")
    (root / "chain2").symlink_to(tmp_path / "outside.txt")
    (root / "loop").symlink_to(root / "loop")
    (root / "docs" / "up").symlink_to(root)
    (root / "relative.txt").symlink_to("docs/../../outside.txt")
    (root / "inside.txt").symlink_to("docs/guide.txt")
    (root / "dangling").symlink_to(tmp_path / "nothing")
    for path in ("out.txt", "outdir/treasure.txt", "outdir", "chain1", "relative.txt", "docs/up/out.txt"):
        with pytest.raises(ToolDenied, match="leads outside"):
            run(read_file, root, path=path)
    with pytest.raises(ToolError, match="in a circle"):
        run(read_file, root, path="loop")
    with pytest.raises(ToolError, match="no file"):
        run(read_file, root, path="dangling")
    assert run(read_file, root, path="inside.txt").value["path"] == "docs/guide.txt"
    assert run(read_file, root, path="docs/up/notes.md").value["path"] == "notes.md"
    listed = run(list_files, root).text + run(find_files, root, query="guide out treasure").text
    assert not any(name in listed for name in ("out.txt", "outdir", "treasure.txt", "chain", "up/"))
    assert SECRET not in run(grep_files, root, pattern="treasure").text
    assert SECRET not in run(search_files, root, query="treasure old oak").text


def test_a_link_made_after_the_check(root: Path, tmp_path: Path) -> None:
    name = paths.resolve(root, "docs/guide.txt")
    assert name == "docs/guide.txt"
    (root / "docs" / "guide.txt").unlink()
    (root / "docs" / "guide.txt").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(ToolDenied, match="changed into a link"):
        paths.read_bytes(root, name)
    (root / "docs").rename(root / "moved")
    (root / "docs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ToolDenied, match="changed into a link"):
        paths.read_bytes(root, "docs/treasure.txt")


def test_pipes_devices_and_huge_files(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match="device or pipe"):
        run(read_file, root, path="pipe")
    with (root / "huge.txt").open("wb") as file:
        file.truncate(paths.MAX_BYTES + 1)
    with pytest.raises(ToolError, match="larger than 20 MB"):
        run(read_file, root, path="huge.txt")
    result = run(grep_files, root, pattern="wagon")
    assert "huge.txt" in result.text
    assert [hit["path"] for hit in result.value] == ["docs/guide.txt"]


pieces = st.sampled_from(
    [
        "..",
        ".",
        "",
        "outside.txt",
        "docs",
        "root",
        "out",
        "outdir",
        "treasure.txt",
        "~",
        "notes.md",
        "\\..",
        "/",
        "%2e%2e",
        "\0",
    ]
)


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("trapped")
    folder = base / "root"
    (folder / "docs").mkdir(parents=True)
    (folder / "notes.md").write_text("inside")
    (base / "outside.txt").write_text(SECRET)
    (base / "outdir").mkdir()
    (base / "outdir" / "treasure.txt").write_text(SECRET)
    (folder / "out").symlink_to(base)
    (folder / "docs" / "outdir").symlink_to(base / "outdir")
    return folder


@given(st.one_of(st.lists(pieces, max_size=6).map("/".join), st.text(max_size=30)), st.booleans())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_path_whatever_reads_outside(trapped: Path, path: str, absolute: bool) -> None:
    text = str(trapped) + "/" + path if absolute else path
    try:
        result = run(read_file, trapped, path=text)
    except ToolError:
        return
    assert result.value["text"] == "inside"


def test_grep(root: Path) -> None:
    result = run(grep_files, root, pattern=r"s\w+ pears")
    assert result.value == [{"path": "notes.md", "line": 4, "text": "Sell pears."}]
    assert result.evidence == (("file:notes.md:4", "Sell pears."),)
    assert run(grep_files, root, pattern="Pears").text.startswith("no line fits")  # upper case counts
    assert run(grep_files, root, pattern="wagon", glob="*.md").text == "no line fits"
    broken = run(grep_files, root, pattern="apples.(")
    assert "searched for literally" in broken.text
    with pytest.raises(ToolError, match="empty"):
        run(grep_files, root, pattern=" ")
    with pytest.raises(ToolError, match="longer than 500"):
        run(grep_files, root, pattern="a" * 501)


def test_a_catastrophic_pattern_ends(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pointwork.tools.files._GREP_SECONDS", 0.3)
    (root / "trap.txt").write_text("a" * 5000 + "!")
    start = time.perf_counter()
    with pytest.raises(ToolError, match="took too long"):
        run(grep_files, root, pattern=r"^(a|a|aa)+$")
    assert time.perf_counter() - start < 30


@pytest.mark.parametrize("pattern", ["(?:(?:a{1000}){1000}){1000}", "(a{1,1000}){1,1000}b", "a{99999}"])
def test_a_pattern_that_takes_forever_to_compile_is_refused(root: Path, pattern: str) -> None:
    with pytest.raises(ToolError, match="counts multiply"):
        run(grep_files, root, pattern=pattern)


def test_a_pattern_that_calls_itself_is_refused(root: Path) -> None:
    with pytest.raises(ToolError, match="call themselves"):
        run(grep_files, root, pattern="(?R)?a")


def test_grep_is_capped(root: Path) -> None:
    (root / "many.txt").write_text("wagon\n" * 1000)
    result = run(grep_files, root, pattern="wagon")
    assert len(result.value) == 50
    assert "more than 50" in result.text


def test_search(root: Path) -> None:
    result = run(search_files, root, query="When are the bridges closed?", k=2)
    assert result.value[0]["source"] == "file:notes.md:6-8"
    assert "The bridge may be closed in winter." in result.evidence[0][1]
    assert run(search_files, root, query="zebra").text == "no passage has a word of the query"
    assert [p.path for p, _ in search_passages(root, "switching wagons")] == ["docs/guide.txt"]  # not node_modules
    assert run(search_files, root, query="apples", k=1000).value


def test_search_sees_changes_and_reads_each_file_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = paths.read_bytes

    def counting(where: Path, relative: str, limit: int = paths.MAX_BYTES) -> bytes:
        read.append(relative)
        return real(where, relative, limit)

    monkeypatch.setattr(paths, "read_bytes", counting)
    search_passages(root, "bridge")
    assert "notes.md" in read
    read.clear()
    search_passages(root, "bridge winter")
    assert read == []
    (root / "notes.md").write_text("The tunnel is open.\n")
    assert search_passages(root, "bridge") == []
    assert search_passages(root, "tunnel")[0][0].text == "The tunnel is open."
    assert read == ["notes.md"]
    (root / "notes.md").unlink()
    assert search_passages(root, "tunnel") == []


@given(st.text(alphabet="ab #\n\r\t", max_size=400))
@settings(max_examples=100, deadline=None)
def test_passages_are_verbatim_lines(text: str) -> None:
    lines = passages.lines_of(text)
    found = passages.cut("x.md", text)
    covered: set[int] = set()
    for passage in found:
        assert passage.text == "\n".join(lines[passage.first - 1 : passage.last])
        covered |= set(range(passage.first, passage.last + 1))
    assert {i for i, line in enumerate(lines, start=1) if line.strip()} <= covered


def test_without_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no folder of files"):
        run(list_files, None)
    with pytest.raises(ToolError, match="does not exist"):
        run(list_files, tmp_path / "gone")
    (tmp_path / "empty").mkdir()
    assert run(list_files, tmp_path / "empty").text == "there are no files"
