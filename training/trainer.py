"""The two trainers: GRPO on groups of rollouts, and supervised training on worked examples."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pointwork.training.advantages import Kind, advantages
from pointwork.training.loop import Settings, Trainer, tokens_of
from pointwork.training.model import LocalModel
from pointwork.training.objective import Objective, Stats, Totals, policy_loss
from pointwork.training.packing import Batch, Sample
from pointwork.training.samples import Example, Group
from pointwork.training.sources import Source


class SFTTrainer(Trainer[Example | Sample]):
    """Supervised training: the mean negative log-probability of what should be written, per token of the batch."""

    def update(self, batch: Sequence[Example | Sample]) -> dict[str, float]:
        """One optimiser step."""
        samples = [self.model.sample_of(item.messages) if isinstance(item, Example) else item for item in batch]
        kept = [sample for sample in samples if _fits(sample, self.settings)]
        batches = self.packed(kept)
        tokens = sum(len(sample.completion_ids) for sample in kept)
        loss = entropy = 0.0
        for part in batches:
            scores = self.model.score(part)
            share = -scores.logprobs.sum() / max(tokens, 1)
            self.backward(share)
            loss += share.item()
            entropy += float(scores.entropy.sum())
        metrics = {"loss": loss, "tokens": float(tokens), "entropy": entropy / max(tokens, 1)}
        metrics |= {
            "sequences": float(len(kept)),
            "left_out": float(len(samples) - len(kept)),
            **tokens_of(batches),
        }
        return metrics | (self.advance() if batches else {})


class GRPOTrainer(Trainer[Group]):
    """Group-relative policy optimisation; ``source`` gives the groups of a step, logged or freshly drawn.

    Args:
        model, source, settings, folder, evaluate, callbacks, show: see ``Trainer``.
        objective: the loss.
        kind, options: the advantage estimator (``advantages``) and its options.
        roles: train only what was written in these model roles; None: in all.
        updates: optimiser steps on each batch (μ in DeepSeekMath); from the second on the ratio differs from 1.
        temperature: that the rollouts were drawn at.
    """

    def __init__(
        self,
        model: LocalModel,
        source: Source[Group],
        settings: Settings,
        folder: str | Path,
        *,
        objective: Objective | None = None,
        kind: Kind = "group",
        options: Mapping[str, float | bool] | None = None,
        roles: Collection[str] | None = None,
        updates: int = 1,
        temperature: float = 1.0,
        evaluate: Callable[[LocalModel], float] | None = None,
        callbacks: Sequence[Callable[[Trainer[Group], dict[str, float]], None]] = (),
        show: bool | None = None,
    ) -> None:
        super().__init__(model, source, settings, folder, evaluate=evaluate, callbacks=callbacks, show=show)
        self.objective = objective or Objective()
        self.kind: Kind = kind
        self.options = dict(options or {})
        self.roles = None if roles is None else frozenset(roles)
        self.updates, self.temperature = updates, temperature
        if self.objective.kl:
            model.keep_reference()

    def described(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be taken up."""
        mine = {"objective": asdict(self.objective), "kind": self.kind, "options": self.options}
        mine |= {"roles": sorted(self.roles) if self.roles is not None else None}
        return {**super().described(), **mine, "updates": self.updates, "temperature": self.temperature}

    def samples_of(self, groups: Sequence[Group]) -> tuple[list[Sample], dict[str, float]]:
        """The turns to train on with their advantages, and figures of the batch."""
        found = advantages(groups, self.kind, **self.options)
        samples: list[Sample] = []
        left_out = 0
        for index in found.kept:
            for rollout, values in zip(groups[index].rollouts, found.values[index], strict=True):
                for turn, value in zip(rollout.turns, values, strict=True):
                    if self.roles is not None and turn.role not in self.roles:
                        continue
                    sample = Sample(turn.prompt_ids, turn.completion_ids, value, turn.logprobs)
                    if _fits(sample, self.settings):
                        samples.append(sample)
                    else:
                        left_out += 1
        rollouts = [rollout for group in groups for rollout in group.rollouts]
        count = max(len(rollouts), 1)
        figures = {
            "reward": sum(rollout.reward for rollout in rollouts) / count,
            "correct": sum(rollout.correct for rollout in rollouts) / count,
            "calls": sum(rollout.calls for rollout in rollouts) / count,
            "turns": sum(len(rollout.turns) for rollout in rollouts) / count,
            "rollouts": float(len(rollouts)),
            "groups": float(len(groups)),
            "skipped_groups": float(len(found.skipped)),
            "left_out": float(left_out),
        }
        return samples, figures

    def update(self, batch: Sequence[Group]) -> dict[str, float]:
        """``updates`` optimiser steps on one batch; none if no group teaches anything."""
        samples, figures = self.samples_of(batch)
        batches = [part.to(self.model.device) for part in self.packed(samples)]
        totals = Totals(sum(len(sample.completion_ids) for sample in samples), len(samples))
        figures |= tokens_of(batches)
        if not batches:
            return figures | {"tokens": 0.0, "sequences": 0.0}
        old = self._scored(batches) if self.updates > 1 else None
        reference = None
        if self.objective.kl:
            with self.model.as_reference():
                reference = self._scored(batches)
        report: dict[str, float] = {}
        for _ in range(self.updates):
            stats = Stats()
            for place, part in enumerate(batches):
                loss, of_part = self._loss(
                    part, samples, totals, old[place] if old else None, reference[place] if reference else None
                )
                self.backward(loss)
                stats.add(of_part)
            report = stats.report() | self.advance()
        return figures | report

    def _scored(self, batches: Sequence[Batch]) -> list[Tensor]:
        with torch.no_grad():
            return [self.model.score(part, temperature=self.temperature).logprobs for part in batches]

    def _loss(
        self, part: Batch, samples: Sequence[Sample], totals: Totals, old: Tensor | None, reference: Tensor | None
    ) -> tuple[Tensor, Stats]:
        scores = self.model.score(part, temperature=self.temperature)
        mine = [samples[member] for member in part.members]
        device, dtype = scores.logprobs.device, scores.logprobs.dtype
        per_sequence = torch.tensor([sample.advantage for sample in mine], dtype=dtype, device=device)
        served = None
        if any(sample.served is not None for sample in mine):
            values = [v for s in mine for v in (s.served or (float("nan"),) * len(s.completion_ids))]
            served = torch.tensor(values, dtype=dtype, device=device)
        return policy_loss(
            scores.logprobs,
            scores.logprobs.detach() if old is None else old,
            per_sequence[part.sequence],
            part.sequence,
            len(mine),
            totals,
            self.objective,
            served=served,
            reference=reference,
            entropy=scores.entropy,
        )


def _fits(sample: Sample, settings: Settings) -> bool:
    return bool(sample.completion_ids) and len(sample.prompt_ids) + len(sample.completion_ids) <= settings.longest
