"""Sources of skills: stored with versions, or read from a folder or a promotion as they are now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from understudy.core.errors import coded_error
from understudy.sessions.model import Session
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.store import BundleChecks, BundleFile
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.lifecycle import require_version
from understudy.skills.local.skill import record_of
from understudy.skills.local.skills import OpenedSkill
from understudy.skills.model import Skill, SkillVersion

if TYPE_CHECKING:
    from understudy.skills.catalogue import LoadedSkill
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A stored skill, as one unit sees it."""

    unit: "Unit"
    skill: Skill
    checks: BundleChecks
    # Whether drafts and rejected versions are shown: to the owner and admins.
    shows_drafts: bool = False

    def version(self, number: int | None) -> SkillVersion:
        """One of its versions, or `NotFound`."""
        asked = self.skill.version if number is None else number
        version = require_version(self.unit, self.skill, asked)
        if not version.is_accepted and not self.shows_drafts:
            raise coded_error("skills/skill_version_not_found", slug=self.skill.slug, number=asked)
        return version

    def bundle(self, number: int | None) -> Bundle:
        """The bundle of a version, exactly as it was stored."""
        return self.checks.require(self.unit, self.skill.slug, self.version(number))

    def files(self, number: int | None) -> tuple[BundleFile, ...]:
        """The files of a version by path."""
        return _files(self.bundle(number))

    def read(self, path: str, number: int | None) -> bytes | None:
        """One file of a version; None when there is none."""
        return self.bundle(number).get(path)

    def folder(self) -> Path | None:
        """The folder of the current version on this machine; None without one."""
        bundles = self.unit.skill_bundles
        return bundles.folder(self.skill.slug, self.skill.version, unpack=False)


@dataclass(frozen=True, slots=True)
class UnversionedSource:
    """A local or promoted skill, which has no versions, as it is now."""

    skill: Skill
    contents: Bundle = field(repr=False)
    # The folder of its files, if there is one.
    place: Path | None = None

    def bundle(self, number: int | None) -> Bundle:
        """All of its files."""
        if number is not None:
            raise coded_error("skills/skill_version_not_found", slug=self.skill.slug, number=number)
        return self.contents

    def files(self, number: int | None) -> tuple[BundleFile, ...]:
        """Its files by path."""
        return _files(self.bundle(number))

    def read(self, path: str, number: int | None) -> bytes | None:
        """One of its files; None when there is none."""
        return self.bundle(number).get(path)

    def folder(self) -> Path | None:
        """The folder of the skill; None without one."""
        return self.place


# A skill from any source; without a number its methods read the current version.
SkillSource: TypeAlias = StoredSource | UnversionedSource


def folder_source(opened: OpenedSkill) -> UnversionedSource:
    """The source of a local skill, as its folder is now."""
    return UnversionedSource(record_of(opened.skill), opened.bundle, opened.skill.folder)


def _files(bundle: Bundle) -> tuple[BundleFile, ...]:
    return tuple(BundleFile(path=path, size=len(data)) for path, data in bundle.items())


class OtherSkills(Protocol):
    """Promoted skills: shadowed by stored skills, before local ones."""

    def refresh(self) -> None:
        """Read what changed; never while a unit is open."""
        ...

    def offered(self, unit: "Unit", session: Session | None) -> tuple[CatalogueEntry, ...]:
        """The skills that are visible in a session, or to all without one. Reads rows and no files."""
        ...

    def load(self, unit: "Unit", one: CatalogueEntry) -> "LoadedSkill":
        """A skill with its bundle; raises when it cannot be used."""
        ...

    def sources(self, unit: "Unit") -> Sequence[SkillSource]:
        """The promoted skills that are visible to people."""
        ...

    def is_name(self, ref: str) -> bool:
        """Whether a promoted skill could have this name."""
        ...

    def has(self, unit: "Unit", name: str) -> bool:
        """Whether a promoted skill, offered or not yet, has this slug or name."""
        ...

    def reserved(self, unit: "Unit") -> Mapping[str, str]:
        """The folded names that no local skill may take, each with the reason."""
        ...


class NoOthers:
    """No promoted skills."""

    def refresh(self) -> None:
        """Nothing to refresh."""

    def offered(self, unit: "Unit", session: Session | None) -> tuple[CatalogueEntry, ...]:
        """Always empty."""
        return ()

    def load(self, unit: "Unit", one: CatalogueEntry) -> "LoadedSkill":
        """Always raises: there is none."""
        raise coded_error("skills/skill_not_found", ref=one.slug)

    def sources(self, unit: "Unit") -> Sequence[SkillSource]:
        """Always empty."""
        return ()

    def is_name(self, ref: str) -> bool:
        """Always false."""
        return False

    def has(self, unit: "Unit", name: str) -> bool:
        """Always false."""
        return False

    def reserved(self, unit: "Unit") -> Mapping[str, str]:
        """Always empty."""
        return {}


NO_OTHERS: Final = NoOthers()
