"""Generation by a vLLM server, with the weights that the trainer has now: ``sample`` over HTTP.

A GPU's faster way to draw: before each drawing the adapter as it is goes to the server under a name of its own, and
the one before is taken away. What comes back are the server's own token ids and log-probabilities, so that the loss
can correct for its other arithmetic (truncated importance sampling).
"""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, cast

import httpx2

from pointwork.errors import ProviderError, UsageError
from pointwork.training.model import LocalModel
from pointwork.training.publication.target import Version
from pointwork.training.publication.vllm import VllmTarget
from pointwork.training.sampling import Completion, checked

# Of one request: hundreds of answers are on their way at once.
_SECONDS = 300.0


class ServedSampler:
    """Draws like ``sample``, from a server.

    Args:
        url: of a vLLM server with ``--enable-lora``, up to ``/v1``.
        folder: where adapters are written; the server must see it.
        name: of the adapters: ``name-1``, ``name-2`` …
        together: requests that are on their way at once. prompts: prompts of one request.
        patience: seconds to wait for a server that is still starting.

    Raises:
        PublicationError: the server does not take the adapter.
        ProviderError: it does not answer, or gives no token ids and log-probabilities.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        name: str = "drawn",
        together: int = 16,
        prompts: int = 8,
        patience: float = 0.0,
    ) -> None:
        self._target = VllmTarget([url])
        self._url, self._folder, self._name = self._target.urls[0], folder, name
        self._together, self._prompts, self._patience = together, prompts, patience
        self._client = httpx2.Client(timeout=httpx2.Timeout(_SECONDS, connect=10))
        self._numbers = count(1)
        self._present: Version | None = None

    def __call__(
        self,
        model: LocalModel,
        prompts: Sequence[Sequence[int]],
        *,
        n: int = 1,
        max_tokens: int = 256,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> list[list[Completion]]:
        """See ``sample``; ``seed`` is not used: a server's draws depend on its batches anyway."""
        del seed
        checked(prompts, n, max_tokens, temperature)
        version = self._publish(model)
        places = range(0, len(prompts), self._prompts)

        def ask(start: int) -> list[list[Completion]]:
            body = {
                "model": version.name,
                "prompt": [list(prompt) for prompt in prompts[start : start + self._prompts]],
                "n": n,
                "max_tokens": max_tokens,
                "temperature": temperature,
                "logprobs": 0,
                "return_token_ids": True,
            }
            return self._ask(body)

        with ThreadPoolExecutor(self._together) as pool:
            return [answers for part in pool.map(ask, places) for answers in part]

    def close(self) -> None:
        """Take the last adapter away and close the connections."""
        if self._present is not None:
            self._target.unload(self._present.name)
            self._present = None
        self._target.close()
        self._client.close()

    def _publish(self, model: LocalModel) -> Version:
        if model.lora is None:
            raise UsageError(
                "a server takes adapters while it runs, not whole models: train a LoRA, or draw in-process"
            )
        if self._present is None:
            self._target.wait(self._patience)
        name = f"{self._name}-{next(self._numbers)}"
        version, before = Version(name, self._folder / name), self._present
        model.save(version.folder)
        self._target.load(version)
        self._present = version
        if before is not None:
            self._target.unload(before.name)
            shutil.rmtree(before.folder, ignore_errors=True)
        return version

    def _ask(self, body: dict[str, Any]) -> list[list[Completion]]:
        try:
            response = self._client.post(f"{self._url}/completions", json=body)
            response.raise_for_status()
            rows = cast(list[dict[str, Any]], response.json()["choices"])
            rows = sorted(rows, key=lambda row: row["index"])
            found = [
                Completion(
                    tuple(row["token_ids"]),
                    tuple(row["logprobs"]["token_logprobs"]),
                    row["finish_reason"] == "stop",
                )
                for row in rows
            ]
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            raise ProviderError(
                f"{self._url}/completions gave no answers with token ids and log-probabilities "
                f"({type(error).__name__}: {error}); is it vLLM, and is it running?"
            ) from error
        n = int(body["n"])
        return [found[start : start + n] for start in range(0, len(found), n)]
