"""Offers: questions to one user that the run does not wait for.

An offer may outlive its run, so its lock is that of the session: whoever opens, answers, uses or
expires an offer locks the session's row.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from understudy.core import audit
from understudy.core.audit import AuditEntry
from understudy.core.clock import DAY_MS
from understudy.core.ids import new_id
from understudy.core.principal import DAEMON
from understudy.runs.lifecycle import run_event
from understudy.runs.model import Run
from understudy.runs.requests import REQUEST, PersonRequest, RequestKind, RequestState
from understudy.sessions.model import require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

OPEN_MS: Final = 7 * DAY_MS


def new_offer(run: Run, *, call_key: str, body: Mapping[str, Any], at_ms: int) -> PersonRequest:
    """An offer to the user of a run. `body` has the form of an approval's."""
    return PersonRequest(
        request_id=new_id("off"),
        kind=RequestKind.OFFER,
        run_id=run.run_id,
        session_id=run.session_id,
        call_key=call_key,
        body=body,
        created_at_ms=at_ms,
        expires_at_ms=at_ms + OPEN_MS,
        user_id=run.user_id,
    )


def hold_offers(unit: "Unit", session_id: str) -> None:
    """Lock the offers of a session; lock the row of a run before, if it is needed."""
    require_session(unit, session_id, lock=True)


def is_open(offer: PersonRequest, now_ms: int) -> bool:
    """Whether the offer can still be answered."""
    return offer.state is RequestState.PENDING and not is_over(offer, now_ms)


def is_over(offer: PersonRequest, now_ms: int) -> bool:
    """Whether the offer has expired."""
    return offer.expires_at_ms is not None and offer.expires_at_ms <= now_ms


def make_offer(unit: "Unit", run: Run, offer: PersonRequest) -> bool:
    """Insert an open offer, with the session locked; False when it exists."""
    if not unit.requests.add(offer):
        return False
    unit.audit.add(_entry(run.user_id, "offers.open", offer, run, at_ms=offer.created_at_ms))
    _tell(unit, run, offer, "offer_opened", at_ms=offer.created_at_ms)
    return True


def settle_offer(
    unit: "Unit",
    run: Run,
    offer: PersonRequest,
    state: RequestState,
    *,
    told: Mapping[str, Any],
    actor: str,
    at_ms: int,
) -> PersonRequest:
    """Store the resolution of an open offer, with the session locked."""
    REQUEST.check(offer.state, state)
    offer = _answered(offer, state, told, actor, at_ms)
    unit.requests.settle(offer)
    unit.audit.add(_entry(actor, "offers.resolve", offer, run, at_ms=at_ms))
    _tell(unit, run, offer, "offer_resolved", at_ms=at_ms)
    return offer


def note_wish(unit: "Unit", run: Run, offer: PersonRequest, *, told: Mapping[str, Any]) -> None:
    """Store what the user asked for unprompted: an offer accepted before it was made."""
    at_ms = offer.created_at_ms
    offer = _answered(offer, RequestState.ALLOWED, told, run.user_id, at_ms)
    if unit.requests.add(offer):
        unit.audit.add(_entry(run.user_id, "offers.resolve", offer, run, at_ms=at_ms))
        _tell(unit, run, offer, "offer_resolved", at_ms=at_ms)


def let_lapse(unit: "Unit", run: Run, offer_id: str, *, at_ms: int) -> None:
    """Expire an offer, unless it was resolved meanwhile; its run is locked."""
    hold_offers(unit, run.session_id)
    offer = unit.requests.get(offer_id)
    if offer is None or offer.state is not RequestState.PENDING:
        return
    offer = replace(offer, state=RequestState.EXPIRED, resolved_at_ms=at_ms)
    unit.requests.settle(offer)
    unit.audit.add(_entry(DAEMON.actor, "offers.expire", offer, run, at_ms=at_ms))
    _tell(unit, run, offer, "offer_expired", at_ms=at_ms)


def _answered(
    offer: PersonRequest, state: RequestState, told: Mapping[str, Any], actor: str, at_ms: int
) -> PersonRequest:
    resolution = {"request_id": offer.request_id, **told}
    return replace(
        offer, state=state, resolution=resolution, resolved_by=actor, resolved_at_ms=at_ms
    )


def _entry(actor: str, action: str, offer: PersonRequest, run: Run, *, at_ms: int) -> AuditEntry:
    reason = f"{offer.state}: {offer.body.get('tool_name')} in {run.run_id}"
    entry = audit.done(DAEMON, action, offer.request_id, at_ms=at_ms, reason=reason)
    return replace(entry, actor=actor)


def _tell(unit: "Unit", run: Run, offer: PersonRequest, what: str, *, at_ms: int) -> None:
    """Append the event of an offer's change; its texts are found under its id."""
    moved = {"request_ids": [offer.request_id], "state": str(offer.state)}
    unit.journal.append(offer.session_id, (run_event(run, what, run.status, **moved),), at_ms=at_ms)
