"""The token store."""

from typing import Any

import sqlalchemy as sa

from understudy.access.tokens import Token
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Role
from understudy.storage.columns import read_record
from understudy.storage.paging import select_page
from understudy.storage.schema import tokens


class TokenStore:
    """Tokens in a table, as hashes."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, token: Token) -> None:
        """Store a new token."""
        values = {
            "token_id": token.token_id,
            "token_hash": token.token_hash,
            "user_id": token.user_id,
            "role": str(token.role),
            "created_at_ms": token.created_at_ms,
            "locale": token.locale,
        }
        self._connection.execute(sa.insert(tokens).values(values))

    def by_hash(self, token_hash: str) -> Token | None:
        """The token with this hash."""
        return self._one(tokens.c.token_hash == token_hash)

    def delete(self, token_id: str) -> Token | None:
        """Remove a token; None when there was none."""
        stored = self._one(tokens.c.token_id == token_id)
        self._connection.execute(sa.delete(tokens).where(tokens.c.token_id == token_id))
        return stored

    def page(self, request: PageRequest) -> Page[Token]:
        """Tokens, newest first."""
        return select_page(
            self._connection,
            sa.select(tokens),
            request,
            by=(tokens.c.created_at_ms, tokens.c.token_id),
            read=_read,
            descending=True,
        )

    def any(self) -> bool:
        """Whether there is a token."""
        return self._connection.execute(sa.select(tokens.c.token_id).limit(1)).first() is not None

    def roles_of(self, user_id: str) -> frozenset[Role]:
        """The roles of a user's tokens."""
        query = sa.select(tokens.c.role).where(tokens.c.user_id == user_id).distinct()
        return frozenset(Role(role) for role in self._connection.execute(query).scalars())

    def _one(self, where: sa.ColumnElement[bool]) -> Token | None:
        row = self._connection.execute(sa.select(tokens).where(where)).first()
        return None if row is None else _read(row)


def _read(row: Any) -> Token:
    return read_record(row, _token, what=f"token {row.token_id}")


def _token(row: Any) -> Token:
    return Token(
        token_id=row.token_id,
        token_hash=row.token_hash,
        user_id=row.user_id,
        role=Role(row.role),
        created_at_ms=row.created_at_ms,
        locale=row.locale,
    )
