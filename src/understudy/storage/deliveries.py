"""The outbox of webhooks: claimed by one worker at a time, settled by the last claimant."""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from understudy.deliveries.model import MAX_ATTEMPTS, ClaimedDelivery, Try
from understudy.runs.model import Delivery, DeliveryStatus
from understudy.storage.engine import Dialect
from understudy.storage.rows import from_row, insert_new, to_row
from understudy.storage.schema import deliveries, delivery_tries, webhook_secret
from understudy.storage.visible_connection import VisibleConnection

CUT_OFF: Final = "given up: the daemon stopped during the last attempt"
ONLY: Final = "current"
# Above the number of reply targets of any run.
TASK_POSITIONS: Final = 1_000_000


class DeliveryStore:
    """The webhook outbox, written in the transaction that ends a run."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def add(self, run_id: str, position: int, delivery: Delivery) -> None:
        """Queue the delivery of a run's end to the reply target at a position."""
        row = to_row(delivery, deliveries) | {
            "run_id": run_id,
            "position": position,
            "attempts_before": 0,
            "due_at_ms": delivery.next_attempt_at_ms,
        }
        self._connection.execute(sa.insert(deliveries).values(row))

    def of_runs(self, run_ids: Sequence[str]) -> dict[str, dict[int, Delivery]]:
        """The deliveries of some runs, by the position of their target."""
        query = sa.select(deliveries).where(deliveries.c.run_id.in_(run_ids))
        found: dict[str, dict[int, Delivery]] = {}
        for row in self._connection.execute(query.order_by(deliveries.c.position)):
            found.setdefault(row.run_id, {})[row.position] = _read(row)
        return found

    def of_task(self, task_id: str) -> tuple[Delivery, ...]:
        """The deliveries of a background task, in the order of its reply targets."""
        query = sa.select(deliveries).where(deliveries.c.task_id == task_id)
        found = self._connection.execute(query.order_by(deliveries.c.position))
        return tuple(_read(row) for row in found)

    def next_task_position(self, run_id: str) -> int:
        """The next free delivery position of a background task of a run whose row is locked."""
        query = sa.select(sa.func.max(deliveries.c.position)).where(deliveries.c.run_id == run_id)
        last = self._connection.execute(query).scalar() or 0
        return max(int(last) + 1, TASK_POSITIONS)

    def find(self, run_id: str, delivery_id: str) -> Delivery | None:
        """One delivery of a run, locked until the unit ends."""
        query = sa.select(deliveries).where(
            deliveries.c.delivery_id == delivery_id, deliveries.c.run_id == run_id
        )
        row = self._connection.execute(self._dialect.locked(query)).first()
        return None if row is None else _read(row)

    def next_due_ms(self) -> int | None:
        """When the next attempt is due; None when no delivery is pending."""
        query = sa.select(sa.func.min(deliveries.c.due_at_ms)).where(_WAITS)
        return self._connection.execute(query).scalar()

    def claim(self, *, now_ms: int, until_ms: int, limit: int) -> tuple[ClaimedDelivery, ...]:
        """Claim due deliveries until `until_ms`."""
        self._give_up_cut_off(now_ms)
        due = (
            sa.select(deliveries.c.delivery_id)
            .where(_WAITS, deliveries.c.due_at_ms <= now_ms)
            .order_by(deliveries.c.due_at_ms, deliveries.c.delivery_id)
            .limit(limit)
            # Rows that another daemon is claiming are skipped. SQLite has one writer anyway.
            .with_for_update(skip_locked=True)
        )
        ids = self._connection.execute(due).scalars().all()
        statement = (
            sa.update(deliveries)
            .where(deliveries.c.delivery_id.in_(ids))
            .values(attempts=deliveries.c.attempts + 1, due_at_ms=until_ms)
            .returning(deliveries)
        )
        return tuple(_claimed(row) for row in self._connection.execute(statement)) if ids else ()

    def settle(
        self, claimed: ClaimedDelivery, tried: Try, status: DeliveryStatus, *, due_at_ms: int | None
    ) -> bool:
        """Store an attempt and the next status; False when another worker claimed the delivery."""
        is_delivered = status is DeliveryStatus.DELIVERED
        statement = (
            sa.update(deliveries)
            .where(deliveries.c.delivery_id == claimed.delivery_id, _PENDING)
            .where(deliveries.c.attempts == claimed.attempt)
            .values(
                status=str(status),
                due_at_ms=due_at_ms,
                delivered_at_ms=tried.at_ms if is_delivered else None,
                last_error=tried.error,
            )
        )
        is_ours = self._connection.execute(statement).rowcount == 1
        row = {**to_row(tried, delivery_tries), "delivery_id": claimed.delivery_id}
        insert_new(self._connection, delivery_tries, row)
        return is_ours

    def try_again(self, delivery_id: str, *, at_ms: int) -> None:
        """Make a dead delivery due again, with the full number of attempts."""
        self._connection.execute(
            sa.update(deliveries)
            .where(deliveries.c.delivery_id == delivery_id)
            .values(
                status=str(DeliveryStatus.PENDING),
                attempts_before=deliveries.c.attempts,
                due_at_ms=at_ms,
            )
        )

    def tries(self, delivery_ids: Sequence[str]) -> dict[str, tuple[Try, ...]]:
        """The attempts of some deliveries, oldest first."""
        query = (
            sa.select(delivery_tries)
            .where(delivery_tries.c.delivery_id.in_(delivery_ids))
            .order_by(delivery_tries.c.delivery_id, delivery_tries.c.attempt)
        )
        found: dict[str, tuple[Try, ...]] = {}
        for row in self._connection.execute(query):
            found[row.delivery_id] = (*found.get(row.delivery_id, ()), from_row(row, Try))
        return found

    def _give_up_cut_off(self, now_ms: int) -> None:
        """Mark deliveries dead whose last attempt was cut off by a crash."""
        self._connection.execute(
            sa.update(deliveries)
            .where(_WAITS, deliveries.c.due_at_ms <= now_ms)
            .where(deliveries.c.attempts - deliveries.c.attempts_before >= MAX_ATTEMPTS)
            .values(status=str(DeliveryStatus.DEAD), due_at_ms=None, last_error=CUT_OFF)
        )


class WebhookSecretStore:
    """The secret that signs webhooks, where the settings have none."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def get(self) -> str | None:
        """The secret, if one was generated."""
        return self._connection.execute(sa.select(webhook_secret.c.secret)).scalar()

    def add(self, secret: str, *, at_ms: int) -> bool:
        """Insert the first secret; False when there is one already."""
        values = {"name": ONLY, "secret": secret, "created_at_ms": at_ms}
        return insert_new(self._connection, webhook_secret, values)

    def replace(self, secret: str, *, at_ms: int) -> None:
        """Replace the secret."""
        if not self.add(secret, at_ms=at_ms):
            self._connection.execute(
                sa.update(webhook_secret).values(secret=secret, created_at_ms=at_ms)
            )


_PENDING = deliveries.c.status == str(DeliveryStatus.PENDING)
# The condition of the partial index.
_WAITS = deliveries.c.due_at_ms.is_not(None)


def _read(row: Any) -> Delivery:
    return from_row(row, Delivery, address=_address(row), next_attempt_at_ms=row.due_at_ms)


def _address(row: Any) -> str:
    # A damaged address is an invalid URL, so the delivery fails when it is sent.
    return row.address if isinstance(row.address, str) else ""


def _claimed(row: Any) -> ClaimedDelivery:
    return ClaimedDelivery(
        delivery_id=row.delivery_id,
        run_id=row.run_id,
        address=_address(row),
        attempt=row.attempts,
        round_attempt=row.attempts - row.attempts_before,
        task_id=row.task_id,
    )
