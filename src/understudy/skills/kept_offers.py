"""What is offered of the skills that are kept, decided by access and read only when it changed."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

import structlog

from understudy.core.errors import DatabaseUnavailable, Unavailable
from understudy.skills.access import Reason, access_of
from understudy.skills.bundle_checks import BundleChecks
from understudy.skills.model import Offer
from understudy.skills.offered import Offered
from understudy.skills.pinned import PinnedWords
from understudy.skills.ports import SkillUnit
from understudy.skills.remembered import Remembered

log = structlog.get_logger()

# For how many agents and users the last answer is remembered; it may hold thousands of skills.
_MOST: Final = 64


@dataclass(frozen=True, slots=True)
class _Answer:
    stamp: Hashable
    offered: tuple[Offered, ...] = field(repr=False)
    # Whether everything could be read.
    is_whole: bool = True


class KeptOffers:
    """Remembers what it answered; whether that still holds is looked up each time."""

    def __init__(self, checks: BundleChecks) -> None:
        self._pinned = PinnedWords(checks)
        self._answers = Remembered[tuple[str, str], _Answer](_MOST)

    def offered(self, unit: SkillUnit, *, agent_id: str, user_id: str) -> tuple[Offered, ...]:
        """What an agent may use for a user, by name.

        Where nobody can tell what is granted, only what is open to everybody.
        """
        who = (agent_id, user_id)
        try:
            stamp = unit.skills.offers_stamp(agent_id=agent_id, user_id=user_id)
            known = self._answers.get(who)
            if known is None or known.stamp != stamp:
                offers = unit.skills.offers(agent_id=agent_id, user_id=user_id)
                known = self._answer(unit, offers, user_id, stamp)
        except Unavailable as problem:
            log.warning("skills.grants_unreadable", agent_id=agent_id, code=problem.code)
            return self._answer(unit, unit.skills.open_offers(), "", None).offered
        if known.is_whole:
            self._answers.put(who, known)
        return known.offered

    def _answer(
        self, unit: SkillUnit, offers: tuple[Offer, ...], user_id: str, stamp: Hashable
    ) -> _Answer:
        offered, is_whole = [], True
        for offer in offers:
            decision = access_of(offer, user_id)
            if not decision.allowed:
                continue
            try:
                offered.append(self._version(unit, offer, decision.reason))
            except DatabaseUnavailable:
                raise
            except Unavailable as problem:
                # Only this one is missing, and only until its files can be read.
                log.warning("skills.pinned_unreadable", slug=offer.skill.slug, code=problem.code)
                is_whole = False
        return _Answer(stamp, tuple(one for one in offered if one is not None), is_whole=is_whole)

    def _version(self, unit: SkillUnit, offer: Offer, reason: Reason) -> Offered | None:
        """The version that counts; None where the one that the agent is pinned to is gone."""
        one = _current(offer, reason)
        number = offer.agent_grant.pinned_version if offer.agent_grant else None
        if number is None or number == offer.skill.version:
            return one
        return self._pinned.instead_of(unit, one, number=number, digest=offer.pinned_digest)


def _current(offer: Offer, reason: Reason) -> Offered:
    skill = offer.skill
    return Offered(
        slug=skill.slug,
        name=skill.name,
        description=skill.description,
        origin=skill.origin,
        version=skill.version,
        digest=skill.digest,
        skill_id=skill.skill_id,
        reason=reason,
        when_to_use=skill.when_to_use,
        context=skill.context,
        missing_deps=skill.missing_deps,
    )
