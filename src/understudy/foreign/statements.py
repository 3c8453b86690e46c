"""Statements that somebody wrote into a file: proposed once each, as claims of their source."""

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError
from understudy.core.principal import Principal
from understudy.learnings.already_decided import declined, is_known
from understudy.learnings.checks import check_says_something
from understudy.learnings.events import Listeners
from understudy.learnings.guard import SecretGuard, texts_of
from understudy.learnings.model import Origin
from understudy.learnings.proposal import NewCandidate, make_candidate, propose

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(slots=True, kw_only=True)
class Proposed:
    """What became of the statements of some files."""

    candidate_ids: list[str]
    # Known already, or proposed before.
    known: int = 0
    # Too long, empty, or with a secret.
    refused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """Proposes statements; the same one of the same user for the same scope has one id for ever."""

    clock: Clock
    guard: SecretGuard
    listeners: Listeners

    def propose(
        self, unit: "Unit", principal: Principal, wanted: NewCandidate, into: Proposed
    ) -> None:
        """Propose a statement unless it is known; it may repeat untrusted text."""
        now = self.clock.now_ms()
        named = "\0".join((principal.user_id, wanted.scope.key, wanted.kind, wanted.content))
        digest = hashlib.sha256(named.encode(errors="replace")).hexdigest()[:32]
        try:
            self.guard.check(texts_of(wanted))
            made = make_candidate(
                replace(wanted, derived_from_untrusted=True),
                origin=Origin.API,
                now_ms=now,
                candidate_id=f"cand_{digest}",
            )
            check_says_something(made.content)
        except UnderstudyError:
            into.refused += 1
            return
        is_old = is_known(unit, made.scope, made.kind, made.semantic_key, now_ms=now)
        before = declined(unit, made.scope, made.kind, made.content)
        made = replace(made, declined_before=before is not None)
        if is_old or not propose(unit, made, by=principal, now_ms=now, listeners=self.listeners):
            into.known += 1
        else:
            into.candidate_ids.append(made.candidate_id)
