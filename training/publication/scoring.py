"""The trainer's side of a probe: log-probabilities by torch, of the base and of adapters on disk."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from pointwork.errors import TrainingError, UsageError
from pointwork.training.lora import Lora, lora_of
from pointwork.training.model import LocalModel
from pointwork.training.publication.probe import Scores
from pointwork.training.publication.target import Probe


class TorchScorer:
    """A ``Scorer`` in the trainer's own arithmetic, with a model of its own beside the one that is trained.

    Args:
        source: the base, as ``LocalModel.load`` takes it, loaded at the first call; or a model of which nothing
            else makes use: its adapter's weights are replaced.
        device: ``cpu``, ``cuda`` …; None takes a GPU if there is one.
    """

    def __init__(self, source: str | Path | LocalModel, *, device: str | None = None) -> None:
        self._source, self._device = source, device
        self._model = source if isinstance(source, LocalModel) else None
        self._form: Lora | None = None
        if self._model is not None and self._model.lora is not None:
            self._form = replace(self._model.lora, targets=tuple(sorted(self._model.lora.targets)))

    def __call__(self, adapter: Path | None, probes: Sequence[Probe]) -> Scores:
        """See ``Scorer``.

        Raises:
            TrainingError: the adapter is of another base, or not one.
        """
        model = self._base() if adapter is None else self._adapted(adapter)
        module: Any = model.module
        with module.disable_adapter() if adapter is None and model.lora else nullcontext():
            return model.logprobs([(probe.prompt, probe.completion) for probe in probes])

    def _base(self) -> LocalModel:
        if self._model is None:
            assert not isinstance(self._source, LocalModel)
            self._model = LocalModel.load(self._source, device=self._device)
        return self._model

    def _adapted(self, adapter: Path) -> LocalModel:
        try:
            form = lora_of(adapter)
        except UsageError as error:
            raise TrainingError(str(error)) from error
        if self._model is not None and form == self._form:
            self._model.restore(adapter)
        elif isinstance(self._source, LocalModel):
            raise TrainingError(f"{adapter} is {form}, the trainer's model {self._form}")
        else:
            self._model = LocalModel.load(self._source, adapter=adapter, device=self._device)
            self._form = form
        return self._model
