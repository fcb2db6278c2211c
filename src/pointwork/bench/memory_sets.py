"""The data of the memory benchmark: dialogues and multi-hop questions with their evidence.

Not the project's to ship: LoCoMo (snap-research) and a part of HotpotQA's distractor set, as their sources publish
them, in a folder given by ``--data`` or ``POINTWORK_BENCH_DATA``.
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pointwork.errors import UsageError
from pointwork.memory import Entry

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
TRAINED = 8  # dialogues of LoCoMo, from the first, that the ranker was trained on
TRAINED_HOTPOT = 50  # questions of Hotpot, from the first

_EVIDENCE = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the sources of the entries that hold its evidence, and its answer (never shown to memory)."""

    text: str
    gold: frozenset[str]
    category: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Set:
    """Entries for one memory, the questions asked of it, and when they are asked (epoch seconds)."""

    name: str
    entries: list[Entry]
    questions: list[Question]
    now: float


def locomo(data: Path) -> list[Set]:
    """The dialogues; entries are turns, with speaker and time of the session. Captions of pictures are left out."""
    return [_dialogue(number, one) for number, one in enumerate(_read(data / "locomo" / "locomo10.json"))]


def _dialogue(number: int, one: dict[str, Any]) -> Set:
    conversation = one["conversation"]
    sessions = sorted(int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key))
    entries: list[Entry] = []
    for session in sessions:
        text = conversation[f"session_{session}_date_time"].replace("am", "AM").replace("pm", "PM")
        time = datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
        for turn in conversation[f"session_{session}"]:
            source = _canonical(turn["dia_id"])[0]
            entries.append(
                Entry(turn["text"], source=source, speaker=turn["speaker"], time=time, thread=f"dialogue-{number}")
            )
    questions = [
        Question(str(qa["question"]), frozenset(gold), CATEGORIES[qa["category"]], _answer(qa))
        for qa in one["qa"]
        if (gold := [source for text in qa["evidence"] for source in _canonical(text)])
    ]
    return Set(f"locomo-{number}", entries, questions, max(float(str(e.time)) for e in entries))


def _answer(qa: dict[str, Any]) -> str:
    return str(qa.get("answer", qa.get("adversarial_answer", "")))


def _canonical(text: str) -> list[str]:
    """``"D8:6; D9:17"`` and ``"D30:05"`` as the names of turns."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(text)]


def hotpot(data: Path, start: int = 0, end: int | None = None) -> Set:
    """Some of the questions over the paragraphs of all of them; an entry is a title, a line break, a paragraph."""
    rows = _read(data / "hotpotqa" / "hotpot_distractor_100.json")
    paragraphs: dict[str, str] = {}
    for row in rows:
        for title, sentences in zip(row["context"]["title"], row["context"]["sentences"], strict=True):
            paragraphs[title] = f"{title}\n{''.join(sentences)}"
    questions = [
        Question(row["question"], frozenset(row["supporting_facts"]["title"]), row["type"])
        for row in rows[start:end]
    ]
    entries = [Entry(text, source=title) for title, text in paragraphs.items()]
    return Set("hotpot", entries, questions, 0.0)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"can not read {path}: {error}. Give the folder with the benchmark data as --data or "
            "POINTWORK_BENCH_DATA; docs/memory.md says where each set comes from"
        ) from error
