"""Every ``Sampler``: in-process, and a server with vLLM's routes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from stands import STOPS, FakeVllm, move, tiny_model  # noqa: E402

from pointwork.errors import ProviderError, PublicationError, UsageError  # noqa: E402
from pointwork.training.model import LocalModel  # noqa: E402
from pointwork.training.publication.vllm import VllmTarget  # noqa: E402
from pointwork.training.sampling import Completion, Sampler, sample  # noqa: E402
from pointwork.training.served import ServedSampler  # noqa: E402

PROMPTS = [(3, 4, 5), (6,), (7, 8, 9, 10, 11), (3, 4, 5)]


@pytest.fixture
def model() -> LocalModel:
    made = tiny_model()
    made.stop_ids = STOPS
    return made


@pytest.fixture
def served(server: FakeVllm, tmp_path: Path) -> Iterator[ServedSampler]:
    opened = ServedSampler(server.url, tmp_path / "drawn", prompts=3)
    yield opened
    opened.close()


@pytest.fixture(params=["in-process", "served"])
def draw(request: pytest.FixtureRequest) -> Sampler:
    return sample if request.param == "in-process" else request.getfixturevalue("served")


def gap(model: LocalModel, drawn: list[list[Completion]]) -> float:
    """Largest difference between the log-probabilities that came with the answers and the trainer's."""
    pairs = [(prompt, answer.ids) for prompt, several in zip(PROMPTS, drawn, strict=True) for answer in several]
    said = [value for several in drawn for answer in several for value in answer.logprobs]
    mine = [value for row in model.logprobs(pairs) for value in row]
    return max(abs(a - b) for a, b in zip(said, mine, strict=True))


def test_answers_are_as_many_as_asked_and_end_where_they_should(model: LocalModel, draw: Sampler) -> None:
    drawn = draw(model, PROMPTS, n=5, max_tokens=6)
    assert [len(several) for several in drawn] == [5] * 4
    answers = [answer for several in drawn for answer in several]
    assert {answer.ended for answer in answers} == {True, False}
    for answer in answers:
        assert len(answer.ids) == len(answer.logprobs)
        assert answer.ended == (answer.ids[-1] in model.stop_ids)
        assert answer.ended or len(answer.ids) == 6


def test_it_is_the_weights_of_now_that_draw(model: LocalModel, draw: Sampler) -> None:
    for seed in range(3):
        drawn = draw(model, PROMPTS, n=4, max_tokens=6)
        assert gap(model, drawn) < 0.5  # a server's bf16
        move(model, 0.3, seed)
        assert gap(model, drawn) > 1


def test_greedy_answers_of_one_prompt_are_one(model: LocalModel, draw: Sampler) -> None:
    first, *_, last = draw(model, PROMPTS, max_tokens=5, temperature=0)
    assert first[0].ids == last[0].ids


@pytest.mark.parametrize("bad", [{"n": 0}, {"max_tokens": 0}, {"temperature": -1.0}])
def test_bad_arguments_are_refused(model: LocalModel, draw: Sampler, bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        draw(model, PROMPTS, **bad)
    with pytest.raises(UsageError):
        draw(model, [()])


def test_one_adapter_is_there_at_a_time(
    model: LocalModel, server: FakeVllm, served: ServedSampler, tmp_path: Path
) -> None:
    for number in (1, 2, 3):
        served(model, PROMPTS, max_tokens=2)
        assert [row["id"] for row in server.listed()] == ["tiny", f"drawn-{number}"]
        assert [folder.name for folder in (tmp_path / "drawn").iterdir()] == [f"drawn-{number}"]
    served.close()
    assert [row["id"] for row in server.listed()] == ["tiny"]


def test_faults_are_told(model: LocalModel, server: FakeVllm, served: ServedSampler, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="LoRA"):
        served(tiny_model(lora=False), PROMPTS)
    server.fault = "refused"
    with pytest.raises(PublicationError, match="enable-lora"):
        served(model, PROMPTS)
    server.fault = "mute"
    with pytest.raises(ProviderError, match="token ids"):
        served(model, PROMPTS)
    server.fault = None
    assert served(model, PROMPTS, max_tokens=1)


def test_a_server_that_is_not_there_is_waited_for(
    model: LocalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def wait(target: VllmTarget, seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(VllmTarget, "wait", wait)
    with pytest.raises(PublicationError, match="is the server running"):
        ServedSampler("http://127.0.0.1:9/v1", tmp_path, patience=70)(model, PROMPTS)
    assert waited == [70]


@pytest.mark.parametrize(("seconds", "alive", "asked"), [(2.5, True, 2), (2.5, False, 1), (0.0, True, 1)])
def test_waiting_ends_with_the_time_or_the_process(seconds: float, alive: bool, asked: int) -> None:
    asks: list[bool] = []

    def lives() -> bool:
        asks.append(alive)
        return alive

    target = VllmTarget(["http://127.0.0.1:9/v1"])
    with pytest.raises(PublicationError, match="is the server running"):
        target.wait(seconds, lives)
    assert len(asks) >= asked
    assert alive or len(asks) == 1
    target.close()


def test_a_server_that_comes_up_is_waited_for_no_longer(server: FakeVllm, served: ServedSampler) -> None:
    asks: list[bool] = []
    target = VllmTarget([server.url])
    target.wait(60, lambda: bool(asks.append(True)))
    assert asks == []
    target.close()
