"""The postings of the term index: a full-text table in SQLite, an array column in PostgreSQL."""

import json
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import sqlalchemy as sa

from understudy.storage.schema.run_memories import FOUND
from understudy.storage.visible_connection import VisibleConnection

# Distinguishes a term from a scope of the same spelling. Tokens are stored: never change this.
TERM: Final = b"term"
SCOPE: Final = b"scope"
SIZE: Final = 8


def term_token(kind: str, term: str) -> bytes:
    """The token of a term."""
    return _token(TERM, kind, term)


def scope_token(kind: str, scope: str) -> bytes:
    """The token of a scope."""
    return _token(SCOPE, kind, scope)


def packed(kind: str, *, scopes: Iterable[str], terms: Iterable[str]) -> bytes:
    """The distinct tokens of an entry, packed."""
    tokens = {
        *(_token(TERM, kind, term) for term in terms),
        *(_token(SCOPE, kind, scope) for scope in scopes),
    }
    return b"".join(sorted(tokens))


def as_words(tokens: bytes) -> str:
    """Packed tokens as words with blanks between them."""
    return tokens.hex(" ", SIZE)


def as_numbers(tokens: bytes) -> tuple[int, ...]:
    """Packed tokens as signed numbers."""
    return struct.unpack(f">{len(tokens) // SIZE}q", tokens)


def _token(use: bytes, kind: str, text: str) -> bytes:
    named = f"{kind} {text}".encode("utf-8", "surrogatepass")
    return blake2b(named, digest_size=SIZE, person=use).digest()


ADD: Final = sa.text("INSERT INTO term_tokens (rowid, tokens) VALUES (:number, :tokens)")
REMOVE: Final = sa.text(
    "INSERT INTO term_tokens (term_tokens, rowid, tokens) VALUES ('delete', :number, :tokens)"
)
EMPTY: Final = sa.text("INSERT INTO term_tokens (term_tokens) VALUES ('delete-all')")
SQLITE_FREQUENCIES: Final = sa.text(
    "SELECT term, doc FROM term_vocabulary WHERE term IN (SELECT value FROM json_each(:tokens))"
)
SQLITE_BEST: Final = sa.text(
    """
    SELECT entry.source_id, entry.at_ms, entry.scopes FROM (
        SELECT term_tokens.rowid AS number, sum(wanted.value ->> 1) AS weight
        FROM json_each(:wanted) AS wanted CROSS JOIN term_tokens
        WHERE term_tokens MATCH wanted.value ->> 0
        GROUP BY term_tokens.rowid ORDER BY weight DESC, number DESC LIMIT :limit
    ) AS best JOIN term_entries AS entry USING (number)
    ORDER BY best.weight DESC, best.number DESC
    """
).columns(*FOUND)
SQLITE_NEWEST: Final = sa.text(
    """
    SELECT entry.source_id, entry.at_ms, entry.scopes FROM (
        SELECT rowid AS number FROM term_tokens WHERE term_tokens MATCH :wanted
        ORDER BY rowid DESC LIMIT :limit
    ) AS newest JOIN term_entries AS entry USING (number) ORDER BY number DESC
    """
).columns(*FOUND)

SQLITE_COUNT: Final = sa.text(
    """
    SELECT count(*) FROM (
        SELECT rowid FROM term_tokens WHERE term_tokens MATCH :wanted LIMIT :limit
    )
    """
)


class FullTextPostings:
    """Tokens in a full-text table, which is independent of the entries table."""

    must_be_told = True

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(self, number: int, tokens: bytes) -> None:
        """Index an entry whose number is not in use."""
        self._connection.execute(ADD, _row(number, tokens))

    def remove(self, entries: Mapping[int, bytes]) -> None:
        """Delete entries, given with the tokens they were added with."""
        if entries:
            self._connection.execute(REMOVE, [_row(*entry) for entry in entries.items()])

    def restart(self, kept: Iterable[tuple[int, bytes]]) -> None:
        """Rebuild with these entries; much quicker than deleting most of them."""
        self._connection.execute(EMPTY)
        for number, tokens in kept:
            self.add(number, tokens)

    def frequencies(self, tokens: Collection[bytes]) -> Mapping[bytes, int]:
        """The number of entries with each token; tokens without entries are left out."""
        asked = json.dumps([token.hex() for token in tokens])
        rows = self._connection.execute(SQLITE_FREQUENCIES, {"tokens": asked})
        return {bytes.fromhex(token): count for token, count in rows}

    def best(
        self, wanted: Mapping[bytes, int], *, scopes: Collection[bytes], limit: int
    ) -> Sequence[Any]:
        """The entries in any of the scopes (anywhere without any) whose tokens weigh the most."""
        weighed = [(_within(token, scopes), weight) for token, weight in wanted.items()]
        values = {"wanted": json.dumps(weighed), "limit": limit}
        return self._connection.execute(SQLITE_BEST, values).all()

    def newest(
        self, scopes: Collection[bytes], *, many: bool, limit: int, token: bytes | None = None
    ) -> Sequence[Any]:
        """The entries put last in any of the scopes, with the token if one is given."""
        wanted = _any(scopes) if token is None else _within(token, scopes)
        return self._connection.execute(SQLITE_NEWEST, {"wanted": wanted, "limit": limit}).all()

    def count(self, scopes: Collection[bytes], *, limit: int) -> int:
        """How many entries are in any of the scopes; no more than `limit` are counted."""
        values = {"wanted": _any(scopes), "limit": limit}
        counted: int = self._connection.execute(SQLITE_COUNT, values).scalar_one()
        return counted


def _row(number: int, tokens: bytes) -> dict[str, Any]:
    return {"number": number, "tokens": as_words(tokens)}


def _within(token: bytes, scopes: Collection[bytes]) -> str:
    """A query for a token with the scope inside, as a later join is far slower."""
    return f'"{token.hex()}" AND ({_any(scopes)})' if scopes else f'"{token.hex()}"'


def _any(tokens: Collection[bytes]) -> str:
    return " OR ".join(f'"{token.hex()}"' for token in tokens)


PUT: Final = sa.text(
    "INSERT INTO term_tokens (number, tokens) VALUES (:number, CAST(:tokens AS bigint[]))"
    " ON CONFLICT (number) DO UPDATE SET tokens = excluded.tokens"
)
POSTGRES_FREQUENCIES: Final = sa.text(
    """
    SELECT asked.token, held.count FROM unnest(CAST(:tokens AS bigint[])) AS asked (token)
    CROSS JOIN LATERAL (
        SELECT count(*) AS count FROM term_tokens WHERE tokens @> ARRAY[asked.token]
    ) AS held
    WHERE held.count > 0
    """
)
POSTGRES_BEST: Final = """
    SELECT entry.source_id, entry.at_ms, entry.scopes FROM (
        SELECT held.number, sum(wanted.weight) AS weight
        FROM unnest(CAST(:tokens AS bigint[]), CAST(:weights AS integer[])) AS wanted (token, weight)
        CROSS JOIN LATERAL (
            SELECT number FROM term_tokens
            WHERE tokens @> ARRAY[wanted.token] {within}
            -- Else the planner may read the whole table and compare every entry with every token.
            OFFSET 0
        ) AS held
        GROUP BY held.number ORDER BY weight DESC, held.number DESC LIMIT :limit
    ) AS best JOIN term_entries AS entry ON entry.number = best.number
    ORDER BY best.weight DESC, best.number DESC
"""
BEST_ANYWHERE: Final = sa.text(POSTGRES_BEST.format(within="")).columns(*FOUND)
BEST_WITHIN: Final = sa.text(
    POSTGRES_BEST.format(within="AND tokens && CAST(:scopes AS bigint[])")
).columns(*FOUND)
POSTGRES_NEWEST: Final = """
    SELECT entry.source_id, entry.at_ms, entry.scopes FROM term_tokens
    JOIN term_entries AS entry USING (number)
    WHERE {held} @> CAST(:tokens AS bigint[]) AND {held} && CAST(:scopes AS bigint[])
    ORDER BY number DESC LIMIT :limit
"""
NEWEST_OF_FEW: Final = sa.text(POSTGRES_NEWEST.format(held="term_tokens.tokens")).columns(*FOUND)
# The expression keeps the planner off the token index: for a common token, walking the primary key
# backwards finds the newest entries sooner.
NEWEST_OF_MANY: Final = sa.text(
    POSTGRES_NEWEST.format(held="(term_tokens.tokens || CAST(ARRAY[] AS bigint[]))")
).columns(*FOUND)
POSTGRES_COUNT: Final = sa.text(
    """
    SELECT count(*) FROM (
        SELECT FROM term_tokens WHERE tokens && CAST(:scopes AS bigint[]) LIMIT :limit
    ) AS counted
    """
)


class ArrayPostings:
    """Tokens in an array column; they are deleted and replaced with their entry."""

    must_be_told = False

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(self, number: int, tokens: bytes) -> None:
        """Index an entry, in place of an older one with its number."""
        self._connection.execute(PUT, {"number": number, "tokens": _array([tokens])})

    def remove(self, entries: Mapping[int, bytes]) -> None:
        """Nothing to do: the tokens are deleted with their entries."""

    def restart(self, kept: Iterable[tuple[int, bytes]]) -> None:
        """Nothing to do: the remaining entries kept their tokens."""

    def frequencies(self, tokens: Collection[bytes]) -> Mapping[bytes, int]:
        """The number of entries with each token; tokens without entries are left out."""
        by_number = dict(zip(as_numbers(b"".join(tokens)), tokens, strict=True))
        rows = self._connection.execute(POSTGRES_FREQUENCIES, {"tokens": _array(tokens)})
        return {by_number[token]: count for token, count in rows}

    def best(
        self, wanted: Mapping[bytes, int], *, scopes: Collection[bytes], limit: int
    ) -> Sequence[Any]:
        """The entries in any of the scopes (anywhere without any) whose tokens weigh the most."""
        values = {"tokens": _array(wanted), "weights": list(wanted.values()), "limit": limit}
        if not scopes:
            return self._connection.execute(BEST_ANYWHERE, values).all()
        return self._connection.execute(BEST_WITHIN, {**values, "scopes": _array(scopes)}).all()

    def newest(
        self, scopes: Collection[bytes], *, many: bool, limit: int, token: bytes | None = None
    ) -> Sequence[Any]:
        """The entries put last in any of the scopes, with the token if one is given.

        `many` hints that very many match; the planner cannot know.
        """
        tokens = _array([] if token is None else [token])
        values = {"tokens": tokens, "scopes": _array(scopes), "limit": limit}
        return self._connection.execute(NEWEST_OF_MANY if many else NEWEST_OF_FEW, values).all()

    def count(self, scopes: Collection[bytes], *, limit: int) -> int:
        """How many entries are in any of the scopes; no more than `limit` are counted."""
        values = {"scopes": _array(scopes), "limit": limit}
        counted: int = self._connection.execute(POSTGRES_COUNT, values).scalar_one()
        return counted


def _array(tokens: Iterable[bytes]) -> str:
    """Tokens as an array literal; the driver is ten times slower with a list."""
    return f"{{{','.join(map(str, as_numbers(b''.join(tokens))))}}}"
