"""Offers to users for their consent: opened, found and answered, by session."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from understudy.core.clock import Clock
from understudy.core.page import PageRequest
from understudy.core.text import ELLIPSIS
from understudy.evolution.acts import THIS_WORK, Act, Purpose, act_of
from understudy.evolution.nudges import POSTSCRIPT
from understudy.i18n.catalogue import say
from understudy.runs.model import Run
from understudy.runs.offers import (
    hold_offers,
    is_open,
    is_over,
    let_lapse,
    make_offer,
    new_offer,
    note_wish,
    settle_offer,
)
from understudy.runs.requests import PersonRequest, RequestKind, RequestState

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

CALL: Final = "call"
MESSAGE: Final = "message"
# Key of an answer for the run in which it counts.
FOR_RUN: Final = "for_run"
# The scope of an offer, where approvals have that of their rule.
SCOPE: Final = "user"
# How many offers of a user in a session are read.
LOOKED_AT: Final = 50
_QUESTIONS: Final[Mapping[Purpose, tuple[str, str]]] = {
    Purpose.KEEP: ("consent.offer", "consent.offer_named"),
    Purpose.DELETE: ("consent.offer_delete", "consent.offer_delete"),
}


@dataclass(frozen=True, slots=True)
class OfferBook:
    """Opens and finds offers. A user has at most one open offer in a session."""

    clock: Clock

    def open(self, unit: "Unit", run: Run) -> None:
        """Open the offer of a postscript: to keep the work as a skill."""
        self.ask(unit, run, THIS_WORK, origin=POSTSCRIPT, call_key=f"{run.run_id}:postscript")

    def was_declined(self, unit: "Unit", run: Run) -> bool:
        """Whether the last answer of this user about keeping a skill in this session was no."""
        return self.has_declined(unit, run, THIS_WORK)

    def has_declined(self, unit: "Unit", run: Run, act: Act) -> bool:
        """Whether the last answer of this user about an act was no."""
        answered = self._of(unit, run, {RequestState.ALLOWED, RequestState.DENIED})
        last = next((offer for offer in answered if is_about(offer, act)), None)
        return last is not None and last.state is RequestState.DENIED

    def ask(
        self, unit: "Unit", run: Run, act: Act, *, origin: str, call_key: str, call_id: str = ""
    ) -> None:
        """Open an offer, unless the same is open; others are closed. The run is locked."""
        hold_offers(unit, run.session_id)
        now = self.clock.now_ms()
        for standing in self._of(unit, run, {RequestState.PENDING}):
            # A postscript needs an offer of its own run.
            is_found = origin != POSTSCRIPT or standing.run_id == run.run_id
            if is_found and is_open(standing, now) and is_about(standing, act):
                return
            self._close(unit, run, standing, now)
        body = {**_body(run, act, origin), "tool_call_id": call_id}
        offer = new_offer(run, call_key=f"{call_key}:offer", body=body, at_ms=now)
        make_offer(unit, run, offer)

    def stands(self, unit: "Unit", run: Run) -> bool:
        """Whether this user has a pending or accepted offer here."""
        return bool(self._of(unit, run, {RequestState.PENDING, RequestState.ALLOWED}))

    def open_one(self, unit: "Unit", run: Run) -> PersonRequest | None:
        """The open offer of this user; the session is locked."""
        now = self.clock.now_ms()
        pending = self._of(unit, run, {RequestState.PENDING})
        return next((offer for offer in pending if is_open(offer, now)), None)

    def asks_others(self, unit: "Unit", run: Run) -> bool:
        """Whether another user has an open offer in this session."""
        now = self.clock.now_ms()
        pending = unit.requests.page(
            PageRequest(limit=LOOKED_AT), kinds={RequestKind.OFFER}, session_id=run.session_id
        )
        return any(is_open(offer, now) and offer.user_id != run.user_id for offer in pending.items)

    def accepted(self, unit: "Unit", run: Run, act: Act | None = None) -> tuple[PersonRequest, ...]:
        """The accepted offers of this user that cover an act, or all of them, newest first."""
        allowed = self._of(unit, run, {RequestState.ALLOWED})
        return tuple(offer for offer in allowed if act is None or is_about(offer, act))

    def note(self, unit: "Unit", run: Run, act: Act) -> None:
        """Record that the message of this run asked for an act; once for all its calls."""
        offer = new_offer(
            run,
            call_key=f"{run.run_id}:said:{act.purpose}",
            body={**_body(run, act, MESSAGE), "tool_call_id": ""},
            at_ms=self.clock.now_ms(),
        )
        note_wish(unit, run, offer, told={"behavior": "allow", **said_in(run)})

    def answer(self, unit: "Unit", run: Run, offer: PersonRequest, state: RequestState) -> None:
        """Settle an open offer by the message that started this run."""
        behavior = "allow" if state is RequestState.ALLOWED else "deny"
        settle_offer(
            unit,
            run,
            offer,
            state,
            told={"behavior": behavior, **said_in(run)},
            actor=run.user_id,
            at_ms=self.clock.now_ms(),
        )

    def _close(self, unit: "Unit", run: Run, offer: PersonRequest, now: int) -> None:
        if is_over(offer, now):
            let_lapse(unit, run, offer.request_id, at_ms=now)
            return
        told = {"reason": "it was offered again, or something else"}
        settle_offer(
            unit, run, offer, RequestState.CANCELLED, told=told, actor=run.user_id, at_ms=now
        )

    def _of(
        self, unit: "Unit", run: Run, states: Collection[RequestState]
    ) -> tuple[PersonRequest, ...]:
        return unit.requests.offers_to(run.session_id, run.user_id, states=states, limit=LOOKED_AT)


def act_offered(offer: PersonRequest) -> Act | None:
    """The act of an offer; None where it cannot be read."""
    shown = offer.body.get("input")
    if not isinstance(shown, Mapping):
        return None
    # The shown arguments were redacted, and the path was checked, when the offer was made.
    tool_name = str(offer.body.get("tool_name"))
    return act_of(tool_name, shown, is_local_skill=lambda _: True, scrub=str)


def is_about(offer: PersonRequest, act: Act) -> bool:
    """Whether an offer covers an act."""
    offered = act_offered(offer)
    return offered is not None and offered.covers(act)


def said_in(run: Run) -> dict[str, str]:
    """The part of an answer that says that a message gave it."""
    return {"via": MESSAGE, "run_id": run.run_id, FOR_RUN: run.run_id}


def _body(run: Run, act: Act, origin: str) -> dict[str, Any]:
    plain, named = _QUESTIONS[act.purpose]
    question = say(run.locale, named if act.subject else plain, name=act.subject or ELLIPSIS)
    return {
        "origin": origin,
        "purpose": str(act.purpose),
        "tool_name": act.tool_name,
        "input": dict(act.shown),
        "scope": SCOPE,
        "reason": question,
    }
