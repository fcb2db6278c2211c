"""The tables of memory: items, the search index over them, facts, skills, the playbook."""

from sqlalchemy import BigInteger, Column, Index, LargeBinary, Table, UniqueConstraint

from pointwork.store.schema_base import Id, RowId, metadata, serial
from pointwork.store.types import Json, Label, Number, Text, Whole

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
    serial(),
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
    serial(),
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
