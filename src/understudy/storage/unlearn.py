"""The store of unlearnings: their records, and the rows that they erase, scrub or search."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from understudy.core.batches import batches
from understudy.core.ids import MADE_ID
from understudy.core.page import Page, PageRequest
from understudy.memory.record import record_json
from understudy.sample.workspace import Belongings
from understudy.sessions.journal import EventKind
from understudy.storage import schema
from understudy.storage.rows import from_row, insert_new, select_page, to_row
from understudy.storage.unlearn_radius import SKILL_VERSION, RadiusFinder
from understudy.storage.unlearn_tables import (
    DELETED,
    HOLDERS,
    IN_USE,
    MADE_BY_RUNS,
    OWN_RESOURCE,
    ROOTS,
    SPOKEN,
    STORED,
    TARGETS,
)
from understudy.storage.unlearn_texts import (
    FOLDED,
    Cutter,
    leaves,
    readable_text,
    unpacked,
    written_columns,
)
from understudy.unlearn.model import (
    AT,
    KEPT,
    MARK,
    BlastItem,
    BlastRadius,
    Resource,
    TargetKind,
    Unlearn,
    UnlearnMode,
    UnlearnTarget,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

R = Resource
ONLY: Final = "receipts"
# Tables without content of people, or handled as a whole.
EXEMPT: Final = frozenset({"unlearns", "unlearn_jobs", "term_entries", "tokens", "tool_switches"})
# Reasons that the daemon writes: an id, perhaps after a word.
_MACHINE_MADE: Final = re.compile(rf"(?:[a-z]+ )?{MADE_ID}(?:[.:@][\w-]+)?")


class UnlearnStore:
    """Unlearnings, and the changes that they make."""

    def __init__(self, unit: "Unit") -> None:
        self._unit = unit
        self._connection = unit.connection

    def add(self, unlearn: Unlearn) -> None:
        """Store a new unlearning."""
        self._connection.execute(
            sa.insert(schema.unlearns).values(to_row(unlearn, schema.unlearns))
        )

    def get(self, unlearn_id: str) -> Unlearn | None:
        """One unlearning."""
        query = sa.select(schema.unlearns).where(schema.unlearns.c.unlearn_id == unlearn_id)
        row = self._connection.execute(query).first()
        return None if row is None else from_row(row, Unlearn)

    def update(self, unlearn: Unlearn) -> None:
        """Update an unlearning; only the holder of its job does."""
        self._connection.execute(
            sa.update(schema.unlearns)
            .where(schema.unlearns.c.unlearn_id == unlearn.unlearn_id)
            .values(to_row(unlearn, schema.unlearns))
        )

    def page(self, request: PageRequest) -> Page[Unlearn]:
        """Unlearnings, newest first."""
        return select_page(
            self._connection,
            sa.select(schema.unlearns),
            request,
            by=(schema.unlearns.c.unlearn_id,),
            read=lambda row: from_row(row, Unlearn),
            descending=True,
        )

    def key(self) -> str | None:
        """The HMAC key of digests; None before the first receipt."""
        return self._connection.execute(sa.select(schema.unlearn_key.c.secret)).scalar()

    def keep_key(self, secret: str, *, at_ms: int) -> None:
        """Store the first key."""
        values = {"name": ONLY, "secret": secret, "created_at_ms": at_ms}
        insert_new(self._connection, schema.unlearn_key, values)

    def under_way(self, target: UnlearnTarget, mode: UnlearnMode) -> Unlearn | None:
        """The unfinished unlearning of a target."""
        query = sa.select(schema.unlearns).where(
            schema.unlearns.c.mode == str(mode),
            schema.unlearns.c.status.in_(["pending", "running"]),
        )
        found = (from_row(row, Unlearn) for row in self._connection.execute(query).all())
        return next((it for it in found if it.target == target), None)

    def radius(self, target: UnlearnTarget) -> BlastRadius:
        """The blast radius of a target; empty when the target does not exist."""
        return RadiusFinder(self._unit).find(self._roots(target))

    def _roots(self, target: UnlearnTarget) -> Iterator[BlastItem]:
        if target.kind is TargetKind.USER_TEXT:
            yield from self.holding(target.id)
            return
        resource, ids = self._named(target)
        for id_ in ids:
            yield BlastItem(resource=resource, id=id_, relation="target")

    def _named(self, target: UnlearnTarget) -> tuple[Resource, Iterable[str]]:
        kind, id_ = target.kind, target.id
        if kind in (TargetKind.SKILL, TargetKind.SKILL_VERSION):
            return R.SKILL_VERSION, self._versions(id_, whole=kind is TargetKind.SKILL)
        if kind is TargetKind.SOURCE:
            return R.RUN, self._by_source(id_)
        key = TARGETS[kind]
        found = self._connection.execute(sa.select(key).where(key == id_)).scalars()
        return Resource(kind), found

    def _versions(self, ref: str, *, whole: bool) -> Iterable[str]:
        named, _, number = (ref, "", "") if whole else ref.rpartition(AT)
        skills = schema.skills.c
        which = sa.or_(skills.skill_id == named, skills.slug == named)
        query = sa.select(SKILL_VERSION).where(
            schema.skill_versions.c.skill_id.in_(sa.select(skills.skill_id).where(which))
        )
        if not whole:
            query = query.where(
                schema.skill_versions.c.number == (int(number) if number.isdecimal() else -1)
            )
        return self._connection.execute(query).scalars()

    def _by_source(self, source: str) -> Iterable[str]:
        runs = schema.runs.c
        prefix, _, named = source.partition(":")
        by = {"user": runs.user_id, "agent": runs.agent_id}.get(prefix) if named else None
        if by is not None:
            return self._connection.execute(sa.select(runs.run_id).where(by == named)).scalars()
        written = f'"source_plugin":{json.dumps(source)}'
        wanted = sa.type_coerce(runs.wanted, sa.Text)
        query = sa.select(runs.run_id).where(self._unit.contains(wanted, written))
        return self._connection.execute(query).scalars()

    def widened(self, radius: BlastRadius, more: Iterable[BlastItem]) -> BlastRadius:
        """A blast radius with further roots, and the records derived from them."""
        whole = [it for it in radius.items if it.resource in ROOTS]
        return RadiusFinder(self._unit).find([*whole, *more])

    def quoting(self, radius: BlastRadius, texts: Collection[str]) -> list[BlastItem]:
        """Records of later runs that hold one of the texts and are not in the radius."""
        later, known = radius.ids(R.LATER_RUN), {(it.resource, it.id) for it in radius.items}
        if not later or not texts:
            return []
        cutter, found = Cutter(texts), list[BlastItem]()
        for resource, table, key, run_id in MADE_BY_RUNS:
            for some in batches(later):
                query = sa.select(key.label("blast_id"), *written_columns(table))
                for row in self._connection.execute(query.where(run_id.in_(some))):
                    if (resource, row.blast_id) not in known and any(map(cutter.holds, row[1:])):
                        found.append(
                            BlastItem(resource=resource, id=row.blast_id, relation="quotes it")
                        )
        for some in batches(later):
            query = sa.select(SKILL_VERSION).where(schema.skill_versions.c.run_id.in_(some))
            for id_ in self._connection.execute(query).scalars():
                if (R.SKILL_VERSION, id_) not in known and any(
                    map(cutter.holds, self._bundle_texts(id_))
                ):
                    found.append(BlastItem(resource=R.SKILL_VERSION, id=id_, relation="quotes it"))
        return found

    def memories_with(self, run_ids: Sequence[str], texts: Collection[str]) -> list[str]:
        """The runs whose memory holds one of the texts."""
        cutter = Cutter(texts)
        return [
            run_id
            for some in batches(run_ids)
            for run_id, record in self._unit.run_memories.readable(some).items()
            if cutter.holds(record_json(record))
        ]

    # Searches for texts.

    def holding(self, text: str) -> Iterator[BlastItem]:
        """Records that hold a text: those erased as a whole, and runs that only lose the text."""
        for resource, table, key in HOLDERS:
            for row in self._rows_with(table, text, key.label("blast_id")):
                yield BlastItem(resource=resource, id=str(row.blast_id), relation="holds the text")
        for slug, skill_id, number in self._all_versions():
            if self._bundle_holds(slug, number, text):
                yield BlastItem(
                    resource=R.SKILL_VERSION,
                    id=f"{skill_id}{AT}{number}",
                    relation="holds the text",
                )
        for asset_id, sha256 in self._connection.execute(
            sa.select(schema.assets.c.asset_id, schema.assets.c.sha256)
        ).all():
            if text.encode(errors="replace") in (self._unit.blobs.get(sha256) or b""):
                yield BlastItem(resource=R.ASSET, id=asset_id, relation="holds the text")
        for resource, id_ in dict.fromkeys(self._kept_with(text)):
            yield BlastItem(resource=resource, id=id_, relation="holds the text")

    def _all_versions(self) -> Sequence[Any]:
        query = (
            sa.select(
                schema.skills.c.slug, schema.skills.c.skill_id, schema.skill_versions.c.number
            )
            .join(
                schema.skill_versions, schema.skill_versions.c.skill_id == schema.skills.c.skill_id
            )
            .where(
                schema.skills.c.origin != "system", schema.skill_versions.c.erased_at_ms.is_(None)
            )
        )
        return self._connection.execute(query).all()

    def _bundle_holds(self, slug: str, number: int, text: str) -> bool:
        bundle = self._unit.skill_bundles.get(slug, number)
        wanted = text.encode(errors="replace")
        return bundle is not None and any(
            text in path or wanted in data for path, data in bundle.items()
        )

    def _kept_with(self, text: str) -> Iterator[tuple[Resource, str]]:
        """Rows of all other tables that hold a text: by their run, else by table and key."""
        for table in schema.metadata.sorted_tables:
            if table.name in OWN_RESOURCE | EXEMPT:
                continue
            run_id = table.c.run_id if "run_id" in table.c else sa.null()
            keys = [it.label(f"key_{it.name}") for it in table.primary_key]
            for row in self._rows_with(table, text, run_id.label("blast_id"), *keys):
                if row.blast_id is not None:
                    yield R.LATER_RUN, row.blast_id
                else:
                    yield R.RECORD, "/".join(map(str, (table.name, *row[1 : len(keys) + 1])))

    def _rows_with(
        self, table: sa.Table, text: str, *wanted: sa.ColumnElement[Any]
    ) -> Iterator[Any]:
        """The rows of a table that hold a text in any column written by people or models."""
        spellings = tuple(dict.fromkeys((text, json.dumps(text)[1:-1])))
        columns = [sa.type_coerce(it, sa.Text) for it in written_columns(table)]
        if columns:
            held = [self._unit.contains(it, each) for it in columns for each in spellings]
            yield from self._connection.execute(sa.select(*wanted).where(sa.or_(*held)))
        if table is schema.artifacts:
            rows = self._connection.execute(sa.select(*wanted, table.c.content))
            yield from (row for row in rows if text in unpacked(row.content))

    def present(
        self,
        resource: Resource,
        digest: Callable[[str], str],
        wanted: Collection[str],
        *,
        in_use: bool,
    ) -> Iterator[str]:
        """The ids of a resource whose digest is among some: of all that are stored, or in use."""
        queries = IN_USE.get(resource, ()) if in_use else STORED[resource]
        ids = {id_ for query in queries for id_ in self._connection.execute(query).scalars()}
        if resource is R.RUN_MEMORY:
            ids |= {it.run_id for it in self._unit.run_memories.scan()}
        for id_ in sorted(ids - {None}):
            if digest(str(id_)) in wanted:
                yield str(id_)

    # Texts to search for.

    def texts(self, radius: BlastRadius) -> Iterator[str]:
        """Every text in the erased records, as people and models wrote it."""
        for resource, table, key in SPOKEN:
            for some in batches(radius.ids(resource)):
                for row in self._connection.execute(sa.select(table).where(key.in_(some))):
                    for column in written_columns(table):
                        yield from leaves(getattr(row, column.name), column.name)
        for id_ in radius.ids(R.SKILL_VERSION):
            yield from self._bundle_texts(id_)
        for some in batches(radius.ids(R.ASSET)):
            query = sa.select(schema.assets.c.sha256).where(schema.assets.c.asset_id.in_(some))
            for sha256 in self._connection.execute(query).scalars():
                yield from readable_text(self._unit.blobs.get(sha256) or b"")

    def _bundle_texts(self, version_id: str) -> Iterator[str]:
        skill_id, _, number = version_id.rpartition(AT)
        slug = self._slug(skill_id)
        bundle = self._unit.skill_bundles.get(slug, int(number)) if slug else None
        for _, data in bundle.items() if bundle else ():
            yield from readable_text(data)

    def _slug(self, skill_id: str) -> str | None:
        query = sa.select(schema.skills.c.slug).where(schema.skills.c.skill_id == skill_id)
        return self._connection.execute(query).scalar()

    # Changes of a revocation.

    def withdraw(self, unlearn_id: str, radius: BlastRadius) -> int:
        """Withdraw the events of some runs, and summaries of them, from later prompts."""
        return self._mark(radius, {"withdrawn_by": unlearn_id})

    def unpin(self, radius: BlastRadius) -> None:
        """Delete grants that are pinned to a version that is out of use."""
        grants = schema.skill_agent_grants
        pinned = (
            sa.cast(grants.c.skill_id, sa.Text)
            .concat(AT)
            .concat(sa.cast(grants.c.pinned_version, sa.Text))
        )
        for some in batches(radius.ids(R.SKILL_VERSION)):
            self._connection.execute(sa.delete(grants).where(pinned.in_(some)))

    def _mark(self, radius: BlastRadius, values: Mapping[str, Any]) -> int:
        journal, marked = schema.journal, 0
        sessions = frozenset(radius.ids(R.SESSION))
        first: dict[str, int] = {}
        for some in batches(radius.ids(R.RUN)):
            which = journal.c.run_id.in_(some)
            query = sa.select(journal.c.session_id, sa.func.min(journal.c.offset)).where(which)
            for session_id, offset in self._connection.execute(
                query.group_by(journal.c.session_id)
            ):
                first[session_id] = min(offset, first.get(session_id, offset))
            marked += self._connection.execute(
                sa.update(journal).where(which).values(values)
            ).rowcount
        for session_id, offset in first.items():
            if session_id not in sessions:
                summaries = sa.update(journal).where(
                    journal.c.session_id == session_id,
                    journal.c.offset > offset,
                    journal.c.kind == str(EventKind.CHECKPOINT),
                )
                marked += self._connection.execute(summaries.values(values)).rowcount
        return marked

    def _mark_tasks(self, task_ids: Sequence[str], values: Mapping[str, Any]) -> int:
        """Mark the events that say what tasks are called; they belong to no run."""
        journal, tasks, marked = schema.journal, schema.tasks, 0
        data = sa.type_coerce(journal.c.data, sa.Text)
        for task_id in task_ids:
            of_task = sa.select(tasks.c.session_id).where(tasks.c.task_id == task_id)
            marked += self._connection.execute(
                sa.update(journal)
                .where(
                    journal.c.session_id.in_(of_task),
                    journal.c.kind == str(EventKind.SESSION),
                    self._unit.contains(data, json.dumps(task_id)),
                )
                .values(values)
            ).rowcount
        return marked

    def _detach_project_tasks(self, radius: BlastRadius) -> None:
        """Cut outputs of erased runs, and links to erased tasks, out of the tasks that stay."""
        runs, erased = set(radius.ids(R.RUN)), set(radius.ids(R.PROJECT_TASK))
        if not runs:
            return
        table = schema.project_tasks
        for row in self._connection.execute(sa.select(table)).all():
            body = dict(row.body) if isinstance(row.body, dict) else {}
            links = body.get("blocked_by") or ()
            parent = body.get("parent_task_id")
            kept = {
                "output": None if row.latest_run_id in runs else body.get("output"),
                "blocked_by": [it for it in links if f"{row.project_id}/{it}" not in erased],
                "parent_task_id": None if f"{row.project_id}/{parent}" in erased else parent,
            }
            new = {**body, **{name: value for name, value in kept.items() if name in body}}
            if new != body:
                same = [key == getattr(row, key.name) for key in table.primary_key]
                self._connection.execute(sa.update(table).where(*same).values(body=new))

    # Deletions of an erasure.

    def work_ids(self, run_ids: Sequence[str]) -> list[str]:
        """The ids of the engine's work on some runs."""
        runs, found = schema.runs.c, list[str]()
        for some in batches(run_ids):
            query = sa.select(runs.run_id, runs.wakes).where(runs.run_id.in_(some))
            for run_id, wakes in self._connection.execute(query):
                found += [run_id, *(f"{run_id}.{number}" for number in range(1, wakes + 1))]
        return found

    def erase(self, unlearn_id: str, radius: BlastRadius, *, now_ms: int) -> int:
        """Delete the rows and files of a blast radius; returns the number of tombstones."""
        gone = {"kind": str(EventKind.ERASED), "data": {"unlearn_id": unlearn_id}, "key": None}
        gone |= {"agent_id": None, "withdrawn_by": unlearn_id}
        tombstones = self._mark(radius, gone) + self._mark_tasks(radius.ids(R.TASK), gone)
        self._detach_project_tasks(radius)
        for table, key, resource in DELETED:
            for some in batches(radius.ids(resource)):
                self._connection.execute(sa.delete(table).where(key.in_(some)))
        for some in batches(radius.ids(R.CHANNEL_MESSAGE)):
            channels = schema.channels
            last = channels.c.last_message_id.in_(some)
            self._connection.execute(
                sa.update(channels).where(last).values(last_message_preview=None)
            )
        self._erase_versions(radius.ids(R.SKILL_VERSION), now_ms=now_ms)
        self._unit.erasure.erase(_belongings(radius))
        self._erase_assets(radius.ids(R.ASSET))
        self._forget_answers(radius)
        self._blank_reasons(radius, now_ms=now_ms)
        return tombstones

    def _erase_versions(self, version_ids: Sequence[str], *, now_ms: int) -> None:
        erased: dict[str, list[int]] = {}
        for id_ in version_ids:
            erased.setdefault(id_.rpartition(AT)[0], []).append(int(id_.rpartition(AT)[2]))
        for skill_id, numbers in erased.items():
            self.erase_versions(skill_id, numbers, now_ms=now_ms)

    def erase_versions(self, skill_id: str, numbers: Collection[int], *, now_ms: int) -> None:
        """Delete the files of versions of a skill; their rows stay, with their digests."""
        versions, slug = schema.skill_versions, self._slug(skill_id)
        if slug is None:
            return
        self._unit.skill_bundles.erase(slug, numbers)
        self._connection.execute(
            sa.update(versions)
            .where(versions.c.skill_id == skill_id, versions.c.number.in_(numbers))
            .values(erased_at_ms=now_ms)
        )
        self._blank_skill(skill_id, slug, numbers)

    def _blank_skill(self, skill_id: str, slug: str, numbers: Collection[int]) -> None:
        """Blank the texts of a deleted skill whose last version is erased, also in the trash."""
        skills, trash = schema.skills, schema.skill_trash
        blank = {
            "name": slug,
            "description": MARK,
            "tags": [],
            "frontmatter": {},
            "missing_deps": [],
        }
        row = self._connection.execute(sa.select(skills).where(skills.c.skill_id == skill_id)).one()
        if row.version in numbers and isinstance(row.body, dict):
            self._connection.execute(
                sa.update(skills)
                .where(skills.c.skill_id == skill_id)
                .values(body={**row.body, **blank}, search=slug, sort_name=slug)
            )
        for kept in self._connection.execute(sa.select(trash)).all():
            stored = kept.body if isinstance(kept.body, dict) else {}
            if stored.get("skill_id") == skill_id and stored.get("version") in numbers:
                self._connection.execute(
                    sa.delete(trash).where(trash.c.trash_name == kept.trash_name)
                )

    def _erase_assets(self, asset_ids: Sequence[str]) -> None:
        if not asset_ids:
            return
        self._unit.assets.hold(alone=True)
        for asset_id in asset_ids:
            asset = self._unit.assets.get(asset_id)
            references = schema.asset_references
            self._connection.execute(sa.delete(references).where(references.c.asset_id == asset_id))
            if asset is not None:
                self._unit.assets.delete(asset_id)
                if not self._unit.assets.used([asset.sha256]):
                    self._unit.blobs.delete(asset.sha256)

    def _forget_answers(self, radius: BlastRadius) -> None:
        """Delete stored responses of requests that name anything in the radius."""
        ids = {it.id for it in radius.items}
        ids |= {it.rpartition("/")[2] for it in radius.ids(R.PROJECT_TASK)}
        responses = schema.responses
        for row in self._connection.execute(
            sa.select(responses.c.key_hash, responses.c.body)
        ).all():
            if ids & set(leaves(row.body, "body", names=True)):
                self._connection.execute(
                    sa.delete(responses).where(responses.c.key_hash == row.key_hash)
                )

    def _blank_reasons(self, radius: BlastRadius, *, now_ms: int) -> None:
        """Blank the reasons in audit entries of erased records; rows and their digests stay."""
        audit = schema.audit
        ids = sorted({it.id for it in radius.items if it.resource not in KEPT})
        for some in batches(ids):
            query = sa.select(audit.c.number, audit.c.reason).where(
                audit.c.resource_id.in_(some), audit.c.reason.is_not(None)
            )
            for number, reason in self._connection.execute(query).all():
                if not _MACHINE_MADE.fullmatch(reason):
                    self._connection.execute(
                        sa.update(audit)
                        .where(audit.c.number == number)
                        .values(reason=None, erased_at_ms=now_ms)
                    )

    # Texts that an erasure cuts out of records that stay.

    def scrub_runs(self, run_ids: Collection[str], texts: Collection[str], *, now_ms: int) -> int:
        """Delete captured requests of some runs, and cut texts out of their other records."""
        cutter, changed = Cutter(texts), 0
        for some in batches(sorted(run_ids)):
            captures = schema.debug_requests
            self._connection.execute(sa.delete(captures).where(captures.c.run_id.in_(some)))
            for table in schema.metadata.sorted_tables:
                if "run_id" in table.c and table.name not in EXEMPT:
                    changed += self._cut(table, table.c.run_id.in_(some), cutter, now_ms)
            candidates = schema.learning_candidates
            changed += self._cut(candidates, candidates.c.source_run_id.in_(some), cutter, now_ms)
        return changed

    def scrub_everywhere(self, text: str, *, now_ms: int) -> int:
        """Cut a text out of every table."""
        cutter, changed = Cutter([text]), 0
        for table in schema.metadata.sorted_tables:
            if table.name not in EXEMPT:
                changed += self._cut(table, None, cutter, now_ms)
        return changed

    def _cut(
        self,
        table: sa.Table,
        where: sa.ColumnElement[bool] | None,
        cutter: Cutter,
        now_ms: int,
    ) -> int:
        columns = written_columns(table)
        if table is schema.artifacts:
            columns = [*columns, table.c.content]
        if not columns:
            return 0
        keys, changed, searched = list(table.primary_key.columns), 0, cutter
        if copies := [it for it in table.c if it.name in FOLDED]:
            columns, searched = [*columns, *copies], cutter.folded()
        query = sa.select(*keys, *(it for it in columns if it not in keys))
        if where is not None:
            query = query.where(where)
        elif cutter.only and table is not schema.artifacts:
            spellings = dict.fromkeys((cutter.only, json.dumps(cutter.only)[1:-1]))
            held = [
                self._unit.contains(sa.type_coerce(it, sa.Text), each)
                for it in columns
                for each in spellings
            ]
            query = query.where(sa.or_(*held))
        for row in self._connection.execute(query).all():
            values = {it.name: getattr(row, it.name) for it in columns if it not in keys}
            cut = {
                name: (searched if name in FOLDED else cutter).cut(value)
                for name, value in values.items()
            }
            new = {name: value for name, value in cut.items() if value != values[name]}
            if new:
                if table is schema.audit:
                    new["erased_at_ms"] = now_ms
                same = [key == getattr(row, key.name) for key in keys]
                self._connection.execute(sa.update(table).where(*same).values(new))
                changed += 1
        return changed


def _belongings(radius: BlastRadius) -> Belongings:
    return Belongings(
        session_ids=frozenset(radius.ids(R.SESSION)),
        run_ids=frozenset(radius.ids(R.RUN)),
        schedule_ids=frozenset(radius.ids(R.SCHEDULE)),
        delivery_ids=frozenset(radius.ids(R.DELIVERY)),
        candidate_ids=frozenset(radius.ids(R.CANDIDATE)),
        learning_ids=frozenset(radius.ids(R.LEARNING)),
        rollout_names=frozenset(radius.ids(R.ROLLOUT)),
        trial_ids=frozenset(radius.ids(R.TRIAL)),
    )
