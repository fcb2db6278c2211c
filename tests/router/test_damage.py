"""A live version that can no longer be read must not bar the way back from it."""

import io
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update

from pointwork.cli.app import run_app
from pointwork.embedding import HashingEmbedder
from pointwork.errors import StoreError, UsageError
from pointwork.router import Arm, Outcome, Router, persistence
from pointwork.router.log import Log
from pointwork.router.router import REPLAY_LONG
from pointwork.store import Store, tables

ARMS = [Arm("small"), Arm("large")]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


def served(url: str, rounds: int = 6, name: str = "default") -> Router:
    """A router that has learnt a little and written versions 1 and 2."""
    store = Store(url)
    router = Router(ARMS, "random", store=store, name=name)
    for number in range(rounds):
        router.learn(router.decide(f"task {number}").id, Outcome(quality=0.5))
    store.flush()
    router.checkpoint()
    return router


def promoted(url: str, name: str = "default") -> None:
    """Make a version live as ``promote`` does, without the proof."""
    router = Router(ARMS, "linucb", name=name)
    router.decide("task")
    state = persistence.dump(router._core, {"cursor": 0, "synced": -1.0})  # pyright: ignore[reportPrivateUsage]
    Log(Store(url), name).propose(state, "linucb", 1, 1e9, {})


def damage(url: str, *versions: int) -> None:
    table = tables.router_versions
    with Store(url).write() as connection:
        chosen = table.c.version.in_(versions)
        connection.execute(update(table).where(chosen).values(state=b"PK\x03\x04 and nothing more"))


def live(url: str) -> list[int]:
    table = tables.router_versions
    return [row["version"] for row in Store(url).rows(select(table.c.version).where(table.c.live))]


def test_who_opens_a_damaged_router_is_told_of_the_way_back(url: str):
    served(url)
    damage(url, 2)
    for opened in (lambda: Router(ARMS, store=Store(url)), lambda: Router.of_log(Store(url), "default")):
        with pytest.raises(
            StoreError, match=r"version 2 of router 'default' is damaged.*rollback --router default"
        ):
            opened()


def test_the_way_back_from_a_damaged_promotion(url: str, caplog: pytest.LogCaptureFixture):
    served(url)
    promoted(url)
    damage(url, 3)
    with pytest.raises(StoreError, match="version 3 of router 'default' is damaged"):
        Router(ARMS, "random", store=Store(url))
    with caplog.at_level(logging.WARNING, "pointwork.router"):
        assert Router.rollback_of(Store(url), "default") == 2
    assert "version 3 of router 'default' is damaged" in caplog.text
    assert live(url) == [2]
    again = Router(ARMS, "random", store=Store(url))
    assert (again.clock, again.policy.name) == (6, "random")


def test_a_damaged_version_that_nobody_promoted_is_gone_back_from_too(url: str):
    served(url)
    damage(url, 2)
    assert Router.rollback_of(url, "default") == 1
    again = Router(ARMS, "random", store=Store(url))
    assert again.clock == 6  # what came after version 1 is in the log
    assert sum(row["graded"] for row in again.show()) == 6
    with pytest.raises(UsageError, match="nothing to roll back"):
        again.rollback()


def test_a_promotion_that_was_undone_does_not_come_back_so(url: str):
    router = served(url)
    promoted(url)
    assert router.rollback() == 2
    router.decide("more")
    assert router.checkpoint() == 4
    damage(url, 4)
    assert Router.rollback_of(Store(url), "default") == 2


def test_a_router_that_is_open_goes_back_from_a_damaged_version(url: str):
    router = served(url)
    promoted(url)
    damage(url, 3)
    with pytest.raises(StoreError, match="damaged"):
        router.sync()
    assert router.rollback() == 2
    assert router.sync() == 0
    assert router.clock == 6


@pytest.mark.parametrize("broken", [(2,), (2, 3)])
def test_what_can_not_be_read_is_not_gone_back_to(url: str, broken: tuple[int, ...]):
    router = served(url)
    promoted(url)
    damage(url, *broken)
    if 3 not in broken:
        router.sync()
    for back in (router.rollback, lambda: Router.rollback_of(Store(url), "default")):
        with pytest.raises(StoreError, match=r"version 2 of router 'default' is damaged.*nothing was changed"):
            back()
    assert live(url) == [3]


def test_with_no_earlier_version_one_learns_anew(url: str):
    served(url)
    table = tables.router_versions
    with Store(url).write() as connection:
        connection.execute(table.delete().where(table.c.version == 1))
    damage(url, 2)
    with pytest.raises(StoreError, match="version 2 .* is damaged.* no earlier one is kept.*router_versions"):
        Router.rollback_of(Store(url), "default")
    with Store(url).write() as connection:  # as the message says
        connection.execute(table.delete().where(table.c.version == 2))
    assert sum(row["graded"] for row in Router(ARMS, store=Store(url)).show()) == 6


@pytest.mark.parametrize(
    ("broken", "error", "why"),
    [
        (False, UsageError, "from before the promotion .* is no longer kept"),
        (True, StoreError, "version 3 .* is damaged.* no earlier one is kept.*learns anew"),
    ],
)
def test_a_promotion_with_nothing_before_it(url: str, broken: bool, error: type[Exception], why: str):
    served(url)
    promoted(url)
    table = tables.router_versions
    with Store(url).write() as connection:
        connection.execute(table.delete().where(table.c.version < 3))
    if broken:
        damage(url, 3)
    with pytest.raises(error, match=why):
        Router.rollback_of(Store(url), "default")


def test_another_format_is_no_damage(url: str, monkeypatch: pytest.MonkeyPatch):
    served(url)
    monkeypatch.setattr(persistence, "FORMAT", persistence.FORMAT + 1)
    with pytest.raises(UsageError, match="nothing to roll back"):
        Router.rollback_of(Store(url), "default")


def test_the_command_is_told_as_a_shell_takes_it(url: str):
    served(url, name="our team")
    damage(url, 2)
    with pytest.raises(StoreError, match="rollback --router 'our team'"):
        Router(ARMS, store=Store(url), name="our team")


def test_a_way_back_to_other_text_features_is_refused_before_anything_is_changed(url: str):
    served(url)
    promoted(url)
    other = Router(ARMS, store=Store(url), embedder=HashingEmbedder(16))
    before = live(url)
    with pytest.raises(UsageError, match="text features"):
        other.rollback()
    assert live(url) == before


def test_nothing_to_go_back_from(url: str):
    served(url)
    for name in ("default", "nobody"):
        with pytest.raises(UsageError, match="nothing to roll back"):
            Router.rollback_of(Store(url), name)


@pytest.mark.parametrize(("at", "byte"), [(10, 0x63), (8, 0x01)])
def test_damage_that_looks_like_another_kind_of_zip(at: int, byte: int, tmp_path: Path):
    """An unknown compression, a password: zipfile raises errors of other kinds than for broken sums."""
    Router(ARMS).save(tmp_path / "router.npz")
    data = bytearray((tmp_path / "router.npz").read_bytes())
    data[data.index(b"PK\x01\x02") + at] = byte  # the directory, which zipfile goes by
    (tmp_path / "router.npz").write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        Router.load(tmp_path / "router.npz")


def test_all_versions_are_listed_where_the_live_one_is_damaged(url: str, capsys: pytest.CaptureFixture[str]):
    """By this command one finds the way back."""
    served(url, name="team")
    promoted(url, "team")
    damage(url, 3)
    options = ["--store", url, "router", "versions"]
    assert run_app(options) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert ["live, damaged" in line for line in lines] == [False, True, False, False]
    assert "to go back to version 2: pointwork router rollback" in said.err
    assert run_app([*options, "--json"]) == 0
    found: Any = json.loads(capsys.readouterr().out)
    assert [(row["version"], row["live"], bool(row["damage"])) for row in found] == [
        (3, True, True),
        (2, False, False),
        (1, False, False),
    ]
    assert "version 3 of router 'team' is damaged" in found[0]["damage"]


@pytest.mark.parametrize(("rounds", "why"), [(0, "no earlier one is kept"), (6, "it is the one to go back to")])
def test_no_way_back_is_advised_that_can_not_be_gone(
    url: str, rounds: int, why: str, capsys: pytest.CaptureFixture[str]
):
    if rounds:
        served(url, name="team")
    else:
        Router(ARMS, store=Store(url), name="team")
    damage(url, 1, 2)
    assert run_app(["--store", url, "router", "versions"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert why in said
    assert "without its row in router_versions" in said
    assert "router rollback" not in said


@pytest.mark.parametrize("lacking", ["estimates/", "pacer/", "clock", "an arm"])
def test_a_version_that_can_be_unpacked_and_does_not_fit_is_damaged_too(
    url: str, lacking: str, capsys: pytest.CaptureFixture[str]
):
    router = served(url, name="team")
    live = Log(Store(url), "team").live()
    assert live is not None
    with np.load(io.BytesIO(live["state"])) as file:
        arrays: dict[str, Any] = {name: file[name] for name in file.files if not name.startswith(lacking)}
    meta = json.loads(arrays["meta"].tobytes())
    meta.pop(lacking, None)
    meta["arms"] = meta["arms"][lacking == "an arm" :]
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    packed, table = io.BytesIO(), tables.router_versions
    np.savez(packed, **arrays)
    with Store(url).write() as connection:
        connection.execute(update(table).where(table.c.live).values(state=packed.getvalue()))
    assert run_app(["--store", url, "router", "versions"]) == 0
    assert ["damaged" in line for line in capsys.readouterr().out.splitlines()] == [False, True, False]
    with pytest.raises(StoreError, match="version 2 .* does not fit together.*rollback --router team"):
        Router(ARMS, store=Store(url), name="team")
    assert router.rollback() == 1


def for_reading(store: Store) -> str:
    """Address of the same store for one who may read it, and not write."""
    if store.one_writer:
        return f"sqlite:///file:{store.sqlite_path}?mode=ro&uri=true"
    user = f"reader_of_{store.url.database}"
    with store.write() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {user} LOGIN")
        connection.exec_driver_sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}")
    return store.url.set(username=user).render_as_string(hide_password=False)


def test_a_store_that_may_only_be_read_can_be_looked_at(database: Store, capsys: pytest.CaptureFixture[str]):
    store = database
    router = Router(ARMS, "random", store=store, name="mine")
    for number in range(REPLAY_LONG + 1):  # opening it anew would write a version
        router.learn(router.decide("text", features=[1.0, number % 2]).id, Outcome(0.5))
    store.flush()
    options = ["--store", for_reading(store), "router"]
    assert run_app([*options, "replay", "static", "--router", "mine"]) == 0
    assert run_app([*options, "show"]) == 0  # there is no version of the team's yet
    capsys.readouterr()
    assert [row["policy"] for row in Log(store, "team").versions()] == []
    reader = Store(options[1])
    looked_at = Router.of_log(reader, "mine")
    looked_at.decide(features=[1.0, 0.0])  # which can not be stored, and that is not kept quiet
    with pytest.raises(StoreError, match="readonly|permission denied .*GRANT"):
        looked_at.keep()
    reader._buffer.reset()  # pyright: ignore[reportPrivateUsage] - else the end of the process tries once more


def test_to_list_versions_makes_none(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Log, "arms", None)  # it reads the whole log
    options = ["--store", url, "router", "versions"]
    for _ in range(2):
        assert run_app(options) == 0
        assert "no versions yet" in capsys.readouterr().out
    assert run_app([*options, "--router", "nobody"]) == 2
    assert "no router 'nobody'" in capsys.readouterr().err
    router = Router(ARMS, name="somebody")
    router.decide("text")
    router.save(tmp_path / "router.npz")
    store = Store(url)
    Router.load(tmp_path / "router.npz", store=store).decide("text")  # logs, and writes no version
    store.flush()
    assert run_app([*options, "--router", "somebody"]) == 0


def test_the_command_says_what_it_found(url: str, capsys: pytest.CaptureFixture[str]):
    served(url, name="team")
    promoted(url, "team")
    damage(url, 3)
    options = ["--store", url, "router"]
    assert run_app([*options, "show"]) == 1
    assert "router rollback" in " ".join(capsys.readouterr().err.split())
    assert run_app([*options, "rollback"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "version 3 of router 'team' is damaged" in said
    assert "version 2 (random) is live again" in said
    damage(url, 2)
    assert run_app([*options, "rollback", "--json"]) == 0
    found: Any = json.loads(capsys.readouterr().out)
    assert (found["version"], found["policy"]) == (1, "random")
    assert "damaged" in found["damage"]
    assert run_app([*options, "rollback"]) == 2
