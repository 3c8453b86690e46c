"""The catalogue entries of stored skills, decided by access and cached until rows change."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.errors import (
    DamagedRecord,
    DatabaseUnavailable,
    Invalid,
    LimitExceeded,
    Unavailable,
)
from understudy.core.recent_cache import RecentCache
from understudy.skills.access import AccessReason, access_of
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.manifest import described, read
from understudy.skills.bundles.store import BundleChecks
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.lifecycle import in_force_for, own_version
from understudy.skills.model import GrantedSkill, Skill, Visibility
from understudy.skills.runtime_settings import SkillContext, settings_of

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

log = structlog.get_logger()

# The number of agents and users with cached entries; there may be thousands of entries each.
_MOST: Final = 64
_MOST_PINNED: Final = 1_024


@dataclass(frozen=True, slots=True)
class _Answer:
    stamp: Hashable
    entries: tuple[CatalogueEntry, ...] = field(repr=False)
    # Whether every pinned version could be read.
    is_whole: bool = True


class ManagedEntries:
    """Caches entries by agent and user; a stamp of the rows is compared at every call."""

    def __init__(self, checks: BundleChecks) -> None:
        self._pinned = PinnedWords(checks)
        self._answers = RecentCache[tuple[str, str], _Answer](_MOST)

    def entries(self, unit: "Unit", *, agent_id: str, user_id: str) -> tuple[CatalogueEntry, ...]:
        """The skills that an agent may use for a user, by name.

        Where the grants cannot be read, only the skills that are open to everybody.
        """
        who = (agent_id, user_id)
        try:
            stamp = unit.skills.maybe_open_stamp(agent_id=agent_id, user_id=user_id)
            known = self._answers.get(who)
            if known is None or known.stamp != stamp:
                # With the stamp of these rows: a grant may have changed since the other was read.
                stamp, maybe_open = unit.skills.maybe_open(agent_id=agent_id, user_id=user_id)
                known = self._answer(unit, maybe_open, user_id, stamp)
        except Unavailable as problem:
            log.warning("skills.grants_unreadable", agent_id=agent_id, code=problem.code)
            return self._answer(unit, unit.skills.open_to_everybody(), "", None).entries
        if known.is_whole:
            self._answers.put(who, known)
        return known.entries

    def _answer(
        self, unit: "Unit", maybe_open: tuple[GrantedSkill, ...], user_id: str, stamp: Hashable
    ) -> _Answer:
        entries, is_whole = [], True
        for granted in maybe_open:
            decision = access_of(granted, user_id)
            if not decision.allowed:
                continue
            try:
                entries.append(self._version(unit, granted, decision.reason, user_id))
            except DatabaseUnavailable:
                raise
            except Unavailable as problem:
                # Only this skill is left out, until its files can be read.
                log.warning("skills.pinned_unreadable", slug=granted.skill.slug, code=problem.code)
                is_whole = False
        return _Answer(stamp, tuple(one for one in entries if one is not None), is_whole=is_whole)

    def _version(
        self, unit: "Unit", granted: GrantedSkill, reason: AccessReason, user_id: str
    ) -> CatalogueEntry | None:
        """The entry of the pinned or the current version; None when that is gone."""
        number = granted.agent_grant.pinned_version if granted.agent_grant else None
        own = own_version(unit, granted.skill, user_id) if number is None else None
        skill = granted.skill if own is None else in_force_for(unit, granted.skill, user_id)
        if skill.is_draft:
            return None
        one = _entry(skill, reason)
        if own is not None:
            return replace(one, derived_from_untrusted=own.derived_from_untrusted)
        if number is None or number == skill.version:
            return one
        return self._pinned.instead_of(unit, one, number=number, digest=granted.pinned_digest)


def _entry(skill: Skill, reason: AccessReason) -> CatalogueEntry:
    return CatalogueEntry(
        slug=skill.slug,
        name=skill.name,
        description=skill.description,
        origin=skill.origin,
        version=skill.version,
        digest=skill.digest,
        skill_id=skill.skill_id,
        reason=reason,
        owner_id=skill.owner_id,
        when_to_use=skill.when_to_use,
        context=skill.context,
        missing_deps=skill.missing_deps,
        is_vetted=skill.visibility is Visibility.PUBLIC and skill.vetted_version == skill.version,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    name: str
    description: str
    when_to_use: str
    context: SkillContext


class PinnedWords:
    """Name and description of pinned versions, cached by digest as a version never changes."""

    def __init__(self, checks: BundleChecks) -> None:
        self._checks = checks
        self._known = RecentCache[str, _Words](_MOST_PINNED)

    def instead_of(
        self, unit: "Unit", one: CatalogueEntry, *, number: int, digest: str | None
    ) -> CatalogueEntry | None:
        """The entry of the pinned version; None when it is gone or damaged, `Unavailable` when it
        cannot be read now."""
        if digest is None:
            return None
        words = self._known.get(digest) or self._read(unit, one, number, digest)
        if words is None:
            return None
        return replace(
            one,
            version=number,
            digest=digest,
            name=words.name or one.name,
            description=words.description,
            when_to_use=words.when_to_use,
            context=words.context,
            is_vetted=False,
        )

    def _read(self, unit: "Unit", one: CatalogueEntry, number: int, digest: str) -> _Words | None:
        version = unit.skills.version(one.skill_id or "", number)
        if version is None or version.digest != digest:
            return None
        try:
            words = _words(self._checks.require(unit, one.slug, version))
        except (DamagedRecord, Invalid, LimitExceeded):
            return None
        self._known.put(digest, words)
        return words


def _words(bundle: Bundle) -> _Words:
    reading = read(bundle.manifest_text)
    return _Words(
        name=reading.manifest.name,
        description=described(reading),
        when_to_use=reading.manifest.when_to_use,
        context=settings_of(bundle).context,
    )
