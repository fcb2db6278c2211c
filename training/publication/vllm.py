"""vLLM as a target: adapters are loaded while it runs, through its HTTP API, under a name of their own.

Seen on vllm 0.24 (GPU) and 0.32 (CPU): the server needs ``--enable-lora`` and
``VLLM_ALLOW_RUNTIME_LORA_UPDATING=True``; a name that is loaded is refused (400), an unknown one is 404, also
after a restart, which forgets all. Several prompts in one request with ``prompt_logprobs`` end the CPU build's
engine, so texts are scored one by one.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import httpx2

from pointwork.errors import ConfigError, PublicationError, TrainingError
from pointwork.training.publication.gguf_lora import WEIGHTS, read_lora
from pointwork.training.publication.probe import Scores
from pointwork.training.publication.target import Probe, Version

_SECONDS = 60.0  # for one request: the first with a new adapter may compile kernels


class VllmTarget:
    """A ``Target`` over HTTP.

    Args:
        urls: of the replicas, each up to ``/v1``; an adapter is there when all of them serve it.
        model: the base's name there; None: the first that the first replica lists.
        api_key: bearer token.
        address: what roles call, if that is none of the replicas (a load balancer in front); default: the first.
    """

    kind = "vllm"
    lasting = True

    def __init__(
        self,
        urls: Sequence[str],
        model: str | None = None,
        *,
        api_key: str | None = None,
        address: str | None = None,
    ) -> None:
        if not urls:
            raise ConfigError("a vLLM target needs at least one URL, like http://127.0.0.1:8000/v1")
        self.urls = [url.partition("#")[0].rstrip("/") for url in urls]
        self._address = (address or self.urls[0]).partition("#")[0].rstrip("/")
        self._model = model
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.Client(headers=headers, timeout=httpx2.Timeout(_SECONDS, connect=10))

    @property
    def base(self) -> str:
        """The address that roles call."""
        return self._address

    def prepare(self, version: Version) -> Path:
        """peft's own file; read once, so that a cut one is refused here and not on a server far away."""
        try:
            read_lora(version.folder)
        except TrainingError as error:
            raise PublicationError(str(error)) from error
        return version.folder / WEIGHTS

    def load(self, version: Version) -> None:
        """Load it into each replica; if one refuses, into none."""
        body = {"lora_name": version.name, "lora_path": str(version.folder)}
        try:
            for url, there in zip(self.urls, self.loaded(), strict=True):
                if version.name not in there:
                    self._ask(url, "POST", "/load_lora_adapter", body)
        except PublicationError:
            self.unload(version.name)
            raise

    def unload(self, name: str) -> None:
        """Unload it from each replica."""
        for url in self.urls:
            try:
                self._ask(url, "POST", "/unload_lora_adapter", {"lora_name": name})
            except PublicationError:
                continue

    def loaded(self) -> list[set[str]]:
        """What each replica lists, beside the base."""
        return [{row["id"] for row in self._listed(url) if row.get("parent")} for url in self.urls]

    def score(self, name: str | None, probes: Sequence[Probe]) -> list[Scores]:
        """By ``prompt_logprobs``: the server reads each text once, and writes one token, which is not looked at."""
        asked = name or self._base_name()
        return [[self._text(url, asked, probe) for probe in probes] for url in self.urls]

    def place(self, version: Version) -> dict[str, Any]:
        """The address and the name to ask for."""
        return {"kind": self.kind, "base": self.base, "urls": self.urls, "served_as": version.name}

    def wait(self, seconds: float, alive: Callable[[], bool] = lambda: True) -> None:
        """Until all replicas answer: a server takes a minute or two to start.

        Args:
            seconds: at most. alive: whether it is worth waiting still.

        Raises:
            PublicationError: they do not.
        """
        until = time.monotonic() + seconds
        while True:
            try:
                self.loaded()
                return
            except PublicationError:
                if not alive() or time.monotonic() > until:
                    raise
                time.sleep(1)

    def close(self) -> None:
        """Close the connections; the servers go on."""
        self._client.close()

    def _base_name(self) -> str:
        if self._model is None:
            rows = self._listed(self.urls[0])
            names = [str(row["id"]) for row in rows if not row.get("parent")]
            if not names:
                raise PublicationError(f"{self.urls[0]} lists no model to put adapters on; is it vLLM?")
            self._model = names[0]
        return self._model

    def _listed(self, url: str) -> list[dict[str, Any]]:
        rows = self._ask(url, "GET", "/models", None).get("data")
        return [row for row in cast(list[Any], rows or []) if isinstance(row, dict) and "id" in row]

    def _text(self, url: str, name: str, probe: Probe) -> list[float]:
        body = {
            "model": name,
            "prompt": [*probe.prompt, *probe.completion],
            "max_tokens": 1,
            "temperature": 0,
            "prompt_logprobs": 0,
        }
        reply = self._ask(url, "POST", "/completions", body)
        try:
            rows: list[dict[str, Any]] = reply["choices"][0]["prompt_logprobs"][len(probe.prompt) :]
            return [float(row[str(token)]["logprob"]) for row, token in zip(rows, probe.completion, strict=True)]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise PublicationError(
                f"{url}/completions gave no prompt_logprobs ({error!r}), so nothing can be proved; is it vLLM?"
            ) from error

    def _ask(self, url: str, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        try:
            response = self._client.request(method, url + path, json=body)
            text = response.text
        except httpx2.HTTPError as error:
            raise PublicationError(
                f"no answer from {url}{path} ({type(error).__name__}: {error}); is the server running? "
                "'pointwork models serve' starts one"
            ) from error
        if response.status_code != 200:
            raise PublicationError(
                f"{url}{path} answered {response.status_code}: {text[:300]}. {_advice(path, body)}"
            )
        if path.endswith("_lora_adapter"):
            return {}
        try:
            reply: object = response.json()
        except ValueError as error:
            raise PublicationError(f"{url}{path} answered with broken JSON: {text[:200]!r}") from error
        return cast(dict[str, Any], reply) if isinstance(reply, dict) else {}


def _advice(path: str, body: dict[str, Any] | None) -> str:
    if path == "/load_lora_adapter":
        return (
            "It must see the adapter's folder in its own file system, allow its rank (--max-lora-rank), and run "
            "with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"
        )
    if path == "/completions" and body is not None:
        return (
            f"If it does not know {body.get('model')!r} it was restarted and has forgotten its adapters: "
            "'pointwork models check --repair' loads what is live again"
        )
    return "See the server's log"
