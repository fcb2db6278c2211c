"""What memory recalls for a subtask, and the model that its High tiers ask in a run.

The model has the role ``memory``: its calls are paid from the subtask's budget, logged as steps of the run, and not
made again when the run is resumed.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from pointwork.agents.replay import ASIDE as ROLE
from pointwork.agents.replay import Replay
from pointwork.errors import BudgetExceeded, RunError
from pointwork.memory import Memory, Recall
from pointwork.memory.reader import Reply
from pointwork.models import ChatRequest, Completion, request_tokens
from pointwork.models.gateway import Caller, Models
from pointwork.tools.threads import in_thread


class RunReader:
    """A ``pointwork.memory.reader.Reader`` for one attempt at a subtask.

    Made on the event loop of the run, asked from the threads that recall.

    Args:
        models: the team's.
        caller: who pays, and for what.
        replay: answers that an earlier process was given.
    """

    def __init__(self, models: Models, caller: Caller, replay: Replay | None = None) -> None:
        self._models, self._caller, self._replay = models, caller, replay
        self._loop = asyncio.get_running_loop()
        self._jobs: set[Future[Completion]] = set()
        self._stopped, self._lock = False, threading.Lock()

    def ask(self, request: ChatRequest) -> Reply:
        known = self._replay.asked_before(request) if self._replay else None
        if known is not None:
            return Reply(known.text, 0, 0.0)
        job = self._begun(request)
        try:
            answer = job.result()
        except CancelledError as error:
            raise _stopped() from error
        finally:
            self._jobs.discard(job)
        spent = self._models.client(ROLE).price.nano(answer.prompt_tokens, answer.completion_tokens) / 1e9
        return Reply(answer.text, answer.prompt_tokens + answer.completion_tokens, spent)

    def _begun(self, request: ChatRequest) -> Future[Completion]:
        self._check_worth(request)
        with self._lock:
            if self._stopped:
                raise _stopped()
            work = self._models.chat(ROLE, request, self._caller)
            job = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._jobs.add(job)
            return job

    def _check_worth(self, request: ChatRequest) -> None:
        """Leave the agent, for whose sake memory is asked, at least half of what there is, and a turn."""
        client, left = self._models.client(ROLE), self._caller.account.remaining()
        tokens = request_tokens(client, request) + request.max_tokens
        usd = client.price.nano(tokens - request.max_tokens, request.max_tokens)
        few = left.turns is not None and left.turns < 2
        if few or any(
            most is not None and 2 * one > most for one, most in ((tokens, left.tokens), (usd, left.usd_nano))
        ):
            raise BudgetExceeded(
                f"too little is left to ask {client.name} for memory: {left.describe()}",
                limit="turns" if few else "tokens",
                account=self._caller.account.name,
            )

    def stop(self) -> None:
        """End the calls that go on, so that their threads end, and begin no more."""
        with self._lock:
            self._stopped = True
            jobs = list(self._jobs)
        for job in jobs:
            job.cancel()


def _stopped() -> RunError:
    return RunError("the run was stopped while memory's model was answering")


async def recalled(recall: Callable[..., Recall], reader: RunReader | None, *args: Any, **options: Any) -> Recall:
    """A recall; one that may ask a model in a thread, since it waits for what this loop does."""
    if reader is None:
        return recall(*args, **options)
    try:
        # one of its own: clients need the loop's threads, which waiting recalls would all take
        return await in_thread(recall, *args, **options, model=reader)
    except asyncio.CancelledError:
        reader.stop()
        raise


class Unasked:
    """A run's memory as its tools see it: a ``pointwork.tools.spec.MemoryLike``.

    What a tool looks up is not worth a model's time besides, and no budget would pay for it.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def recall(self, question: str, k: int = 10, budget_tokens: int = 800, thread: str | None = None) -> Recall:
        """As ``Memory.recall``; tiers that would ask a model work at Mid."""
        return self._memory.recall(question, k, budget_tokens, thread, model=False)

    def read(self, id: str, /) -> str:
        """As ``Memory.read``."""
        return self._memory.read(id)
