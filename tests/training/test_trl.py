"""Our numbers beside TRL's, for what both can do. Runs where TRL is installed (it is in none of our extras)."""

from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
trl: Any = pytest.importorskip("trl")
datasets: Any = pytest.importorskip("datasets")

from pointwork.training.advantages import advantages  # noqa: E402
from pointwork.training.model import LocalModel  # noqa: E402
from pointwork.training.objective import Objective, Totals, policy_loss  # noqa: E402
from pointwork.training.packing import Sample, pack  # noqa: E402
from pointwork.training.samples import Group, Rollout, Turn  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
GROUP, LENGTH = 4, 6


def reward(ids: list[int]) -> float:
    return sum(ids) % 5 / 4


@pytest.fixture
def parts(tiny_folder: Path, tmp_path: Path) -> tuple[Any, LocalModel]:
    """A real TRL trainer that records what its loss is made of, and our model with the same weights."""
    model = LocalModel.load(tiny_folder, device="cpu")

    def rewarded(completion_ids: list[Any], **rest: Any) -> list[float]:
        return [reward(list(ids)) for ids in completion_ids]

    class Recording(trl.GRPOTrainer):
        seen: list[dict[str, Any]] = []

        def _compute_loss(self, model: Any, inputs: Any) -> Any:
            parent: Any = super()
            loss: Any = parent._compute_loss(model, inputs)
            self.seen.append({**inputs, "loss": loss.item()})
            return loss

    trainer = Recording(
        model=str(tiny_folder),
        reward_funcs=rewarded,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=8,
            num_generations=GROUP,
            max_completion_length=LENGTH,
            max_steps=1,
            use_cpu=True,
            bf16=False,
            report_to=[],
            save_strategy="no",
            epsilon_high=0.28,
            loss_type="dapo",
            beta=0.0,
            disable_tqdm=True,
        ),
        train_dataset=datasets.Dataset.from_dict({"prompt": ["what is a", "say hello"]}),
    )
    trainer.seen.clear()
    return trainer, model


def ours(model: LocalModel, inputs: dict[str, Any], objective: Objective) -> tuple[float, list[Any]]:
    """Our loss and gradient of TRL's padded batch."""
    samples: list[Sample] = []
    old: list[list[float]] = []
    served: list[list[float]] = []
    reference: list[list[float]] = []
    for row in range(len(inputs["completion_ids"])):
        prompt = inputs["prompt_ids"][row][inputs["prompt_mask"][row].bool()].tolist()
        keep = inputs["completion_mask"][row].bool()
        ids = inputs["completion_ids"][row][keep].tolist()
        samples.append(Sample(tuple(prompt), tuple(ids), inputs["advantages"][row].item()))
        for store, name in ((old, "old_per_token_logps"), (served, "served"), (reference, "ref_per_token_logps")):
            store.append(inputs[name][row][keep].tolist() if name in inputs else [])
    totals = Totals(sum(len(s.completion_ids) for s in samples), len(samples))
    loss: Any = 0.0
    for batch in pack(samples, width=64, budget=128):
        scores = model.score(batch).logprobs

        def flat(store: list[list[float]], members: list[int] = batch.members) -> Any:
            values = [value for member in members for value in store[member]]
            return torch.tensor(values) if values else None

        previous = flat(old)
        part, _ = policy_loss(
            scores,
            scores.detach() if previous is None else previous,
            torch.tensor([samples[m].advantage for m in batch.members])[batch.sequence],
            batch.sequence,
            len(batch.members),
            totals,
            objective,
            served=flat(served),
            reference=flat(reference),
        )
        loss = loss + part
    return loss.item(), list(torch.autograd.grad(loss, list(model.trained().values())))


def made_up(model: LocalModel) -> dict[str, Any]:
    """A padded batch in TRL's form with old log-probabilities away from the present ones."""
    generator = torch.Generator().manual_seed(0)
    prompts = torch.randint(4, 30, (8, 5), generator=generator)
    completions = torch.randint(4, 30, (8, LENGTH), generator=generator)
    lengths = torch.tensor([6, 3, 1, 5, 6, 2, 4, 6])
    mask = (torch.arange(LENGTH)[None] < lengths[:, None]).long()
    prompt_mask = torch.ones_like(prompts)
    prompt_mask[1, :2] = 0
    new = torch.zeros(8, LENGTH)
    for row in range(8):
        prompt = prompts[row][prompt_mask[row].bool()].tolist()
        (values,) = model.logprobs([(prompt, completions[row][: lengths[row]].tolist())])
        new[row, : len(values)] = torch.tensor(values)
    return {
        "prompt_ids": prompts,
        "prompt_mask": prompt_mask,
        "completion_ids": completions,
        "completion_mask": mask,
        "advantages": torch.randn(8, generator=generator),
        "old_per_token_logps": new + 0.3 * torch.randn(8, LENGTH, generator=generator),
        "num_items_in_batch": mask.sum(),
    }


CASES: dict[str, tuple[Objective, dict[str, Any]]] = {
    "dapo": (Objective(), {}),
    "grpo": (Objective(aggregation="sequence"), {}),
    "dr_grpo": (Objective(aggregation="constant", length=LENGTH), {}),
    "gspo": (Objective(ratio="sequence", aggregation="sequence"), {"importance_sampling_level": "sequence"}),
    "kl": (Objective(aggregation="sequence", kl=0.1), {"beta": 0.1}),
    "tis": (Objective(tis_cap=1.2), {"use_vllm": True, "vllm_importance_sampling_correction": True}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_loss_and_its_gradient_are_trls(parts: tuple[Any, LocalModel], name: str) -> None:
    trainer, model = parts
    objective, attributes = CASES[name]
    trainer.loss_type = {"gspo": "grpo", "kl": "grpo", "tis": "dapo"}.get(name, name)
    for attribute, value in attributes.items():
        setattr(trainer, attribute, value)
    inputs = made_up(model)
    generator = torch.Generator().manual_seed(1)
    if name == "kl":
        inputs["ref_per_token_logps"] = inputs["old_per_token_logps"] + 0.2 * torch.randn(
            8, LENGTH, generator=generator
        )
    if name == "tis":
        apart = 0.3 * torch.randn(8, LENGTH, generator=generator)
        inputs["served"] = inputs["old_per_token_logps"] - apart
        inputs["importance_sampling_ratio"] = apart.exp().clamp(max=1.2)
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = 1
    theirs = trainer._compute_loss(trainer.model, inputs)
    gradients = dict(
        zip(
            (n for n, _ in trainer.model.named_parameters()),
            torch.autograd.grad(theirs, list(trainer.model.parameters())),
            strict=True,
        )
    )
    found, mine = ours(model, inputs, objective)
    assert found == pytest.approx(theirs.item(), abs=1e-6)
    for parameter, gradient in zip(model.trained(), mine, strict=True):
        assert torch.allclose(gradient, gradients[parameter], atol=1e-6), parameter


def test_a_whole_step_of_trl_has_our_advantages_and_loss(parts: tuple[Any, LocalModel]) -> None:
    trainer, model = parts
    trainer.train()
    (inputs,) = trainer.seen
    groups: dict[tuple[int, ...], list[tuple[int, Rollout]]] = {}
    for row in range(8):
        prompt = tuple(inputs["prompt_ids"][row][inputs["prompt_mask"][row].bool()].tolist())
        ids = inputs["completion_ids"][row][inputs["completion_mask"][row].bool()].tolist()
        rollout = Rollout(str(prompt), (Turn("policy", prompt, tuple(ids)),), reward(ids), False)
        groups.setdefault(prompt, []).append((row, rollout))
    assert [len(members) for members in groups.values()] == [GROUP, GROUP]
    wanted = inputs["advantages"].tolist()
    for prompt, members in groups.items():
        group = Group(str(prompt), tuple(rollout for _, rollout in members))
        values = advantages([group], "group", epsilon=1e-4).values[0]
        assert [v[0] for v in values] == pytest.approx([wanted[row] for row, _ in members], abs=1e-5)
    assert any(wanted)
    found, _ = ours(model, inputs, Objective())
    assert found == pytest.approx(inputs["loss"], abs=1e-6)
