"""What all tables share: the metadata with its names of constraints, and the types of ids."""

from sqlalchemy import BigInteger, Column, Integer, MetaData

from pointwork.store.types import Label

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


def serial() -> Column[int]:
    return Column("id", RowId, primary_key=True, autoincrement=True)
