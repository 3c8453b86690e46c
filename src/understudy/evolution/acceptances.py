"""What an accepted offer is still good for: in which run, and for which call.

What was accepted in a message counts in the run of that message: there are too many ways to take it
back in the next one. What was accepted elsewhere counts in the run that was at work then, and in the
user's next one in that session.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from understudy.evolution.offer_book import FOR_RUN, MESSAGE
from understudy.runs.model import Run
from understudy.runs.requests import Request

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

USED: Final = "used"
# What a call came to that may still have done what was agreed to.
SPENT: Final = frozenset({"ok", "unknown"})


def is_for(offer: Request, run: Run) -> bool:
    """Whether an acceptance counts in a run.

    One that no run has taken up yet is newer than all runs that began; only one of them is at work.
    """
    return _resolution(offer).get(FOR_RUN) in (None, run.run_id)


def is_unused(unit: "Unit", offer: Request, call_key: str | None = None) -> bool:
    """Whether it still covers a call: no other used it, or that one came to nothing."""
    if offer.body.get("origin") == MESSAGE:
        # Nobody was asked: the message itself counts.
        return False
    used = _resolution(offer).get(USED)
    if used is None or (call_key is not None and used.get("call") == call_key):
        return True
    results = unit.journal.by_keys(offer.session_id, [str(used.get("result"))])
    return any(event.data.get("status") not in SPENT for event in results)


def was_said_in(offer: Request, run: Run) -> bool:
    """Whether the message of a run accepted it; that is good for every call of the run."""
    return _resolution(offer).get("run_id") == run.run_id


def take_up(unit: "Unit", offer: Request, run: Run) -> None:
    """Let it count in a run that begins, and in none after it."""
    if FOR_RUN not in _resolution(offer):
        _keep(unit, offer, {FOR_RUN: run.run_id})


def use_up(unit: "Unit", offer: Request, used: Mapping[str, str]) -> None:
    """Keep what it was used for."""
    _keep(unit, offer, {USED: dict(used)})


def _resolution(offer: Request) -> Mapping[str, Any]:
    return offer.resolution or {}


def _keep(unit: "Unit", offer: Request, more: Mapping[str, object]) -> None:
    unit.requests.settle(replace(offer, resolution={**_resolution(offer), **more}))
