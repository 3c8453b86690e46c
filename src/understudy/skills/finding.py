"""Finding the skill that somebody means: one that is kept, one from elsewhere, or one in a folder."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from understudy.core.principal import Principal
from understudy.skills import caller_errors
from understudy.skills.authority import find, knows
from understudy.skills.bundles.checks import BundleChecks
from understudy.skills.kept_entries import KeptEntries
from understudy.skills.local.records import record_of
from understudy.skills.local.skill import LocalSkill
from understudy.skills.local.skills import LocalSkills
from understudy.skills.model import Skill, SkillOrigin
from understudy.skills.other_sources import OtherSkills
from understudy.skills.precedence import counting
from understudy.skills.refs import LOCAL, PROMOTED
from understudy.skills.skill_sources import KeptSource, SkillSource, folder_source
from understudy.skills.slug import slug_refused

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# How skills without a row are referred to.
LOOSE: Final = (LOCAL, PROMOTED)
# Stands between the parts of a name, which no slug has.
PARTS: Final = ":"


class SkillFinder:
    """Knows where each skill stands, and which of them comes first for whom."""

    def __init__(self, local: LocalSkills, checks: BundleChecks, others: OtherSkills) -> None:
        self._local = local
        self._checks = checks
        self._others = others
        self._kept = KeptEntries(checks)

    def find(
        self, unit: "Unit", principal: Principal, ref: str, agent_id: str | None
    ) -> SkillSource:
        """What is meant by an id, a slug or a name; `NotFound` if they may know of no such skill."""
        found = self._kept_under(unit, principal, ref, agent_id)
        if found is None:
            found = self._loose_under(unit, ref, agent_id=agent_id or "", user_id=principal.user_id)
        if found is None:
            raise caller_errors.not_found(ref)
        return found

    def beside_called(
        self, unit: "Unit", slug: str, *, user_id: str, agent_id: str = ""
    ) -> tuple[Skill, ...]:
        """Those of `beside` that have this slug."""
        found = self._local.known().get(slug)
        beside = self.beside(
            unit, () if found is None else (found,), user_id=user_id, agent_id=agent_id
        )
        return tuple(skill for skill in beside if skill.slug == slug)

    def beside(
        self, unit: "Unit", local: Iterable[LocalSkill], *, user_id: str, agent_id: str = ""
    ) -> tuple[Skill, ...]:
        """What has no row, and stands in the place of nothing that comes before it for a user."""
        others = [source.skill for source in self._others.sources(unit)]
        records = [record_of(skill) for skill in local]
        if not others and not records:
            return ()
        who = {"agent_id": agent_id, "user_id": user_id}
        kept = self._kept.entries(unit, **who)
        first = counting(unit, others, kept, **who)
        return (*first, *counting(unit, records, (*kept, *first), **who))

    def _kept_under(
        self, unit: "Unit", principal: Principal, ref: str, agent_id: str | None
    ) -> SkillSource | None:
        if ref.startswith(LOCAL) and slug_refused(ref.removeprefix(LOCAL)) is not None:
            raise caller_errors.bad_ref(ref)
        is_loose = ref.startswith(LOOSE) or self._is_elsewhere(unit, ref)
        kept = None if is_loose else find(unit, ref)
        if kept is None or not knows(unit, kept, principal, agent_id=agent_id):
            return None
        return KeptSource(unit, kept, self._checks)

    def _is_elsewhere(self, unit: "Unit", ref: str) -> bool:
        """Whether something is meant that is not kept: a name with parts, or one that there is."""
        if slug_refused(ref) is None or not self._others.is_name(ref):
            return False
        return PARTS in ref or self._others.has(unit, ref)

    def _loose_under(
        self, unit: "Unit", ref: str, *, agent_id: str, user_id: str
    ) -> SkillSource | None:
        if ref.startswith(PROMOTED):
            # In full it means this one, whatever else has its name.
            return self._other(unit, ref)
        slug = ref.removeprefix(LOCAL)
        beside = self.beside_called(unit, slug, agent_id=agent_id, user_id=user_id)
        meant = next((it for it in beside if ref in {it.slug, it.skill_id}), None)
        if meant is None:
            return None
        if meant.origin is SkillOrigin.LOCAL:
            opened = self._local.open(slug)
            return None if opened is None else folder_source(opened)
        return self._other(unit, meant.skill_id)

    def _other(self, unit: "Unit", skill_id: str) -> SkillSource | None:
        sources = self._others.sources(unit)
        return next((it for it in sources if it.skill.skill_id == skill_id), None)
