"""The tables: the one record of everything that happens.

Conventions: ids are text (uuid7-like, sortable) unless a row is only ever appended; times are seconds since the
epoch (UTC); money is nano-USD (integer); JSON columns hold plain JSON values. Nothing here is specific to SQLite.

A store is migrated while older processes may still have it open: a migration adds, and changes nothing that
yesterday's package reads or writes.
"""

from sqlalchemy import Boolean, Column, ForeignKey, Index, LargeBinary, Table, UniqueConstraint, text

from pointwork.store.memory_tables import (
    fact_sources,
    facts,
    memory_items,
    memory_postings,
    memory_segments,
    memory_usage,
    memory_vectors,
    playbook,
    skills,
    text_vectors,
)
from pointwork.store.schema_base import Id, metadata, serial
from pointwork.store.types import Json, Label, Number, Text, Whole

__all__ = [
    "accounts",
    "decisions",
    "fact_sources",
    "facts",
    "ledger",
    "made_tools",
    "mcp_callers",
    "mcp_pins",
    "mcp_runs",
    "memory_items",
    "memory_postings",
    "memory_segments",
    "memory_usage",
    "memory_vectors",
    "metadata",
    "models",
    "outcomes",
    "playbook",
    "router_versions",
    "runs",
    "skills",
    "steps",
    "text_vectors",
    "tool_calls",
    "tool_usage",
    "tool_writes",
]

runs = Table(
    "runs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("thread", Label(256)),
    Column("task", Text, nullable=False),
    Column("root", Text),
    Column("status", Label(32), nullable=False),
    Column("created", Number, nullable=False),
    Column("finished", Number),
    Column("budget", Json()),
    Column("result", Json()),  # the whole Result, as --json prints it
    Column("error", Text),
    Column("package_version", Label(32), nullable=False),
    Column("owner", Label(256)),  # the process that works on it; None: nobody
    Index(None, "created"),
    Index(None, "thread", "created"),
)

steps = Table(
    "steps",
    metadata,
    serial(),
    Column("run_id", Id, ForeignKey("runs.id"), nullable=False),
    Column("subtask", Label(64)),
    Column("kind", Label(32), nullable=False),  # plan, model, recall, tool, verify, answer, note
    Column("agent", Label(128)),
    Column("role", Label(64)),
    Column("model", Label(256)),
    Column("model_version", Label(128)),
    Column("input", Json()),
    Column("output", Json()),
    Column("token_ids", Json()),
    Column("logprobs", Json()),
    Column("prompt_tokens", Whole),
    Column("completion_tokens", Whole),
    Column("usd_nano", Whole),
    Column("started", Number, nullable=False),
    Column("seconds", Number),
    Column("error", Text),
    Index(None, "run_id", "id"),
)

decisions = Table(
    "decisions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", Id),  # no foreign key: a Router is also used without runs
    Column("subtask", Label(64)),
    Column("router", Label(128), nullable=False),
    Column("created", Number, nullable=False),
    Column("clock", Whole, nullable=False),  # how many decisions this router had made before
    Column("policy", Label(64), nullable=False),
    Column("policy_version", Label(128), nullable=False),
    Column("features_version", Label(64), nullable=False),
    Column("text", Text),
    Column("context", Json(), nullable=False),  # {"text": [...], "arms": {name: [...]}, "ask": {...}}
    Column("candidates", Json(), nullable=False),
    Column("arm", Label(256), nullable=False),
    Column("propensity", Number, nullable=False),
    Column("propensities", Json(), nullable=False),
    Column("scores", Json(), nullable=False),  # {arm: {mean, bonus, cost, latency, score, ...}}
    # in the order they were stored, whoever made them when; None: by an older package. Not given by who inserts one
    Column("number", Whole, default=text("(SELECT coalesce(max(number), 0) + 1 FROM decisions)")),
    Index(None, "number"),
    Index(None, "run_id"),
    Index(None, "router", "clock"),
    Index(None, "router", "created"),
)

outcomes = Table(
    "outcomes",
    metadata,
    serial(),
    Column("decision_id", Id, ForeignKey("decisions.id"), nullable=False),
    Column("created", Number, nullable=False),
    Column("quality", Number),  # None: unknown
    Column("usd", Number),
    Column("seconds", Number),
    Column("error", Text),
    Column("source", Label(64), nullable=False),  # check, judge, feedback, caller
    Index(None, "decision_id", "id"),
)

accounts = Table(
    "accounts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("parent_id", Id, ForeignKey("accounts.id")),
    Column("run_id", Id),
    Column("kind", Label(32), nullable=False),  # run, subtask, memory, judge, …
    Column("name", Label(256), nullable=False),
    Column("deadline", Number),
    Column("limit_usd_nano", Whole),
    Column("limit_tokens", Whole),
    Column("limit_tool_calls", Whole),
    Column("limit_turns", Whole),
    Column("spent_usd_nano", Whole, nullable=False, default=0),
    Column("spent_tokens", Whole, nullable=False, default=0),
    Column("spent_tool_calls", Whole, nullable=False, default=0),
    Column("spent_turns", Whole, nullable=False, default=0),
    Column("reserved_usd_nano", Whole, nullable=False, default=0),
    Column("reserved_tokens", Whole, nullable=False, default=0),
    Column("reserved_tool_calls", Whole, nullable=False, default=0),
    Column("reserved_turns", Whole, nullable=False, default=0),
    Index(None, "run_id"),
    Index(None, "parent_id"),
)

ledger = Table(
    "ledger",
    metadata,
    serial(),
    Column("reservation_id", Id, nullable=False),
    Column("account_id", Id, ForeignKey("accounts.id"), nullable=False),
    Column("run_id", Id),
    Column("kind", Label(16), nullable=False),  # reserve, settle, release, expire
    Column("by", Label(128), nullable=False),  # planner, agent:files, memory:filter, judge, …
    Column("model", Label(256)),
    Column("model_version", Label(128)),
    Column("usd_nano", Whole, nullable=False),
    Column("tokens", Whole, nullable=False),
    Column("tool_calls", Whole, nullable=False),
    Column("turns", Whole, nullable=False),
    Column("seconds", Number),
    Column("created", Number, nullable=False),
    # of a reserve: when its holder is taken for dead; NULL as soon as it is settled, released or expired
    Column("lease_until", Number),
    UniqueConstraint("reservation_id", "kind"),
    Index(None, "account_id"),
    Index(None, "run_id", "lease_until"),
)

tool_calls = Table(
    "tool_calls",
    metadata,
    Column("id", Id, primary_key=True),  # the idempotency key
    Column("run_id", Id),
    Column("subtask", Label(64)),
    Column("tool", Label(256), nullable=False),
    Column("arguments", Json(), nullable=False),
    Column("arguments_hash", Label(64), nullable=False),
    Column("status", Label(32), nullable=False),  # intent, done, failed, denied
    Column("result", Json()),
    Column("error", Text),
    Column("taint", Json()),
    Column("started", Number, nullable=False),
    Column("finished", Number),
    Index(None, "run_id"),
)

# What calls with effects wrote, by the texts in their arguments: where the run had seen what it must not hand on.
tool_writes = Table(
    "tool_writes",
    metadata,
    serial(),
    Column("name", Label(64), nullable=False),  # SHA-256 of a text, spelled as ``store.writes`` does
    Column("call_id", Id, nullable=False),
    Column("run_id", Id),
    Column("private", Boolean, nullable=False),
    Column("untrusted", Boolean, nullable=False),
    Column("unasked", Boolean, nullable=False),  # it holds private data that its user did not speak of
    Index(None, "name"),
)


models = Table(
    "models",
    metadata,
    Column("id", Id, primary_key=True),
    Column("role", Label(64), nullable=False),
    Column("version", Label(128), nullable=False),
    Column("base", Label(256), nullable=False),
    Column("path", Text),
    Column("sha256", Label(64)),
    Column("parent_id", Id),
    Column("metrics", Json()),
    Column("state", Label(32), nullable=False),  # candidate, live, rolled-back
    Column("created", Number, nullable=False),
    UniqueConstraint("role", "version"),
)

router_versions = Table(
    "router_versions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("router", Label(128), nullable=False),
    Column("version", Whole, nullable=False),
    Column("policy", Label(64), nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("clock", Whole, nullable=False),
    Column("parent_id", Id),
    Column("metrics", Json()),
    Column("live", Boolean, nullable=False),
    Column("created", Number, nullable=False),
    UniqueConstraint("router", "version"),
)

# Who called through ``pointwork serve``, and what all its runs have spent.
mcp_callers = Table(
    "mcp_callers",
    metadata,
    Column("name", Label(64), primary_key=True),
    Column("spent_usd_nano", Whole, nullable=False),
    Column("spent_tokens", Whole, nullable=False),
    Column("runs", Whole, nullable=False),
)

mcp_runs = Table(
    "mcp_runs",
    metadata,
    Column("run_id", Id, primary_key=True),
    Column("caller", Label(64), nullable=False),
    Column("tool", Label(128), nullable=False),  # team, or an agent
    Index(None, "caller"),
)

# What a person agreed to of a foreign server's tool: a later description or schema is another tool.
mcp_pins = Table(
    "mcp_pins",
    metadata,
    Column("server", Label(128), primary_key=True),
    Column("tool", Label(256), primary_key=True),
    Column("sha256", Label(64), nullable=False),
    Column("created", Number, nullable=False),
)

# Requests and the tools that served them: what ``ToolIndex`` learns from.
tool_usage = Table(
    "tool_usage",
    metadata,
    serial(),
    Column("run_id", Id),
    Column("request", Text, nullable=False),
    Column("tool", Label(256), nullable=False),
    Column("ok", Boolean, nullable=False),
    Column("created", Number, nullable=False),
    Index(None, "tool"),
)

# Tools that the manager made, one row per version.
made_tools = Table(
    "made_tools",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Label(128), nullable=False),
    Column("version", Whole, nullable=False),
    Column("description", Text, nullable=False),
    Column("input_schema", Json(), nullable=False),
    Column("code", Text, nullable=False),
    Column("cases", Json(), nullable=False),
    Column("labels", Json(), nullable=False),
    Column("state", Label(32), nullable=False),  # waiting, live, retired
    Column("run_id", Id),
    Column("calls", Whole, nullable=False),
    Column("failures", Whole, nullable=False),
    Column("why", Text),
    Column("created", Number, nullable=False),
    UniqueConstraint("name", "version"),
)
