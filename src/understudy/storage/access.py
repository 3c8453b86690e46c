"""The stores of tokens, signing keys, the audit and idempotency receipts."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import sqlalchemy as sa

from understudy.access.signing_keys import SigningKey
from understudy.access.tokens import TokenRecord
from understudy.core.audit import AuditEntry, AuditOutcome
from understudy.core.batches import batches
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Role
from understudy.runs.model import Receipt
from understudy.runtime.two_people import SecondApproval, TwoApprovers
from understudy.storage.chains import CONTENT, content_digest
from understudy.storage.rows import (
    DAMAGED,
    from_row,
    insert_new,
    read_record,
    select_page,
    upsert_of,
)
from understudy.storage.schema import (
    audit,
    receipts,
    responses,
    second_approvals,
    signing_keys,
    tokens,
)
from understudy.storage.table import Table
from understudy.storage.visible_connection import VisibleConnection


class TokenStore(Table[TokenRecord]):
    """Tokens in a table, stored as hashes."""

    table = tokens
    kind = TokenRecord
    order = ("created_at_ms", "token_id")
    newest_first = True

    def by_hash(self, token_hash: str) -> TokenRecord | None:
        """The token with this hash."""
        return self._one(self._select(token_hash=token_hash))

    def lock_admins(self) -> frozenset[str]:
        """The ids of the admins' tokens, locked until the unit ends."""
        query = sa.select(tokens.c.token_id).where(tokens.c.role == Role.ADMIN)
        return frozenset(self._connection.execute(query.with_for_update()).scalars())

    def page(self, request: PageRequest) -> Page[TokenRecord]:
        """Tokens, newest first."""
        return self._page(request, self._select())

    def any(self) -> bool:
        """Whether any token exists."""
        query = sa.select(tokens.c.token_id).limit(1)
        return self._connection.execute(query).first() is not None

    def roles_of(self, user_id: str) -> frozenset[Role]:
        """The roles of a user's tokens."""
        query = sa.select(tokens.c.role).where(tokens.c.user_id == user_id).distinct()
        return frozenset(Role(role) for role in self._connection.execute(query).scalars())


class SigningKeyStore(Table[SigningKey]):
    """Signing keys in a table, without the private keys."""

    table = signing_keys
    kind = SigningKey

    def all(self) -> tuple[SigningKey, ...]:
        """The keys, newest first."""
        query = self._select().order_by(signing_keys.c.created_at_ms.desc(), signing_keys.c.key_id)
        return tuple(map(self._read, self._connection.execute(query)))


class ReceiptStore(Table[Receipt]):
    """Idempotency receipts of submissions."""

    table = receipts
    kind = Receipt

    def put(self, receipt: Receipt) -> None:
        """Insert a receipt, in place of the one that has its key."""
        self._connection.execute(_PUT_RECEIPT[self._connection.dialect.name], asdict(receipt))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """The response to a request under an idempotency key; `status` is None while in flight."""

    key_hash: str
    fingerprint: str
    status: int | None
    body: Any
    created_at_ms: int
    # The daemon that carries the request out; None in rows of older versions.
    holder: str | None


class ResponseStore:
    """Responses stored under idempotency keys; old ones are swept by the daemon."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def claim(
        self, key_hash: str, fingerprint: str, now_ms: int, holder: str | None = None
    ) -> StoredResponse | None:
        """Claim the key; when it is taken, return the stored request instead."""
        row = {
            "key_hash": key_hash,
            "fingerprint": fingerprint,
            "created_at_ms": now_ms,
            "holder": holder,
        }
        return None if insert_new(self._connection, responses, row) else self.get(key_hash)

    def get(self, key_hash: str) -> StoredResponse | None:
        """The stored request of a key."""
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
            holder=found.holder,
        )

    def finish(self, key_hash: str, status: int, body: Any, holder: str | None = None) -> None:
        """Store the response, unless another daemon has claimed the key since."""
        self._connection.execute(
            sa.update(responses)
            .where(
                responses.c.key_hash == key_hash,
                responses.c.holder.is_not_distinct_from(holder),
            )
            .values(status=status, body=body)
        )

    def abandon(self, key_hash: str, holder: str | None = None) -> None:
        """Release the key, as long as it is the holder's: the request failed without a response."""
        self._connection.execute(
            sa.delete(responses).where(
                responses.c.key_hash == key_hash,
                responses.c.status.is_(None),
                responses.c.holder.is_not_distinct_from(holder),
            )
        )

    def release(self, known: StoredResponse) -> None:
        """Release the key of a request that was cut off, unless somebody has claimed it since."""
        self._connection.execute(
            sa.delete(responses).where(
                responses.c.key_hash == known.key_hash,
                responses.c.status.is_(None),
                responses.c.created_at_ms == known.created_at_ms,
                responses.c.holder.is_not_distinct_from(known.holder),
            )
        )

    def sweep(self, *, before_ms: int, unfinished_before_ms: int) -> int:
        """Delete old responses, and requests that a crash cut off."""
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


class SecondApprovalStore:
    """Changes that wait for a second approval; expired ones are not found."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def put(self, waiting: SecondApproval) -> bool:
        """Insert a second approval; False when one for the same change is pending already."""
        return insert_new(self._connection, second_approvals, asdict(waiting))

    def get(self, approval_id: str, *, now_ms: int) -> SecondApproval | None:
        """The second approval with this id."""
        return self._one(second_approvals.c.approval_id == approval_id, now_ms)

    def same(self, fingerprint: str, *, now_ms: int) -> SecondApproval | None:
        """The pending second approval for the same change."""
        return self._one(second_approvals.c.fingerprint == fingerprint, now_ms)

    def take(self, approval_id: str) -> bool:
        """Delete a second approval; False when somebody else already took it."""
        gone = sa.delete(second_approvals).where(second_approvals.c.approval_id == approval_id)
        return self._connection.execute(gone).rowcount == 1

    def sweep(self, *, now_ms: int) -> None:
        """Delete expired second approvals."""
        over = second_approvals.c.expires_at_ms <= now_ms
        self._connection.execute(sa.delete(second_approvals).where(over))

    def page(self, request: PageRequest, *, now_ms: int) -> Page[SecondApproval]:
        """Pending second approvals, oldest first."""
        return select_page(
            self._connection,
            sa.select(second_approvals).where(second_approvals.c.expires_at_ms > now_ms),
            request,
            by=(second_approvals.c.created_at_ms, second_approvals.c.approval_id),
            read=partial(read_record, read=_read_second, what="second approval"),
        )

    def _one(self, where: sa.ColumnElement[bool], now_ms: int) -> SecondApproval | None:
        query = sa.select(second_approvals).where(where, second_approvals.c.expires_at_ms > now_ms)
        row = self._connection.execute(query).first()
        return None if row is None else read_record(row, _read_second, what="second approval")


def _read_second(row: Any) -> SecondApproval:
    values = row._asdict()
    return SecondApproval(**{**values, "subject": TwoApprovers(values["subject"])})


class AuditStore:
    """Audit entries in a table, chained by digest."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(self, entry: AuditEntry) -> None:
        """Insert an entry; it is sealed after the unit has committed."""
        values = {name: getattr(entry, name) for name in CONTENT["audit"]}
        values["outcome"] = str(entry.outcome)
        values["content_digest"] = content_digest("audit", values)
        self._connection.execute(_ADD, values)

    def actors(self, action: str, resource_ids: Collection[str]) -> frozenset[str]:
        """The actors of an action on any of these resources, within the retention of the audit."""
        rows = (
            row
            for some in batches(tuple(resource_ids))
            for row in self._connection.execute(_ACTORS, {"done": action, "wanted": list(some)})
        )
        return frozenset(row.actor for row in rows)

    def last_place(self) -> int:
        """The place of the newest sealed entry; 0 without one."""
        return self._connection.execute(_LAST).scalar() or 0

    def resources_after(self, place: int, *, limit: int) -> tuple[tuple[int, str], ...]:
        """The places and resources of the entries sealed after a place, oldest first.

        By place, because an entry may be committed after one with a higher number.
        """
        rows = self._connection.execute(_AFTER, {"after": place, "most": limit})
        return tuple((row.place, row.resource) for row in rows)

    def page(
        self,
        request: PageRequest,
        *,
        resource: str | None,
        actor: str | None,
        outcome: AuditOutcome | None = None,
    ) -> Page[AuditEntry]:
        """Entries, newest first, including those that this unit added."""
        wanted = {"resource": resource, "actor": actor}
        query = sa.select(audit).where(
            *(audit.c[name] == value for name, value in wanted.items() if value is not None)
        )
        if outcome is not None:
            # In the text of the statement, to match the partial index.
            query = query.where(audit.c.outcome == sa.literal(str(outcome), literal_execute=True))
        return select_page(
            self._connection,
            query,
            request,
            by=(audit.c.number,),
            read=partial(from_row, kind=AuditEntry),
            descending=True,
        )


_PUT_RECEIPT = upsert_of(receipts)
_ADD = sa.insert(audit)
_LAST = sa.select(sa.func.max(audit.c.place))
_ACTORS = (
    sa.select(audit.c.actor)
    .distinct()
    .where(
        audit.c.action == sa.bindparam("done"),
        audit.c.resource_id.in_(sa.bindparam("wanted", expanding=True)),
    )
)
_AFTER = (
    sa.select(audit.c.place, audit.c.resource)
    .where(audit.c.place > sa.bindparam("after"))
    .order_by(audit.c.place)
    .limit(sa.bindparam("most"))
)
