"""Which entry holds which token, on PostgreSQL: arrays of tokens under a GIN index."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from understudy.storage.schema.term_index import FOUND
from understudy.storage.term_tokens import as_numbers

PUT: Final = sa.text(
    "INSERT INTO term_tokens (number, tokens) VALUES (:number, CAST(:tokens AS bigint[]))"
    " ON CONFLICT (number) DO UPDATE SET tokens = excluded.tokens"
)
FREQUENCIES: Final = sa.text(
    """
    SELECT asked.token, held.count FROM unnest(CAST(:tokens AS bigint[])) AS asked (token)
    CROSS JOIN LATERAL (
        SELECT count(*) AS count FROM term_tokens WHERE tokens @> ARRAY[asked.token]
    ) AS held
    WHERE held.count > 0
    """
)
BEST: Final = """
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
BEST_ANYWHERE: Final = sa.text(BEST.format(within="")).columns(*FOUND)
BEST_WITHIN: Final = sa.text(BEST.format(within="AND tokens && CAST(:scopes AS bigint[])")).columns(
    *FOUND
)
NEWEST: Final = """
    SELECT entry.source_id, entry.at_ms, entry.scopes FROM term_tokens
    JOIN term_entries AS entry USING (number)
    WHERE {held} @> CAST(:tokens AS bigint[]) AND {held} && CAST(:scopes AS bigint[])
    ORDER BY number DESC LIMIT :limit
"""
NEWEST_OF_FEW: Final = sa.text(NEWEST.format(held="term_tokens.tokens")).columns(*FOUND)
# An expression is in no index: of very many, the last are found soonest by walking backwards.
NEWEST_OF_MANY: Final = sa.text(
    NEWEST.format(held="(term_tokens.tokens || CAST(ARRAY[] AS bigint[]))")
).columns(*FOUND)
COUNT: Final = sa.text(
    """
    SELECT count(*) FROM (
        SELECT FROM term_tokens WHERE tokens && CAST(:scopes AS bigint[]) LIMIT :limit
    ) AS counted
    """
)


class ArrayPostings:
    """Tokens in an array column; those of an entry go with it, and are replaced with it."""

    must_be_told = False

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, number: int, tokens: bytes) -> None:
        """Index an entry, in place of an older one with its number."""
        self._connection.execute(PUT, {"number": number, "tokens": _array([tokens])})

    def remove(self, entries: Mapping[int, bytes]) -> None:
        """Nothing to do: their tokens go with them."""

    def restart(self, kept: Iterable[tuple[int, bytes]]) -> None:
        """Nothing to do: what was not deleted is still there."""

    def frequencies(self, tokens: Collection[bytes]) -> Mapping[bytes, int]:
        """How many entries hold each of the tokens; one that none holds is left out."""
        by_number = dict(zip(as_numbers(b"".join(tokens)), tokens, strict=True))
        rows = self._connection.execute(FREQUENCIES, {"tokens": _array(tokens)})
        return {by_number[token]: count for token, count in rows}

    def best(
        self, wanted: Mapping[bytes, int], *, scopes: Collection[bytes], limit: int
    ) -> Sequence[Any]:
        """The entries in any of the scopes (none named: anywhere) whose tokens weigh the most."""
        values = {"tokens": _array(wanted), "weights": list(wanted.values()), "limit": limit}
        if not scopes:
            return self._connection.execute(BEST_ANYWHERE, values).all()
        return self._connection.execute(BEST_WITHIN, {**values, "scopes": _array(scopes)}).all()

    def newest(
        self, scopes: Collection[bytes], *, many: bool, limit: int, token: bytes | None = None
    ) -> Sequence[Any]:
        """The entries that were put last in any of the scopes, and hold the token if one is named.

        `many` tells that very many do; the planner cannot know.
        """
        tokens = _array([] if token is None else [token])
        values = {"tokens": tokens, "scopes": _array(scopes), "limit": limit}
        return self._connection.execute(NEWEST_OF_MANY if many else NEWEST_OF_FEW, values).all()

    def count(self, scopes: Collection[bytes], *, limit: int) -> int:
        """How many entries are in any of the scopes; no more than `limit` are counted."""
        values = {"scopes": _array(scopes), "limit": limit}
        counted: int = self._connection.execute(COUNT, values).scalar_one()
        return counted


def _array(tokens: Iterable[bytes]) -> str:
    """Tokens as an array is written; the driver takes ten times as long over a list of numbers."""
    return f"{{{','.join(map(str, as_numbers(b''.join(tokens))))}}}"
