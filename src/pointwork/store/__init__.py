"""The store: one record of runs, steps, decisions, outcomes, money, tools, memory and versions.

``Store`` opens a database by URL and is the only thing that writes to it; ``tables`` holds the schema,
``migrations`` its history.
"""

from pointwork.store.clock import new_id
from pointwork.store.engine import default_url
from pointwork.store.store import Store, open_store

__all__ = ["Store", "default_url", "new_id", "open_store"]
