"""Where a role's versions go, and in what tokens its texts are: from the configuration."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pointwork.errors import TrainingError
from pointwork.extras import require
from pointwork.models import weights
from pointwork.settings import EMBEDDED, Settings
from pointwork.store import Store
from pointwork.training.bases import directory_of, reading
from pointwork.training.publication.llama import LlamaTarget
from pointwork.training.publication.probes import default_probes, probes_of
from pointwork.training.publication.publisher import Publisher
from pointwork.training.publication.scoring import TorchScorer
from pointwork.training.publication.target import Target
from pointwork.training.publication.vllm import VllmTarget
from pointwork.training.samples import Group


class Publishing:
    """Publishers of one role, over one target.

    Args:
        settings: the configuration. role: the model role. base: the trained weights, of
            ``origins.base_of``.
        folder: where versions are kept.
    """

    def __init__(self, settings: Settings, role: str, base: str, folder: Path) -> None:
        self._spec = settings.model_for(role).model.strip()
        self._base, self._folder = base, folder
        self._target: Target | None = None
        self._scorer: TorchScorer | None = None

    def __call__(self, store: Store, groups: Sequence[Group]) -> Publisher:
        """A publisher into a store, that probes with what the role was really asked and wrote."""
        directory = directory_of(self._base)
        turns = [turn for group in groups for rollout in group.rollouts for turn in rollout.turns]
        probes = [*probes_of(turns), *default_probes(directory)]
        if self._target is None:
            self._target = self._made(directory)
        self._scorer = self._scorer or TorchScorer(self._base)
        return Publisher(store, self._target, self._scorer, probes, folder=self._folder)

    def _made(self, directory: Path) -> Target:
        if self._spec.startswith("http"):
            address, _, name = self._spec.partition("#")
            return VllmTarget([address], name or None)
        file = weights.of_spec(self._spec)
        return LlamaTarget(file or Path(self._spec.removeprefix(EMBEDDED).strip()), hf=directory)

    def close(self) -> None:
        """Stop the servers that were started for the probes."""
        if self._target is not None:
            self._target.close()


class ModelTokenizer:
    """The tokens of a model's own template, for logs that hold none."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._tokenizer: Any = None

    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> Sequence[int]:
        """Token ids of a conversation and the opening of the answer; what the template has no place for is text.

        Raises:
            TrainingError: the tokenizer can not be read, or its template does not take the conversation.
        """
        plain = [{"role": _role(m), "content": _text(m)} for m in messages]
        tokenizer = self._loaded()
        try:
            said = tokenizer.apply_chat_template(plain, add_generation_prompt=True, return_dict=True)
        except Exception as error:  # the template is a program of the model's, and may refuse a conversation
            raise TrainingError(
                f"the chat template of {self._base} can not write a logged conversation: {error}; give weights "
                "with the template that the role's model has"
            ) from error
        return [int(token) for token in said["input_ids"]]

    def completion(self, text: str) -> Sequence[int]:
        """Token ids of an answer, its end-of-turn token included."""
        tokenizer = self._loaded()
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return [*ids, tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else ids

    def _loaded(self) -> Any:
        if self._tokenizer is None:
            transformers: Any = require("transformers")
            folder = directory_of(self._base)
            with reading(folder, "the tokenizer"):
                self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        return self._tokenizer


def _role(message: Mapping[str, Any]) -> str:
    role = str(message["role"])
    return role if role in ("system", "assistant") else "user"


def _text(message: Mapping[str, Any]) -> str:
    calls: list[dict[str, Any]] = message.get("tool_calls") or []
    parts = [str(message.get("content") or ""), *(str(call.get("function", call)) for call in calls)]
    return "\n".join(part for part in parts if part)
