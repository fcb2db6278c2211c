"""Budget-tier memory: the right evidence for the fewest tokens, never lossy, never poisoned.

    from pointwork.memory import Memory

    memory = Memory("sqlite:///notes.db")
    memory.add("Ada's train leaves at 9:40", source="mail:7")
    found = memory.recall("When does the train leave?")
    found.text          # quoted, within a token budget: for a model
    found.items[0].id   # memory.read(id) is the exact original

``episodic`` keeps texts verbatim in the store; ``index`` and ``bm25`` find them; recall goes through five
``modules`` in tiers (``low``: lexical, deterministic), chosen by a ``policy``; ``quoting`` shows what was found
as data.
"""

from pointwork.memory.episodic import Entry
from pointwork.memory.items import Cost, Item, Recall
from pointwork.memory.memory import Memory
from pointwork.memory.modules import available_tiers

__all__ = ["Cost", "Entry", "Item", "Memory", "Recall", "available_tiers"]
