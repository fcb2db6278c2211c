"""The tables: the one record of everything that happens.

Conventions: ids are text (uuid7-like, sortable) unless a row is only ever appended; times are seconds since the
epoch (UTC); money is nano-USD (integer); JSON columns hold plain JSON values. Nothing here is specific to SQLite.

A store is migrated while older processes may still have it open: a migration adds, and changes nothing that
yesterday's package reads or writes.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
)

from pointwork.store.types import Json, Label, Number, Text, Whole

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
Id = Label(64)


def _serial() -> Column[int]:
    return Column("id", RowId, primary_key=True, autoincrement=True)


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
    _serial(),
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
    Column("context", Json(), nullable=False),  # {"text": [...], "arms": {name: [...]}}
    Column("candidates", Json(), nullable=False),
    Column("arm", Label(256), nullable=False),
    Column("propensity", Number, nullable=False),
    Column("propensities", Json(), nullable=False),
    Column("scores", Json(), nullable=False),  # {arm: {mean, bonus, cost, latency, score, ...}}
    Index(None, "run_id"),
    Index(None, "router", "clock"),
    Index(None, "router", "created"),
)

outcomes = Table(
    "outcomes",
    metadata,
    _serial(),
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
    _serial(),
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
    _serial(),
    Column("name", Label(64), nullable=False),  # SHA-256 of a text, spelled as ``store.writes`` does
    Column("call_id", Id, nullable=False),
    Column("run_id", Id),
    Column("private", Boolean, nullable=False),
    Column("untrusted", Boolean, nullable=False),
    Column("unasked", Boolean, nullable=False),  # it holds private data that its user did not speak of
    Index(None, "name"),
)

memory_items = Table(
    "memory_items",
    metadata,
    Column("serial", RowId, primary_key=True, autoincrement=True),  # insertion order
    Column("id", Id, nullable=False),
    Column("layer", Label(32), nullable=False),  # episodic, semantic, summary, …
    Column("text", Text, nullable=False),
    Column("title", Text),
    Column("source", Text, nullable=False),
    Column("trust", Label(32), nullable=False),  # user, tool, web, agent
    Column("thread", Label(256)),
    Column("speaker", Label(256)),
    Column("time", Number),
    Column("created", Number, nullable=False),
    Column("parent_id", Id),  # the item that this one is a chunk or a summary of
    Column("start", Whole),  # character offsets in the parent
    Column("end", Whole),
    Column("covers", Json()),  # ids that a summary stands for
    Column("tokens", Whole, nullable=False),
    Column("meta", Json()),
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
    Column("subtask", Label(64)),
    Column("question", Text),
    Column("tiers", Json(), nullable=False),  # {module: tier}
    Column("items", Json(), nullable=False),  # [[id, score], …]
    Column("credit", Number),
    Column("tokens", Whole, nullable=False),
    Column("usd_nano", Whole, nullable=False),
    Column("seconds", Number, nullable=False),
    Column("created", Number, nullable=False),
    Index(None, "run_id"),
)

# The search index over memory_items: what is not yet in a segment, each process indexes by itself.
memory_segments = Table(
    "memory_segments",
    metadata,
    _serial(),
    Column("first", BigInteger, nullable=False),  # serial numbers of its first and last row
    Column("last", BigInteger, nullable=False),
    Column("docs", BigInteger, nullable=False),
    Column("numbers", LargeBinary, nullable=False),  # per document: serial, length, sequence, time, title
    Column("speakers", Text),  # JSON list of their names
    Column("embedder", Label(64)),  # version of what made the vectors
    Column("codes", LargeBinary),  # per document: signs of its vector, 32 bytes
    Column("vectors", LargeBinary),
    UniqueConstraint("first"),
)

memory_postings = Table(
    "memory_postings",
    metadata,
    Column("token", Label(256), primary_key=True),
    Column("segment", BigInteger, primary_key=True, autoincrement=False),
    Column("docs", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),  # places in the segment, then weights
    sqlite_with_rowid=False,
)

# What was stated, one row a statement: intervals follow from all statements of a key (``memory/facts.py``).
facts = Table(
    "facts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("key", Label(256), nullable=False),  # subject and relation, normalised
    Column("head", Label(64), nullable=False),  # last tokens of subject and relation, for questions
    Column("tail", Label(64), nullable=False),
    Column("subject", Text, nullable=False),
    Column("relation", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("valid_from", Number),
    Column("valid_to", Number),
    Column("trust", Label(32), nullable=False),
    Column("created", Number, nullable=False),
    Index(None, "key"),
    Index(None, "head"),
    Index(None, "tail"),
)

fact_sources = Table(
    "fact_sources",
    metadata,
    Column("fact_id", Id, primary_key=True),
    Column("source", Label(256), primary_key=True),  # id of an item of memory, or a label
    Index(None, "source"),
)

# Plans that worked, one row a shape (``memory/skills.py``).
skills = Table(
    "skills",
    metadata,
    Column("id", Id, primary_key=True),
    Column("shape", Text, nullable=False),  # capabilities, what each needs, tools
    Column("examples", Json(), nullable=False),  # [{task, plan, tools, source}], the latest
    Column("sources", Json(), nullable=False),  # the runs that went well so
    Column("created", Number, nullable=False),
    Column("updated", Number, nullable=False),
)

# What the sentence encoder (extra "embed") made of rows that recall looked at closely; gone with the row.
memory_vectors = Table(
    "memory_vectors",
    metadata,
    Column("serial", BigInteger, primary_key=True, autoincrement=False),
    Column("encoder", Label(64), primary_key=True),  # its version
    Column("vector", LargeBinary, nullable=False),  # scale as float32, then int8
    sqlite_with_rowid=False,
)

# The same of what tools say of themselves, by a digest of the text.
text_vectors = Table(
    "text_vectors",
    metadata,
    Column("digest", Label(64), primary_key=True),
    Column("encoder", Label(64), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

playbook = Table(
    "playbook",
    metadata,
    Column("id", Id, primary_key=True),
    Column("section", Label(128), nullable=False),
    Column("text", Text, nullable=False),
    Column("helpful", Whole, nullable=False, default=0),
    Column("harmful", Whole, nullable=False, default=0),
    Column("sources", Json()),
    Column("state", Label(32), nullable=False),
    Column("created", Number, nullable=False),
    Column("updated", Number, nullable=False),
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
    _serial(),
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
