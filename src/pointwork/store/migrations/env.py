"""Alembic's entry: runs on the connection that ``pointwork.store.schema.migrate`` hands over."""

from alembic import context

from pointwork.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=False)
context.run_migrations()
