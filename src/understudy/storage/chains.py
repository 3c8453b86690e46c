"""Digest chains over the audit and over skill versions: an edited or removed row shows.

Each row of a chain stores the digest of its content and a link: the digest of the link before it,
of its place and of its content's digest. A head beside the rows tells how many there are and which
link is the last, so that removal at the end shows as well. Links are made when a unit commits,
after all other locks are held, so waiting for a head cannot deadlock.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.audit import AuditVerification, BadLink, ChainReport, LinkProblem
from understudy.storage.engine import Dialect
from understudy.storage.rows import insert_new
from understudy.storage.schema import audit, chains, skill_versions
from understudy.storage.visible import VisibleConnection

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
    """The chains of a unit: rows that it adds are linked when it commits."""

    def __init__(
        self, connection: VisibleConnection, dialect: Dialect, known: dict[str, Head] | None = None
    ) -> None:
        self._connection = connection
        self._dialect = dialect
        # Cached heads, as units of this process left them; `_move` checks that one is current.
        self._known = {} if known is None else known
        self._moved: dict[str, Head] = {}
        self._entries: list[dict[str, Any]] = []
        self._versions: list[tuple[str, int]] = []

    def add_entry(self, entry: Mapping[str, Any]) -> None:
        """Queue an audit entry for the end of the unit."""
        self._entries.append(dict(entry))

    def add_version(self, skill_id: str, number: int) -> None:
        """Queue a stored version to be linked at the end of the unit."""
        self._versions.append((skill_id, number))

    def settle(self) -> None:
        """Insert and link the queued rows; called last, because it locks the heads."""
        entries, versions = self._entries, self._versions
        self._entries, self._versions = [], []
        if entries:
            self._connection.execute(_INSERT, self._linked("audit", entries))
        if versions:
            rows = [self._connection.execute(_VERSION, _key(each)).one() for each in versions]
            linked = self._linked("skill_versions", [row._asdict() for row in rows])
            for key, row in zip(versions, linked, strict=True):
                values = {column: row[column] for column in ("place", "content_digest", "link")}
                self._connection.execute(_LINK_VERSION, {**_key(key), **values})

    def note_commit(self) -> None:
        """Cache the heads after the unit has committed."""
        self._known.update(self._moved)

    def _linked(self, name: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        head = self._moved.get(name) or self._known.get(name)
        if head is not None:
            end, linked = _linked_after(head, rows)
            if self._move(head, end):
                return linked
        # The cached head was stale: another daemon or a concurrent unit moved it.
        head = self._held(name)
        end, linked = _linked_after(head, rows)
        self._move(head, end)
        return linked

    def _move(self, head: Head, end: Head) -> bool:
        """Move the head from its cached place and lock it; False when it has moved meanwhile."""
        values = {"chain": head.name, "at": head.place, "after": head.link}
        to = {"place": end.place, "link": end.link}
        has_moved = self._connection.execute(_MOVE, {**values, **to}).rowcount == 1
        if has_moved:
            self._moved[head.name] = end
        return has_moved

    def _held(self, name: str) -> Head:
        """The head, locked until the unit ends."""
        query = self._dialect.locked(_HEAD)
        found = self._connection.execute(query, {"chain": name}).first()
        if found is None:
            insert_new(self._connection, chains, asdict(Head(name=name)))
            found = self._connection.execute(query, {"chain": name}).one()
        return Head(**found._asdict())

    def _head(self, name: str) -> Head:
        found = self._connection.execute(_HEAD, {"chain": name}).first()
        return Head(name=name) if found is None else Head(**found._asdict())

    def _write(self, head: Head) -> None:
        self._connection.execute(
            sa.update(chains).where(chains.c.name == head.name).values(asdict(head))
        )

    def prune_audit(self, *, before_ms: int, most: int) -> int:
        """Delete the oldest entries, at most `most`; the chain continues from the last of them.

        A chain is only shortened at its start: a younger entry keeps everything after it.
        """
        self.settle()
        head = self._held("audit")
        oldest = self._connection.execute(_OLDEST, {"most": most}).all()
        gone = []
        for row in oldest:
            if row.at_ms >= before_ms:
                break
            gone.append(row)
        if not gone:
            return 0
        self._connection.execute(sa.delete(audit).where(audit.c.number <= gone[-1].number))
        chained = [row for row in gone if row.place is not None]
        if chained:
            last = chained[-1]
            head = replace(head, base_place=last.place, base_link=last.link)
        self._write(replace(head, unchained=head.unchained - (len(gone) - len(chained))))
        return len(gone)

    def verify(self, expected: str | None = None) -> AuditVerification:
        """Verify both chains from their start. `expected` is a head noted elsewhere."""
        walks = {name: _Walk(name, self._head(name), expected) for name in TABLES}
        for name, walk in walks.items():
            for row in self._rows(name):
                walk.see(row)
                if walk.bad is not None:
                    break
            walk.end(self._head(name), self._unchained(name))
        bad = next((walk.bad for walk in walks.values() if walk.bad is not None), None)
        if bad is None and expected is not None and not any(w.has_expected for w in walks.values()):
            bad = BadLink(chain="audit", problem=LinkProblem.HEAD_UNKNOWN)
        return AuditVerification(
            ok=bad is None,
            first_bad=bad,
            audit=walks["audit"].report(),
            skill_versions=walks["skill_versions"].report(),
        )

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

    def _unchained(self, name: str) -> int:
        table = TABLES[name]
        query = sa.select(sa.func.count()).select_from(table).where(table.c.place.is_(None))
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

    def report(self) -> ChainReport:
        """The report of the rows that were checked."""
        return ChainReport(
            checked=self._place - self._head.base_place,
            erased=self._erased,
            pruned=self._head.base_place,
            unchained=self._head.unchained,
            head=self._link,
        )


def _linked_after(
    head: Head, rows: Sequence[Mapping[str, Any]]
) -> tuple[Head, list[dict[str, Any]]]:
    """The rows with their places and links after a head, and the new head."""
    linked = []
    for row in rows:
        digest, place = content_digest(head.name, row), head.place + 1
        head = replace(head, place=place, link=link_of(head.link, place, digest))
        linked.append({**row, "place": place, "content_digest": digest, "link": head.link})
    return head, linked


def _bad(name: str, problem: LinkProblem, row: Any) -> BadLink:
    what = f"{row.skill_id}/{row.number}" if name == "skill_versions" else str(row.number)
    return BadLink(chain=name, problem=problem, place=row.place, row=what)


def _key(version: tuple[str, int]) -> dict[str, Any]:
    return {"skill": version[0], "version_number": version[1]}


_HEAD: Final = sa.select(chains).where(chains.c.name == sa.bindparam("chain"))
_MOVE: Final = (
    sa.update(chains)
    .where(
        chains.c.name == sa.bindparam("chain"),
        chains.c.place == sa.bindparam("at"),
        chains.c.link == sa.bindparam("after"),
    )
    .values({name: sa.bindparam(name) for name in ("place", "link")})
)
_INSERT: Final = sa.insert(audit)
_OLDEST: Final = (
    sa.select(audit.c.number, audit.c.at_ms, audit.c.place, audit.c.link)
    .order_by(audit.c.number)
    .limit(sa.bindparam("most"))
)
_IS_VERSION: Final = (
    skill_versions.c.skill_id == sa.bindparam("skill"),
    skill_versions.c.number == sa.bindparam("version_number"),
)
_VERSION: Final = sa.select(skill_versions).where(*_IS_VERSION)
_LINK_VERSION: Final = (
    sa.update(skill_versions)
    .where(*_IS_VERSION)
    .values({name: sa.bindparam(name) for name in ("place", "content_digest", "link")})
)
