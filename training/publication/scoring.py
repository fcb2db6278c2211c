"""The trainer's side of a probe: log-probabilities by torch, of the base and of adapters on disk."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pointwork.errors import TrainingError
from pointwork.training.model import LocalModel
from pointwork.training.publication.gguf_lora import CONFIG
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
        self._form: tuple[Any, ...] | None = None
        if self._model is not None and self._model.lora is not None:
            lora = self._model.lora
            self._form = (lora.rank, lora.alpha, tuple(sorted(lora.targets)), False)

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
        form = _form(adapter)
        if self._model is not None and form == self._form:
            self._model.restore(adapter)
        elif isinstance(self._source, LocalModel):
            raise TrainingError(f"{adapter} has rank, alpha and modules {form}, the trainer's model {self._form}")
        else:
            self._model = LocalModel.load(self._source, adapter=adapter, device=self._device)
            self._form = form
        return self._model


def _form(adapter: Path) -> tuple[Any, ...]:
    """What makes two adapters the same but for their weights."""
    try:
        said: dict[str, Any] = json.loads((adapter / CONFIG).read_text(encoding="utf-8"))
        return said["r"], said["lora_alpha"], tuple(sorted(said["target_modules"])), said.get("use_rslora", False)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{adapter} is not a peft adapter: {error!r}") from error
