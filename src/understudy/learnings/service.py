"""Use cases of learnings: look, take back, replace, and trace."""

import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.learnings.checks import check_reason
from understudy.learnings.events import LearningNotice, tell
from understudy.learnings.filters import LearningFilter
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.learnings.lineage import Lineage, lineage_of
from understudy.learnings.listeners import NO_LISTENERS, Listeners
from understudy.learnings.model import LEARNING, Learning, LearningStatus
from understudy.learnings.retirement import Retirement, require_learning
from understudy.learnings.supersession import (
    Replacement,
    SupersedingLearning,
    check_replacement,
    supersede,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

MAX_REVOKED: Final = 1000
# How many letters and digits a query needs that is the only filter.
MIN_QUERY: Final = 3
ID_PREFIX: Final = "lrn"
REVOCABLE: Final = frozenset(
    status for status, following in LEARNING.steps.items() if LearningStatus.REVOKED in following
)


@dataclass(frozen=True, slots=True)
class LearningService:
    """Everything a person does with learnings, each in one transaction."""

    units: "Units"
    clock: Clock
    listeners: Listeners = NO_LISTENERS
    # How many are revoked in one transaction.
    most_at_once: int = MAX_REVOKED
    guard: SecretGuard = NO_LITERALS

    def get(self, learning_id: str) -> Learning:
        """One learning, or `NotFound`."""
        with self.units.read() as unit:
            return require_learning(unit, learning_id)

    def page(
        self, request: PageRequest, *, narrowed: LearningFilter | None = None
    ) -> Page[Learning]:
        """Learnings by id, oldest first."""
        with self.units.read() as unit:
            return unit.learnings.page(request, narrowed=narrowed or LearningFilter())

    def lineage(self, learning_id: str, request: PageRequest) -> Lineage:
        """Where it came from, what took its place, and a page of the runs that were told."""
        with self.units.read() as unit:
            return lineage_of(unit, learning_id, request)

    def revoke(
        self, principal: Principal, learning_id: str, *, reason: str | None = None
    ) -> Learning:
        """Take one back; one that was revoked before stays as it was."""
        given = self._reason(reason)
        with self.units.write() as unit:
            learning = require_learning(unit, learning_id, lock=True)
            if learning.status is LearningStatus.REVOKED:
                return learning
            ending = self._ending(unit, principal)
            revoked, told = ending.revoke(learning, given)
            tell(unit, told, at_ms=ending.now_ms)
            return revoked

    def supersede(
        self, principal: Principal, learning_id: str, wanted: Replacement
    ) -> SupersedingLearning:
        """Put another in its place; asked again, the same one is answered."""
        checked = check_replacement(wanted)
        self.guard.check({"/content": checked.content})
        with self.units.write() as unit:
            return supersede(
                unit,
                learning_id,
                checked,
                by=principal,
                now_ms=self.clock.now_ms(),
                listeners=self.listeners,
            )

    def revoke_matching(
        self,
        principal: Principal,
        narrowed: LearningFilter,
        *,
        everything: bool = False,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> tuple[Learning, ...]:
        """Take back all that a filter finds, or none; a dry run tells which they would be."""
        given = self._reason(reason)
        if not everything:
            _require_narrow(narrowed)
        if dry_run:
            with self.units.read() as unit:
                return self._to_revoke(unit, narrowed)
        with self.units.write() as unit:
            ending = self._ending(unit, principal)
            return _revoke_all(ending, self._to_revoke(unit, narrowed), given)

    def _to_revoke(self, unit: "Unit", narrowed: LearningFilter) -> tuple[Learning, ...]:
        """What matches and is not revoked yet, by id."""
        statuses = REVOCABLE if narrowed.status is None else REVOCABLE & {narrowed.status}
        found = [
            learning
            for status in statuses
            for learning in unit.learnings.matching(
                replace(narrowed, status=status), limit=self.most_at_once + 1
            )
        ]
        if len(found) > self.most_at_once:
            raise coded_error("learnings/too_many_matches", limit=self.most_at_once)
        return tuple(sorted(found, key=lambda it: it.learning_id))

    def _reason(self, reason: str | None) -> str | None:
        given = check_reason(reason)
        self.guard.check_reason(given)
        return given

    def _ending(self, unit: "Unit", principal: Principal) -> Retirement:
        return Retirement(
            unit=unit, by=principal, now_ms=self.clock.now_ms(), listeners=self.listeners
        )


def _require_narrow(narrowed: LearningFilter) -> None:
    """Raise for a filter that finds everything, or nearly so."""
    if narrowed.is_empty:
        raise coded_error("learnings/filter_required")
    query = narrowed.query
    if query is not None and narrowed == LearningFilter(query=query):
        # Part of the id of each.
        telling = query.casefold().replace(ID_PREFIX, "")
        if sum(_weight(it) for it in telling) < MIN_QUERY:
            raise coded_error(
                "learnings/filter_required:short_query", pointer="/query", least=MIN_QUERY
            )


def _weight(character: str) -> int:
    """How much a character tells; one of a script of words as much as two letters."""
    if not character.isalnum():
        return 0
    return 2 if unicodedata.east_asian_width(character) == "W" else 1


def _revoke_all(
    ending: Retirement, learnings: tuple[Learning, ...], reason: str | None
) -> tuple[Learning, ...]:
    revoked: list[Learning] = []
    told: list[LearningNotice] = []
    # In the order of their ids, as all do who hold several.
    for found in learnings:
        learning = require_learning(ending.unit, found.learning_id, lock=True)
        if learning.status is not LearningStatus.REVOKED:
            ended, events = ending.revoke(learning, reason)
            revoked.append(ended)
            told.extend(events)
    tell(ending.unit, told, at_ms=ending.now_ms)
    return tuple(revoked)
