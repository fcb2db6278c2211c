from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from pointwork.errors import UsageError  # noqa: E402
from pointwork.training.bases import tiny_llama  # noqa: E402
from pointwork.training.model import LocalModel  # noqa: E402
from pointwork.training.packing import Sample, pack  # noqa: E402
from pointwork.training.tensors import floats, integers  # noqa: E402

MODEL = LocalModel(tiny_llama(8, hidden=32, seed=1), name="tiny", device="cpu")


def alone(sample: Sample) -> Any:
    """Log-probabilities of the completion, computed by itself the plain way."""
    ids = torch.tensor([[*sample.prompt_ids, *sample.completion_ids]])
    logits = MODEL.module(input_ids=ids).logits[0, len(sample.prompt_ids) - 1 : -1]
    return (
        torch.log_softmax(logits.float(), -1).gather(-1, torch.tensor(sample.completion_ids)[:, None]).squeeze(-1)
    )


def dialogue(n: int) -> list[Sample]:
    """Two dialogues of ``n`` turns over one system prompt: each prompt repeats all that was said."""
    samples: list[Sample] = []
    for name in (1, 2):
        said = (7, 7, 7, 3)
        for place in range(n):
            answer = (name, place % 8, 5)
            samples.append(Sample(said, answer))
            said = (*said, *answer, 4, place % 3)
    return samples


# Few tokens, so that sequences often share beginnings.
ids = st.lists(st.integers(0, 2), min_size=1, max_size=6).map(tuple)
samples = st.lists(st.builds(Sample, ids, ids, st.floats(-1, 1)), min_size=1, max_size=8)


@given(samples, st.integers(4, 40), st.integers(8, 80))
@settings(deadline=None, max_examples=60)
def test_shared_and_unshared_give_the_same_numbers(several: list[Sample], width: int, budget: int) -> None:
    found: list[list[float]] = [[] for _ in several]
    with torch.no_grad():
        for batch in pack(several, width=width, budget=budget):
            values = floats(MODEL.score(batch).logprobs)
            for value, owner, target, place in zip(
                values, integers(batch.sequence), integers(batch.targets), integers(batch.places), strict=True
            ):
                member = batch.members[owner]
                assert several[member].completion_ids[place] == target
                found[member].append(value)
        for member, sample in enumerate(several):
            assert found[member] == pytest.approx(alone(sample).tolist(), abs=2e-6)


@pytest.mark.parametrize("width", [16, 64, 1024])
def test_the_gradient_of_the_loss_is_that_of_sequences_one_by_one(width: int) -> None:
    several = [Sample(s.prompt_ids, s.completion_ids, 0.5 + n) for n, s in enumerate(dialogue(3))]
    parameters = list(MODEL.trained().values())
    one_by_one: Any = sum(sample.advantage * alone(sample).sum() for sample in several)
    wanted = torch.autograd.grad(one_by_one, parameters)
    total: Any = 0.0
    for batch in pack(several, width=width, budget=128):
        weights = torch.tensor([several[m].advantage for m in batch.members])[batch.sequence]
        total = total + (weights * MODEL.score(batch).logprobs).sum()
    assert total.item() == pytest.approx(one_by_one.item(), rel=1e-5)
    for one, other in zip(torch.autograd.grad(total, parameters), wanted, strict=True):
        assert torch.allclose(one, other, atol=2e-5, rtol=1e-4)


def test_turns_of_a_dialogue_are_computed_once() -> None:
    several = dialogue(4)
    (batch,) = pack(several)
    longest = several[3]
    path = len(longest.prompt_ids) + len(longest.completion_ids) - 1
    # the system prompt once, and each dialogue once, not once per turn
    assert batch.ids.numel() == 2 * path - 4
    assert batch.targets.numel() == sum(len(sample.completion_ids) for sample in several)


def test_answers_to_one_prompt_share_it() -> None:
    prompt = tuple(range(8)) * 4
    (batch,) = pack([Sample(prompt, (1, 2, n)) for n in range(8)])
    assert batch.ids.numel() == len(prompt) + 2  # and even the two tokens that all answers begin with


def test_a_row_alone_needs_no_mask() -> None:
    (batch,) = pack([Sample((1, 2), (3, 4))])
    assert batch.mask() is None


def test_plain_rows_of_unequal_length_need_no_mask_either() -> None:
    several = [Sample((n, 2, 3), tuple((n + k) % 8 for k in range(2 + n))) for n in range(4)]
    (batch,) = pack(several, width=6)
    assert batch.ids.shape[0] > 1
    assert bool((batch.ends == 0).any())
    assert batch.mask() is None


def test_a_long_row_is_shared_only_for_a_beginning_that_is_worth_it() -> None:
    head, one, other = (1, 2, 3), (4, 5) * 300, (5, 4) * 300
    apart = pack([Sample((*head, *one), (6,)), Sample((*head, *other), (7,))], width=4096)
    assert [batch.ids.shape for batch in apart] == [(2, 603)]  # two rows of one sequence each
    (together,) = pack([Sample((*one, 1), (6,)), Sample((*one, 2), (7,))], width=4096)
    assert together.ids.shape == (1, 602)


def test_widths_and_budgets_hold() -> None:
    several = [Sample((n % 8, n // 8), (1,) * 5) for n in range(40)]
    batches = pack(several, width=24, budget=48)
    assert sorted(m for b in batches for m in b.members) == list(range(40))
    assert all(b.ids.shape[1] <= 24 and b.ids.numel() <= 48 for b in batches)
    long = pack([Sample((1,) * 50, (2,))], width=24, budget=48)
    assert long[0].ids.shape == (1, 50)


def test_empty_completions_are_left_out_and_empty_prompts_refused() -> None:
    assert pack([Sample((1,), ())]) == []
    with pytest.raises(UsageError, match="no prompt"):
        pack([Sample((), (1,))])


def test_long_batches_score_in_chunks_with_the_same_gradient(
    tiny: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pointwork.training import model as module

    several = dialogue(4)
    model = tiny(8)

    def gradient() -> list[Any]:
        (batch,) = pack(several)
        return list(torch.autograd.grad(model.score(batch).logprobs.sum(), list(model.trained().values())))

    whole = gradient()
    monkeypatch.setitem(module.CHUNK, "cpu", 5)
    for one, other in zip(gradient(), whole, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_positions_of_padding_go_on() -> None:
    """One that fell back would be taken for the start of another sequence."""
    samples = [Sample((1,), (2, 3, 4, 5, 6)), Sample((9,), (8, 7))]
    (batch,) = pack(samples)
    assert torch.equal(batch.positions, torch.tensor([[0, 1, 2, 3, 4]] * 2))
    assert torch.equal(batch.ends, torch.tensor([[5] * 5, [2, 2, 0, 0, 0]]))
