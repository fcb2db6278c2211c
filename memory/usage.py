"""The record of what recall found and what it cost."""

import logging
import time as clock

from pointwork.errors import StoreError
from pointwork.memory.episodic import replace_refused
from pointwork.memory.items import Recall
from pointwork.store import Store
from pointwork.store.tables import memory_usage

_log = logging.getLogger("pointwork.memory")


def log_use(store: Store, recall: Recall, question: str, run_id: str | None, subtask: str | None) -> None:
    """Record a recall, of a run's subtask or of nobody's."""
    row = {
        "run_id": run_id,
        "subtask": subtask,
        "question": replace_refused(question),
        "tiers": dict(recall.tiers),
        "items": [[item.id, item.score] for item in recall.items],
        "tokens": recall.tokens,
        "usd_nano": round(recall.cost.usd * 1e9),
        "seconds": recall.cost.seconds,
        "created": clock.time(),
    }
    try:
        store.append(memory_usage, row)
    except StoreError as error:  # read-only or locked: what was found is found, the record waits in the buffer
        _log.warning("the use of memory could not be stored now; it will be tried again: %s", error)
