"""A skill that an agent may use for a user in a session, and how it is asked for."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from understudy.core.errors import Invalid
from understudy.core.scope import ALL, Gate
from understudy.sessions.model import Session
from understudy.sessions.scopes import effective_capability_scope
from understudy.skills.access import AccessReason
from understudy.skills.model import SkillOrigin, sort_name
from understudy.skills.runtime_settings import SkillContext
from understudy.skills.slug import slug_refused
from understudy.skills.usage import NO_VERSION, SkillListing


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """What is told of a skill before its body is read."""

    slug: str
    name: str
    description: str
    origin: SkillOrigin
    # The version that would be used: the one that the agent is pinned to, else the current one;
    # None where none are kept.
    version: int | None
    digest: str
    # None for one that lies in a folder or was promoted.
    skill_id: str | None
    reason: AccessReason
    when_to_use: str = ""
    context: SkillContext = SkillContext.INLINE
    missing_deps: tuple[str, ...] = ()
    # Why nobody can use it now, though it is on offer: a code.
    unusable: str | None = None
    # What a promoted one calls its version, in its SKILL.md.
    version_label: str | None = None

    @property
    def told_version(self) -> int | str | None:
        """The version as whoever asks is told it."""
        return self.version_label if self.version is None else self.version

    @property
    def ref(self) -> str:
        """By what people find it again."""
        return self.skill_id or f"{self.origin}:{self.slug}"


def listing(one: CatalogueEntry, *, run_id: str, at_ms: int) -> SkillListing:
    """That a run knows of a skill."""
    return SkillListing(ref=one.ref, version=one.version or NO_VERSION, run_id=run_id, at_ms=at_ms)


def named(offered: Sequence[CatalogueEntry], name: str) -> tuple[CatalogueEntry, ...]:
    """Those that may be meant: the one of this slug or id, else all of this name in any case."""
    asked = name.strip()
    ways = (
        lambda one: asked in {one.slug, one.ref},
        lambda one: folded(one.name) == folded(asked),
    )
    found = (tuple(filter(way, offered)) for way in ways)
    return next(filter(None, found), ())


def folded(name: str) -> str:
    """A name, however it is written."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def by_name(offered: Iterable[CatalogueEntry]) -> tuple[CatalogueEntry, ...]:
    """In the order of lists."""
    return tuple(sorted(offered, key=lambda one: (sort_name(one.name), one.slug)))


def skill_gate(session: Session | None) -> Gate | None:
    """Which skills a session lets through; None, hence nothing, where its scope cannot be read."""
    if session is None:
        return Gate()
    try:
        scope = effective_capability_scope(session)
    except Invalid:
        return None
    return Gate() if scope is None else scope.gate("skill")


def permits(gate: Gate, *, slug: str, name: str) -> bool:
    """Whether a skill passes: denied by either of its names, let through by the slug.

    Anybody may give their skill any name. So what could be a slug in an allow list means the skill
    of this slug and no namesake; only what cannot be one, such as two words, means a name.
    """
    if ALL in gate.deny or slug in gate.deny or name in gate.deny:
        return False
    return gate.permits(slug) or (slug_refused(name) is not None and gate.permits(name))
