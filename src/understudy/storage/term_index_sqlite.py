"""Which entry holds which token, on SQLite: a full-text table that is given our own tokens.

The table keeps postings only, neither text nor positions nor lengths, so an entry is taken out by
telling the table the very tokens that were put in.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from understudy.storage.schema.term_index import FOUND
from understudy.storage.term_tokens import as_words

ADD: Final = sa.text("INSERT INTO term_tokens (rowid, tokens) VALUES (:number, :tokens)")
REMOVE: Final = sa.text(
    "INSERT INTO term_tokens (term_tokens, rowid, tokens) VALUES ('delete', :number, :tokens)"
)
EMPTY: Final = sa.text("INSERT INTO term_tokens (term_tokens) VALUES ('delete-all')")
FREQUENCIES: Final = sa.text(
    "SELECT term, doc FROM term_vocabulary WHERE term IN (SELECT value FROM json_each(:tokens))"
)
BEST: Final = sa.text(
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
NEWEST: Final = sa.text(
    """
    SELECT entry.source_id, entry.at_ms, entry.scopes FROM (
        SELECT rowid AS number FROM term_tokens WHERE term_tokens MATCH :wanted
        ORDER BY rowid DESC LIMIT :limit
    ) AS newest JOIN term_entries AS entry USING (number) ORDER BY number DESC
    """
).columns(*FOUND)

COUNT: Final = sa.text(
    """
    SELECT count(*) FROM (
        SELECT rowid FROM term_tokens WHERE term_tokens MATCH :wanted LIMIT :limit
    )
    """
)


class FullTextPostings:
    """Tokens in a full-text table, which knows nothing of entries."""

    must_be_told = True

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, number: int, tokens: bytes) -> None:
        """Index an entry whose number is not in use."""
        self._connection.execute(ADD, _row(number, tokens))

    def remove(self, entries: Mapping[int, bytes]) -> None:
        """Take entries out, told as they were put in."""
        if entries:
            self._connection.execute(REMOVE, [_row(*entry) for entry in entries.items()])

    def restart(self, kept: Iterable[tuple[int, bytes]]) -> None:
        """Begin anew with these entries; much quicker than to take most of them out."""
        self._connection.execute(EMPTY)
        for number, tokens in kept:
            self.add(number, tokens)

    def frequencies(self, tokens: Collection[bytes]) -> Mapping[bytes, int]:
        """How many entries hold each of the tokens; one that none holds is left out."""
        asked = json.dumps([token.hex() for token in tokens])
        rows = self._connection.execute(FREQUENCIES, {"tokens": asked})
        return {bytes.fromhex(token): count for token, count in rows}

    def best(
        self, wanted: Mapping[bytes, int], *, scopes: Collection[bytes], limit: int
    ) -> Sequence[Any]:
        """The entries in any of the scopes (none named: anywhere) whose tokens weigh the most."""
        weighed = [(_within(token, scopes), weight) for token, weight in wanted.items()]
        values = {"wanted": json.dumps(weighed), "limit": limit}
        return self._connection.execute(BEST, values).all()

    def newest(
        self, scopes: Collection[bytes], *, many: bool, limit: int, token: bytes | None = None
    ) -> Sequence[Any]:
        """The entries that were put last in any of the scopes, and hold the token if one is named."""
        wanted = _any(scopes) if token is None else _within(token, scopes)
        return self._connection.execute(NEWEST, {"wanted": wanted, "limit": limit}).all()

    def count(self, scopes: Collection[bytes], *, limit: int) -> int:
        """How many entries are in any of the scopes; no more than `limit` are counted."""
        values = {"wanted": _any(scopes), "limit": limit}
        counted: int = self._connection.execute(COUNT, values).scalar_one()
        return counted


def _row(number: int, tokens: bytes) -> dict[str, Any]:
    return {"number": number, "tokens": as_words(tokens)}


def _within(token: bytes, scopes: Collection[bytes]) -> str:
    """A query for the token; the scope stands inside, as joining it afterwards is far slower."""
    return f'"{token.hex()}" AND ({_any(scopes)})' if scopes else f'"{token.hex()}"'


def _any(tokens: Collection[bytes]) -> str:
    return " OR ".join(f'"{token.hex()}"' for token in tokens)
