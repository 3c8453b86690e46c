"""The skills that are visible to a person: lists, versions, files, grants and access."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.agents.model import require_agent
from understudy.core.errors import Invalid, NotFound, coded_error
from understudy.core.page import MAX_LIMIT, Page, PageRequest
from understudy.core.principal import Principal, Role
from understudy.core.records import extended
from understudy.core.scope import Gate
from understudy.skills.access import (
    AccessReason,
    AgentSkill,
    Author,
    SkillAccess,
    access_of,
    decides,
    find,
    is_live,
    knows,
    owns_or_administers,
)
from understudy.skills.bundles.archive import write_archive
from understudy.skills.bundles.manifest import Manifest, read
from understudy.skills.bundles.paths import is_artifact, refused_by, tidy
from understudy.skills.bundles.standard import Words, export
from understudy.skills.bundles.store import BundleChecks, BundleFile
from understudy.skills.catalogue_entry import folded, permits
from understudy.skills.content_guard import ContentGuard
from understudy.skills.diff import SkillDiff, compare
from understudy.skills.grants import check_agent_id, check_user_id
from understudy.skills.guard_report import GuardReport, report
from understudy.skills.lifecycle import in_force_for, require_served
from understudy.skills.local.skill import LocalSkill, fits, merged, record_of
from understudy.skills.local.skills import LocalSkills
from understudy.skills.managed_entries import ManagedEntries
from understudy.skills.model import (
    LOCAL,
    PROMOTED,
    AgentGrant,
    GrantedSkill,
    Skill,
    SkillFilter,
    SkillOrigin,
    SkillStatus,
    SkillVersion,
    TrashedSkill,
    UserGrant,
    Visibility,
    is_id,
    number_of,
)
from understudy.skills.precedence import is_known_stored, unshadowed
from understudy.skills.runtime_settings import RuntimeSettings, settings_of
from understudy.skills.slug import slug_refused, slugify
from understudy.skills.sources import (
    NO_OTHERS,
    OtherSkills,
    SkillSource,
    StoredSource,
    folder_source,
)
from understudy.skills.usage import SkillUsage, SkillVersionUsage, UsageFigures, summed

if TYPE_CHECKING:
    from understudy.skills.bundles.signature import BundleSignatures
    from understudy.storage.unit import Unit, Units

# Prefixes of the ids of skills without a row.
LOOSE: Final = (LOCAL, PROMOTED)
# Separates the parts of a promoted skill's name; no slug contains it.
PARTS: Final = ":"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillWithManifest:
    """A skill with the manifest, instructions and settings of its current version."""

    skill: Skill
    manifest: Manifest
    instructions: str = field(repr=False)
    runtime: RuntimeSettings
    # Where its files lie on the daemon's machine; only for an admin.
    path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillArchive:
    """A version of a skill as a ZIP archive."""

    file_name: str
    content: bytes = field(repr=False)


class SkillLibrary:
    """Reads skills for a caller; a skill that is not visible to them is `NotFound`."""

    def __init__(
        self,
        units: "Units",
        local: LocalSkills,
        checks: BundleChecks,
        others: OtherSkills = NO_OTHERS,
        signatures: "BundleSignatures | None" = None,
    ) -> None:
        self._units = units
        self._signatures = signatures
        self._local = local
        self._finder = SkillFinder(local, checks, others)

    def page(
        self, principal: Principal, request: PageRequest, narrowed: SkillFilter
    ) -> Page[Skill]:
        """Stored, promoted and local skills by name; deleted skills are only in the trash."""
        if narrowed.status is SkillStatus.DELETED:
            return Page(items=())
        self._local.refresh()
        seen_by = None if _is_admin(principal) else principal.user_id
        with self._units.read() as unit:
            rows = unit.skills.page(request, narrowed=replace(narrowed, seen_by=seen_by))
            unstored = self._finder.unstored(
                unit, self._local.known(principal.user_id).values(), user_id=principal.user_id
            )
            page = merged(rows, [skill for skill in unstored if fits(skill, narrowed)], request)
            return replace(page, items=tuple(_shown(unit, page.items, principal)))

    def current(self, principal: Principal, ref: str) -> Skill:
        """The record of a skill, without its files."""
        with self._looking(principal, ref) as (_, source):
            return source.skill

    def named(self, principal: Principal, name: str) -> Skill:
        """The skill with this id, slug or display name; several with one name are a conflict."""
        self._local.refresh()
        with self._units.read() as unit:
            meant = self.meant(unit, principal, name)
        if not meant:
            raise coded_error("skills/skill_not_found", ref=name)
        if len(meant) > 1:
            slugs = [it.slug for it in meant]
            raise coded_error("skills/skill_name_ambiguous", name=name, slugs=slugs)
        return meant[0]

    def meant(self, unit: "Unit", principal: Principal, name: str) -> tuple[Skill, ...]:
        """The skill with this id or slug, else all that have this display name."""
        try:
            return (self._finder.find(unit, principal, name, None).skill,)
        except (NotFound, Invalid):
            # What is no slug may still be a name.
            alike = self._visible(unit, principal, SkillFilter(query=" ".join(name.split())))
            return tuple(it for it in alike if folded(it.name) == folded(name))

    def scope_names(self, unit: "Unit", principal: Principal) -> Sequence[str]:
        """The slugs by which scopes allow the skills that a caller knows, or the first of them."""
        return sorted({it.slug for it in self._visible(unit, principal, SkillFilter())})

    def is_scope_name(self, unit: "Unit", principal: Principal, name: str) -> bool:
        """Whether an allow list with this name means a skill that the caller may know.

        What is granted to an agent is known to whoever works with that agent.
        """
        meant = self.meant(unit, principal, name)
        if any(permits(Gate(allow=(name,)), slug=it.slug, name=it.name) for it in meant):
            return True
        stored = find(unit, name) if slug_refused(name) is None else None
        if stored is None or stored.is_draft or stored.visibility is not Visibility.INTERNAL:
            return False
        return bool(unit.skill_grants.to_agents(stored.skill_id))

    def refresh(self) -> None:
        """Scan the skill roots again if the interval has passed; never while a unit is open."""
        self._local.refresh()

    def _visible(
        self, unit: "Unit", principal: Principal, narrowed: SkillFilter
    ) -> Iterator[Skill]:
        seen_by = None if _is_admin(principal) else principal.user_id
        first = PageRequest(limit=MAX_LIMIT)
        found = unit.skills.page(first, narrowed=replace(narrowed, seen_by=seen_by)).items
        yield from _shown(unit, found, principal)
        known = self._local.known(principal.user_id).values()
        unstored = self._finder.unstored(unit, known, user_id=principal.user_id)
        yield from (skill for skill in unstored if fits(skill, narrowed))

    def get(self, principal: Principal, ref: str) -> SkillWithManifest:
        """A skill with the manifest and instructions of its current version."""
        with self._looking(principal, ref) as (_, source):
            bundle = source.bundle(None)
            folder = source.folder() if _is_admin(principal) else None
        reading = read(bundle.manifest_text)
        return SkillWithManifest(
            skill=source.skill,
            manifest=reading.manifest,
            instructions=reading.body,
            runtime=settings_of(bundle),
            path=None if folder is None else str(folder),
        )

    def find_unstored(self, author: Author, ref: str) -> Skill | None:
        """The local or promoted skill that a slug means to an author; None without one."""
        if slug_refused(ref) is not None:
            return None
        self._local.refresh()
        with self._units.read() as unit:
            found = self._finder.unstored_named(
                unit, ref, user_id=author.user_id, agent_id=author.agent_id or ""
            )
        return next(iter(found), None)

    def local_slugs(self, user_id: str) -> frozenset[str]:
        """The slugs of the local skills that no other skill shadows for a user, by the last scan."""
        with self._units.read() as unit:
            known = self._local.known(user_id).values()
            found = self._finder.unstored(unit, known, user_id=user_id)
        return frozenset(each.slug for each in found if each.origin is SkillOrigin.LOCAL)

    def versions(self, principal: Principal, ref: str, request: PageRequest) -> Page[SkillVersion]:
        """The versions of a skill, newest first; a local or promoted skill has none."""
        with self._looking(principal, ref) as (unit, source):
            if not isinstance(source, StoredSource):
                return Page(items=())
            return unit.skills.versions(
                source.skill.skill_id, request, only_served=not source.shows_drafts
            )

    def usage(
        self, principal: Principal, ref: str, request: PageRequest, *, since_ms: int = 0
    ) -> SkillUsage:
        """The usage of a skill since a time, by version, newest first.

        Its owner and admins may also read it for a deleted skill.
        """
        self._local.refresh()
        with self._units.read() as unit:
            skill = self._find_even_deleted(unit, principal, ref)
            used: dict[str, Any] = {"since_ms": since_ms, "user_id": private_to(skill)}
            found = unit.skill_uses.usage(skill.skill_id, **used)
            days = unit.skill_uses.days(skill.skill_id, **used)
            runs = unit.skill_uses.recent_runs(skill.skill_id, **used)
        if not any(it.version == skill.version for it in found):
            current = SkillVersionUsage(ref=skill.skill_id, version=skill.version)
            found = tuple(sorted((current, *found), key=lambda it: -it.version))
        return extended(
            SkillUsage,
            Page.cut(found, request),
            skill_id=skill.skill_id,
            slug=skill.slug,
            since_ms=since_ms,
            total=summed(found),
            by_day=days,
            recent_runs=runs,
        )

    def usage_of(self, skills: Iterable[Skill], *, since_ms: int) -> Mapping[str, UsageFigures]:
        """The usage of each of some skills by id since a time, over all its versions."""
        by_user: dict[str | None, list[str]] = {}
        for skill in skills:
            by_user.setdefault(private_to(skill), []).append(skill.skill_id)
        if not by_user:
            return {}
        with self._units.read() as unit:
            return {
                ref: found.get(ref, UsageFigures())
                for user_id, refs in by_user.items()
                for found in [unit.skill_uses.usage_of(refs, since_ms=since_ms, user_id=user_id)]
                for ref in refs
            }

    def guard_report(
        self, principal: Principal, ref: str, version: int | None, guard: ContentGuard
    ) -> GuardReport:
        """The guard's findings in a version, line by line."""
        with self._looking(principal, ref) as (_, source):
            bundle, skill = source.bundle(version), source.skill
        return report(
            bundle,
            guard.findings(bundle),
            skill_id=skill.skill_id,
            slug=skill.slug,
            version=number_of(skill) if version is None else version,
        )

    def files(self, principal: Principal, ref: str, version: int | None) -> tuple[BundleFile, ...]:
        """The files of a version by path."""
        with self._looking(principal, ref) as (_, source):
            return source.files(version)

    def read_file(self, principal: Principal, ref: str, path: str, version: int | None) -> bytes:
        """One file of a version; `Invalid` for a path that no file of a skill may have."""
        cause = refused_by(path)
        if cause is not None:
            raise coded_error("skills/invalid_skill_path", pointer="/files", path=path, cause=cause)
        with self._looking(principal, ref) as (_, source):
            data = None if is_artifact(path) else source.read(tidy(path), version)
            if data is None:
                raise coded_error("skills/skill_file_not_found", slug=source.skill.slug, path=path)
            return data

    def diff(self, principal: Principal, ref: str, old: int, new: int) -> SkillDiff:
        """The diff from one version to another."""
        with self._looking(principal, ref) as (_, source):
            before, after = source.bundle(old), source.bundle(new)
        return extended(SkillDiff, compare(before, after), from_version=old, to_version=new)

    def export(
        self,
        principal: Principal,
        ref: str,
        version: int | None,
        *,
        mask: Callable[[str], str] = str,
    ) -> SkillArchive:
        """A version as an archive in the Agent Skills format; the current version with the name,
        description and tags of the record. With a text masked it is not signed."""
        with self._looking(principal, ref) as (unit, source):
            is_kept, skill = isinstance(source, StoredSource), source.skill
            if is_kept and version is None:
                require_served(unit, skill, skill.version, for_others=skill.is_draft)
            bundle = source.bundle(version)
        number = skill.version if version is None else version
        facts = {"version": str(number), "digest": bundle.digest} if number else {}
        # The name of a promoted skill may not be valid as a folder name.
        slug = skill.slug if slug_refused(skill.slug) is None else slugify(skill.slug)
        words = Words(name=skill.name, description=skill.description, tags=skill.tags)
        is_current = is_kept and number == skill.version
        files: Mapping[str, bytes]
        files = export(bundle, slug=slug, facts=facts, words=words if is_current else None)
        shown = {path: _masked(data, mask) for path, data in files.items()}
        if self._signatures is not None and shown == files:
            shown = dict(self._signatures.sign(files, slug))
        suffix = f"-{number}" if number else ""
        return SkillArchive(
            file_name=f"{slug}{suffix}.zip", content=write_archive(shown, folder=slug)
        )

    def access(
        self, principal: Principal, ref: str, *, agent_id: str | None, user_id: str | None
    ) -> SkillAccess:
        """Whether an agent that works for a user may use a skill, and why.

        Callers may ask about themselves, for a skill that is visible to them or to the agent; about
        others only the owner and admins may ask.
        """
        if agent_id is not None:
            check_agent_id(agent_id)
        asked = principal.user_id if user_id is None else check_user_id(user_id)
        who = {"agent_id": agent_id or "", "user_id": asked}
        about: dict[str, Any] = {"agent_id": agent_id, "user_id": user_id}
        with self._looking(principal, ref, agent_id=agent_id) as (unit, source):
            skill = source.skill
            if asked != principal.user_id:
                _require_owner(skill, principal)
            if isinstance(source, StoredSource):
                granted = unit.skills.with_grants(skill.skill_id, **who)
                if is_id(ref) or is_known_stored(unit, skill.slug, **who):
                    granted = granted or GrantedSkill(skill=skill)
                    return _access(granted, in_force_for(unit, granted.skill, asked), asked, about)
            # No stored skill with this slug is visible to them, so the slug means an unstored one.
            unstored = self._finder.unstored_named(unit, skill.slug, **who)
        if unstored:
            return _access(GrantedSkill(skill=unstored[0]), unstored[0], asked, about)
        return SkillAccess(
            skill_id=skill.skill_id,
            slug=skill.slug,
            allowed=False,
            reason=AccessReason.NONE,
            **about,
        )

    def grants(self, principal: Principal, ref: str) -> tuple[AgentGrant | UserGrant, ...]:
        """The grants to agents and then those to users; for the skill's owner and admins."""
        with self._looking(principal, ref) as (unit, source):
            if not isinstance(source, StoredSource):
                return ()
            _require_owner(source.skill, principal)
            skill_id = source.skill.skill_id
            grants = unit.skill_grants
            return (*grants.to_agents(skill_id), *grants.to_users(skill_id))

    def of_agent(
        self, principal: Principal, agent_id: str, request: PageRequest
    ) -> Page[AgentSkill]:
        """The stored skills that an agent may use when it works for the caller, by name.

        Of skills that are granted but not usable now, the caller sees their own.
        """
        with self._units.read() as unit:
            require_agent(unit, agent_id)
            found = unit.skills.page_of_agent(
                request,
                agent_id=agent_id,
                user_id=principal.user_id,
                sees_all=_is_admin(principal),
            )
            own = [in_force_for(unit, it.skill, principal.user_id) for it in found.items]
        items = tuple(
            _agent_skill(replace(one, skill=skill), principal.user_id)
            for one, skill in zip(found.items, own, strict=True)
        )
        return Page(items=items, next_cursor=found.next_cursor)

    def trash(self, principal: Principal, request: PageRequest) -> Page[TrashedSkill]:
        """The deleted skills: all for an admin, their own for others."""
        owner_id = None if _is_admin(principal) else principal.user_id
        with self._units.read() as unit:
            return unit.skills.trash_page(request, owner_id=owner_id)

    @contextmanager
    def _looking(
        self, principal: Principal, ref: str, *, agent_id: str | None = None
    ) -> Iterator[tuple["Unit", SkillSource]]:
        """A unit, and the skill that `ref` means to a caller or to the run of an agent."""
        self._local.refresh()
        with self._units.read() as unit:
            yield unit, self._finder.find(unit, principal, ref, agent_id)

    def _find_even_deleted(self, unit: "Unit", principal: Principal, ref: str) -> Skill:
        try:
            return self._finder.find(unit, principal, ref, None).skill
        except NotFound:
            gone = unit.skills.get(ref) if is_id(ref) else unit.skills.by_slug(ref)
            if gone is None or is_live(gone) or not owns_or_administers(gone, principal):
                raise
            return gone


def private_to(skill: Skill) -> str | None:
    """The user whose root holds the skill; another user's root may have the same slug."""
    is_local = skill.origin is SkillOrigin.LOCAL and skill.visibility is Visibility.PRIVATE
    return skill.owner_id if is_local else None


def _is_admin(principal: Principal) -> bool:
    return principal.role.includes(Role.ADMIN)


def _shown(unit: "Unit", skills: Iterable[Skill], principal: Principal) -> Iterator[Skill]:
    """Skills in the version that is in force for a caller; for a connected agent that of all."""
    if principal.role is Role.CLIENT:
        yield from (it for it in skills if not it.is_draft)
    else:
        yield from (in_force_for(unit, it, principal.user_id) for it in skills)


def _require_owner(skill: Skill, principal: Principal) -> None:
    if not owns_or_administers(skill, principal):
        raise coded_error("skills/skill_not_yours", ref=skill.slug)


def _access(
    granted: GrantedSkill, seen: Skill, user_id: str, about: Mapping[str, Any]
) -> SkillAccess:
    decision = access_of(granted, user_id)
    pinned = granted.agent_grant.pinned_version if granted.agent_grant else None
    version = number_of(seen) if pinned is None else pinned
    return SkillAccess(
        skill_id=granted.skill.skill_id,
        slug=granted.skill.slug,
        allowed=decision.allowed,
        reason=decision.reason,
        version=version if decision.allowed else None,
        **about,
    )


def _agent_skill(granted: GrantedSkill, user_id: str) -> AgentSkill:
    grant = granted.agent_grant
    decision = access_of(granted, user_id)
    return AgentSkill(
        skill=granted.skill,
        granted=grant is not None,
        pinned_version=None if grant is None else grant.pinned_version,
        allowed=decision.allowed,
        reason=decision.reason,
    )


class SkillFinder:
    """Finds stored, promoted and local skills, and which of them shadows which for a caller."""

    def __init__(self, local: LocalSkills, checks: BundleChecks, others: OtherSkills) -> None:
        self._local = local
        self._checks = checks
        self._others = others
        self._kept = ManagedEntries(checks)

    def find(
        self, unit: "Unit", principal: Principal, ref: str, agent_id: str | None
    ) -> SkillSource:
        """The skill with this id, slug or name; `NotFound` if none is visible to the caller."""
        found = self._kept_under(unit, principal, ref, agent_id)
        if found is None:
            found = self._loose_under(unit, ref, agent_id=agent_id or "", user_id=principal.user_id)
        if found is None:
            raise coded_error("skills/skill_not_found", ref=ref)
        return found

    def unstored_named(
        self, unit: "Unit", slug: str, *, user_id: str, agent_id: str = ""
    ) -> tuple[Skill, ...]:
        """The unstored skills that have this slug."""
        found = self._local.known(user_id).get(slug)
        unstored = self.unstored(
            unit, () if found is None else (found,), user_id=user_id, agent_id=agent_id
        )
        return tuple(skill for skill in unstored if skill.slug == slug)

    def unstored(
        self, unit: "Unit", local: Iterable[LocalSkill], *, user_id: str, agent_id: str = ""
    ) -> tuple[Skill, ...]:
        """The promoted and local skills that no other skill shadows for a user."""
        others = [source.skill for source in self._others.sources(unit)]
        records = [record_of(skill) for skill in local]
        if not others and not records:
            return ()
        who = {"agent_id": agent_id, "user_id": user_id}
        kept = self._kept.entries(unit, **who)
        first = unshadowed(unit, others, kept, **who)
        reserved = self._others.reserved(unit) if records else ()
        return (*first, *unshadowed(unit, records, (*kept, *first), **who, reserved=reserved))

    def _kept_under(
        self, unit: "Unit", principal: Principal, ref: str, agent_id: str | None
    ) -> SkillSource | None:
        if ref.startswith(LOCAL) and slug_refused(ref.removeprefix(LOCAL)) is not None:
            raise coded_error("skills/invalid_skill_ref", ref=ref)
        is_loose = ref.startswith(LOOSE) or self._is_elsewhere(unit, ref)
        kept = None if is_loose else find(unit, ref)
        if kept is None or not knows(unit, kept, principal, agent_id=agent_id):
            return None
        return StoredSource(
            unit,
            next(_shown(unit, [kept], principal)),
            self._checks,
            shows_drafts=decides(unit, kept, principal),
        )

    def _is_elsewhere(self, unit: "Unit", ref: str) -> bool:
        """Whether a name means a promoted skill: it has parts, or such a skill exists."""
        if slug_refused(ref) is None or not self._others.is_name(ref):
            return False
        return PARTS in ref or self._others.has(unit, ref)

    def _loose_under(
        self, unit: "Unit", ref: str, *, agent_id: str, user_id: str
    ) -> SkillSource | None:
        if ref.startswith(PROMOTED):
            # The full name means this skill, whatever shadows it.
            return self._other(unit, ref)
        slug = ref.removeprefix(LOCAL)
        unstored = self.unstored_named(unit, slug, agent_id=agent_id, user_id=user_id)
        meant = next((it for it in unstored if ref in {it.slug, it.skill_id}), None)
        if meant is None:
            return None
        if meant.origin is SkillOrigin.LOCAL:
            opened = self._local.open(slug, user_id)
            return None if opened is None else folder_source(opened)
        return self._other(unit, meant.skill_id)

    def _other(self, unit: "Unit", skill_id: str) -> SkillSource | None:
        sources = self._others.sources(unit)
        return next((it for it in sources if it.skill.skill_id == skill_id), None)


def _masked(data: bytes, mask: Callable[[str], str]) -> bytes:
    """A file with its text masked; a binary file as it is."""
    try:
        return mask(data.decode()).encode()
    except UnicodeDecodeError:
        return data
