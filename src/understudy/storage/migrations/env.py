"""How Alembic runs our migrations: on the connection it is given, on our tables only."""

from alembic import context

from understudy.storage.migrate import VERSION_TABLE
from understudy.storage.schema import metadata


def _is_ours(name: str | None, kind: str, parents: object) -> bool:
    """The engine's tables live beside ours on SQLite; leave them alone."""
    return kind != "table" or name in metadata.tables


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    include_name=_is_ours,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
