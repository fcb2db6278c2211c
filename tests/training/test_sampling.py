from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from pointwork.errors import UsageError  # noqa: E402
from pointwork.training.fused import Fused, Runner, understood  # noqa: E402
from pointwork.training.lora import Lora  # noqa: E402
from pointwork.training.model import LocalModel  # noqa: E402
from pointwork.training.prefill import Prefill  # noqa: E402
from pointwork.training.sampling import sample as drawn_by  # noqa: E402

PROMPTS = [(1, 2, 3), (4,), (5, 6, 1, 2, 3, 1), (1, 2, 3)]


@pytest.fixture
def model(tiny: Callable[..., LocalModel]) -> LocalModel:
    """With a stop token that is drawn now and then."""
    made = tiny(12, seed=3)
    made.stop_ids = frozenset({0})
    return made


@pytest.fixture(params=[False, True], ids=["plain", "fused"])
def sample(request: pytest.FixtureRequest) -> Any:
    """Both ways to decode."""
    return partial(drawn_by, fused=request.param)


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_logprobs_are_those_of_the_trainer(model: LocalModel, sample: Any, temperature: float) -> None:
    drawn = sample(model, PROMPTS, n=3, max_tokens=9, temperature=temperature, rows=6)
    pairs = [(prompt, answer.ids) for prompt, answers in zip(PROMPTS, drawn, strict=True) for answer in answers]
    scored = model.logprobs(pairs, temperature=temperature)
    for answers, start in zip(drawn, range(0, 12, 3), strict=True):
        for answer, wanted in zip(answers, scored[start : start + 3], strict=True):
            assert answer.logprobs == pytest.approx(wanted, abs=1e-5)


def test_answers_end_at_a_stop_token_or_at_the_limit(model: LocalModel, sample: Any) -> None:
    answers = [answer for several in sample(model, PROMPTS, n=16, max_tokens=9) for answer in several]
    assert {answer.ended for answer in answers} == {True, False}
    for answer in answers:
        assert answer.ended == (answer.ids[-1] == 0)
        assert 0 not in answer.ids[:-1]
        assert answer.ended or len(answer.ids) == 9


def test_the_same_seed_draws_the_same(model: LocalModel, sample: Any) -> None:
    assert sample(model, PROMPTS, n=2, seed=5) == sample(model, PROMPTS, n=2, seed=5)
    assert sample(model, PROMPTS, n=2, seed=5) != sample(model, PROMPTS, n=2, seed=6)


def test_greedy_takes_the_likeliest_whatever_stands_beside(model: LocalModel, sample: Any) -> None:
    together = sample(model, PROMPTS, max_tokens=6, temperature=0)
    for prompt, (answer,) in zip(PROMPTS, together, strict=True):
        said = list(prompt)
        for token in answer.ids:
            logits = model.module(input_ids=torch.tensor([said])).logits[0, -1]
            assert int(logits.argmax()) == token
            said.append(token)


def test_draws_follow_the_distribution(model: LocalModel, sample: Any) -> None:
    (drawn,) = sample(model, [(1, 2)], n=4000, max_tokens=1, rows=4000)
    wanted = [probability for (probability,) in model.logprobs([((1, 2), (token,)) for token in range(12)])]
    for token in range(12):
        p = torch.tensor(wanted[token]).exp().item()
        share = sum(answer.ids[0] == token for answer in drawn) / 4000
        assert abs(share - p) < 5 * (p * (1 - p) / 4000) ** 0.5


def test_bad_arguments_are_refused(model: LocalModel, sample: Any) -> None:
    with pytest.raises(UsageError):
        sample(model, [()])
    with pytest.raises(UsageError):
        sample(model, [(1,)], temperature=-1)


def test_fused_weights_follow_the_adapter(tiny: Callable[..., LocalModel]) -> None:
    model = tiny(12, seed=3, lora=Lora(4, 8))
    model.stop_ids = frozenset({0})
    fused = partial(drawn_by, fused=True, temperature=0, max_tokens=8)
    before = fused(model, PROMPTS)
    with torch.no_grad():
        for value in model.trained().values():
            value.add_(torch.randn(value.shape, generator=torch.Generator().manual_seed(1)) * 0.5)
    after = fused(model, PROMPTS)
    assert [a.ids for (a,) in after] != [a.ids for (a,) in before]
    plain = drawn_by(model, PROMPTS, temperature=0, max_tokens=8, fused=False)
    for (mine,), (other,) in zip(after, plain, strict=True):
        assert mine.ids == other.ids
        assert mine.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_fused_buffers_are_used_again_and_hold_nothing_of_before(
    model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[int, int]] = []
    begin = Runner.__init__

    def counted(self: Runner, weights: Any, rows: int, columns: int, stops: Any) -> None:
        made.append((rows, columns))
        begin(self, weights, rows, columns, stops)

    monkeypatch.setattr(Runner, "__init__", counted)
    alone = drawn_by(model, PROMPTS[:1], temperature=0, max_tokens=6, fused=True)
    drawn_by(model, PROMPTS, n=4, temperature=1, max_tokens=20, fused=True)  # 16 rows: the same buffers
    assert drawn_by(model, PROMPTS[:1], temperature=0, max_tokens=6, fused=True) == alone
    assert made == [(16, 64)]
    for longest in (64, 128, 192):
        drawn_by(model, PROMPTS[:1], max_tokens=longest, fused=True)
    drawn_by(model, PROMPTS[:1], max_tokens=192, fused=True)
    assert made == [(16, 64), (16, 128), (16, 192), (16, 256)]
    assert len(Fused.of(model)._runners) == 2  # pyright: ignore[reportPrivateUsage]


def test_what_is_not_of_llamas_form_is_decoded_plainly(model: LocalModel, tiny: Callable[..., LocalModel]) -> None:
    assert understood(model)
    for name, value in {
        "model_type": "other",
        "attention_bias": True,
        "mlp_bias": True,
        "hidden_act": "gelu",
    }.items():
        before = getattr(model.causal.config, name)
        setattr(model.causal.config, name, value)
        assert not understood(model), name
        setattr(model.causal.config, name, before)
    assert not understood(tiny(12, lora=Lora(4, 8, ("q_proj", "lm_head"))))
    model.causal.config.rope_parameters = {"rope_type": "dynamic", "rope_theta": 10000.0}
    assert not understood(model)


def test_weights_that_were_no_numbers_leave_nothing_behind(model: LocalModel) -> None:
    fused = partial(drawn_by, model, PROMPTS, max_tokens=9, temperature=0, fused=True)
    sound = fused()
    weight = next(iter(model.trained().values()))
    kept = weight.detach().clone()
    with torch.no_grad():
        weight.fill_(float("nan"))
        fused()
        weight.copy_(kept)
    assert fused() == sound


def test_other_stop_tokens_are_taken_up(model: LocalModel) -> None:
    fused = partial(drawn_by, model, PROMPTS, max_tokens=9, temperature=0, fused=True)
    assert any(len(answer.ids) > 1 for (answer,) in fused())
    model.stop_ids = frozenset(range(12))
    assert all(answer.ended and len(answer.ids) == 1 for (answer,) in fused())


def test_an_adapter_that_is_off_is_not_merged(tiny: Callable[..., LocalModel]) -> None:
    model = tiny(12, seed=3, lora=Lora(4, 8))
    bare = drawn_by(tiny(12, seed=3), PROMPTS, temperature=0, max_tokens=8, fused=True)
    with torch.no_grad():
        for value in model.trained().values():
            value.add_(1.0)
    assert drawn_by(model, PROMPTS, temperature=0, max_tokens=8, fused=True) != bare
    with model.module.disable_adapter():
        again = drawn_by(model, PROMPTS, temperature=0, max_tokens=8, fused=True)
    assert [a.ids for (a,) in again] == [a.ids for (a,) in bare]


def test_threads_draw_one_after_the_other(model: LocalModel) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def draw(seed: int) -> Any:
        return drawn_by(model, PROMPTS, n=2, max_tokens=40, seed=seed, fused=True)

    wanted = [draw(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(draw, range(8))) == wanted


def test_buffers_that_are_large_are_not_kept_beside_others(
    model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pointwork.training import fused

    monkeypatch.setattr(fused, "KEPT_BYTES", 1)
    for longest in (9, 90):
        drawn_by(model, PROMPTS, max_tokens=longest, fused=True)
    assert len(Fused.of(model)._runners) == 1  # pyright: ignore[reportPrivateUsage]
    Fused.forget(model)
    assert model not in Fused._of  # pyright: ignore[reportPrivateUsage]


def test_what_was_used_last_is_kept(model: LocalModel) -> None:
    for longest in (9, 90, 9, 150):  # buffers of 64, 128, 64 and 192 columns
        drawn_by(model, PROMPTS, max_tokens=longest, fused=True)
    assert list(Fused.of(model)._runners) == [(16, 64), (16, 192)]  # pyright: ignore[reportPrivateUsage]


def test_a_drawing_ends_where_all_have_ended_and_gives_the_prompts_back(
    model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    step = Runner.step

    def counted(self: Runner) -> None:
        steps.append(1)
        step(self)

    monkeypatch.setattr(Runner, "step", counted)
    model.stop_ids = frozenset(range(12))
    with torch.no_grad():
        prefill = Prefill(model, PROMPTS, 1)
        Fused.of(model).run(prefill, 60, 0.0, torch.Generator())
    assert len(steps) < 10
    assert prefill.cache is None
