"""From a role of the configuration to a publisher: which server, which base, which texts."""

import os
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from pointwork.errors import UsageError
from pointwork.models import weights
from pointwork.settings import Settings
from pointwork.store import Store
from pointwork.training.bases import EMBEDDED, directory_of
from pointwork.training.publication.llama import LlamaTarget
from pointwork.training.publication.probes import default_probes
from pointwork.training.publication.publisher import Publisher, Scorer
from pointwork.training.publication.scoring import TorchScorer
from pointwork.training.publication.target import Probe, Target
from pointwork.training.publication.vllm import VllmTarget


def publisher_for(
    store: Store,
    settings: Settings,
    role: str,
    *,
    base: str | Path | None = None,
    urls: Sequence[str] = (),
    scorer: Scorer | None = None,
    probes: Sequence[Probe] | None = None,
    folder: str | Path | None = None,
) -> Publisher:
    """A publisher to whatever serves a role. Close its ``target`` at the end.

    Args:
        store, settings: of the team whose role it is.
        role: the model role.
        base: the weights under the adapter, as ``LocalModel.load`` takes them; needed where a server's model is not
            the embedded one.
        urls: all replicas of the server, if the configuration's address is not the only one.
        scorer: the trainer's side; None: a model of its own, by torch.
        probes: texts to compare by, the role's own best; None: general ones.
        folder: where versions are kept; None: ``adapters`` beside the store.

    Raises:
        UsageError: the role's model can have no adapters, or its base is not known.
    """
    spec = settings.model_for(role).model.strip()
    source = base
    target: Target
    if spec.startswith("local:"):
        file = weights.of_spec(spec)
        own = Path(spec.removeprefix("local:").strip()).expanduser() if file is None else weights.path_of(file)
        source = source or (EMBEDDED if file is weights.SMOLLM2_135M else own)
        hf = directory_of(source)
        target = LlamaTarget(file or own, hf=hf)
    elif spec.startswith(("http://", "https://")):
        address, _, name = spec.partition("#")
        if source is None and name == weights.SMOLLM2_135M.name:
            source = EMBEDDED
        if source is None:
            raise UsageError(
                f"role {role!r} is served by {spec}: say which weights these are (--base DIRECTORY), so that the "
                "trainer's side of the proof can be computed"
            )
        hf = directory_of(source)
        variable = settings.model_for(role).api_key_env
        target = VllmTarget(
            list(urls) or [address],
            name or None,
            api_key=os.environ.get(variable) if variable else None,
            address=address,
        )
    else:
        raise UsageError(f"role {role!r} is served by {spec}: only local models and vLLM servers take adapters")
    return Publisher(
        store,
        target,
        scorer or TorchScorer(source),
        probes or default_probes(hf),
        folder=folder or adapters_folder(store),
    )


def adapters_folder(store: Store) -> Path:
    """Where a store's versions are kept: beside its SQLite file, else in the user's data directory."""
    file = store.sqlite_path
    return (Path(file).parent if file else Path(platformdirs.user_data_dir("pointwork"))) / "adapters"
