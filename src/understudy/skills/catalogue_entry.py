"""An entry of the catalogue: a skill that an agent may use, and the names that select it."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from understudy.core.errors import Invalid
from understudy.core.scope import ALL, Gate
from understudy.sessions.model import Session
from understudy.sessions.scopes import effective_capability_scope
from understudy.skills.access import AccessReason
from understudy.skills.model import SkillOrigin, sort_name
from understudy.skills.runtime_settings import SkillContext
from understudy.skills.slug import slug_refused
from understudy.skills.usage import NO_VERSION, SkillListing

# Skills that come with the product, and those that people promoted.
_REVIEWED: Final = frozenset({SkillOrigin.SYSTEM, SkillOrigin.PROMOTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """What the catalogue lists of a skill, without its instructions."""

    slug: str
    name: str
    description: str
    origin: SkillOrigin
    # The version that would be used: the one that the agent is pinned to, else the current one;
    # None for a skill without stored versions.
    version: int | None
    digest: str
    # None for a local or promoted skill.
    skill_id: str | None
    reason: AccessReason
    owner_id: str | None = None
    when_to_use: str = ""
    context: SkillContext = SkillContext.INLINE
    missing_deps: tuple[str, ...] = ()
    # The code of the reason why nobody can use it now.
    unusable: str | None = None
    # The version in the SKILL.md of a promoted skill.
    version_label: str | None = None
    # Whether it may repeat untrusted text that no person has looked at yet.
    derived_from_untrusted: bool = False
    # Whether it is public in the version that an admin looked at.
    is_vetted: bool = False

    @property
    def shown_version(self) -> int | str | None:
        """The version as answers show it: the number, or the label of a promoted skill."""
        return self.version_label if self.version is None else self.version

    def is_foreign_to(self, user_id: str, *, is_open: bool = False) -> bool:
        """Whether its texts are another user's: neither shipped nor reviewed nor their own.

        A file in a folder changes without a record of who wrote it, so it is nobody's own. What an
        admin made public is foreign only when its instructions are in the prompt, too.
        """
        is_own = self.owner_id == user_id and self.origin is not SkillOrigin.LOCAL
        is_reviewed = self.origin in _REVIEWED or (self.is_vetted and not is_open)
        return not (is_own or is_reviewed) or self.derived_from_untrusted

    @property
    def ref(self) -> str:
        """The id, or `local:` or `promoted:` and the slug."""
        return self.skill_id or f"{self.origin}:{self.slug}"


def listing(one: CatalogueEntry, *, run_id: str, at_ms: int) -> SkillListing:
    """The listing that records that a skill was listed to a run."""
    return SkillListing(ref=one.ref, version=one.version or NO_VERSION, run_id=run_id, at_ms=at_ms)


def named(offered: Sequence[CatalogueEntry], name: str) -> tuple[CatalogueEntry, ...]:
    """The entry with this slug or id, else all entries with this name in any case."""
    asked = name.strip()
    ways = (
        lambda one: asked in {one.slug, one.ref},
        lambda one: folded(one.name) == folded(asked),
    )
    found = (tuple(filter(way, offered)) for way in ways)
    return next(filter(None, found), ())


def folded(name: str) -> str:
    """A name in one Unicode form and case, with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def by_name(offered: Iterable[CatalogueEntry]) -> tuple[CatalogueEntry, ...]:
    """Entries sorted by name, then slug."""
    return tuple(sorted(offered, key=lambda one: (sort_name(one.name), one.slug)))


def skill_gate(session: Session | None) -> Gate | None:
    """The skill gate of a session's capability scope; None, which permits nothing, if damaged."""
    if session is None:
        return Gate()
    try:
        scope = effective_capability_scope(session)
    except Invalid:
        return None
    return Gate() if scope is None else scope.gate("skill")


def permits(gate: Gate, *, slug: str, name: str) -> bool:
    """Whether a gate permits a skill: denied by slug or name, allowed by slug.

    Anybody may give their skill any name. So an allow entry that is a valid slug means the skill of
    that slug and no namesake; only one that is no valid slug, such as two words, means a name.
    """
    if ALL in gate.deny or slug in gate.deny or name in gate.deny:
        return False
    return gate.permits(slug) or (slug_refused(name) is not None and gate.permits(name))
