"""How Alembic runs our migrations: on the connection it is given."""

from alembic import context

from understudy.storage.migrate import VERSION_TABLE
from understudy.storage.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    # For the names of constraints that a migration leaves unnamed.
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
