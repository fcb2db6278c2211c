"""The tables: the one record of everything that happens.

Conventions: ids are text (uuid7-like, sortable) unless a row is only ever appended; times are seconds since the
epoch (UTC); money is nano-USD (integer); JSON columns hold plain JSON values. Nothing here is specific to SQLite.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite gives row ids only to INTEGER primary keys.
RowId = BigInteger().with_variant(Integer, "sqlite")
Id = String(64)


def _serial() -> Column[int]:
    return Column("id", RowId, primary_key=True, autoincrement=True)


runs = Table(
    "runs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("thread", String(256)),
    Column("task", Text, nullable=False),
    Column("root", Text),
    Column("status", String(32), nullable=False),
    Column("created", Float, nullable=False),
    Column("finished", Float),
    Column("budget", JSON),
    Column("result", JSON),  # the whole Result, as --json prints it
    Column("error", Text),
    Column("package_version", String(32), nullable=False),
    Index(None, "created"),
    Index(None, "thread", "created"),
)

steps = Table(
    "steps",
    metadata,
    _serial(),
    Column("run_id", Id, ForeignKey("runs.id"), nullable=False),
    Column("subtask", String(64)),
    Column("kind", String(32), nullable=False),  # plan, model, recall, tool, verify, answer, note
    Column("agent", String(128)),
    Column("role", String(64)),
    Column("model", String(256)),
    Column("model_version", String(128)),
    Column("input", JSON),
    Column("output", JSON),
    Column("token_ids", JSON),
    Column("logprobs", JSON),
    Column("prompt_tokens", BigInteger),
    Column("completion_tokens", BigInteger),
    Column("usd_nano", BigInteger),
    Column("started", Float, nullable=False),
    Column("seconds", Float),
    Column("error", Text),
    Index(None, "run_id", "id"),
)

decisions = Table(
    "decisions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", Id),  # no foreign key: a Router is also used without runs
    Column("subtask", String(64)),
    Column("router", String(128), nullable=False),
    Column("created", Float, nullable=False),
    Column("clock", BigInteger, nullable=False),  # how many decisions this router had made before
    Column("policy", String(64), nullable=False),
    Column("policy_version", String(128), nullable=False),
    Column("features_version", String(64), nullable=False),
    Column("text", Text),
    Column("context", JSON, nullable=False),  # {"text": [...], "arms": {name: [...]}}
    Column("candidates", JSON, nullable=False),
    Column("arm", String(256), nullable=False),
    Column("propensity", Float, nullable=False),
    Column("propensities", JSON, nullable=False),
    Column("scores", JSON, nullable=False),  # {arm: {mean, bonus, cost, latency, score, ...}}
    Index(None, "run_id"),
    Index(None, "router", "clock"),
)

outcomes = Table(
    "outcomes",
    metadata,
    _serial(),
    Column("decision_id", Id, ForeignKey("decisions.id"), nullable=False),
    Column("created", Float, nullable=False),
    Column("quality", Float),  # None: unknown
    Column("usd", Float),
    Column("seconds", Float),
    Column("error", Text),
    Column("source", String(64), nullable=False),  # check, judge, feedback, caller
    Index(None, "decision_id", "id"),
)

accounts = Table(
    "accounts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("parent_id", Id, ForeignKey("accounts.id")),
    Column("run_id", Id),
    Column("kind", String(32), nullable=False),  # run, subtask, memory, judge, …
    Column("name", String(256), nullable=False),
    Column("deadline", Float),
    Column("limit_usd_nano", BigInteger),
    Column("limit_tokens", BigInteger),
    Column("limit_tool_calls", BigInteger),
    Column("limit_turns", BigInteger),
    Column("spent_usd_nano", BigInteger, nullable=False, default=0),
    Column("spent_tokens", BigInteger, nullable=False, default=0),
    Column("spent_tool_calls", BigInteger, nullable=False, default=0),
    Column("spent_turns", BigInteger, nullable=False, default=0),
    Column("reserved_usd_nano", BigInteger, nullable=False, default=0),
    Column("reserved_tokens", BigInteger, nullable=False, default=0),
    Column("reserved_tool_calls", BigInteger, nullable=False, default=0),
    Column("reserved_turns", BigInteger, nullable=False, default=0),
    Index(None, "run_id"),
    Index(None, "parent_id"),
)

ledger = Table(
    "ledger",
    metadata,
    _serial(),
    Column("reservation_id", Id, nullable=False),
    Column("account_id", Id, ForeignKey("accounts.id"), nullable=False),
    Column("run_id", Id),
    Column("kind", String(16), nullable=False),  # reserve, settle, release
    Column("by", String(128), nullable=False),  # planner, agent:files, memory:filter, judge, …
    Column("model", String(256)),
    Column("model_version", String(128)),
    Column("usd_nano", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("tool_calls", BigInteger, nullable=False),
    Column("turns", BigInteger, nullable=False),
    Column("seconds", Float),
    Column("created", Float, nullable=False),
    Column("lease_until", Float),
    # one reserve and at most one settle or release per reservation
    UniqueConstraint("reservation_id", "kind"),
    Index(None, "account_id"),
    Index(None, "run_id"),
)

tool_calls = Table(
    "tool_calls",
    metadata,
    Column("id", Id, primary_key=True),  # the idempotency key
    Column("run_id", Id),
    Column("subtask", String(64)),
    Column("tool", String(256), nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("arguments_hash", String(64), nullable=False),
    Column("status", String(32), nullable=False),  # intent, done, failed, denied
    Column("result", JSON),
    Column("error", Text),
    Column("taint", JSON),
    Column("started", Float, nullable=False),
    Column("finished", Float),
    Index(None, "run_id"),
)

memory_items = Table(
    "memory_items",
    metadata,
    Column("serial", RowId, primary_key=True, autoincrement=True),  # insertion order
    Column("id", Id, nullable=False),
    Column("layer", String(32), nullable=False),  # episodic, semantic, summary, …
    Column("text", Text, nullable=False),
    Column("title", Text),
    Column("source", Text, nullable=False),
    Column("trust", String(32), nullable=False),  # user, tool, web, agent
    Column("thread", String(256)),
    Column("speaker", String(256)),
    Column("time", Float),
    Column("created", Float, nullable=False),
    Column("parent_id", Id),  # the item that this one is a chunk or a summary of
    Column("start", BigInteger),  # character offsets in the parent
    Column("end", BigInteger),
    Column("covers", JSON),  # ids that a summary stands for
    Column("tokens", BigInteger, nullable=False),
    Column("meta", JSON),
    UniqueConstraint("id"),
    Index(None, "source"),
    Index(None, "thread", "serial"),
    Index(None, "parent_id"),
)

memory_usage = Table(
    "memory_usage",
    metadata,
    _serial(),
    Column("run_id", Id),
    Column("subtask", String(64)),
    Column("question", Text),
    Column("tiers", JSON, nullable=False),  # {module: tier}
    Column("items", JSON, nullable=False),  # [[id, score], …]
    Column("credit", Float),
    Column("tokens", BigInteger, nullable=False),
    Column("usd_nano", BigInteger, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("created", Float, nullable=False),
    Index(None, "run_id"),
)

playbook = Table(
    "playbook",
    metadata,
    Column("id", Id, primary_key=True),
    Column("section", String(128), nullable=False),
    Column("text", Text, nullable=False),
    Column("helpful", BigInteger, nullable=False, default=0),
    Column("harmful", BigInteger, nullable=False, default=0),
    Column("sources", JSON),
    Column("state", String(32), nullable=False),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
)

models = Table(
    "models",
    metadata,
    Column("id", Id, primary_key=True),
    Column("role", String(64), nullable=False),
    Column("version", String(128), nullable=False),
    Column("base", String(256), nullable=False),
    Column("path", Text),
    Column("sha256", String(64)),
    Column("parent_id", Id),
    Column("metrics", JSON),
    Column("state", String(32), nullable=False),  # candidate, live, rolled-back
    Column("created", Float, nullable=False),
    UniqueConstraint("role", "version"),
)

router_versions = Table(
    "router_versions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("router", String(128), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("policy", String(64), nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("clock", BigInteger, nullable=False),
    Column("parent_id", Id),
    Column("metrics", JSON),
    Column("live", Boolean, nullable=False),
    Column("created", Float, nullable=False),
    UniqueConstraint("router", "version"),
)
