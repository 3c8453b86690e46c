"""The operations of a daemon in this process, called without a socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import sqlalchemy as sa

from understudy.api.app import create_app
from understudy.api.in_process import InProcessCalls
from understudy.core.principal import Principal, Role
from understudy.daemon.wiring import Daemon
from understudy.mcp.endpoint import mount as mount_mcp
from understudy.settings import Settings
from understudy.storage.schema import metadata

ADMIN = Principal(user_id="alice", role=Role.ADMIN)


class Caller:
    """Calls operations of a daemon in this process."""

    def __init__(self, daemon: Daemon) -> None:
        self.services = daemon.services
        self.app = create_app(daemon.services)
        mount_mcp(self.app)
        self._calls = InProcessCalls(self.app)
        self._engine = daemon.resources.database

    async def __call__(self, operation: str, /, *, body: object = None, **ids: str) -> Any:
        return await self._calls.call(ADMIN, operation, ids, body=body, language="en")

    async def items(self, operation: str, **ids: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self(operation, limit="200", **ids))["items"]
        return found

    def rows(self) -> dict[str, int]:
        """How many rows each table has."""
        with self._engine.connect() as connection:
            return {
                table.name: connection.execute(
                    sa.select(sa.func.count()).select_from(table)
                ).scalar_one()
                for table in metadata.sorted_tables
            }


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[Caller]:
    daemon = Daemon(settings)
    daemon.migrate()
    await daemon.start()
    try:
        yield Caller(daemon)
    finally:
        await daemon.drain()
        await daemon.stop()
