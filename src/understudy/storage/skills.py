"""The skill store: skills, their versions, and deleted skills."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.batches import batches
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.records import parsed_strictly
from understudy.skills.bundles.store import BundlePlace, Places
from understudy.skills.model import (
    GrantedSkill,
    Skill,
    SkillDraft,
    SkillFilter,
    SkillOrigin,
    SkillStatus,
    SkillVersion,
    TrashedSkill,
    VersionState,
    Visibility,
    sort_name,
)
from understudy.storage.chains import CONTENT, content_digest
from understudy.storage.engine import Dialect
from understudy.storage.granted_skills import (
    BY_NAME,
    COLUMNS,
    IS_OF_THIS_LIFE,
    MAYBE_OPEN,
    MAYBE_OPEN_STAMP,
    NOT_READ,
    OPEN_TO_EVERYBODY,
    WITH_GRANTS,
    of_agent,
    read_granted,
    stamp_of,
    visible_to,
    who,
)
from understudy.storage.rows import (
    folded,
    from_row,
    read_record,
    readable,
    search_text,
    select_page,
    to_row,
)
from understudy.storage.schema import (
    agents,
    runs,
    skill_trash,
    skill_versions,
    skills,
)
from understudy.storage.schema.skills import OPEN_VERSION
from understudy.storage.table import Table


class SkillStore(Table[Skill]):
    """Skills, their versions, and deleted skills. A slug has one row, deleted or not."""

    table = skills
    kind = Skill
    counter = "revision"
    unread = NOT_READ

    def lock(self, slug: str) -> None:
        """Lock a slug against changes by other processes and daemons until the unit ends.

        Rows that were read before the lock may be stale.
        """
        self._dialect.lock_slug(self._connection, slug)

    def lock_name(self, name: str) -> None:
        """Lock a name until the unit ends; slugs are locked before names."""
        # No slug contains a colon.
        self._dialect.lock_slug(self._connection, f"name:{name}")

    def lock_all(self) -> None:
        """Lock all slugs at once; only in a unit that has locked none."""
        self._dialect.lock_skills(self._connection)

    def salvage(self, slug: str) -> Skill | None:
        """Repair a damaged row from its readable columns; only while the slug is locked."""
        row = self._connection.execute(_BY_SLUG, {"slug": slug}).first()
        if row is None:
            return None
        skill = _salvaged(row)
        self.update(skill)
        return skill

    def by_slug(self, slug: str) -> Skill | None:
        """The skill of a slug, deleted or not."""
        return self._one(_BY_SLUG, {"slug": slug})

    def slugs_among(self, slugs: Collection[str]) -> frozenset[str]:
        """The slugs among `slugs` that a skill has, deleted or not."""
        # No skill has an unprintable slug, and some databases reject such a value.
        asked = tuple(filter(str.isprintable, slugs))
        return frozenset(
            slug
            for some in batches(asked)
            for slug in self._connection.execute(_SLUGS_AMONG, {"slugs": list(some)}).scalars()
        )

    def page(self, request: PageRequest, *, narrowed: SkillFilter) -> Page[Skill]:
        """Skills by name."""
        query = sa.select(*COLUMNS, skills.c.sort_name)
        return select_page(
            self._connection,
            query.where(*_conditions(narrowed, self._dialect)),
            request,
            by=BY_NAME,
            read=self._read,
        )

    def page_of_agent(
        self, request: PageRequest, *, agent_id: str, user_id: str, sees_all: bool
    ) -> Page[GrantedSkill]:
        """The skills that may be open to an agent and a user, by name, with their grants.

        Of skills that are granted to the agent but not usable now, those of the user, or all.
        """
        query = of_agent(sees_all=sees_all).params(who(agent_id, user_id))
        with self._reading_grants():
            return select_page(self._connection, query, request, by=BY_NAME, read=read_granted)

    def counts(self) -> Mapping[SkillStatus, int]:
        """How many skills there are, by status."""
        found = {row[0]: row[1] for row in self._connection.execute(_COUNTS)}
        return {status: found.get(str(status), 0) for status in SkillStatus}

    def maybe_open(
        self, *, agent_id: str, user_id: str
    ) -> tuple[Hashable, tuple[GrantedSkill, ...]]:
        """The skills that may be open to an agent and a user, by name, with their grants; and the
        stamp of these very rows, which `maybe_open_stamp` returns until they change.

        Raises `Unavailable` when the grants cannot be read; the unit can still be used then.
        """
        with self._reading_grants():
            rows = self._connection.execute(MAYBE_OPEN, who(agent_id, user_id)).all()
        return stamp_of(rows), tuple(readable(rows, read_granted))

    def maybe_open_stamp(self, *, agent_id: str, user_id: str) -> Hashable:
        """The stamp of what `maybe_open` would return; much cheaper to read.

        Not cached: grants that cannot be read must not count.
        """
        with self._reading_grants():
            rows = self._connection.execute(MAYBE_OPEN_STAMP, who(agent_id, user_id)).all()
        return stamp_of(rows)

    def open_to_everybody(self) -> tuple[GrantedSkill, ...]:
        """The skills that are open to everybody, by name; grants are not read."""
        rows = self._connection.execute(OPEN_TO_EVERYBODY).all()
        return tuple(GrantedSkill(skill=skill) for skill in readable(rows, self._read))

    def with_grants(self, skill_id: str, *, agent_id: str, user_id: str) -> GrantedSkill | None:
        """One skill with its grants to an agent and a user, whatever its status."""
        values = {"skill": skill_id, **who(agent_id, user_id)}
        row = self._connection.execute(WITH_GRANTS, values).first()
        return None if row is None else next(iter(readable([row], read_granted)), None)

    def add_version(self, version: SkillVersion) -> None:
        """Insert a version, whose number is new; it is sealed after the unit has committed."""
        values = {**asdict(version), "made_in": version.run_id}
        row = self._connection.execute(_ADD_VERSION, values).one()
        digest = content_digest("skill_versions", row._asdict())
        self._connection.execute(
            _SET_DIGEST, {"skill": version.skill_id, "of": version.number, "of_content": digest}
        )

    def version(self, skill_id: str, number: int) -> SkillVersion | None:
        """One version, also of a deleted skill.

        None when it is in the trash of an earlier skill with this slug.
        """
        if not 0 < number <= _MOST_VERSIONS:
            return None
        row = self._connection.execute(_VERSION, {"skill": skill_id, "number": number}).first()
        return None if row is None else _read_version(row)

    def version_at(
        self, skill_id: str, at_ms: int, *, for_owner: bool = False
    ) -> SkillVersion | None:
        """The version that was served to all, or to its owner, at a time; None without one."""
        query = _VERSION_AT if for_owner else _VERSION_AT.where(*_ACCEPTED)
        row = self._connection.execute(query, {"skill": skill_id, "at": at_ms}).first()
        return None if row is None else _read_version(row)

    def versions(
        self, skill_id: str, request: PageRequest, *, only_served: bool = False
    ) -> Page[SkillVersion]:
        """The versions of a skill, newest first, without those of an earlier skill of its slug."""
        query = _VERSIONS.where(skill_versions.c.skill_id == skill_id)
        if only_served:
            query = query.where(*_ACCEPTED)
        by = (skill_versions.c.number,)
        return select_page(
            self._connection, query, request, by=by, read=_read_version, descending=True
        )

    def decide(self, version: SkillVersion) -> None:
        """Store the state of a version, who decided it, and its mark."""
        decided = {name: getattr(version, name) for name in _DECIDED}
        self._connection.execute(
            sa.update(skill_versions)
            .where(
                skill_versions.c.skill_id == version.skill_id,
                skill_versions.c.number == version.number,
            )
            .values(decided)
        )

    def drafts_of(self, skill_id: str) -> tuple[SkillVersion, ...]:
        """The versions of a skill that wait for a person, newest first."""
        rows = self._connection.execute(_DRAFTS_OF, {"skill": skill_id})
        return tuple(map(_read_version, rows))

    def drafts(self, request: PageRequest, *, owner_id: str | None = None) -> Page[SkillDraft]:
        """The newest version of each skill that waits for anybody, or for one person, newest first:
        as the owner of the skill, or of the agent that is to get it."""
        query = _drafts(of_one_owner=owner_id is not None).params(owner=owner_id)
        by = (skill_versions.c.created_at_ms, skill_versions.c.skill_id)
        return select_page(
            self._connection, query, request, by=by, read=self._draft, descending=True
        )

    def draft_count(self, *, owner_id: str | None = None) -> int:
        """How many skills have a version that waits for anybody, or for one person."""
        counted = _draft_count(of_one_owner=owner_id is not None)
        return int(self._connection.execute(counted, {"owner": owner_id}).scalar_one())

    def _draft(self, row: Any) -> SkillDraft:
        skill = self.get(row.skill_id)
        if skill is None:
            raise coded_error("storage/record_damaged", what=f"skill {row.skill_id}")
        return SkillDraft(
            skill=skill,
            version=_read_version(row),
            agent_id=row.agent_id,
            session_id=row.session_id,
        )

    def grants_wanted(self, skill_id: str) -> tuple[str, ...]:
        """The agents whose owners are to decide whether they get a skill."""
        return tuple(it.grant_to for it in self.drafts_of(skill_id) if it.grant_to is not None)

    def forget_agent(self, agent_id: str) -> None:
        """Forget that a deleted agent was to get skills."""
        self._connection.execute(
            sa.update(skill_versions)
            .where(skill_versions.c.grant_to == agent_id)
            .values(grant_to=None)
        )

    def last_number(self, slug: str) -> int:
        """The highest number that any version of this slug ever had; 0 when there was none."""
        return self._connection.execute(_LAST_NUMBER, {"slug": slug}).scalar() or 0

    def places(self) -> Places:
        """The place of every version of all skills."""
        found: dict[str, dict[int, BundlePlace]] = {}
        for slug, number, trash_name, digest in self._connection.execute(_PLACES):
            found.setdefault(slug, {})[number] = BundlePlace(trash_name, digest)
        return found

    def trash(self, trashed: TrashedSkill) -> None:
        """Insert a deleted skill, and mark its versions as in the trash."""
        self._connection.execute(sa.insert(skill_trash), _trashed_row(trashed))
        living = sa.and_(
            skill_versions.c.skill_id == trashed.skill.skill_id,
            skill_versions.c.trash_name.is_(None),
        )
        self._lay(living, trashed.trash_name)

    def untrash(self, trash_name: str) -> TrashedSkill | None:
        """Remove a deleted skill from the trash, and mark its versions as restored."""
        found = self.trashed(trash_name)
        if found is not None:
            self._lay(skill_versions.c.trash_name == trash_name, None)
            self._connection.execute(
                sa.delete(skill_trash).where(skill_trash.c.trash_name == trash_name)
            )
        return found

    def trashed(self, trash_name: str) -> TrashedSkill | None:
        """The deleted skill with this trash name."""
        if not trash_name.isprintable():
            return None
        query = sa.select(skill_trash).where(skill_trash.c.trash_name == trash_name)
        row = self._connection.execute(query).first()
        return None if row is None else _read_trashed(row)

    def trash_page(
        self, request: PageRequest, *, owner_id: str | None = None
    ) -> Page[TrashedSkill]:
        """Deleted skills of all owners or of one, newest first."""
        query = sa.select(skill_trash)
        if owner_id is not None:
            query = query.where(skill_trash.c.owner_id == owner_id)
        by = (skill_trash.c.deleted_at_ms, skill_trash.c.trash_name)
        return select_page(
            self._connection, query, request, by=by, read=_read_trashed, descending=True
        )

    def _one(
        self, query: sa.Select[Any], values: Mapping[str, Any] | None = None, *, lock: bool = False
    ) -> Skill | None:
        # No skill has an unprintable slug or id, and some databases reject such a value.
        if not all(map(str.isprintable, (values or {}).values())):
            return None
        return super()._one(query, values, lock=lock)

    def _row(self, skill: Skill) -> dict[str, Any]:
        return {
            **super()._row(skill),
            "sort_name": sort_name(skill.name),
            "search": search_text(skill.slug, skill.name, skill.description, *skill.tags),
        }

    @contextmanager
    def _reading_grants(self) -> Iterator[None]:
        """Execute a query over grants in a savepoint that keeps the unit usable on failure."""
        try:
            with self._dialect.shielded(self._connection):
                yield
        except sa.exc.DBAPIError as problem:
            if problem.connection_invalidated:
                raise
            raise coded_error("skills/skill_grants_unreadable") from problem

    def _lay(self, which: sa.ColumnElement[bool], trash_name: str | None) -> None:
        statement = sa.update(skill_versions).where(which).values(trash_name=trash_name)
        self._connection.execute(statement)


# The largest value of an integer column.
_MOST_VERSIONS: Final = 2**31 - 1
_COUNTS: Final = sa.select(skills.c.status, sa.func.count()).group_by(skills.c.status)
_BY_SLUG: Final = sa.select(*COLUMNS).where(skills.c.slug == sa.bindparam("slug"))
_SLUGS_AMONG: Final = sa.select(skills.c.slug).where(
    skills.c.slug.in_(sa.bindparam("slugs", expanding=True))
)


def _conditions(narrowed: SkillFilter, dialect: Dialect) -> Iterator[sa.ColumnElement[bool]]:
    equal: tuple[tuple[sa.Column[Any], Any], ...] = (
        (skills.c.origin, narrowed.origin),
        (skills.c.visibility, narrowed.visibility),
        (skills.c.status, narrowed.status),
        (skills.c.owner_id, narrowed.owner_id),
    )
    yield from (column == str(value) for column, value in equal if value is not None)
    if narrowed.status is None:
        yield skills.c.status != str(SkillStatus.DELETED)
    if narrowed.enabled is not None:
        yield skills.c.enabled == narrowed.enabled
    if narrowed.seen_by is not None:
        yield from visible_to(narrowed.seen_by)
    if narrowed.query is not None:
        yield dialect.contains(skills.c.search, folded(narrowed.query))


_ADD_VERSION: Final = (
    sa.insert(skill_versions)
    .values(
        agent_id=sa.select(runs.c.agent_id)
        .where(runs.c.run_id == sa.bindparam("made_in", type_=sa.Text))
        .scalar_subquery(),
        **{name: sa.bindparam(name) for name in SkillVersion.__slots__},
    )
    .returning(*(skill_versions.c[name] for name in CONTENT["skill_versions"]))
)
_SET_DIGEST: Final = (
    sa.update(skill_versions)
    .where(
        skill_versions.c.skill_id == sa.bindparam("skill"),
        skill_versions.c.number == sa.bindparam("of"),
    )
    .values(content_digest=sa.bindparam("of_content"))
)
_VERSIONS: Final = (
    sa.select(skill_versions)
    .join(skills, skills.c.skill_id == skill_versions.c.skill_id)
    .where(IS_OF_THIS_LIFE)
)
_VERSION: Final = _VERSIONS.where(
    skill_versions.c.skill_id == sa.bindparam("skill"),
    skill_versions.c.number == sa.bindparam("number"),
)
_ACCEPTED: Final = (
    skill_versions.c.state == str(VersionState.SERVED),
    ~skill_versions.c.for_owner_only,
)
# When a version became the current one.
_SERVED_AT: Final = sa.func.coalesce(skill_versions.c.decided_at_ms, skill_versions.c.created_at_ms)
_VERSION_AT: Final = (
    _VERSIONS.where(
        skill_versions.c.skill_id == sa.bindparam("skill"),
        skill_versions.c.state == str(VersionState.SERVED),
        sa.bindparam("at") >= _SERVED_AT,
    )
    .order_by(_SERVED_AT.desc(), skill_versions.c.number.desc())
    .limit(1)
)
# The columns of a version that a decision changes.
_DECIDED: Final = (
    "state",
    "derived_from_untrusted",
    "decided_by",
    "decided_at_ms",
    "for_owner_only",
    "grant_to",
)
_IS_OPEN: Final = sa.text(f"({OPEN_VERSION.format('skill_versions.')})")
_DRAFTS_OF: Final = _VERSIONS.where(
    skill_versions.c.skill_id == sa.bindparam("skill"), _IS_OPEN
).order_by(skill_versions.c.number.desc())


@cache
def _drafts(*, of_one_owner: bool) -> sa.Select[Any]:
    """The newest open version of each skill that is not deleted, with the session of its run; and
    the newest that is to be granted to an agent."""
    later = skill_versions.alias("later")
    newer = sa.exists().where(
        later.c.skill_id == skill_versions.c.skill_id,
        later.c.number > skill_versions.c.number,
        sa.text(f"({OPEN_VERSION.format('later.')})"),
        sa.or_(skill_versions.c.grant_to.is_(None), later.c.grant_to.is_not(None)),
    )
    query = (
        sa.select(skill_versions, runs.c.session_id)
        .join(skills, skills.c.skill_id == skill_versions.c.skill_id)
        .outerjoin(runs, runs.c.run_id == skill_versions.c.run_id)
        .where(_IS_OPEN, IS_OF_THIS_LIFE, ~newer, skills.c.status != str(SkillStatus.DELETED))
    )
    owner: sa.BindParameter[str] = sa.bindparam("owner")
    own_text = sa.and_(skills.c.owner_id == owner, sa.not_(sa.and_(*_ACCEPTED)))
    own_agent = skill_versions.c.grant_to.in_(
        sa.select(agents.c.agent_id).where(agents.c.owner_id == owner)
    )
    return query.where(sa.or_(own_text, own_agent)) if of_one_owner else query


@cache
def _draft_count(*, of_one_owner: bool) -> sa.Select[Any]:
    drafts = _drafts(of_one_owner=of_one_owner).subquery()
    return sa.select(sa.func.count()).select_from(drafts)


_BY_SKILL: Final = skill_versions.join(skills, skills.c.skill_id == skill_versions.c.skill_id)
_LAST_NUMBER: Final = (
    sa.select(sa.func.max(skill_versions.c.number))
    .select_from(_BY_SKILL)
    .where(skills.c.slug == sa.bindparam("slug"))
)
_PLACES: Final = sa.select(
    skills.c.slug, skill_versions.c.number, skill_versions.c.trash_name, skill_versions.c.digest
).select_from(_BY_SKILL)


def _read_version(row: Any) -> SkillVersion:
    return from_row(row, SkillVersion)


def _trashed_row(trashed: TrashedSkill) -> dict[str, Any]:
    return {
        "trash_name": trashed.trash_name,
        "owner_id": trashed.skill.owner_id,
        "deleted_by": trashed.deleted_by,
        "deleted_at_ms": trashed.deleted_at_ms,
        "body": to_row(trashed.skill, skills),
    }


def _read_trashed(row: Any) -> TrashedSkill:
    return read_record(row, _trashed, what=f"skill in the trash {row.trash_name}")


def _trashed(row: Any) -> TrashedSkill:
    return TrashedSkill(
        trash_name=row.trash_name,
        # The row of the skill as it was, with a body of its own.
        skill=parsed_strictly(Skill, {**row.body["body"], **row.body}),
        deleted_by=row.deleted_by,
        deleted_at_ms=row.deleted_at_ms,
    )


# The value of a column of a damaged row, where the column holds none of this type.
_DEFAULTS: Final[Mapping[str, Any]] = {
    "owner_id": "",
    "enabled": False,
    "version": 1,
    "digest": "",
    "size": 0,
    "is_draft": True,
    "revision": 1,
    "created_at_ms": 0,
    "updated_at_ms": 0,
}


def _salvaged(row: Any) -> Skill:
    """The skill in a damaged row, with its slug for a name and open to nobody."""
    columns = {
        name: value if type(value := getattr(row, name)) is type(default) else default
        for name, default in _DEFAULTS.items()
    }
    is_deleted = row.status == str(SkillStatus.DELETED)
    return Skill(
        **columns,
        skill_id=row.skill_id,
        slug=row.slug,
        name=row.slug,
        description="",
        origin=SkillOrigin(row.origin) if row.origin in set(SkillOrigin) else SkillOrigin.MANAGED,
        visibility=Visibility.PRIVATE,
        status=SkillStatus.DELETED if is_deleted else SkillStatus.ACTIVE,
        trash_name=row.trash_name if is_deleted else None,
    )
