"""Where a skill stands: among those that are kept, or anywhere else, as it is there now."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from understudy.core.errors import coded_error
from understudy.sessions.model import Session
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.store import BundleChecks, BundleFile
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.local.skill import record_of
from understudy.skills.local.skills import Opened
from understudy.skills.model import Skill, SkillVersion

if TYPE_CHECKING:
    from understudy.skills.catalogue import Loaded
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True)
class KeptSource:
    """A skill with a row, as one unit sees it."""

    unit: "Unit"
    skill: Skill
    checks: BundleChecks

    def version(self, number: int | None) -> SkillVersion:
        """One of its versions, or `NotFound`."""
        asked = self.skill.version if number is None else number
        version = self.unit.skills.version(self.skill.skill_id, asked)
        if version is None:
            raise coded_error("skills/skill_version_not_found", slug=self.skill.slug, number=asked)
        return version

    def bundle(self, number: int | None) -> Bundle:
        """All files of a version, exactly as they were kept."""
        return self.checks.require(self.unit, self.skill.slug, self.version(number))

    def files(self, number: int | None) -> tuple[BundleFile, ...]:
        """The files of a version by path."""
        return _files(self.bundle(number))

    def read(self, path: str, number: int | None) -> bytes | None:
        """One file of a version; None when there is none."""
        return self.bundle(number).get(path)

    def folder(self) -> Path | None:
        """Where the files of the current version lie on this machine, if they do."""
        bundles = self.unit.skill_bundles
        return bundles.folder(self.skill.slug, self.skill.version, unpack=False)


@dataclass(frozen=True, slots=True)
class LooseSource:
    """A skill that has no versions, as it is now."""

    skill: Skill
    contents: Bundle = field(repr=False)
    # Where its files lie, if they do.
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
        """Where it lies."""
        return self.place


# One skill, wherever it stands; without a number the current version is meant.
SkillSource: TypeAlias = KeptSource | LooseSource


def folder_source(opened: Opened) -> LooseSource:
    """A skill in a folder, as it lies there now."""
    return LooseSource(record_of(opened.skill), opened.bundle, opened.skill.folder)


def _files(bundle: Bundle) -> tuple[BundleFile, ...]:
    return tuple(BundleFile(path=path, size=len(data)) for path, data in bundle.items())


class OtherSkills(Protocol):
    """Somebody else who has skills; kept ones come before theirs, those in folders behind."""

    def refresh(self) -> None:
        """Catch up with what changed; never while a unit is open."""
        ...

    def offered(self, unit: "Unit", session: Session | None) -> tuple[CatalogueEntry, ...]:
        """What a session may know of; without one, what is for all. Reads rows and no files."""
        ...

    def load(self, unit: "Unit", one: CatalogueEntry) -> "Loaded":
        """A skill with everything in it, or why it cannot be used."""
        ...

    def sources(self, unit: "Unit") -> Sequence[SkillSource]:
        """What people may know of."""
        ...

    def is_name(self, ref: str) -> bool:
        """Whether one of these skills could be called that."""
        ...

    def has(self, unit: "Unit", name: str) -> bool:
        """Whether one of them, offered or not yet, can be taken for what is called that."""
        ...


class NoOthers:
    """Has none."""

    def refresh(self) -> None:
        """Nothing changes."""

    def offered(self, unit: "Unit", session: Session | None) -> tuple[CatalogueEntry, ...]:
        """Nothing."""
        return ()

    def load(self, unit: "Unit", one: CatalogueEntry) -> "Loaded":
        """There is none."""
        raise coded_error("skills/skill_not_found", ref=one.slug)

    def sources(self, unit: "Unit") -> Sequence[SkillSource]:
        """Nothing."""
        return ()

    def is_name(self, ref: str) -> bool:
        """Nothing has a name."""
        return False

    def has(self, unit: "Unit", name: str) -> bool:
        """Nothing is called that."""
        return False


NO_OTHERS: Final = NoOthers()
