"""Which adapter serves a role: the live version in the store, else the one that comes with the package, else none.

Trained adapters are published to the store (``pointwork.training.publication``); whoever runs a model reads here
what is live. An adapter counts only for the model that it was made for: a role that was since given another model
is served by that model alone. A file is loaded only if its SHA-256 is the recorded one.
"""

import functools
import hashlib
import json
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from sqlalchemy import select

from pointwork.errors import ConfigError, ProviderError
from pointwork.models import weights
from pointwork.store import Store
from pointwork.store.tables import models

LLAMA, VLLM = "llama.cpp", "vllm"
CARD, FILE = "card.json", "adapter.gguf"
"""What stands in ``pointwork/training/adapters/<role>/``."""


@dataclass(frozen=True)
class Adapter:
    """An adapter that serves a role.

    Attributes:
        version: its name, stamped on every answer.
        kind: ``llama.cpp`` or ``vllm``.
        base: the embedded model's name, the GGUF file or the server's address that it belongs to.
        path: the file to load (llama.cpp); None for a server that has loaded it.
        sha256: of that file.
        served_as: the name to ask a server for; ``folder``: what it loaded under that name.
    """

    version: str
    kind: str
    base: str
    path: Path | None = None
    sha256: str = ""
    served_as: str = ""
    folder: Path | None = None

    def fits(self, spec: str) -> bool:
        """Whether it belongs to the model of this spec (``local:``, a URL …)."""
        return self.base == base_of(spec)

    def checked(self) -> Path:
        """The file, after its hash was compared.

        Raises:
            ProviderError: it is gone or was changed.
        """
        assert self.path is not None
        try:
            with self.path.open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise ProviderError(
                f"adapter {self.version}: {self.path} can not be read ({error.strerror}); "
                "'pointwork models rollback ROLE' returns to the version before"
            ) from error
        if found != self.sha256:
            raise ProviderError(
                f"adapter {self.version}: {self.path} is not the file that was published (SHA-256 {found[:12]}…, "
                f"not {self.sha256[:12]}…); publish it again, or 'pointwork models rollback ROLE'"
            )
        return self.path


def base_of(spec: str) -> str:
    """What adapters for the model of a spec name as their base."""
    spec = spec.strip()
    if not spec.startswith("local:"):
        return spec.partition("#")[0].rstrip("/")
    file = weights.of_spec(spec)
    return str(Path(spec.removeprefix("local:").strip()).expanduser().resolve()) if file is None else file.name


def names_of(spec: str) -> frozenset[str]:
    """The names under which calls to the model of a spec stand in the log, whatever adapter serves beside it.

    Empty: a server's address that names no model, so that only the server knows.
    """
    spec = spec.strip()
    if spec.startswith(("http://", "https://")):
        name = urllib.parse.unquote(spec.partition("#")[2])
        return frozenset([name] if name else [])
    if not spec.startswith("local:"):
        return frozenset([spec])
    # an embedded model is the same one where its file is named outright
    stem = Path(spec.removeprefix("local:").strip()).stem
    file = weights.of_spec(spec) or next((f for f in weights.FILES.values() if Path(f.filename).stem == stem), None)
    return frozenset([stem] if file is None else [file.name, Path(file.filename).stem])


def adapter_for(store: Store, role: str, spec: str) -> Adapter | None:
    """What serves a role beside the model of a spec; None: the model alone.

    Raises:
        ConfigError: the package's own adapter is damaged.
    """
    found = live(store, role) or packaged(role)
    return found if found is not None and found.fits(spec) else None


def live(store: Store, role: str) -> Adapter | None:
    """The version of a role that was published last and not rolled back."""
    query = select(models).where(models.c.role == role, models.c.state == "live")
    row = store.row(query.order_by(models.c.created.desc()).limit(1))
    return None if row is None else _of_row(row)


def _of_row(row: Mapping[str, Any]) -> Adapter | None:
    metrics: Mapping[str, Any] = row["metrics"] or {}
    place: Mapping[str, Any] = metrics.get("place") or {}
    if place.get("kind") == LLAMA:
        path = Path(row["path"]) / place["file"]
        return Adapter(row["version"], LLAMA, place["base"], path, row["sha256"])
    if place.get("kind") == VLLM:
        return Adapter(row["version"], VLLM, place["base"], served_as=place["served_as"], folder=Path(row["path"]))
    return None  # another kind of model: the memory's gate is in this table too


def packaged(role: str, folder: Path | None = None) -> Adapter | None:
    """The adapter of a role that comes with the package, if there is one.

    Raises:
        ConfigError: its card can not be read.
    """
    if not re.fullmatch(r"[\w.-]+", role):
        return None
    return _packaged(folder or adapters_dir(), role)


def adapters_dir() -> Path:
    """Where the package keeps adapters, ``<role>/card.json`` and ``<role>/adapter.gguf``."""
    return Path(str(resources.files("pointwork"))) / "training" / "adapters"


@functools.lru_cache(maxsize=32)
def _packaged(folder: Path, role: str) -> Adapter | None:
    card = folder / role / CARD
    if not card.is_file():
        return None
    try:
        said: dict[str, Any] = json.loads(card.read_text(encoding="utf-8"))
        return Adapter(said["version"], LLAMA, said["base"], card.with_name(FILE), said["sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{card} is not the card of an adapter ({error!r}); install pointwork again") from error
