"""The bridge store: bridges with their credentials, links of ids, and outgoing deliveries."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from understudy.channels.bridge_model import Bridge, BridgeDelivery, BridgeDeliveryStatus
from understudy.core.page import Page, PageRequest
from understudy.storage.engine import Dialect
from understudy.storage.rows import insert_new
from understudy.storage.schema import bridge_deliveries, bridge_links, channel_bridges
from understudy.storage.table import Table
from understudy.storage.visible_connection import VisibleConnection


class BridgeDeliveries(Table[BridgeDelivery]):
    """Outgoing deliveries."""

    table = bridge_deliveries
    kind = BridgeDelivery
    order = ("created_at_ms", "delivery_id")
    newest_first = True

    def page(self, bridge_id: str, request: PageRequest) -> Page[BridgeDelivery]:
        """The deliveries of a bridge, newest first."""
        return self._page(request, self._select(bridge_id=bridge_id))

    def claim(self, now_ms: int, *, until_ms: int, limit: int) -> Sequence[BridgeDelivery]:
        """Claim due deliveries until a time."""
        is_due = bridge_deliveries.c.due_at_ms <= now_ms
        query = (
            self._select(is_due, status=BridgeDeliveryStatus.PENDING)
            .order_by(bridge_deliveries.c.created_at_ms, bridge_deliveries.c.delivery_id)
            .limit(limit)
        )
        rows = self._connection.execute(self._dialect.locked_if_free(query)).all()
        _hold(self._connection, bridge_deliveries, "delivery_id", rows, until_ms)
        return [self._read(row) for row in rows]


class BridgeStore(Table[Bridge]):
    """Bridges with their links; deleting one deletes its links and deliveries."""

    table = channel_bridges
    kind = Bridge

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        super().__init__(connection, dialect)
        self.deliveries = BridgeDeliveries(connection, dialect)

    def of_channel(self, channel_id: str) -> tuple[Bridge, ...]:
        """The bridges of a channel."""
        found = self._connection.execute(_OF_CHANNEL, {"of": channel_id})
        return tuple(map(self._read, found))

    def ids(self) -> tuple[str, ...]:
        """The ids of all bridges."""
        found = self._connection.execute(sa.select(channel_bridges.c.bridge_id)).scalars()
        return tuple(sorted(found))

    def secrets(self) -> tuple[str, ...]:
        """Every credential of every bridge."""
        stored = self._connection.execute(sa.select(channel_bridges.c.credentials)).scalars()
        found = (value for each in stored if isinstance(each, dict) for value in each.values())
        return tuple({str(value) for value in found if value})

    def linked(self, bridge_id: str, external_id: str) -> str | None:
        """The message that an external message became."""
        query = sa.select(bridge_links.c.message_id).where(
            bridge_links.c.bridge_id == bridge_id, bridge_links.c.external_id == external_id
        )
        return self._connection.execute(query).scalar()

    def external_of(self, bridge_id: str, message_id: str) -> str | None:
        """The external id of a message."""
        query = (
            sa.select(bridge_links.c.external_id)
            .where(bridge_links.c.bridge_id == bridge_id)
            .where(bridge_links.c.message_id == message_id)
            .order_by(bridge_links.c.external_id)
            .limit(1)
        )
        return self._connection.execute(query).scalar()

    def link(self, bridge_id: str, external_id: str, message_id: str) -> None:
        """Link an external id to a message; the first link wins."""
        row = {"bridge_id": bridge_id, "external_id": external_id, "message_id": message_id}
        insert_new(self._connection, bridge_links, row)

    def claim_mailboxes(self, now_ms: int, *, until_ms: int, limit: int) -> Sequence[Bridge]:
        """Claim bridges whose mailbox is due to be polled, until a time."""
        query = self._select(channel_bridges.c.due_at_ms <= now_ms)
        query = query.order_by(channel_bridges.c.due_at_ms).limit(limit)
        rows = self._connection.execute(self._dialect.locked_if_free(query)).all()
        _hold(self._connection, channel_bridges, "bridge_id", rows, until_ms)
        return [self._read(row) for row in rows]

    def poll_at(self, bridge_id: str, at_ms: int) -> None:
        """Schedule the next poll of a mailbox; not for a bridge that was switched off meanwhile."""
        self._connection.execute(
            sa.update(channel_bridges)
            .where(channel_bridges.c.bridge_id == bridge_id)
            .where(channel_bridges.c.due_at_ms.is_not(None))
            .values(due_at_ms=at_ms)
        )

    def next_due_ms(self) -> int | None:
        """When the next delivery or mailbox poll is due."""
        found = [
            self._connection.execute(sa.select(sa.func.min(column)).where(column.is_not(None)))
            for column in (bridge_deliveries.c.due_at_ms, channel_bridges.c.due_at_ms)
        ]
        dues = [each for each in (result.scalar() for result in found) if each is not None]
        return min(dues, default=None)


def _hold(
    connection: VisibleConnection, table: sa.Table, key: str, rows: Sequence[Any], until_ms: int
) -> None:
    ids = [row[0] for row in rows]
    if ids:
        statement = sa.update(table).where(table.c[key].in_(ids))
        connection.execute(statement.values(due_at_ms=until_ms))


_OF_CHANNEL = (
    sa.select(channel_bridges)
    .where(channel_bridges.c.channel_id == sa.bindparam("of"))
    .order_by(channel_bridges.c.created_at_ms, channel_bridges.c.bridge_id)
)
