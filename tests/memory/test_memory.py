"""``Memory`` as its users see it."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from pointwork.errors import StoreError, UsageError
from pointwork.memory import Entry, Memory
from pointwork.store import Store
from pointwork.store.tables import memory_items, memory_usage

anything = st.text(st.characters(exclude_categories=[]), min_size=1)  # lone surrogates and NUL too
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def shared() -> Memory:
    return Memory()


@pytest.fixture
def memory() -> Memory:
    return Memory()


def sources(memory: Memory, question: str, k: int = 10) -> list[str]:
    return [item.source for item in memory.recall(question, k=k).items]


def test_the_example_of_the_design(tmp_path: Path) -> None:
    m = Memory(f"sqlite:///{tmp_path / 'new' / 'x.db'}")
    item_id = m.add(
        "Trains\nThe train to Ghent leaves at 9:40.", source="doc:1", trust="user", title=None, time=None
    )
    found = m.recall("When does the Ghent train leave?", k=10, budget_tokens=800)
    item = found.items[0]
    assert (item.id, item.source, item.trust, item.title) == (item_id, "doc:1", "user", "Trains")
    assert m.read(item_id) == item.text == "Trains\nThe train to Ghent leaves at 9:40."
    assert item.score > 0
    assert found.tiers == dict.fromkeys(("filter", "entity", "temporal", "topic", "summary"), "mid")
    assert (found.cost.tokens, found.cost.usd) == (0, 0)
    assert found.cost.seconds > 0
    assert "leaves at 9:40" in found.text
    assert item_id in found.text


@few
@given(text=anything)
def test_what_is_accepted_is_read_back_exactly(shared: Memory, text: str) -> None:
    try:
        item_id = shared.add(text, source="any")
    except UsageError:
        assert not text.strip()
        return
    assert shared.read(item_id) == text
    assert shared.get(item_id).source == "any"


@few
@given(text=st.text("ab \n.\ud800\0é", min_size=2001, max_size=6000))
def test_long_texts_are_kept_whole_and_in_exact_chunks(shared: Memory, text: str) -> None:
    if not text.strip():
        return
    before = len(shared)
    parent = shared.add(text, source="long", trust="web", thread="t", speaker="s", time=5)
    assert len(shared) == before + 1
    rows = shared.store.rows(
        select(memory_items).where(memory_items.c.parent_id == parent).order_by(memory_items.c.start)
    )
    assert "".join(shared.read(row["id"]) for row in rows) == text == shared.read(parent)
    for row in rows:
        chunk = shared.get(row["id"])
        assert chunk.text == text[chunk.start : chunk.end]
        assert (chunk.source, chunk.trust, chunk.thread, chunk.speaker, chunk.time) == (
            "long",
            "web",
            "t",
            "s",
            5.0,
        )
        assert chunk.parent == parent


def test_a_megabyte(memory: Memory) -> None:
    text = "".join(f"Paragraph {n} speaks of rails and wagon w{n}.\n\n" for n in range(24_000))
    assert len(text) > 10**6
    parent = memory.add(text, source="book")
    (best, *_) = memory.recall("wagon w12345").items
    assert "w12345" in best.text
    assert (best.parent, best.source) == (parent, "book")
    assert memory.read(best.id) == best.text == text[best.start : best.end]
    assert memory.read(parent) == text
    assert len(memory) == 1
    assert memory.delete(id=best.id) == 1
    assert memory.recall("wagon w12345").items == []


@pytest.mark.parametrize("text", ["", "  \n\t", None, b"bytes", 5])
def test_what_is_no_text_is_refused(memory: Memory, text: object) -> None:
    with pytest.raises(UsageError, match="memory keeps text"):
        memory.add(text)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"trust": "root"}, "trust='root'"),
        ({"source": "a\0b"}, "source="),
        ({"source": None}, "source=None"),
        ({"title": "\ud800"}, "title="),
        ({"speaker": "s" * 257}, "speaker has 257"),
        ({"thread": "s" * 257}, "thread has 257"),
        ({"time": "soon"}, "time='soon'"),
    ],
)
def test_bad_labels_are_refused_and_nothing_is_stored(
    memory: Memory, labels: dict[str, str | None], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        memory.add("text", **labels)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match=message):
        memory.add_many([Entry("good"), Entry("text", **labels)])  # pyright: ignore[reportArgumentType]
    assert len(memory) == 0


def same_ids(rows: list[dict[str, object]], first: int) -> list[str]:
    """Ids that the database refuses after the first batch."""
    for row in rows:
        row["id"] = f"m{first}" if row is rows[-1] or row is rows[0] else f"m{id(row)}"
    return []


def test_an_add_that_fails_half_way_leaves_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pointwork.memory.episodic._BATCH", 2)
    monkeypatch.setattr("pointwork.memory.episodic.numbered", same_ids)
    with pytest.raises(StoreError):
        memory.add_many([Entry("one " * 1000), Entry("two")])
    assert (len(memory), memory.recall("one").items) == (0, [])


def test_titles(memory: Memory) -> None:
    titles = {
        "given": memory.add("first\nsecond", title="given"),
        "first": memory.add(" first \nsecond"),
    }
    for title, item_id in titles.items():
        assert memory.get(item_id).title == title
    assert memory.get(memory.add("no line break")).title is None
    assert memory.get(memory.add("long " * 100 + "\nrest")).title is None


def test_times_are_kept_and_found(memory: Memory) -> None:
    for day, year in ((7, 2022), (8, 2023)):
        memory.add("We met for tea at the yard", source=str(year), time=f"{year}-05-0{day}T13:56:00+02:00")
    assert memory.items()[1].time == 1683546960.0
    assert sources(memory, "When did we meet for tea in May 2022?")[0] == "2022"
    assert sources(memory, "Did we meet for tea on 8 May 2023?")[0] == "2023"
    now = 1683546960.0 + 86_400
    assert memory.recall("tea yesterday", now=now).items[0].source == "2023"


def test_a_thread_is_preferred_and_nothing_excluded(memory: Memory) -> None:
    for number in range(300):
        memory.add(f"The tea in cup {number} is green tea", source="other", thread=f"t{number}")
    memory.add("The tea that we spoke of is black", source="mine", thread="mine")
    assert sources(memory, "What tea?", k=3) == ["other"] * 3
    found = memory.recall("What tea?", k=3, thread="mine")
    assert [item.source for item in found.items] == ["mine", "other", "other"]
    assert "mine" not in sources(memory, "green cup", k=3)


def test_names_raise(memory: Memory) -> None:
    memory.add("Bob likes the rail yard a lot, the rail yard is great", source="bob")
    memory.add("Ada likes the rail yard", source="ada")
    found = memory.recall('What does Ada say of the "rail yard"?')
    assert found.items[0].source == "ada"
    assert found.why[found.items[0].id]["entity"] > found.why[found.items[1].id]["entity"]


def test_neighbouring_turns_help(memory: Memory) -> None:
    memory.add("What did you paint last summer?", source="q", speaker="Ada", thread="t")
    memory.add("A sunrise over the lake.", source="a", speaker="Bob", thread="t")
    memory.add("Nice weather.", source="elsewhere", speaker="Bob", thread="u")
    memory.add("The invoice is overdue.", source="nothing", speaker="Bob", thread="v")
    found = sources(memory, "What was painted in summer?")
    assert set(found[:2]) == {"q", "a"}  # the answer shares no word with it
    assert "nothing" not in found


@few
@given(texts=st.lists(st.text("ab .\n", min_size=1, max_size=3000), max_size=6), budget=st.integers(1, 400))
def test_the_budget_holds(texts: list[str], budget: int) -> None:
    from pointwork.text import count_tokens_estimate

    memory = Memory()
    for number, text in enumerate(texts):
        if text.strip():
            memory.add(text, trust=("user", "web", "tool", "agent")[number % 4])
    found = memory.recall("aa bb ab ba b", budget_tokens=budget)
    assert count_tokens_estimate(found.text) == found.tokens <= budget
    assert set(found.shown) <= {item.id for item in found.items}
    for item in found.items:
        assert memory.read(item.id) == item.text
        assert (item.id in found.shown) <= (item.id in found.text)


@pytest.mark.parametrize("tier", ["low", "mid"])
def test_what_is_cut_keeps_its_id_and_the_best_sentences(memory: Memory, tier: str) -> None:
    filler = "Nothing of interest is in this sentence at all. "
    item_id = memory.add(filler * 15 + "The key is under the third wagon. " + filler * 15, source="long")
    memory.add("The key is old.", source="short")
    found = memory.recall("Where is the wagon key?", budget_tokens=120, tiers={"summary": tier})
    assert "under the third wagon" in found.text
    assert ("…" in found.text) == (tier == "low")
    assert item_id in found.text
    assert memory.read(item_id).count("interest") == 30


def test_a_store_that_can_only_be_read_answers_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = Memory(f"sqlite:///{tmp_path}/x.db")
    memory.add("The gate opens at seven.")
    memory.store.close()
    monkeypatch.setattr("pointwork.store.buffer.SECONDS", 0.0)  # what is used is written at once
    reader = Memory(f"sqlite:///file:{tmp_path}/x.db?mode=ro&uri=true")
    for _ in range(3):
        assert [item.id for item in reader.recall("When does the gate open?").items] == ["m1"]
    assert "could not be stored now" in caplog.text
    with pytest.raises(StoreError):
        reader.add("The gate closes at nine.")


@pytest.mark.parametrize("label", ["source", "thread", "speaker"])
def test_labels_that_nothing_can_have(memory: Memory, label: str) -> None:
    memory.add("tea", source="s0")
    for name in ("\udcff.txt", "a\0b"):  # as a shell hands over the name of a file
        assert memory.delete(**{label: name}) == 0
        asked: dict[str, Any] = {label: name}
        assert memory.items(**asked) == []
    with pytest.raises(UsageError, match=f"{label}=5"):
        memory.delete(**{label: 5})  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match=f"{label}=5"):
        memory.items(**{label: 5})  # pyright: ignore[reportArgumentType]
    assert len(memory) == 1


def test_deletion_by_source_thread_speaker_and_id(memory: Memory) -> None:
    for number in range(4):
        memory.add(f"tea number {number} " * 300, source=f"s{number}", thread=f"t{number}", speaker=f"p{number}")
    last = memory.items()[-1].id
    assert len(memory.recall("tea", k=99).items) > 4
    assert memory.delete(source="s0") == 1
    assert memory.delete(thread="t1", speaker="p1") == 1
    assert memory.delete(thread="t1", speaker="p2") == 0
    assert {item.source for item in memory.recall("tea", k=99).items} == {"s2", "s3"}
    assert memory.delete(id=last) == 1
    assert memory.delete(id=last) == 0
    assert {item.source for item in memory.recall("tea", k=99).items} == {"s2"}
    assert [item.source for item in memory.items()] == ["s2"]
    assert len(memory) == 1
    with pytest.raises(UsageError, match="no item"):
        memory.read(last)
    assert not memory.store.rows(select(memory_items).where(memory_items.c.text.contains("number 3")))
    for arguments in ({}, {"id": "m1", "source": "s"}):
        with pytest.raises(UsageError, match="delete needs"):
            memory.delete(**arguments)


def test_ids_are_short_and_never_given_out_again(database: Store) -> None:
    """Each piece of a text is paid for with its id; what was deleted must not come back as another text."""
    one, two = Memory(database), Memory(Store(database.url.render_as_string(hide_password=False)))
    ids = [one.add("first"), two.add("word " * 1000), one.add("third"), two.add("fourth")]
    assert ids == list(dict.fromkeys(ids))
    assert all(len(item_id) <= 4 for item_id in ids)
    chunk = one.recall("word").items[0]
    assert chunk.id.startswith(f"{ids[1]}.")
    assert two.read(chunk.id) == chunk.text
    for gone in (ids[3], ids[1]):
        one.delete(id=gone)
        new = two.add("another text")
        assert new not in ids
        ids.append(new)
        with pytest.raises(UsageError, match="no item"):
            two.read(gone)
    two.store.close()


def test_the_parts_of_a_source_go_with_it(database: Store) -> None:
    memory = Memory(database)
    named = ("guide.md", "guide.md#Staff", "guide.md#50%_off", "GUIDE.md#Staff", "guide.mdx", "guide%md#x", "guide")
    for source in named:
        memory.add(f"text of {source}", source=source)
    assert [item.source for item in memory.items(source="guide.md")] == list(named[:3])
    assert memory.delete(source="guide%md") == 1
    assert memory.delete(source="guide.md#Staff") == 1
    assert memory.delete(source="guide.md") == 2
    assert [item.source for item in memory.items()] == ["GUIDE.md#Staff", "guide.mdx", "guide"]


def test_listing(memory: Memory) -> None:
    memory.add_many([Entry(f"note {n}", source=f"s{n % 2}", thread="t" if n > 3 else None) for n in range(6)])
    assert [item.text for item in memory.items(limit=2, offset=1)] == ["note 1", "note 2"]
    assert [item.text for item in memory.items(source="s1")] == ["note 1", "note 3", "note 5"]
    assert [item.text for item in memory.items(source="s1", thread="t")] == ["note 5"]
    assert len(memory.items()) == len(memory) == 6
    with pytest.raises(UsageError, match="negative"):
        memory.items(limit=-1)


def test_empty_memory_and_questions_that_fit_nothing(memory: Memory) -> None:
    empty = memory.recall("anything?")
    assert (empty.items, empty.text, empty.tokens, empty.shown) == ([], "", 0, ())
    memory.add("tea")
    assert memory.recall("what is the").items == []
    assert memory.recall("zebra \ud800 \0").items == []
    assert memory.store.rows(select(memory_usage.c.question))[-1]["question"] == "zebra \ufffd \ufffd"


@pytest.mark.parametrize(
    "arguments",
    [
        {"question": ""},
        {"question": " \n"},
        {"question": None},
        {"question": "q", "k": 0},
        {"question": "q", "k": -1},
        {"question": "q", "k": 1.5},
        {"question": "q", "k": True},
        {"question": "q", "tiers": 5},
        {"question": "q", "budget_tokens": 0},
        {"question": "q", "budget_tokens": None},
        {"question": "q", "thrift": -0.1},
        {"question": "q", "thrift": float("nan")},
        {"question": "q", "thrift": None},
        {"question": "q", "thread": 5},
        {"question": "q", "now": float("nan")},
        {"question": "q", "now": 1e300},
        {"question": "q", "tiers": {"summary": "highest"}},
        {"question": "q", "tiers": {"filter": "best"}},
        {"question": "q", "tiers": {"filtre": "low"}},
        {"question": "q", "run_id": "r" * 65},
    ],
)
def test_wrong_questions_are_refused(memory: Memory, arguments: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        memory.recall(**arguments)  # pyright: ignore[reportArgumentType]


def test_use_is_logged(memory: Memory) -> None:
    item_id = memory.add("tea at four")
    found = memory.recall("tea", run_id="r1", subtask="s1")
    (row,) = memory.store.rows(select(memory_usage))
    assert (row["run_id"], row["subtask"], row["question"]) == ("r1", "s1", "tea")
    assert row["items"] == [[item_id, found.items[0].score]]
    assert (row["tokens"], row["usd_nano"]) == (found.tokens, 0)
    assert row["tiers"]["filter"] == "mid"


# -- several at once ---------------------------------------------------------------------------------------


def test_two_memories_on_one_file_see_each_other(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    one, two = Memory(Store(url)), Memory(Store(url))  # two stores: as two processes have
    one.add("tea one", source="one")
    assert sources(two, "tea") == ["one"]
    last = two.add("tea two", source="two")
    assert sorted(sources(one, "tea")) == ["one", "two"]
    one.delete(id=last)
    two.add("tea three", source="three")  # SQLite would give it the number of the one deleted
    assert sorted(sources(one, "tea")) == sorted(sources(two, "tea")) == ["one", "three"]
    two.delete(source="one")
    assert sources(one, "tea") == ["three"]


def test_another_process_is_seen(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    memory = Memory(url)
    memory.add("tea here", source="here")
    assert sources(memory, "tea") == ["here"]
    code = f"from pointwork.memory import Memory; m = Memory({url!r}); m.add('tea there', source='there')"
    subprocess.run([sys.executable, "-c", code + "; m.delete(source='here')"], check=True)
    assert sources(memory, "tea") == ["there"]


def test_threads(tmp_path: Path) -> None:
    memory = Memory(f"sqlite:///{tmp_path / 'm.db'}")
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(8):
                item_id = memory.add(
                    f"tea of thread {number} turn {turn}", source=f"s{number}", thread=f"t{number}"
                )
                found = memory.recall(f"thread {number} turn {turn}", k=50)
                assert any(item.id == item_id for item in found.items)
            memory.delete(id=memory.items(source=f"s{number}")[0].id)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(memory) == len(memory.recall("tea", k=99).items) == 5 * 7


steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "long", "delete", "recall"]),
        st.text("abc ", min_size=1, max_size=12),
        st.sampled_from(["t", "u", None]),
        st.booleans(),
    ),
    max_size=14,
)


@few
@given(steps=steps)
def test_an_index_that_followed_equals_one_built_anew(steps: list[tuple[str, str, str | None, bool]]) -> None:
    memory = Memory()
    for number, (kind, text, thread, speaks) in enumerate(steps):
        if kind == "delete" and len(memory):
            gone = memory.items()[number % len(memory)].id
            memory.delete(id=gone)
            for item in memory.recall("a b c aa ab", k=99).items:
                assert gone not in (item.id, item.parent)
        elif kind == "recall":
            memory.recall("a b c")
        elif text.strip():
            memory.add(text * (300 if kind == "long" else 1), thread=thread, speaker="ab" if speaks else None)
    fresh = Memory(memory.store)
    for question in ("aa bb cc", "ab", "b c ba"):
        old, new = (m.recall(question, k=99, thread="t").items for m in (memory, fresh))
        assert old == new


def test_the_import_is_cheap() -> None:
    code = "import pointwork.memory, sys; print({'numpy', 'sklearn', 'torch', 'litellm'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
