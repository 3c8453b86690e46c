"""Digest chains over the audit and over skill versions: an edited or removed row shows.

Each row of a chain stores the digest of its content and a link: the digest of the link before it,
of its place and of its content's digest. A head beside the rows tells how many there are and which
link is the last, so that removal at the end shows as well.

A unit inserts a row with its digest alone, so that writers do not wait for each other. It is sealed
soon after the commit: it gets the next place, and its link. What commits while others are sealed is
sealed the next time, whatever its number, so nothing is left out and nothing waits for a transaction
that stays open.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import takewhile
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.audit import AuditVerification, BadLink, ChainReport, LinkProblem
from understudy.storage.engine import Dialect
from understudy.storage.rows import insert_new
from understudy.storage.schema import audit, chains, skill_versions
from understudy.storage.visible_connection import VisibleConnection

START: Final = "0" * 64
BATCH: Final = 1_000
# The columns that a row's content digest covers; the others may change.
CONTENT: Final[Mapping[str, tuple[str, ...]]] = {
    "audit": (
        "at_ms",
        "actor",
        "action",
        "resource",
        "resource_id",
        "outcome",
        "version",
        "reason",
        "request_id",
    ),
    "skill_versions": (
        "skill_id",
        "number",
        "digest",
        "size",
        "actor",
        "created_at_ms",
        "run_id",
        "restored_from",
        "agent_id",
        "signature",
    ),
}
TABLES: Final = {"audit": audit, "skill_versions": skill_versions}


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The last link of a chain, and where its remaining part begins."""

    name: str
    place: int = 0
    link: str = START
    # The last row that retention deleted: the chain continues after it.
    base_place: int = 0
    base_link: str = START
    # Rows from before the chain was introduced.
    unchained: int = 0


def content_digest(name: str, row: Mapping[str, Any]) -> str:
    """The digest of a row's content; empty columns do not count."""
    content = {key: row[key] for key in CONTENT[name] if row[key] is not None}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def link_of(before: str, place: int, digest: str) -> str:
    """The link of a row at a place."""
    return sha256(f"{before}:{place}:{digest}".encode()).hexdigest()


class Chains:
    """The chains, on the connection of a unit."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def is_behind(self) -> bool:
        """Whether a row is not sealed yet."""
        return bool(self._connection.execute(_ANY_UNSEALED).scalar())

    def seal(self) -> bool:
        """Link the rows that are not linked yet, at most `BATCH` of each chain.

        False if some may be left: there are more, or another unit seals them just now.
        """
        is_sealed = [self._seal(name) for name in TABLES]
        return all(is_sealed)

    def _seal(self, name: str) -> bool:
        head = self._held(name, self._dialect.locked_if_free)
        if head is None:
            return False
        rows = self._connection.execute(_UNSEALED[name]).all()
        links = []
        for *key, digest in rows:
            place = head.place + 1
            head = replace(head, place=place, link=link_of(head.link, place, digest))
            values = {f"key_{at}": value for at, value in enumerate(key)}
            links.append({**values, "place": place, "link": head.link})
        if links:
            self._connection.execute(_LINK[name], links)
            self._write(head)
        return len(rows) < BATCH

    def _held(self, name: str, locked: "Callable[[sa.Select[Any]], sa.Select[Any]]") -> Head | None:
        """The head, locked until the unit ends; None if `locked` skips what others hold."""
        query, values = locked(_HEAD), {"chain": name}
        found = self._connection.execute(query, values).first()
        # Not inserted beside one that is skipped: that would wait for its holder.
        if found is None and self._connection.execute(_HEAD, values).first() is None:
            insert_new(self._connection, chains, asdict(Head(name=name)))
            found = self._connection.execute(query, values).first()
        return None if found is None else Head(**found._asdict())

    def _head(self, name: str) -> Head:
        found = self._connection.execute(_HEAD, {"chain": name}).first()
        return Head(name=name) if found is None else Head(**found._asdict())

    def _write(self, head: Head) -> None:
        self._connection.execute(
            sa.update(chains).where(chains.c.name == head.name).values(asdict(head))
        )

    def prune_audit(self, *, before_ms: int, most: int) -> int:
        """Delete the oldest sealed entries, at most `most`; the chain continues after the last of them.

        A chain is only shortened at its start: a younger entry keeps everything behind it. Entries
        from before the chain go first.
        """
        head = self._held("audit", self._dialect.locked)
        if head is None:
            return 0
        of_chain = audit.c.place.is_not(None)
        oldest = (
            sa.select(audit.c.number, audit.c.at_ms, audit.c.place, audit.c.link)
            .where(_is_unchained(audit) if head.unchained else of_chain)
            .order_by(audit.c.place, audit.c.number)
            .limit(most)
        )
        rows = self._connection.execute(oldest)
        gone = list(takewhile(lambda row: row.at_ms < before_ms, rows))
        if not gone:
            return 0
        numbers = [row.number for row in gone]
        self._connection.execute(sa.delete(audit).where(audit.c.number.in_(numbers)))
        if head.unchained:
            head = replace(head, unchained=head.unchained - len(gone))
        else:
            head = replace(head, base_place=gone[-1].place, base_link=gone[-1].link)
        self._write(head)
        return len(gone)

    def verify(self, expected: str | None = None) -> AuditVerification:
        """Verify both chains from their start. `expected` is a head noted elsewhere."""
        walks = {name: _Walk(name, self._head(name), expected) for name in TABLES}
        for name, walk in walks.items():
            for row in self._rows(name):
                walk.see(row)
                if walk.bad is not None:
                    break
            walk.end(self._head(name), self._count(name, _is_unchained))
        bad = next((walk.bad for walk in walks.values() if walk.bad is not None), None)
        if bad is None and expected is not None and not any(w.has_expected for w in walks.values()):
            bad = BadLink(chain="audit", problem=LinkProblem.HEAD_UNKNOWN)
        reports = {
            name: walk.report(self._count(name, _is_unsealed)) for name, walk in walks.items()
        }
        return AuditVerification(ok=bad is None, first_bad=bad, **reports)

    def _rows(self, name: str) -> Iterator[Any]:
        """The linked rows by their place, read in batches."""
        table, after = TABLES[name], (-1, "")
        # Two rows of one place are ordered by their link.
        columns = sa.tuple_(table.c.place, table.c.link)
        query = sa.select(table).where(table.c.place.is_not(None)).order_by(*columns).limit(BATCH)
        while True:
            past = columns > sa.tuple_(*map(sa.literal, after))
            rows = self._connection.execute(query.where(past)).all()
            yield from rows
            if len(rows) < BATCH:
                return
            after = (rows[-1].place, rows[-1].link)

    def _count(self, name: str, which: "Callable[[sa.Table], sa.ColumnElement[bool]]") -> int:
        table = TABLES[name]
        query = sa.select(sa.func.count()).select_from(table).where(which(table))
        return int(self._connection.execute(query).scalar_one())


class _Walk:
    """A walk along one chain, up to the first bad row."""

    def __init__(self, name: str, head: Head, expected: str | None) -> None:
        self.name = name
        self.bad: BadLink | None = None
        self._head = head
        self._place, self._link = head.base_place, head.base_link
        self._erased = 0
        self._expected = expected
        self.has_expected = expected in (self._link, None)

    def see(self, row: Any) -> None:
        """Check one row: its place, its content, its link."""
        values = row._asdict()
        is_erased = values.get("erased_at_ms") is not None
        if row.place != self._place + 1:
            problem = LinkProblem.REMOVED if row.place > self._place + 1 else LinkProblem.ADDED
        elif (not is_erased and content_digest(self.name, values) != row.content_digest) or link_of(
            self._link, row.place, row.content_digest
        ) != row.link:
            problem = LinkProblem.EDITED
        else:
            self._place, self._link = row.place, row.link
            self._erased += is_erased
            self.has_expected = self.has_expected or row.link == self._expected
            return
        self.bad = _bad(self.name, problem, row)

    def end(self, head: Head, unchained: int) -> None:
        """Compare the end with the head, which was read after the rows: it can only be further."""
        if self.bad is not None:
            return
        if self._place > head.place or unchained > head.unchained:
            self.bad = BadLink(chain=self.name, problem=LinkProblem.ADDED)
        elif self._place < self._head.place or unchained < head.unchained:
            self.bad = BadLink(chain=self.name, problem=LinkProblem.REMOVED, place=self._place + 1)
        elif self._place == head.place and self._link != head.link:
            self.bad = BadLink(chain=self.name, problem=LinkProblem.EDITED, place=self._place)

    def report(self, unsealed: int) -> ChainReport:
        """The report of the rows that were checked."""
        return ChainReport(
            checked=self._place - self._head.base_place,
            unsealed=unsealed,
            erased=self._erased,
            pruned=self._head.base_place,
            unchained=self._head.unchained,
            head=self._link,
        )


def _bad(name: str, problem: LinkProblem, row: Any) -> BadLink:
    what = f"{row.skill_id}/{row.number}" if name == "skill_versions" else str(row.number)
    return BadLink(chain=name, problem=problem, place=row.place, row=what)


def _is_unsealed(table: sa.Table) -> "sa.ColumnElement[bool]":
    return sa.and_(table.c.place.is_(None), table.c.content_digest.is_not(None))


def _is_unchained(table: sa.Table) -> "sa.ColumnElement[bool]":
    """From before the chain: without a digest, too."""
    return sa.and_(table.c.place.is_(None), table.c.content_digest.is_(None))


_HEAD: Final = sa.select(chains).where(chains.c.name == sa.bindparam("chain"))
_ANY_UNSEALED: Final = sa.select(
    sa.or_(*(sa.exists().where(_is_unsealed(table)) for table in TABLES.values()))
)
_UNSEALED: Final = {
    name: sa.select(*table.primary_key, table.c.content_digest)
    .where(_is_unsealed(table))
    .order_by(*table.primary_key)
    .limit(BATCH)
    for name, table in TABLES.items()
}
_LINK: Final = {
    name: sa.update(table)
    .where(*(key == sa.bindparam(f"key_{at}") for at, key in enumerate(table.primary_key)))
    .values({column: sa.bindparam(column) for column in ("place", "link")})
    for name, table in TABLES.items()
}
