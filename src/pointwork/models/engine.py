"""llama.cpp in this process: the only module that touches ``xllamacpp``.

An ``Engine`` is one loaded model. Its calls block (with the GIL released), so they run on threads of the engine's
own, one per slot; further calls wait in line. Engines are shared: two clients of the same file use one.
"""

import atexit
import contextlib
import ctypes
import http.client
import json
import math
import os
import secrets
import threading
import urllib.parse
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from pointwork.errors import ProviderError
from pointwork.extras import require
from pointwork.models.protocol import Message

T = TypeVar("T")
Chunk = dict[str, Any]
OnChunk = Callable[[Chunk], bool]
"""Takes one piece of the answer; True stops the generation."""

_BATCH = 256  # tokens; a long prompt can be cancelled between batches (about half a second on two cores)
_PROMPT_CACHE_MB = 256  # llama.cpp's own default is 8 GB
_COUNT_SECONDS = 30.0
_HTTP_THREADS = 32


class _Server(Protocol):
    @property
    def listening_address(self) -> str: ...

    def handle_chat_completions(self, body: dict[str, Any], callback: OnChunk | None = None) -> Any: ...


@dataclass(frozen=True)
class EngineOptions:
    """What makes two engines the same.

    Attributes:
        path: the GGUF file.
        adapters: LoRA files (GGUF), all applied with scale 1.
        threads: of computation; None: all cores for prompts and for several answers at once, half for one answer.
        context: tokens per slot, prompt and answer together.
        parallel: slots, that is requests decoded at the same time.
        host, port: where it listens as well; port 0: any free one.
        api_key: of that port; None: a random one, known to this process only.
    """

    path: Path
    adapters: tuple[Path, ...] = ()
    threads: int | None = None
    context: int = 4096
    parallel: int = 4
    host: str = "127.0.0.1"
    port: int = 0
    api_key: str | None = field(default=None, repr=False)


class Engine:
    """One model, loaded at first use. Safe to use from several threads.

    Args:
        options: what to load.
        prepare: called before the file is loaded, to bring it there; it may name another in whose form the same
            weights are loaded.
    """

    def __init__(self, options: EngineOptions, prepare: Callable[[], Path | None]) -> None:
        self.options = options
        self.users = 0
        self._prepare = prepare
        self._reset()

    def submit(self, job: Callable[[], T]) -> "Future[T]":
        """Run a blocking job on one of the engine's threads."""
        with self._pool_lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.options.parallel, "pointwork-llama")
            return self._pool.submit(job)

    def start(self) -> None:
        """Load the model if it is not. Blocks: about 0.4 s for the default model.

        Raises:
            ProviderError: the file can not be loaded.
            ImportError: the extra ``local`` is not installed.
        """
        self._started()

    def chat(self, body: dict[str, Any], on_chunk: OnChunk) -> None:
        """Generate an answer, piece by piece. Blocks.

        Args:
            body: an OpenAI-style request; it is streamed whatever it says.
            on_chunk: gets each piece, also progress in the prompt; errors come as ``{"error": ...}``.
        """
        server = self._started()
        more = {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}
        server.handle_chat_completions({**body, **more}, on_chunk)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Exact prompt tokens of a conversation, chat template included. Blocks: about 1 ms once it is started.

        Raises:
            ProviderError: the engine does not answer.
        """
        # The bindings expose the tokenizer only through the server's loopback port. It is answered by the port's
        # own threads, not by the one that computes.
        reply = self._post("/v1/chat/completions/input_tokens", {"messages": list(messages)})
        count = reply.get("input_tokens")
        if not isinstance(count, int):
            raise ProviderError(f"llama.cpp did not count the tokens of a prompt: {str(reply)[:200]}")
        return count

    def prompt_ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """The tokens that a conversation becomes, chat template included. Blocks: about 3 ms once it is started.

        Raises:
            ProviderError: the engine does not answer.
        """
        prompt = self._post("/apply-template", {"messages": list(messages)}).get("prompt")
        body = {"content": prompt, "add_special": True, "parse_special": True}
        tokens = self._post("/tokenize", body).get("tokens") if isinstance(prompt, str) else None
        if not isinstance(tokens, list):
            raise ProviderError("llama.cpp did not give the tokens of a prompt")
        return tuple(cast(list[int], tokens))

    def endpoint(self) -> tuple[str, str]:
        """Base URL and API key of the port at which the engine speaks OpenAI's API. Loads the model if need be.

        Raises:
            ProviderError: the file can not be loaded, or the port is taken.
        """
        return self._started().listening_address + "/v1", self._key

    def close(self) -> None:
        """Stop and give back the memory. Waits for calls that are going on; the next use loads again."""
        with self._pool_lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)
        with self._load_lock:
            self._server = None

    def forget(self) -> None:
        """After a fork: the threads are not in this process, so neither stop nor free anything."""
        if self._server is not None:
            # Never freed: its destructor would wait for threads that do not exist here.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))
        self._reset()

    def _reset(self) -> None:
        # Two locks: an event loop must be able to hand over a job while a thread loads the model.
        self._pool_lock = threading.Lock()
        self._load_lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._server: _Server | None = None
        self._key = ""

    def _started(self) -> _Server:
        with self._load_lock:
            if self._server is None:
                file = self._prepare() or self.options.path
                self._key = self.options.api_key or secrets.token_urlsafe(32)
                self._server = _load(self.options, file, self._key)
            return self._server

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        address = urllib.parse.urlsplit(self._started().listening_address)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_COUNT_SECONDS)
        try:
            with contextlib.closing(connection):
                connection.request("POST", path, json.dumps(body), headers)
                reply: object = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ProviderError(f"the embedded llama.cpp server did not answer {path}: {error}") from error
        return cast(dict[str, Any], reply) if isinstance(reply, dict) else {}


def grammar(schema: dict[str, Any]) -> str:
    """A grammar in which every token is part of the answer: JSON without white space between its parts.

    llama.cpp's own ``response_format`` lets this model open a code fence, and white space doubles the tokens.
    Keywords that the grammar engine does not know are left out there; the answer is checked afterwards anyway.
    """
    guidance = {"whitespace_flexible": False, "lenient": True}
    llama: Any = require("xllamacpp")
    return str(llama.json_schema_to_grammar({**schema, "x-guidance": guidance}))


def acquire(options: EngineOptions, prepare: Callable[[], Path | None]) -> Engine:
    """The process's engine for these options. Every ``acquire`` needs one ``release``."""
    with _registry_lock:
        engine = _engines.get(options)
        if engine is None:
            engine = _engines[options] = Engine(options, prepare)
        engine.users += 1
        return engine


def hold() -> Callable[[], None]:
    """Keep the engines in use loaded when their users give them back; the function that it gives ends that."""
    with _registry_lock:
        held = list(_engines.values())
        for engine in held:
            engine.users += 1

    def end() -> None:
        while held:
            release(held.pop())

    return end


def release(engine: Engine) -> None:
    """Give an engine back; the last user closes it. Blocks until its calls have ended."""
    with _registry_lock:
        engine.users -= 1
        if engine.users > 0:
            return
        if _engines.get(engine.options) is engine:
            del _engines[engine.options]
    engine.close()


def _load(options: EngineOptions, file: Path, key: str) -> _Server:
    llama: Any = require("xllamacpp")
    # llama.cpp reports a missing file only in its log, which is off.
    for path in (file, *options.adapters):
        if not path.is_file():
            raise ProviderError(
                f"there is no model file at {path}; 'pointwork models pull' brings the default model"
            )
    params = llama.CommonParams()
    params.model.path = str(file)
    params.lora_adapters = [_adapter(llama, path) for path in options.adapters]
    # Each slot has cells of its own: in a shared pool, four long prompts would push each other out.
    params.n_ctx = options.context * options.parallel
    params.n_parallel = options.parallel
    params.n_batch = _BATCH
    params.cache_ram_mib = _PROMPT_CACHE_MB
    # One token's work is small, and its threads wait for each other by spinning: next to another busy process, a
    # thread per core falls from 180 to 10 tokens per second, half of them only from 140 to 100. Prompts and
    # several answers at once are worth all cores.
    params.cpuparams.n_threads = options.threads or max(1, cores() // 2)
    params.cpuparams_batch.n_threads = options.threads or cores()
    params.verbosity = -1  # nothing of llama.cpp's log on the user's terminal
    # The bindings always open a port: keep it on loopback, small, and closed to everybody else.
    params.hostnames = [options.host]
    params.port = options.port
    params.api_keys = [key]
    # A kept-alive connection holds one of these threads; with fewer than connections, calls wait for seconds.
    params.n_threads_http = _HTTP_THREADS
    params.ui = False
    params.endpoint_slots = False
    try:
        return cast(_Server, llama.Server(params))
    except Exception as error:  # the bindings raise RuntimeError and ValueError
        raise ProviderError(
            f"llama.cpp could not load {file}"
            f"{' with adapters ' + ', '.join(map(str, options.adapters)) if options.adapters else ''}: {error} "
            "Is it a GGUF file, of a kind this version knows? Is there enough memory, and is the port free?"
        ) from error


def cores() -> int:
    """CPU cores that this process may use: its affinity, and a container's share."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        usable = min(usable, math.ceil(int(quota) / int(period)))
    return max(1, usable)


def _adapter(llama: Any, path: Path) -> Any:
    return llama.CommonAdapterLoraInfo(str(path), 1.0)


_engines: dict[EngineOptions, Engine] = {}
_registry_lock = threading.Lock()


def _close_all() -> None:
    for engine in list(_engines.values()):
        engine.close()


def _after_fork() -> None:
    global _registry_lock
    _registry_lock = threading.Lock()
    for engine in _engines.values():
        engine.forget()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
