"""Offers as people read and answer them: a run that made one does not wait for it."""

from typing import TYPE_CHECKING, Final, Literal

from understudy.cli import screen
from understudy.cli.hints import understudy
from understudy.cli.output import note
from understudy.cli.person import Left, Person
from understudy.cli.screen import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.client import Client
    from understudy.wire.runs import RunView
    from understudy.wire.waiting import ApprovalResolution, ApprovalView

OFFER: Final = "offer"
# Where an offer comes from that its reader has seen below a reply.
IN_REPLY: Final = "postscript"
# Whole words or their first letter; what a reply to the agent would be is understood as well.
KEYS: Final = {
    **dict.fromkeys(("a", "y", "yes", "accept", "allow", "save", "save as skill"), "allow"),
    **dict.fromkeys(("d", "n", "no", "decline", "deny", "skip"), "deny"),
    **dict.fromkeys(("l", "later"), "later"),
    **dict.fromkeys(("q", "quit"), "quit"),
}
HELP: Final = (
    "a  accept: the agent may do it, once (so does y)",
    "d  decline: it is not offered again in this session (so does n)",
    "l  leave it open for later",
    "q  leave it open, stop here (so does Ctrl-C)",
)
ANSWERED: Final = {
    "allow": "accepted: the agent may do it now; tell it to go on",
    "deny": "declined: nothing is done, and it is not offered again in this session",
}
# What becomes of an offer, as people say it.
STATES: Final = {"pending": "open", "allowed": "accepted", "denied": "declined"}


def is_offer(view: "ApprovalView") -> bool:
    """Whether it is an offer, and no tool call that waits."""
    return view.kind == OFFER


def offer_pairs(view: "ApprovalView") -> list[tuple[str, object]]:
    """Everything about an offer."""
    told = view.resolution or {}
    by = f" by {view.resolved_by}" if view.resolved_by else ""
    when = f" {screen.ago(view.resolved_at_ms)}" if view.resolved_at_ms else ""
    return [
        ("offer", view.id),
        ("asks", visible(view.reason)),
        ("to", view.user_id),
        ("session", view.session_id),
        ("run", view.run_id),
        ("made", screen.ago(view.created_at_ms)),
        ("expires", screen.ahead(view.expires_at_ms) if view.state == "pending" else None),
        ("state", f"{STATES.get(view.state, view.state)}{by}{when}"),
        ("reason", told.get("reason")),
    ]


def offer_line(view: "ApprovalView") -> str:
    """An offer on one line; whose it is, where the reader cannot answer it."""
    whose = "" if view.actions else f" to {visible(view.user_id or 'nobody')}"
    return f"offer{whose}: {one_line(visible(view.reason), 120)}"


def settle_offer(
    client: "Client", person: Person, view: "ApprovalView"
) -> "tuple[ApprovalResolution, RunView] | None":
    """Show an offer and ask about it; what was said and the run, or None for later."""
    from understudy.wire.waiting import ApprovalResolution

    known = ("session", "run", "state")
    pairs = [pair for pair in offer_pairs(view) if pair[0] not in known]
    person.say(["", *screen.field_lines(pairs)])
    behavior = _ask(person)
    if behavior is None:
        person.say(["it stays open"])
        return None
    resolution = ApprovalResolution(request_id=view.id, behavior=behavior)
    run = client.approvals.resolve(view.run_id, [resolution])
    person.say([ANSWERED[behavior]])
    return resolution, run


def open_to_everybody(
    client: "Client", session_id: str, user_id: str | None
) -> "list[ApprovalView]":
    """What is offered to somebody in a session."""
    waiting = client.approvals.list(session_id=session_id)
    return [view for view in waiting if is_offer(view) and user_id in (None, view.user_id)]


def tell_open(offers: "Iterable[ApprovalView]") -> None:
    """Say what is offered, and how to answer."""
    for view in offers:
        note(offer_line(view))
        note(f"  {understudy()} approvals allow {view.id}")
        note(f"  {understudy()} approvals deny {view.id}")


def _ask(person: Person) -> Literal["allow", "deny"] | None:
    while True:
        typed = person.ask("[a]ccept  [d]ecline  [l]ater  [q]uit  [?] ").lower().rstrip(".!")
        match KEYS.get(typed):
            case "allow":
                return "allow"
            case "deny":
                return "deny"
            case "later":
                return None
            case "quit":
                raise Left
            case _:
                person.say(HELP)
