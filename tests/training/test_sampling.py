from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from pointwork.errors import UsageError  # noqa: E402
from pointwork.training.model import LocalModel  # noqa: E402
from pointwork.training.sampling import sample  # noqa: E402

PROMPTS = [(1, 2, 3), (4,), (5, 6, 1, 2, 3, 1), (1, 2, 3)]


@pytest.fixture
def model(tiny: Callable[..., LocalModel]) -> LocalModel:
    """With a stop token that is drawn now and then."""
    made = tiny(12, seed=3)
    made.stop_ids = frozenset({0})
    return made


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_logprobs_are_those_of_the_trainer(model: LocalModel, temperature: float) -> None:
    drawn = sample(model, PROMPTS, n=3, max_tokens=9, temperature=temperature, rows=6)
    pairs = [(prompt, answer.ids) for prompt, answers in zip(PROMPTS, drawn, strict=True) for answer in answers]
    scored = model.logprobs(pairs, temperature=temperature)
    for answers, start in zip(drawn, range(0, 12, 3), strict=True):
        for answer, wanted in zip(answers, scored[start : start + 3], strict=True):
            assert answer.logprobs == pytest.approx(wanted, abs=1e-5)


def test_answers_end_at_a_stop_token_or_at_the_limit(model: LocalModel) -> None:
    answers = [answer for several in sample(model, PROMPTS, n=16, max_tokens=9) for answer in several]
    assert {answer.ended for answer in answers} == {True, False}
    for answer in answers:
        assert answer.ended == (answer.ids[-1] == 0)
        assert 0 not in answer.ids[:-1]
        assert answer.ended or len(answer.ids) == 9


def test_the_same_seed_draws_the_same(model: LocalModel) -> None:
    assert sample(model, PROMPTS, n=2, seed=5) == sample(model, PROMPTS, n=2, seed=5)
    assert sample(model, PROMPTS, n=2, seed=5) != sample(model, PROMPTS, n=2, seed=6)


def test_greedy_takes_the_likeliest_whatever_stands_beside(model: LocalModel) -> None:
    together = sample(model, PROMPTS, max_tokens=6, temperature=0)
    for prompt, (answer,) in zip(PROMPTS, together, strict=True):
        said = list(prompt)
        for token in answer.ids:
            logits = model.module(input_ids=torch.tensor([said])).logits[0, -1]
            assert int(logits.argmax()) == token
            said.append(token)


def test_draws_follow_the_distribution(model: LocalModel) -> None:
    (drawn,) = sample(model, [(1, 2)], n=4000, max_tokens=1, rows=4000)
    wanted = [probability for (probability,) in model.logprobs([((1, 2), (token,)) for token in range(12)])]
    for token in range(12):
        p = torch.tensor(wanted[token]).exp().item()
        share = sum(answer.ids[0] == token for answer in drawn) / 4000
        assert abs(share - p) < 5 * (p * (1 - p) / 4000) ** 0.5


def test_bad_arguments_are_refused(model: LocalModel) -> None:
    with pytest.raises(UsageError):
        sample(model, [()])
    with pytest.raises(UsageError):
        sample(model, [(1,)], temperature=-1)
