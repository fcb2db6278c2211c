"""Memory as a tool; and the package's surface."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass

import pytest

from pointwork.errors import ToolError, UsageError
from pointwork.memory import Memory
from pointwork.tools import MemoryLike, ToolContext, builtin_tools
from pointwork.tools.recall import read_memory, recall


@dataclass(frozen=True)
class Item:
    id: str
    text: str
    score: float = 0.5
    source: str = "chat"
    trust: str = "user"


@dataclass(frozen=True)
class Found:
    items: list[Item]
    text: str


class Fake:
    """A memory of one piece."""

    def recall(self, question: str, k: int = 10, budget_tokens: int = 800, thread: str | None = None) -> Found:
        return Found([Item("m1", "Ann likes figs")], "> Ann likes figs") if "Ann" in question else Found([], "")

    def read(self, id: str, /) -> str:
        if id != "m1":
            raise UsageError("no such item")
        return "Ann likes figs, not dates"


def test_recall_and_read() -> None:
    context = ToolContext(memory=Fake())
    result = asyncio.run(recall.call({"query": "What does Ann like?"}, context))
    assert result.value[0]["id"] == "m1"
    assert result.text == "> Ann likes figs"
    assert result.evidence == (("memory:m1", "Ann likes figs"),)
    assert asyncio.run(recall.call({"query": "Bob"}, context)).text == "nothing is remembered about that"
    for name in ("m1", "memory:m1", " [memory:m1] "):
        assert asyncio.run(read_memory.call({"id": name.strip(" []")}, context)).value["text"].endswith("not dates")
    with pytest.raises(ToolError, match="nothing is remembered under the id 'm9'"):
        asyncio.run(read_memory.call({"id": "m9"}, context))
    with pytest.raises(ToolError, match="the query is empty"):
        asyncio.run(recall.call({"query": " "}, context))
    with pytest.raises(ToolError, match="no memory"):
        asyncio.run(recall.call({"query": "x"}))


def test_what_shares_nothing_with_the_question_is_no_evidence_beside_what_does() -> None:
    class Both(Fake):
        def recall(self, question: str, k: int = 10, budget_tokens: int = 800, thread: str | None = None) -> Found:
            others = [Item("m2", "The meeting lasted an hour", 0.0), Item("m3", "Figs keep a week", 0.4)]
            return Found(others if "figs" in question else others[:1], "> all of it")

    def evidence(query: str) -> list[str]:
        return [
            source for source, _ in asyncio.run(recall.call({"query": query}, ToolContext(memory=Both()))).evidence
        ]

    assert evidence("How long do figs keep?") == ["memory:m3"]
    assert evidence("And the gathering?") == ["memory:m2"]  # in other words, perhaps


def test_the_real_memory_fits() -> None:
    memory = Memory("sqlite://")
    fits: MemoryLike = memory
    memory.add("Ada's train leaves at 9:40", source="mail:7")
    context = ToolContext(memory=fits)
    result = asyncio.run(recall.call({"query": "When does the train leave?"}, context))
    assert result.value[0]["source"] == "mail:7"
    read = asyncio.run(read_memory.call({"id": result.value[0]["id"]}, context))
    assert read.text == "Ada's train leaves at 9:40"


def test_builtin_tools() -> None:
    tools = builtin_tools()
    assert all(name == item.name for name, item in tools.items())
    assert len(tools) == 17
    for name, item in tools.items():
        reaching: dict[str, set[str]] = {name: set() for name in ("calculate", "convert", "date_math", "python")}
        reaching["web"] = {"egress", "untrusted-source"}
        assert item.labels == reaching.get(name, {"reads-private"}), name
        assert item.has_side_effects == (name == "web")
        assert len(item.description) < 250, name
        described = item.input_schema.get("properties", {})
        assert all("description" in argument for argument in described.values()), name
        assert "context" not in described


def test_importing_the_package_is_light() -> None:
    heavy = ("duckdb", "pint", "numpy", "jsonschema", "regex")
    code = f"import sys, pointwork.tools; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
