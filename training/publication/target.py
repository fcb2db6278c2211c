"""What a server of adapters must be able to do, so that a version can be published to it and proved to be there."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pointwork.errors import PublicationError
from pointwork.training.publication.gguf_lora import CONFIG, WEIGHTS
from pointwork.training.publication.probe import Scores


@dataclass(frozen=True)
class Probe:
    """A text that both sides score: the log-probability of each of ``completion`` after what stands before it."""

    prompt: tuple[int, ...]
    completion: tuple[int, ...]


@dataclass(frozen=True)
class Version:
    """An adapter as it is published.

    Attributes:
        name: unique, with its role, number and hash in it: ``planner-3-0f1e2d3c4b5a``.
        folder: peft's two files, and what the target makes of them.
    """

    name: str
    folder: Path


class Target(Protocol):
    """A server, or several that must serve the same."""

    @property
    def kind(self) -> str:
        """``vllm`` or ``llama.cpp``."""
        ...

    @property
    def base(self) -> str:
        """The model under the adapters, as the configuration of roles names it."""
        ...

    @property
    def lasting(self) -> bool:
        """Whether its servers are there without this object; else what is to be checked is started first."""
        ...

    def prepare(self, version: Version) -> Path:
        """Make the file that will be served, in the version's folder; its path.

        Raises:
            PublicationError: the adapter can not be served here.
        """
        ...

    def load(self, version: Version) -> None:
        """Serve a version beside those that are there; it may be there already.

        Raises:
            PublicationError: refused; no replica serves it then.
        """
        ...

    def unload(self, name: str) -> None:
        """Serve a version no longer. Quiet if it is not there, or the server is not."""
        ...

    def loaded(self) -> list[set[str]]:
        """Names of what each replica says it serves, beside the base.

        Raises:
            PublicationError: a replica does not answer.
        """
        ...

    def score(self, name: str | None, probes: Sequence[Probe]) -> list[Scores]:
        """Log-probabilities of each probe's completion under a version (None: the base), per replica.

        Raises:
            PublicationError: it is not served, or a replica does not answer.
        """
        ...

    def place(self, version: Version) -> dict[str, Any]:
        """Where a client finds the version: plain JSON for the store."""
        ...

    def close(self) -> None:
        """Give back what was started for it."""
        ...


def digest(folder: Path) -> str:
    """SHA-256 of an adapter: of its configuration (the scale stands there) and its weights.

    Raises:
        PublicationError: a file is missing.
    """
    found = hashlib.sha256()
    for name in (CONFIG, WEIGHTS):
        try:
            found.update((folder / name).read_bytes())
        except OSError as error:
            raise PublicationError(
                f"{folder} is not a whole adapter: {name} can not be read ({error.strerror}); it needs "
                f"{CONFIG} and {WEIGHTS}, as peft saves them"
            ) from error
    return found.hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
