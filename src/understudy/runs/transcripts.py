"""Conversations whose client sends all of it every time: found again by what was said so far."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from understudy.core.clock import Clock
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.runs.model import Receipt, Run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# Who speaks, and what is said.
Turn: TypeAlias = tuple[str, str]
TRANSCRIPT: Final = "transcript"


def newest_run(unit: "Unit", session_id: str) -> Run | None:
    """The run of a session that was submitted last."""
    return next(iter(unit.runs.page(PageRequest(limit=1), session_id=session_id).items), None)


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Which run a conversation ended with, by a digest of the conversation alone."""

    units: "Units"
    clock: Clock

    def last_run(
        self, unit: "Unit", principal: Principal, agent_id: str, turns: Iterable[Turn]
    ) -> Run | None:
        """The run that gave the last answer; None when its session has gone on without the client."""
        receipt = unit.receipts.get(_digest(principal, agent_id, turns))
        run = None if receipt is None else unit.runs.get(receipt.resource_id)
        newest = None if run is None else newest_run(unit, run.session_id)
        return run if run and newest and newest.run_id == run.run_id else None

    def keep(self, principal: Principal, run: Run, turns: Iterable[Turn]) -> None:
        """Note that a run gave the last answer of a conversation."""
        receipt = Receipt(
            key_hash=_digest(principal, run.agent_id, turns),
            fingerprint=TRANSCRIPT,
            resource_id=run.run_id,
            created_at_ms=self.clock.now_ms(),
        )
        with self.units.write() as unit:
            unit.receipts.put(receipt)


def _digest(principal: Principal, agent_id: str, turns: Iterable[Turn]) -> str:
    # Clients join or divide what one side says in a row.
    said = [
        (role, " ".join(text for _, text in group).split())
        for role, group in groupby(turns, key=itemgetter(0))
    ]
    named = json.dumps([TRANSCRIPT, principal.user_id, agent_id, said])
    return hashlib.sha256(named.encode()).hexdigest()
