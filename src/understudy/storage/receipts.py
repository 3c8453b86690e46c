"""Idempotency: which key was used for what, and what was answered."""

from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from understudy.runs.model import Receipt
from understudy.storage.columns import DAMAGED
from understudy.storage.rows import insert_new
from understudy.storage.schema import receipts, responses


class ReceiptStore:
    """Idempotency receipts of submissions."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def get(self, key_hash: str) -> Receipt | None:
        """The receipt of a key."""
        row = self._connection.execute(
            sa.select(receipts).where(receipts.c.key_hash == key_hash)
        ).first()
        return None if row is None else Receipt(**row._mapping)  # noqa: SLF001 - SQLAlchemy's API

    def add(self, receipt: Receipt) -> bool:
        """Keep a receipt; False when the key is taken."""
        return insert_new(self._connection, receipts, asdict(receipt))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """The answer to a request under an idempotency key; no status while it is under way."""

    key_hash: str
    fingerprint: str
    status: int | None
    body: Any
    created_at_ms: int


class ResponseStore:
    """Answers given under an idempotency key; old ones are swept by the daemon."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def claim(self, key_hash: str, fingerprint: str, now_ms: int) -> StoredResponse | None:
        """Take the key; when somebody has it already, what is known of their request."""
        row = {"key_hash": key_hash, "fingerprint": fingerprint, "created_at_ms": now_ms}
        return None if insert_new(self._connection, responses, row) else self.get(key_hash)

    def get(self, key_hash: str) -> StoredResponse | None:
        """What is known of the request under a key."""
        found = self._connection.execute(
            sa.select(responses).where(responses.c.key_hash == key_hash)
        ).first()
        if found is None:
            return None
        return StoredResponse(
            key_hash=found.key_hash,
            fingerprint=found.fingerprint,
            status=found.status,
            body=None if found.body is DAMAGED else found.body,
            created_at_ms=found.created_at_ms,
        )

    def finish(self, key_hash: str, status: int, body: Any) -> None:
        """Keep the answer."""
        self._connection.execute(
            sa.update(responses)
            .where(responses.c.key_hash == key_hash)
            .values(status=status, body=body)
        )

    def abandon(self, key_hash: str) -> None:
        """Give the key free: the request came to nothing."""
        self._connection.execute(
            sa.delete(responses).where(
                responses.c.key_hash == key_hash, responses.c.status.is_(None)
            )
        )

    def sweep(self, *, before_ms: int, unfinished_before_ms: int) -> int:
        """Forget answers that are old, and requests that a crash cut off."""
        done = self._connection.execute(
            sa.delete(responses).where(
                sa.or_(
                    responses.c.created_at_ms < before_ms,
                    sa.and_(
                        responses.c.status.is_(None),
                        responses.c.created_at_ms < unfinished_before_ms,
                    ),
                )
            )
        )
        return done.rowcount
