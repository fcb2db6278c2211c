"""A role's model: the weights under it, and what of the log and of the versions is its own. No torch here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pointwork.errors import ConfigError
from pointwork.extras import available
from pointwork.models import adapters, weights
from pointwork.roles import ROLES
from pointwork.settings import EMBEDDED as LOCAL
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.training.publication.versions import Versions

EMBEDDED = "embedded"
"""Name of the embedded model."""


def base_of(settings: Settings, role: str, given: str | None = None) -> str:
    """The weights that are trained for a role: what ``LocalModel.load`` takes.

    Args:
        settings: the configuration. role: the model role.
        given: a Hugging Face directory or GGUF file; needed where the role is served by a URL.

    Raises:
        ConfigError: the role's model has no weights here.
    """
    spec = settings.model_for(role).model.strip()
    local, server = spec.startswith(LOCAL), spec.startswith(("http://", "https://"))
    if not local and not server:
        raise ConfigError(
            f"role {role!r} is served by a hosted model ({spec}), which can not be trained; give it a local model"
        )
    if given:
        return given
    if server:
        raise ConfigError(
            f"role {role!r} is served by a server ({spec}): give the weights behind it with --base DIR"
        )
    file = weights.of_spec(spec)
    if file is None:
        return spec.removeprefix(LOCAL).strip()
    return EMBEDDED if file is weights.SMOLLM2_135M else str(weights.path_of(file))


def lacking(base: str) -> list[str]:
    """What training over these weights needs and this machine has not; nothing is loaded or pulled to find out."""
    path = Path(base).expanduser()
    own = base == EMBEDDED or path in map(weights.path_of, weights.FILES.values())
    gguf = own or path.suffix == ".gguf"
    found: list[str] = []
    if absent := [name for name in ("torch", "transformers", "peft") + ("gguf",) * gguf if not available(name)]:
        found.append(f"not installed: {', '.join(absent)} (pip install 'pointwork[train]')")
    if own or (gguf and path.is_file()):  # our own are pulled when training begins
        return found
    if not path.is_dir():
        return [*found, f"no model at {path}: give a Hugging Face directory or a .gguf file"]
    parts = {
        "config.json": ["config.json"],
        "weights (*.safetensors)": ["*.safetensors", "pytorch_model*.bin"],
        "tokenizer (tokenizer.json)": ["tokenizer*", "vocab*", "*.model"],
    }
    gone = [name for name, patterns in parts.items() if not any(any(path.glob(one)) for one in patterns)]
    return [*found, f"{path} is no whole model: it has no {', no '.join(gone)}"] if gone else found


def own_models(settings: Settings) -> dict[str, frozenset[str]]:
    """For each role the names of its present model, as ``collect`` takes them; empty where only a server knows."""
    return {role: adapters.names_of(settings.model_for(role).model) for role in ROLES}


def live_on(store: Store, settings: Settings, role: str) -> Mapping[str, Any] | None:
    """The live version of a role; None if it was made for another model than the role has now."""
    return Versions(store).live_on(role, adapters.base_of(settings.model_for(role).model))


def left_behind(store: Store, settings: Settings, role: str) -> str:
    """What to say of a live version that was made for another model than the role has now; empty without one."""
    row = Versions(store).live(role)
    if row is None or live_on(store, settings, role) is not None:
        return ""
    spec = settings.model_for(role).model
    return (
        f"{row['version']} is live for {role!r}, but was made for {row['base']}; the role is served by {spec} now, "
        "without it. Training starts anew from that model"
    )
