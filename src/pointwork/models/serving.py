"""Command lines of model servers, and llama.cpp as one: ``python -m pointwork.models.serving --model FILE``.

A server listens on this machine only unless told otherwise. vLLM takes adapters while it runs; llama.cpp takes them
at its start, so another adapter is another server over the same file.
"""

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pointwork.errors import PointworkError
from pointwork.models.engine import Engine, EngineOptions

KEY_VARIABLE = "POINTWORK_SERVE_KEY"
"""Environment variable that holds the API key of a server started here: command lines are seen by everybody."""


@dataclass(frozen=True)
class Command:
    """A program to start.

    Attributes:
        argv: program and arguments.
        env: variables to set beside those that are there; no secrets in it.
        address: where it will answer, up to ``/v1``.
    """

    argv: tuple[str, ...]
    address: str
    env: dict[str, str] = field(default_factory=dict[str, str])

    def shown(self) -> str:
        """As one would type it into a shell."""
        import shlex

        return shlex.join([*(f"{name}={value}" for name, value in self.env.items()), *self.argv])


def vllm_command(
    model: str | Path,
    name: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    adapters: Sequence[tuple[str, str | Path]] = (),
    rank: int = 16,
    slots: int = 4,
    context: int | None = None,
    more: Sequence[str] = (),
) -> Command:
    """vLLM's server, with adapters that can be changed while it runs.

    Args:
        model: a Hugging Face directory; ``name``: under which it is served.
        host, port: where it listens.
        adapters: (name, directory) of LoRA adapters that are there from the start.
        rank: of the largest adapter; vLLM refuses a larger one.
        slots: adapters that one batch may use; twice as many are kept in memory.
        context: most tokens of prompt and answer; None: what the model has.
        more: further arguments, as vLLM has them.
    """
    argv = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    argv += ["--served-model-name", name, "--host", host, "--port", str(port)]
    argv += ["--enable-lora", "--max-lora-rank", str(rank), "--max-loras", str(slots)]
    argv += ["--max-cpu-loras", str(2 * slots)]
    if context is not None:
        argv += ["--max-model-len", str(context)]
    if adapters:
        argv += ["--lora-modules", *(f"{called}={path}" for called, path in adapters)]
    # Without the variable the server has no /v1/load_lora_adapter; nothing is to be told to anybody's statistics.
    env = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True", "VLLM_NO_USAGE_STATS": "1"}
    return Command((*argv, *more), f"http://{host}:{port}/v1", env)


def llama_command(
    model: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    adapters: Sequence[str | Path] = (),
    context: int = 4096,
    parallel: int = 4,
    threads: int | None = None,
    tied: bool = False,
) -> Command:
    """llama.cpp's server in a process of its own; its API key is taken from ``KEY_VARIABLE``, if there is one.

    Args:
        model: a GGUF file.
        host, port: where it listens; port 0: any free one, printed when it is ready.
        adapters: LoRA files (GGUF), all applied.
        context, parallel, threads: as ``EmbeddedClient``.
        tied: it ends with the process that started it (when its standard input closes).
    """
    argv = [sys.executable, "-m", "pointwork.models.serving", "--model", str(model)]
    argv += ["--host", host, "--port", str(port), "--context", str(context), "--parallel", str(parallel)]
    for adapter in adapters:
        argv += ["--adapter", str(adapter)]
    if threads is not None:
        argv += ["--threads", str(threads)]
    return Command((*argv, "--tied") if tied else tuple(argv), f"http://{host}:{port}/v1")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until Ctrl-C, SIGTERM or, if tied, the end of the standard input; one line of JSON says it is ready."""
    parser = argparse.ArgumentParser("pointwork.models.serving", description="llama.cpp's server.")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, action="append", default=[])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--tied", action="store_true")
    asked = parser.parse_args(arguments)
    options = EngineOptions(
        path=asked.model.expanduser().resolve(),
        adapters=tuple(path.expanduser().resolve() for path in asked.adapter),
        threads=asked.threads,
        context=asked.context,
        parallel=asked.parallel,
        host=asked.host,
        port=asked.port,
        api_key=os.environ.get(KEY_VARIABLE) or None,
    )
    engine = Engine(options, lambda: None)
    try:
        address, _ = engine.endpoint()
    except (PointworkError, ImportError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    ended = threading.Event()

    def end(number: int, frame: object) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    print(json.dumps({"address": address}), flush=True)
    if asked.tied:
        threading.Thread(target=_until_closed, args=(ended,), daemon=True).start()
    ended.wait()
    engine.close()
    return 0


def _until_closed(ended: threading.Event) -> None:
    # not through sys.stdin: its lock would be held when the interpreter shuts down
    while os.read(0, 4096):
        pass
    ended.set()


if __name__ == "__main__":
    sys.exit(main())
