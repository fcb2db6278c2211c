"""llama.cpp as a target: another adapter is another server over the same file of weights.

The servers run in processes of their own: llama.cpp and torch in one process take each other's threads. They are
there to prove a version; what serves a role later is a server of the runtime's own over the same two files, which
the runtime checks by their SHA-256.
"""

import json
import os
import secrets
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from pointwork.errors import PublicationError, TrainingError
from pointwork.models import requantizing, weights
from pointwork.models.serving import KEY_VARIABLE, llama_command
from pointwork.models.weights import ModelFile
from pointwork.training.publication.gguf_lora import write_gguf
from pointwork.training.publication.probe import Scores
from pointwork.training.publication.target import Probe, Version

FILE = "adapter.gguf"
"""The adapter as llama.cpp loads it, in a version's folder."""
_SECONDS = 120.0


class LlamaTarget:
    """A ``Target`` of llama.cpp servers on this machine.

    Args:
        model: a GGUF file, or the embedded model.
        hf: Hugging Face directory of the same model, for the order of the adapter's rows (``config.json`` alone).
        context: tokens that a probe may have.
        threads: of each server; None: as ``EmbeddedClient``.
    """

    kind = "llama.cpp"
    lasting = False

    def __init__(
        self,
        model: ModelFile | str | Path = weights.SMOLLM2_135M,
        *,
        hf: str | Path,
        context: int = 2048,
        threads: int | None = None,
    ) -> None:
        self._model = model if isinstance(model, ModelFile) else Path(model).expanduser().resolve()
        self._base = str(self._model) if isinstance(self._model, Path) else self._model.name
        self._hf, self._context, self._threads = Path(hf), context, threads
        self._servers: dict[str | None, _Child] = {}
        self._base_scores: dict[tuple[Probe, ...], list[list[float]]] = {}

    @property
    def base(self) -> str:
        """The embedded model's name, or the file."""
        return self._base

    def prepare(self, version: Version) -> Path:
        """Write the adapter as GGUF."""
        try:
            return write_gguf(version.folder, self._hf, version.folder / FILE)
        except TrainingError as error:
            raise PublicationError(str(error)) from error

    def load(self, version: Version) -> None:
        """Start a server with it."""
        known = self._servers.get(version.name)
        if known is None or not known.alive:
            self.unload(version.name)
            self._servers[version.name] = self._start(version.folder / FILE)

    def unload(self, name: str) -> None:
        """Stop its server."""
        child = self._servers.pop(name, None)
        if child is not None:
            child.stop()

    def loaded(self) -> list[set[str]]:
        """Whose servers are running."""
        return [{name for name, child in self._servers.items() if name is not None and child.alive}]

    def score(self, name: str | None, probes: Sequence[Probe]) -> list[Scores]:
        """By decoding under a grammar that allows only the probe's own tokens; 5 to 10 ms a token."""
        if name is not None:
            child = self._servers.get(name)
            if child is None or not child.alive:
                raise PublicationError(
                    f"no llama.cpp server with {name!r} is running: it was ended, or restarted without "
                    "its adapter. 'pointwork models check --repair' starts it again"
                )
            return [[child.score(probe) for probe in probes]]
        key = tuple(probes)
        if key not in self._base_scores:
            child = self._start(None)
            try:
                self._base_scores[key] = [child.score(probe) for probe in probes]
            finally:
                child.stop()
        return [self._base_scores[key]]

    def place(self, version: Version) -> dict[str, Any]:
        """The file to load over the base."""
        return {"kind": self.kind, "base": self.base, "file": FILE}

    def close(self) -> None:
        """Stop all servers."""
        for name in list(self._servers):
            child = self._servers.pop(name)
            child.stop()

    def _start(self, adapter: Path | None) -> "_Child":
        # in the form in which the runtime loads them
        model = self._model
        command = llama_command(
            model if isinstance(model, Path) else requantizing.at_hand(model),
            port=0,
            adapters=[] if adapter is None else [adapter],
            context=self._context,
            parallel=1,
            threads=self._threads,
            tied=True,
        )
        return _Child(command.argv)


class _Child:
    """One server in a process of its own, which ends with this one."""

    def __init__(self, argv: Sequence[str]) -> None:
        key = secrets.token_urlsafe(24)
        env = {**os.environ, KEY_VARIABLE: key}
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        try:
            said: dict[str, Any] = json.loads(line)
        except ValueError:
            said = {"error": line.decode(errors="replace")[:200] or "the server ended before it was ready"}
        if "address" not in said:
            _, errors = self._process.communicate()
            more = errors.decode(errors="replace").strip()[-300:]
            raise PublicationError(f"llama.cpp could not serve the adapter: {said['error']} {more}".rstrip())
        self._client = httpx2.Client(
            base_url=said["address"], headers={"Authorization": f"Bearer {key}"}, timeout=_SECONDS
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def score(self, probe: Probe) -> list[float]:
        body = {
            "prompt": list(probe.prompt),
            "n_predict": len(probe.completion),
            "max_tokens": len(probe.completion),
            "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in probe.completion),
            "n_probs": 1,
            "logprobs": 1,
            "temperature": 0,
            "ignore_eos": False,
        }
        try:
            reply: Any = self._client.post("/completions", json=body).json()
            rows: list[dict[str, Any]] = reply["choices"][0]["logprobs"]["content"]
        except (httpx2.HTTPError, ValueError, KeyError, IndexError, TypeError) as error:
            raise PublicationError(
                f"the llama.cpp server did not score a probe: {error!r}; was it ended?"
            ) from error
        if [row["id"] for row in rows] != list(probe.completion):
            raise PublicationError(
                "llama.cpp did not write the probe's tokens: this version does not take token ids in a grammar; "
                "pip install -U xllamacpp"
            )
        return [float(row["logprob"]) for row in rows]

    def stop(self) -> None:
        with suppress(AttributeError):
            self._client.close()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
