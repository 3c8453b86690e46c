"""What a version that an agent is pinned to says of itself, where the skill has gone on since."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core.errors import DamagedRecord, Invalid, LimitExceeded
from understudy.core.remembered import Remembered
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.checks import BundleChecks
from understudy.skills.bundles.manifest import described, read
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.runtime_settings import SkillContext, settings_of

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

_MOST: Final = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    name: str
    description: str
    when_to_use: str
    context: SkillContext


class PinnedWords:
    """Remembered by digest, since a version never changes: only its first look reads files."""

    def __init__(self, checks: BundleChecks) -> None:
        self._checks = checks
        self._known = Remembered[str, _Words](_MOST)

    def instead_of(
        self, unit: "Unit", one: CatalogueEntry, *, number: int, digest: str | None
    ) -> CatalogueEntry | None:
        """What is offered instead of the current version; None when the pinned one is gone or is
        not what it was, `Unavailable` when nobody can tell."""
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
