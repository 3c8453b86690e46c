"""Approvals: decisions of people on the tool calls of a run, and on its offers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal, Role
from understudy.permissions.model import CallRule
from understudy.permissions.rules import rule_for_session
from understudy.runs.lifecycle import TERMINAL, run_event
from understudy.runs.model import Run
from understudy.runs.offers import hold_offers, is_open, settle_offer
from understudy.runs.open_requests import RequestReader, RunPlace
from understudy.runs.requests import (
    REQUEST,
    PersonRequest,
    RequestKind,
    RequestState,
    is_for_another,
)
from understudy.runs.service import RunDetail, detail_of
from understudy.runs.sleep import go_on_or_wait
from understudy.runs.submission import keep_receipt, known_run, receipt_for
from understudy.sessions.service import add_rules

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


VIA_API: Final = "api"
DOMAIN: Final = "approvals"
FOR_SESSION: Final = "for_session"
# The key of a resolution that names who decided.
BY: Final = "by"
BEHAVIORS: Final[Mapping[str, RequestState]] = {
    "allow": RequestState.ALLOWED,
    "deny": RequestState.DENIED,
}


def offers_among(unit: "Unit", run: Run, request_ids: Sequence[str]) -> dict[str, PersonRequest]:
    """The offers of a locked run among these requests; locks them until the unit ends."""
    found = [request_id for request_id in request_ids if _offer(unit, run, request_id) is not None]
    if not found:
        return {}
    hold_offers(unit, run.session_id)
    # Read again under the lock: somebody may have answered meanwhile.
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
    """Accept or decline an offer; only its own user can."""
    if is_for_another(offer, principal):
        raise coded_error("approvals/offer_not_yours", request_id=offer.request_id)
    if not is_open(offer, at_ms):
        past = offer.state if offer.state is not RequestState.PENDING else RequestState.EXPIRED
        raise coded_error("approvals/offer_state_conflict", past=past)
    told = {**told, "via": VIA_API}
    settle_offer(unit, run, offer, state, told=told, actor=principal.actor, at_ms=at_ms)


def _offer(unit: "Unit", run: Run, request_id: str) -> PersonRequest | None:
    request = unit.requests.get(request_id)
    if request is None or request.kind is not RequestKind.OFFER or request.run_id != run.run_id:
        return None
    return request


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The decision on one request."""

    request_id: str
    behavior: str
    # Replaces the arguments of the tool call.
    updated_input: Mapping[str, Any] | None = None
    justification: str | None = None
    # Told to the model when the call is denied.
    reason: str | None = None
    # Whether the session allows this tool without an approval from now on.
    for_session: bool = False


# Validates arguments for a tool; raises an `UnderstudyError` with the problem.
CheckInput = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class ApprovalService:
    """Lists and resolves approvals."""

    units: "Units"
    clock: Clock
    check_input: CheckInput

    @property
    def reader(self) -> RequestReader:
        """The reader of approvals, offers included."""
        offers = frozenset({RequestKind.OFFER})
        return RequestReader(self.units, self.clock, RequestKind.APPROVAL, also=offers)

    def resolve(
        self,
        principal: Principal,
        place: RunPlace,
        resolutions: Sequence[Resolution],
        *,
        idempotency_key: str | None = None,
    ) -> RunDetail:
        """Resolve approvals and offers of a run, all or none; the last one wakes the run."""
        _check_batch(resolutions)
        now = self.clock.now_ms()
        asked = {**place.asked(), "resolutions": [_asked(each) for each in resolutions]}
        receipt = receipt_for(principal, "approvals.resolve", asked, key=idempotency_key, at_ms=now)
        with self.units.write() as unit:
            if (known := known_run(unit, receipt)) is not None:
                return detail_of(unit, known)
            run = self.reader.waiting_run(unit, place, [each.request_id for each in resolutions])
            # Checked again: a concurrent request under the same key may have won the row lock.
            if (known := known_run(unit, receipt)) is not None:
                return detail_of(unit, known)
            offers = offers_among(unit, run, [each.request_id for each in resolutions])
            calls = {at: one for at, one in enumerate(resolutions) if one.request_id not in offers}
            if calls:
                run = self._decide(unit, principal, run, calls, now)
            for at, each in enumerate(resolutions):
                if each.request_id in offers:
                    self._answer(unit, principal, run, offers[each.request_id], (at, each), now)
            keep_receipt(unit, receipt, run)
            return detail_of(unit, run)

    def _decide(
        self,
        unit: "Unit",
        principal: Principal,
        run: Run,
        calls: Mapping[int, Resolution],
        now: int,
    ) -> Run:
        """Resolve tool calls; the indexes are those in the batch."""
        pending = _pending(unit, run, now)
        settled = [
            self._settled(principal, pending, each, index, now) for index, each in calls.items()
        ]
        _keep(unit, principal, run, settled, now)
        rules = {str(it): it for each in settled if (it := _rule_of(each)) is not None}
        if rules:
            add_rules(unit, principal, run.session_id, list(rules.values()), at_ms=now)
        return go_on_or_wait(unit, run, at_ms=now)

    def _answer(
        self,
        unit: "Unit",
        principal: Principal,
        run: Run,
        offer: PersonRequest,
        placed: tuple[int, Resolution],
        now: int,
    ) -> None:
        """Resolve an offer; the index is that in the batch."""
        index, resolution = placed
        if resolution.for_session:
            raise coded_error("approvals/only_allowed_for_session", pointer=_session_at(index))
        if resolution.updated_input is not None:
            raise coded_error("approvals/approval_invalid_input:offer", pointer=_input_at(index))
        state = BEHAVIORS[resolution.behavior]
        answer_offer(unit, principal, run, offer, state, told=_told(resolution), at_ms=now)

    def _settled(
        self,
        principal: Principal,
        pending: Mapping[str, PersonRequest],
        resolution: Resolution,
        index: int,
        now: int,
    ) -> PersonRequest:
        request = pending.get(resolution.request_id)
        if request is None:
            raise coded_error(
                "approvals/approval_request_not_pending",
                pointer=f"/resolutions/{index}/request_id",
                request_id=resolution.request_id,
            )
        if resolution.updated_input is not None:
            self._check_updated(request, resolution, resolution.updated_input, index)
        state = BEHAVIORS[resolution.behavior]
        if resolution.for_session and state is not RequestState.ALLOWED:
            raise coded_error("approvals/only_allowed_for_session", pointer=_session_at(index))
        REQUEST.check(request.state, state)
        settled = replace(
            request,
            state=state,
            resolution={**_told(resolution), BY: _signed(principal)},
            resolved_by=principal.actor,
            resolved_at_ms=now,
        )
        if resolution.for_session and session_rule(settled) is None:
            tool = str(request.body.get("tool_name"))
            pointer = _session_at(index)
            raise coded_error("approvals/not_allowed_for_session", pointer=pointer, tool=tool)
        return settled

    def _check_updated(
        self, request: PersonRequest, resolution: Resolution, updated: Mapping[str, Any], index: int
    ) -> None:
        try:
            if BEHAVIORS[resolution.behavior] is not RequestState.ALLOWED:
                raise coded_error("daemon/denied")
            self.check_input(str(request.body.get("tool_name")), updated)
        except UnderstudyError as problem:
            raise coded_error(
                "approvals/approval_invalid_input",
                pointer=_input_at(index),
                detail=problem.detail,
            ) from None


def _asked(resolution: Resolution) -> dict[str, Any]:
    """A resolution as fingerprinted for its receipt; earlier versions had no `for_session`."""
    fields = asdict(resolution)
    return fields if resolution.for_session else {k: fields[k] for k in fields if k != FOR_SESSION}


def _told(resolution: Resolution) -> dict[str, Any]:
    # Empty fields are left out.
    return {name: value for name, value in asdict(resolution).items() if value not in (None, False)}


def session_rule(request: PersonRequest) -> CallRule | None:
    """The allow rule that the session gets with this approval; None if it gets none."""
    called = (request.resolution or {}).get("updated_input", request.body.get("input"))
    arguments = called if isinstance(called, Mapping) else {}
    return rule_for_session(str(request.body.get("tool_name")), arguments)


def _rule_of(request: PersonRequest) -> CallRule | None:
    return session_rule(request) if (request.resolution or {}).get(FOR_SESSION) else None


def _signed(principal: Principal) -> dict[str, Any]:
    """Who decided; an admin who acts for a user counts as that user alone."""
    is_admin = principal.role is Role.ADMIN and principal.acting_admin is None
    return {"user_id": principal.user_id, "is_admin": is_admin}


def is_word_of(user_id: str, request: PersonRequest) -> bool:
    """Whether this user, or an admin, decided on a call."""
    by = (request.resolution or {}).get(BY, {"user_id": request.resolved_by})
    return by.get("user_id") == user_id or by.get("is_admin") is True


def _session_at(index: int) -> str:
    return f"/resolutions/{index}/{FOR_SESSION}"


def _input_at(index: int) -> str:
    return f"/resolutions/{index}/updated_input"


def new_approval(
    run: Run,
    *,
    call_key: str,
    body: Mapping[str, Any],
    at_ms: int,
    expires_at_ms: int | None,
) -> PersonRequest:
    """A request to approve a call. `body` has tool_call_id, tool_name, input, scope, reason."""
    return PersonRequest(
        request_id=new_id("apr"),
        kind=RequestKind.APPROVAL,
        run_id=run.run_id,
        session_id=run.session_id,
        call_key=call_key,
        body=body,
        created_at_ms=at_ms,
        expires_at_ms=expires_at_ms,
    )


def _keep(
    unit: "Unit", principal: Principal, run: Run, settled: Sequence[PersonRequest], now: int
) -> None:
    for request in settled:
        unit.requests.settle(request)
        unit.audit.add(
            audit.done(
                principal,
                "approvals.resolve",
                request.request_id,
                at_ms=now,
                reason=_decided(request),
            )
        )
    resolutions = [dict(request.resolution or {}) for request in settled]
    told = run_event(run, "approval_resolved", run.status, resolutions=resolutions)
    unit.journal.append(run.session_id, (told,), at_ms=now)


def _decided(request: PersonRequest) -> str:
    """The audit reason of a decision."""
    is_edited = "updated_input" in (request.resolution or {})
    said = f"{request.state}, edited" if is_edited else str(request.state)
    return f"{said}: {request.body.get('tool_name')} in {request.run_id}"


def _check_batch(resolutions: Sequence[Resolution]) -> None:
    if not resolutions:
        raise coded_error("approvals/approval_batch_empty", pointer="/resolutions")
    seen: set[str] = set()
    for index, each in enumerate(resolutions):
        if each.request_id in seen:
            raise coded_error(
                "approvals/approval_duplicate_resolution",
                pointer=f"/resolutions/{index}/request_id",
                request_id=each.request_id,
            )
        seen.add(each.request_id)


def _pending(unit: "Unit", run: Run, now: int) -> dict[str, PersonRequest]:
    """The pending approvals of a waiting run; expired ones count as resolved."""
    requests = unit.requests.pending([run.run_id]).get(run.run_id, ())
    open_ones = {
        request.request_id: request
        for request in requests
        if request.kind is RequestKind.APPROVAL
        and (request.expires_at_ms is None or request.expires_at_ms > now)
    }
    if run.status in TERMINAL or run.stop_request is not None:
        raise coded_error("approvals/approval_state_conflict:run", status=run.status)
    if not open_ones:
        raise coded_error("approvals/approval_state_conflict:none_open")
    return open_ones
