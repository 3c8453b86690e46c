"""The skills that an agent may use for a user: which there are, which fit, and what they say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.errors import DamagedRecord, DatabaseUnavailable, Unavailable, coded_error
from understudy.core.scope import Gate
from understudy.sessions.model import Session, require_session
from understudy.skills.access import AccessReason
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.checks import BundleChecks
from understudy.skills.bundles.manifest import Manifest, read
from understudy.skills.catalogue_entry import CatalogueEntry, by_name, permits, skill_gate
from understudy.skills.local.skill import LocalSkill
from understudy.skills.local.skills import LocalSkills
from understudy.skills.managed_entries import ManagedEntries
from understudy.skills.model import SkillOrigin
from understudy.skills.ports import BundleFile
from understudy.skills.precedence import counting
from understudy.skills.ranking import rank
from understudy.skills.runtime_settings import RuntimeSettings, settings_of
from understudy.skills.sources import NO_OTHERS, OtherSkills

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# In a body it stands for the folder of the skill.
BASE_DIR: Final = "{baseDir}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A skill in full, exactly as it was kept."""

    offered: CatalogueEntry
    manifest: Manifest
    # What it tells an agent to do, with the folder named.
    body: str = field(repr=False)
    bundle: Bundle = field(repr=False)
    # Where its files can be opened on this machine.
    folder: Path | None
    settings: RuntimeSettings
    # The Python that sees what was installed for it; None when nothing was.
    python: Path | None = None
    # Of the definition that was promoted; None for every other skill.
    fingerprint: str | None = None

    @property
    def files(self) -> tuple[BundleFile, ...]:
        """Its files by path, SKILL.md among them."""
        return tuple(BundleFile(path=path, size=len(data)) for path, data in self.bundle.items())


class Catalogue:
    """What is on offer is decided anew at every call, so that a change shows at the next turn."""

    def __init__(
        self,
        units: "Units",
        local: LocalSkills,
        checks: BundleChecks,
        python_of: Callable[[str], Path | None] = lambda _: None,
        others: OtherSkills = NO_OTHERS,
    ) -> None:
        self._units = units
        self._local = local
        self._python_of = python_of
        self._checks = checks
        self._kept = ManagedEntries(self._checks)
        self._others = others

    def refresh(self) -> None:
        """Look into the folders of the machine if it is time; never while a unit is open."""
        self._local.refresh()
        self._others.refresh()

    def offered(
        self, unit: "Unit", *, agent_id: str, user_id: str, session: Session | None
    ) -> tuple[CatalogueEntry, ...]:
        """What they may use, by name; a session shows only what its capability scope lets through.

        Reads rows and no files, so it can be called where a run starts.
        """
        gate = skill_gate(session)
        if gate is None:
            log.warning("skills.scope_unreadable", session_id=session.session_id if session else "")
            return ()
        who = {"agent_id": agent_id, "user_id": user_id}
        kept = self._kept.entries(unit, **who)
        others = counting(unit, self._others.offered(unit, session), kept, **who)
        local = counting(unit, self._local.known().values(), (*kept, *others), **who)
        found = (*kept, *others, *map(_from_folder, local))
        return by_name(one for one in found if _passes(gate, one))

    def from_elsewhere(
        self, unit: "Unit", ref: str, session: Session
    ) -> tuple[CatalogueEntry, ...]:
        """The promoted skill that is meant in full, also where a kept one of its name comes first."""
        gate = skill_gate(session)
        found = (one for one in self._others.offered(unit, session) if one.ref == ref)
        return () if gate is None else tuple(one for one in found if _passes(gate, one))

    def find(
        self, offered: Sequence[CatalogueEntry], query: str, limit: int
    ) -> tuple[CatalogueEntry, ...]:
        """Those of the offered that fit the words of a query, best first."""
        return rank(offered, query)[: max(limit, 0)]

    def load(self, unit: "Unit", one: CatalogueEntry) -> Loaded:
        """A skill with everything in it; `NotFound` when it is gone or has become unsafe."""
        if one.origin is SkillOrigin.PROMOTED:
            return self._others.load(unit, one)
        if one.skill_id is None or one.version is None:
            return self._load_local(one)
        version = unit.skills.version(one.skill_id, one.version)
        if version is None:
            raise coded_error("skills/skill_not_found", ref=one.slug)
        bundle = self._checks.require(unit, one.slug, version)
        loaded = _loaded(one, bundle, _folder(unit, one.slug, version.number))
        return replace(loaded, python=self._python_of(one.slug))

    def list_for(
        self, *, agent_id: str, user_id: str, session_id: str | None
    ) -> tuple[CatalogueEntry, ...]:
        """The same as `offered`, in a unit of its own."""
        self.refresh()
        with self._units.read() as unit:
            session = None if session_id is None else require_session(unit, session_id)
            return self.offered(unit, agent_id=agent_id, user_id=user_id, session=session)

    def _load_local(self, one: CatalogueEntry) -> Loaded:
        opened = self._local.open(one.slug)
        if opened is None:
            raise coded_error("skills/skill_not_found", ref=one.slug)
        return _loaded(_from_folder(opened.skill), opened.bundle, opened.skill.folder)


def _folder(unit: "Unit", slug: str, number: int) -> Path | None:
    """Where its files can be opened; without such a place its words can be followed all the same."""
    try:
        return unit.skill_bundles.folder(slug, number)
    except (DatabaseUnavailable, DamagedRecord):
        raise
    except Unavailable as problem:
        log.warning("skills.no_folder", slug=slug, code=problem.code)
        return None


def _passes(gate: Gate, one: CatalogueEntry) -> bool:
    return permits(gate, slug=one.slug, name=one.name)


def _from_folder(skill: LocalSkill) -> CatalogueEntry:
    """Whoever may write into a root of this machine may offer a skill to everybody."""
    return CatalogueEntry(
        slug=skill.slug,
        name=skill.name,
        description=skill.description,
        origin=SkillOrigin.LOCAL,
        version=None,
        digest=skill.digest,
        skill_id=None,
        reason=AccessReason.PUBLIC,
        when_to_use=skill.manifest.when_to_use,
        context=skill.runtime.context,
    )


def _loaded(one: CatalogueEntry, bundle: Bundle, folder: Path | None) -> Loaded:
    reading = read(bundle.manifest_text)
    body = reading.body
    return Loaded(
        offered=one,
        manifest=reading.manifest,
        body=body if folder is None else body.replace(BASE_DIR, str(folder)),
        bundle=bundle,
        folder=folder,
        settings=settings_of(bundle),
    )
