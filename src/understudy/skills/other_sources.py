"""Skills that are neither kept nor lie in a folder of anybody's: how catalogue and lists get them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from understudy.sessions.model import Session
from understudy.skills import caller_errors
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.skill_sources import SkillSource

if TYPE_CHECKING:
    # The catalogue knows of this, and not the other way round.
    from understudy.skills.catalogue import Loaded
    from understudy.storage.unit import Unit


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
        raise caller_errors.not_found(one.slug)

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
