"""What a user says to an offer, where approvals are answered."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from understudy.core.errors import Conflict, Rejected
from understudy.core.principal import Principal
from understudy.runs.answerable import is_for_another
from understudy.runs.model import Run
from understudy.runs.offers import hold_offers, is_open, settle_offer
from understudy.runs.requests import PersonRequest, RequestKind, RequestState

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

DOMAIN: Final = "approvals"
VIA_API: Final = "api"


def offers_among(unit: "Unit", run: Run, request_ids: Sequence[str]) -> dict[str, PersonRequest]:
    """Those of some requests that are offers of a locked run; nobody else changes them from now on."""
    found = [request_id for request_id in request_ids if _offer(unit, run, request_id) is not None]
    if not found:
        return {}
    hold_offers(unit, run.session_id)
    # Only now: somebody may have answered between the look and the lock.
    offers = (_offer(unit, run, request_id) for request_id in found)
    return {offer.request_id: offer for offer in offers if offer is not None}


def answer_offer(
    unit: "Unit",
    principal: Principal,
    run: Run,
    offer: PersonRequest,
    state: RequestState,
    *,
    told: Mapping[str, Any],
    at_ms: int,
) -> None:
    """Accept or decline an offer; only the user that it was made to can."""
    if is_for_another(offer, principal):
        raise Rejected(
            "offer_not_yours",
            domain=DOMAIN,
            detail=f"{offer.request_id!r} was offered to somebody else",
        )
    if not is_open(offer, at_ms):
        past = offer.state if offer.state is not RequestState.PENDING else RequestState.EXPIRED
        raise Conflict(
            "offer_state_conflict", domain=DOMAIN, detail=f"the offer is not open: it is {past}"
        )
    told = {**told, "via": VIA_API}
    settle_offer(unit, run, offer, state, told=told, actor=principal.actor, at_ms=at_ms)


def _offer(unit: "Unit", run: Run, request_id: str) -> PersonRequest | None:
    request = unit.requests.get(request_id)
    if request is None or request.kind is not RequestKind.OFFER or request.run_id != run.run_id:
        return None
    return request
