"""Which adapter serves a role: published, packaged or none; and that each call says so."""

import asyncio
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from pointwork.bench.metering import Meters
from pointwork.budgets import Budget
from pointwork.errors import ConfigError, ProviderError
from pointwork.ledger import Ledger
from pointwork.models import ChatRequest, adapters
from pointwork.models.adapters import Adapter, adapter_for, base_of, names_of, packaged
from pointwork.models.embedded import EmbeddedClient
from pointwork.models.factory import open_client
from pointwork.models.gateway import Caller, Models
from pointwork.models.openai_http import OpenAIClient
from pointwork.models.protocol import Completion, ModelClient, Price
from pointwork.settings import ModelSettings, Settings
from pointwork.store import Store, new_id
from pointwork.store.tables import ledger, models, runs, steps

URL = "http://127.0.0.1:9/v1"


def publish(store: Store, role: str, version: str, **place: Any) -> None:
    """What a publication leaves in the store."""
    with store.write() as connection:
        connection.execute(
            update(models).where(models.c.role == role, models.c.state == "live").values(state="retired")
        )
        connection.execute(
            models.insert().values(
                id=new_id(), role=role, version=version, base="b", path=place.pop("folder", "/x"),
                sha256=place.pop("sha256", ""), metrics={"place": place}, state="live", created=time.time(),
            )
        )  # fmt: skip


def on_vllm(store: Store, role: str, version: str) -> None:
    publish(store, role, version, kind="vllm", base=URL, served_as=version)


class Answering:
    """A client that says its version, whatever it is asked."""

    name, price, context_tokens = "m", Price(), 4096

    def __init__(self, version: str) -> None:
        self.version, self.closed = version, 0

    def count_tokens(self, messages: Any) -> int:
        return 5

    async def chat(self, request: ChatRequest) -> Completion:
        return Completion("ok", 5, 1, "stop", "m", self.version)

    async def aclose(self) -> None:
        self.closed += 1


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Answering]:
    """All clients that the gateway opened."""
    made: list[Answering] = []

    def fake(spec: str, *, adapter: Adapter | None = None, **_: Any) -> ModelClient:
        made.append(Answering("" if adapter is None else adapter.version))
        return made[-1]

    monkeypatch.setattr("pointwork.models.open_client", fake, raising=False)
    return made


class Calls:
    """Calls of runs, and what the ledger says of them."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.models = store, Models(settings, store)

    def __call__(self, role: str, run: str) -> str:
        if self.store.row(select(runs).where(runs.c.id == run)) is None:
            with self.store.write() as connection:
                values = {
                    "id": run,
                    "task": "t",
                    "status": "running",
                    "created": time.time(),
                    "package_version": "1",
                }
                connection.execute(runs.insert().values(**values))
        account = Ledger(self.store).open(run, Budget())
        request = ChatRequest([{"role": "user", "content": "hello"}])
        answer = asyncio.run(self.models.chat(role, request, Caller(account, "planner", run)))
        rows = self.store.rows(select(ledger).where(ledger.c.run_id == run, ledger.c.kind == "settle"))
        logged = self.store.rows(select(steps).where(steps.c.run_id == run, steps.c.kind == "model"))
        assert rows[-1]["model_version"] == logged[-1]["model_version"] == answer.version
        return answer.version


SETTINGS = Settings(
    models={"planner": ModelSettings(model=f"{URL}#m"), "worker-small": ModelSettings(model="local:")}
)


def test_a_publication_is_seen_by_the_next_run_and_not_within_one(store: Store, opened: list[Answering]) -> None:
    call = Calls(store, SETTINGS)
    assert call("planner", "r1") == ""
    on_vllm(store, "planner", "planner-1-aa")
    assert call("planner", "r1") == ""
    assert call("planner", "r2") == "planner-1-aa"
    other_process = Store(f"sqlite:///{store.sqlite_path}")
    on_vllm(other_process, "planner", "planner-2-bb")
    other_process.close()
    assert call("planner", "r2") == "planner-1-aa"
    assert call("planner", "r3") == "planner-2-bb"
    assert call("worker-small", "r3") == ""
    assert [client.version for client in opened] == ["", "planner-1-aa", "planner-2-bb", ""]


def test_only_two_versions_stay_open(store: Store, opened: list[Answering]) -> None:
    call = Calls(store, SETTINGS)
    for number in range(4):
        on_vllm(store, "planner", f"planner-{number}")
        call("planner", f"r{number}")
    assert [client.closed for client in opened if client.version] == [1, 1, 0, 0]
    assert call("planner", "r0") == "planner-0"  # a long run ends with the version it began with
    asyncio.run(call.models.aclose())
    assert all(client.closed for client in opened)


def test_base_models_only(store: Store, opened: list[Answering]) -> None:
    on_vllm(store, "planner", "planner-1-aa")
    call = Calls(store, SETTINGS.model_copy(update={"adapters": False}))
    assert call("planner", "r1") == ""


def test_clients_of_the_users_own_are_left_alone(store: Store) -> None:
    on_vllm(store, "planner", "planner-1-aa")
    call = Calls(store, SETTINGS)
    call.models = Models(SETTINGS, store, {"planner": Answering("mine")})
    assert call("planner", "r1") == "mine"


def test_a_client_of_the_users_own_counts_as_trained_if_it_has_a_version(store: Store) -> None:
    models = Models(Settings(), store, {"reader": Answering("v1"), "planner": Answering("")})
    assert models.trained("reader")
    assert not models.trained("planner")
    assert not models.trained("worker-small")  # served by another role's


def test_an_adapter_belongs_to_one_model(store: Store) -> None:
    on_vllm(store, "planner", "planner-1-aa")
    found = adapter_for(store, "planner", f"{URL}#m")
    assert found == Adapter("planner-1-aa", "vllm", URL, served_as="planner-1-aa", folder=Path("/x"))
    assert adapter_for(store, "planner", "local:") is None
    assert adapter_for(store, "planner", "openai/gpt-5") is None
    assert adapter_for(store, "judge", f"{URL}#m") is None
    assert base_of("local:") == base_of("local:SmolLM2-135M-Instruct") == "SmolLM2-135M-Instruct"
    assert base_of("local:/a/../b.gguf") == "/b.gguf"


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("local:", {"SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct.Q4_1"}),
        ("local:/x/SmolLM2-135M-Instruct.Q4_1.gguf", {"SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct.Q4_1"}),
        ("local:/x/mine.Q8_0.gguf", {"mine.Q8_0"}),
        (f"{URL}#org%2Fm", {"org/m"}),
        (URL, set[str]()),
        ("gpt-4o-mini", {"gpt-4o-mini"}),
    ],
)
def test_a_models_names_are_those_that_its_clients_have(tmp_path: Path, spec: str, names: set[str]) -> None:
    assert names_of(spec) == names
    if spec.startswith("local:/"):  # the file must be there to be opened
        file = tmp_path / Path(spec).name
        file.touch()
        spec = f"local:{file}"
    if names and spec != "gpt-4o-mini":
        assert open_client(spec).name in names


def test_another_kind_of_model_in_the_table(store: Store) -> None:
    with store.write() as connection:
        values: dict[str, Any] = {
            "id": "g",
            "role": "memory-gate",
            "version": "1",
            "base": "logistic",
            "metrics": {"weights": []},
        }
        connection.execute(models.insert().values(**values, state="live", created=0.0))
    assert adapter_for(store, "memory-gate", "local:") is None


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with an adapter for the planner."""
    folder = tmp_path / "adapters"
    (folder / "planner").mkdir(parents=True)
    (folder / "planner" / "adapter.gguf").write_bytes(b"weights")
    card = {
        "version": "planner-packaged-1",
        "base": "SmolLM2-135M-Instruct",
        "sha256": hashlib.sha256(b"weights").hexdigest(),
    }
    (folder / "planner" / "card.json").write_text(json.dumps(card))
    monkeypatch.setattr(adapters, "adapters_dir", lambda: folder)
    return folder


def test_the_packages_own_serves_the_embedded_model(store: Store, package: Path) -> None:
    found = adapter_for(store, "planner", "local:")
    assert found is not None
    assert found.version == "planner-packaged-1"
    assert adapter_for(store, "planner", f"{URL}#m") is None
    assert adapter_for(store, "worker-small", "local:") is None
    client = open_client("local:", adapter=found)
    assert isinstance(client, EmbeddedClient)
    assert client.version == "planner-packaged-1"
    # what was published goes before it
    publish(store, "planner", "planner-1-aa", kind="llama.cpp", base="SmolLM2-135M-Instruct", file="adapter.gguf")
    found = adapter_for(store, "planner", "local:")
    assert found is not None
    assert found.version == "planner-1-aa"


def test_what_serves_a_role_can_be_asked(store: Store, package: Path) -> None:
    call = Calls(store, Settings())
    found = call.models.adapter("planner", "r1")
    assert found is not None
    assert found.version == "planner-packaged-1"
    publish(store, "planner", "planner-1-aa", kind="llama.cpp", base="SmolLM2-135M-Instruct", file="adapter.gguf")
    again, later = call.models.adapter("planner", "r1"), call.models.adapter("planner", "r2")
    assert again == found  # a run ends with the version that it began with
    assert later is not None
    assert later.version == "planner-1-aa"
    assert call.models.adapter("worker-small") is None
    assert Models(Settings(adapters=False), store).adapter("planner") is None
    assert Models(Settings(), store, {"planner": Answering("mine")}).adapter("planner") is None


def test_the_starter_suite_asks_the_adapter_that_serves(package: Path) -> None:
    meters = Meters(Settings(), None)
    assert meters.by_role["planner"].version == "planner-packaged-1"
    assert not meters.by_role["worker-small"].version
    asyncio.run(meters.aclose())


def test_a_changed_file_is_not_loaded(store: Store, package: Path) -> None:
    found = adapter_for(store, "planner", "local:")
    (package / "planner" / "adapter.gguf").write_bytes(b"others")
    with pytest.raises(ProviderError, match="not the file that was published"):
        open_client("local:", adapter=found)
    (package / "planner" / "adapter.gguf").unlink()
    with pytest.raises(ProviderError, match="can not be read"):
        open_client("local:", adapter=found)


def test_a_broken_card_says_so(tmp_path: Path) -> None:
    (tmp_path / "planner").mkdir()
    (tmp_path / "planner" / "card.json").write_text("{}")
    with pytest.raises(ConfigError, match="not the card"):
        packaged("planner", tmp_path)
    assert packaged("../planner", tmp_path) is None


def test_a_server_is_asked_for_the_adapter(store: Store) -> None:
    client = open_client(f"{URL}#m", adapter=Adapter("planner-1-aa", "vllm", URL, served_as="planner-1-aa"))
    assert isinstance(client, OpenAIClient)
    assert client.name == "m"  # arms and prices are the model's, whatever version serves
