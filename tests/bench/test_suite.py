"""The starter suite itself: its size, its halves, and that the held-out one stands nowhere else."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from pointwork.bench.tasks import KINDS, STARTER, choose, load_tasks, split_of, starter_tasks
from pointwork.errors import UsageError

PROJECT = Path(__file__).parents[2]

# So many words in a row are no chance.
RUN = 9


def test_there_are_enough_tasks_of_each_kind() -> None:
    tasks = starter_tasks("all")
    assert len(tasks) >= 160
    assert len({task.text for task in tasks}) == len(tasks)
    counts = Counter(task.kind for task in tasks)
    assert tuple(counts) == KINDS
    assert max(counts.values()) - min(counts.values()) <= 4


def test_half_of_each_kind_is_held_out_by_the_hash_of_the_id() -> None:
    tasks = starter_tasks("all")
    for kind in KINDS:
        of_kind = [task for task in tasks if task.kind == kind]
        assert split_of([task.id for task in of_kind]) == {task.id: task.split for task in of_kind}
        assert 2 * sum(task.split == "held-out" for task in of_kind) == len(of_kind)
    assert all(task.split == "held-out" for task in starter_tasks("held-out"))


def test_a_pair_that_is_added_moves_no_other_task() -> None:
    before = split_of(["t01", "t02", "t03", "t04"])
    assert split_of(["t01", "t02", "t03", "t04", "t05", "t06"]).items() >= before.items()


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def test_no_held_out_task_stands_anywhere_else_in_the_repository() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    held_out = [_words(task.text) for task in starter_tasks("held-out")]
    runs = {tuple(words[n : n + RUN]) for words in held_out for n in range(len(words) - RUN + 1)}
    short = {tuple(words) for words in held_out if len(words) < RUN}
    sizes = {len(words) for words in short}
    assert runs
    searched = 0
    for name in listed.stdout.splitlines():
        path = PROJECT / name
        if path.name == "tasks.held-out.jsonl" or not path.is_file():
            continue
        try:
            words = _words(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
        searched += 1
        for size in (RUN, *sizes):
            found = {tuple(words[n : n + size]) for n in range(len(words) - size + 1)} & (
                runs if size == RUN else short
            )
            assert not found, f"{name} has words of a held-out task: {found}"
    assert searched > 100


def test_the_files_are_small_and_refer_to_each_other() -> None:
    notes = list((STARTER / "files" / "notes").glob("*.md"))
    assert 10 <= len(notes) <= 16
    for note in notes:
        text = note.read_text()
        assert 150 <= len(text.split()) <= 500
        for link in re.findall(r"\]\((.+?)\)", text):
            assert (note.parent / link).is_file(), f"{note.name} -> {link}"
    assert len(list((STARTER / "files" / "tables").iterdir())) >= 4


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("not json", ":2: not valid JSON"),
        ("[]", ":2: must be a JSON object"),
        ('{"answer": 1}', ":2: task: is missing"),
        ('{"task": "x", "answer": {"a": 1}}', ":2: answer: must be"),
        ('{"task": "x", "answer": 1, "anser": 2}', ":2: anser: unknown field"),
        ('{"task": "x", "answer": 1, "files": "absent"}', ":2: files: there is no folder"),
        ('{"task": "x", "answer": 1, "split": "half"}', ":2: split: must be"),
        ('{"task": "x", "answer": 1, "id": 7}', ":2: id: must be a text"),
        ('{"task": "x", "answer": 1, "id": "line-1"}', ":2: id: 'line-1' stands in line 1 too"),
        ('{"task": "x", "checker": {"type": "number"}}', ":2: checker.value: is missing"),
    ],
)
def test_a_broken_line_is_named_with_its_field(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(f'{{"task": "What is 2 + 2?", "answer": 4}}\n{line}\n')
    with pytest.raises(UsageError) as caught:
        load_tasks(path)
    assert f"{path}{why}" in str(caught.value)


def test_all_broken_lines_are_told_at_once_but_not_without_end(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("{}\n" * 30)
    with pytest.raises(UsageError, match="and 20 more lines"):
        load_tasks(path)
    path.write_text("\n")
    with pytest.raises(UsageError, match="has no tasks"):
        load_tasks(path)
    with pytest.raises(UsageError, match="can not read"):
        load_tasks(tmp_path / "absent.jsonl")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_tasks(path)


def test_tasks_are_chosen_of_each_kind_in_turn() -> None:
    tasks = starter_tasks("all")
    chosen = choose(tasks, split="train", limit=8)
    assert [task.kind for task in chosen] == [*KINDS, *KINDS[:2]]
    assert {task.kind for task in choose(tasks, kinds=["lookup"])} == {"lookup"}
    with pytest.raises(UsageError, match="no task is of the kind 'poems'"):
        choose(tasks, kinds=["poems"])
