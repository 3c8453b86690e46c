"""Which tools an operator switched off."""

import sqlalchemy as sa

from understudy.storage.rows import insert_new
from understudy.storage.schema import tool_switches


class ToolSwitchStore:
    """Tool switches in a table; a tool that is not mentioned is on."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def disabled(self) -> frozenset[str]:
        """The tools that are off."""
        return frozenset(self._connection.execute(_DISABLED).scalars())

    def set(self, name: str, *, enabled: bool) -> None:
        """Switch a tool on or off."""
        if insert_new(self._connection, tool_switches, {"name": name, "enabled": enabled}):
            return
        self._connection.execute(
            sa.update(tool_switches).where(tool_switches.c.name == name).values(enabled=enabled)
        )


# Asked before every tool call, so it is put together only once.
_DISABLED = sa.select(tool_switches.c.name).where(tool_switches.c.enabled.is_(False))
