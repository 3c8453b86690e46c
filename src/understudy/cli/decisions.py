"""Interactive decisions, one by one: tool calls, offers and questions."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from understudy.cli import screen
from understudy.cli.answers import ask_questions
from understudy.cli.inputs import NotAnObject, parse_object
from understudy.cli.output import error_lines, note, understudy
from understudy.cli.person import Left, Person
from understudy.cli.requests import (
    DECIDED,
    approval_lines,
    call_lines,
    diff_lines,
    outlook,
    question_pairs,
)
from understudy.cli.screen import field_lines, visible, visible_line

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.wire.approvals import ApprovalResolution, ApprovalView, QuestionView
    from understudy.wire.runs import RunView

# Whole words or their first letter, so that a sentence typed by mistake decides nothing.
KEYS: Final = {
    "a": "allow",
    "y": "allow",
    "yes": "allow",
    "e": "edit",
    "r": "deny",
    "d": "deny",
    "n": "deny",
    "no": "deny",
    "v": "view",
    "w": "skip",
    "j": "skip",
    "q": "quit",
    "?": "help",
    "": "help",
}
HELP: Final = (
    "a  let it run (so does y)",
    "e  change what it is called with, then decide",
    "d  do not let it run; the model is told why (so do n and r)",
    "v  show everything it is called with",
    "w  leave it waiting, show the next (so does j)",
    "q  leave it waiting, stop here (so does Ctrl-C)",
)
OFFER: Final = "offer"
# Where an offer comes from that its reader has seen below a reply.
IN_REPLY: Final = "postscript"
# Whole words or their first letter; what a reply to the agent would be is understood as well.
OFFER_KEYS: Final = {
    **dict.fromkeys(("a", "y", "yes", "accept", "allow", "save", "save as skill"), "allow"),
    **dict.fromkeys(("r", "d", "n", "no", "decline", "deny", "skip"), "deny"),
    **dict.fromkeys(("w", "l", "later"), "later"),
    **dict.fromkeys(("q", "quit"), "quit"),
}
OFFER_HELP: Final = (
    "a  accept: the agent may do it, once (so does y)",
    "d  decline: it is not offered again in this session (so do n and r)",
    "w  leave it open for later (so does l)",
    "q  leave it open, stop here (so does Ctrl-C)",
)
ANSWERED: Final = {
    "allow": "accepted: the agent may do it now; tell it to go on",
    "deny": "declined: nothing is done, and it is not offered again in this session",
}
# The states of an offer in words.
STATES: Final = {"pending": "open", "allowed": "accepted", "denied": "declined"}


class CallDecision:
    """The dialog about one tool call."""

    def __init__(self, person: Person, view: "ApprovalView") -> None:
        self._person = person
        self._view = view
        self._updated: dict[str, Any] | None = None
        # The last edited text, valid or not: the next edit starts with it.
        self._draft = json.dumps(view.input, indent=2, ensure_ascii=False)

    def ask(self) -> "ApprovalResolution | None":
        """The resolution that the person chooses; None to skip the call. Raises `Left` to quit."""
        while True:
            match self._key():
                case "allow":
                    return self._allow()
                case "deny":
                    if (denied := self._deny()) is not None:
                        return denied
                case "edit":
                    self._edit()
                case "view":
                    self._person.say(call_lines(self._current))
                case "skip":
                    return None
                case "quit":
                    raise Left
                case "help":
                    self._person.say(HELP)
                case other:
                    self._person.say([f"{visible_line(other, 40)!r} is not understood", *HELP])

    @property
    def _current(self) -> Mapping[str, Any]:
        return self._view.input if self._updated is None else self._updated

    def _key(self) -> str:
        allow = "[a]llow" if self._updated is None else "[a]llow as edited"
        typed = self._person.ask(
            f"{allow}  [e]dit  [d]eny  [v]iew  [w] later  [q]uit  [?] "
        ).lower()
        return KEYS.get(typed, typed)

    def _allow(self) -> "ApprovalResolution":
        from understudy.client.calls import given
        from understudy.wire.approvals import ApprovalResolution

        fields = given(updated_input=self._updated)
        return ApprovalResolution(request_id=self._view.id, behavior="allow", **fields)

    def _deny(self) -> "ApprovalResolution | None":
        from understudy.wire.approvals import ApprovalResolution

        reason = self._person.ask("why not (the model is told): ")
        if not reason:
            self._person.say(["not denied: a reason is needed"])
            return None
        return ApprovalResolution(request_id=self._view.id, behavior="deny", reason=reason)

    def _edit(self) -> None:
        edited = self._person.edit(self._draft)
        if edited is None:
            self._person.say(["now:  " + json.dumps(self._current)])
            edited = self._person.ask("new arguments as a JSON object, empty for no change: ")
        if not edited.strip():
            return
        self._draft = edited
        try:
            value = parse_object(edited)
        except NotAnObject as problem:
            self._person.say([f"what was written {problem}; e edits it again"])
            return
        self._updated = None if value == self._view.input else value
        self._person.say(diff_lines(self._view.input, value) or ["nothing changed"])


def settle(
    client: "Client", person: Person, view: "ApprovalView", run: "RunView | None" = None
) -> "tuple[ApprovalResolution, RunView] | None":
    """Show a tool call, or an offer, and ask about it; what was decided and the run, or None for later."""
    from understudy.client.errors import InvalidError

    if is_offer(view):
        return settle_offer(client, person, view)
    if view.input_cut:
        # The person must see the whole input.
        view = client.approvals.get(view.id)
    person.say(["", *approval_lines(view, run)])
    decision = CallDecision(person, view)
    while (resolution := decision.ask()) is not None:
        try:
            return resolution, client.approvals.resolve(view.run_id, [resolution])
        except InvalidError as problem:
            # The edit is kept, so that it can be corrected.
            person.say(error_lines(problem))
    return None


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
    return f"offer{whose}: {visible_line(view.reason, 120)}"


def settle_offer(
    client: "Client", person: Person, view: "ApprovalView"
) -> "tuple[ApprovalResolution, RunView] | None":
    """Show an offer and ask about it; what was said and the run, or None for later."""
    from understudy.wire.approvals import ApprovalResolution

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
    """The open offers of a session; with a user, only theirs."""
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
        typed = person.ask("[a]ccept  [d]ecline  [w] later  [q]uit  [?] ").lower().rstrip(".!")
        match OFFER_KEYS.get(typed):
            case "allow":
                return "allow"
            case "deny":
                return "deny"
            case "later":
                return None
            case "quit":
                raise Left
            case _:
                person.say(OFFER_HELP)


SAID: Final = {"allow": "accepted", "deny": "declined"}
SKIP: Final = "/skip"
# The outcome of one request and its run, if one waited for it; None if skipped.
Done: TypeAlias = "tuple[str, RunView | None] | None"
Step: TypeAlias = "Callable[[], Done]"


class Review:
    """An interactive review of open requests."""

    def __init__(self, client: "Client", person: Person) -> None:
        self._client = client
        self._person = person
        self._runs: dict[str, RunView] = {}
        self._tally: Counter[str] = Counter()

    def approvals(self, pending: Iterable["ApprovalView"]) -> None:
        """Ask about each tool call and offer, until there is none or the person has enough."""
        self._go_through(partial(self._decide, view) for view in pending)

    def questions(self, pending: Iterable["QuestionView"]) -> None:
        """Ask each question, until there is none or the person has enough."""
        self._person.say([f"{SKIP} leaves a question for later, Ctrl-C all that are left"])
        self._go_through(partial(self._answer, view) for view in pending)

    def _go_through(self, steps: Iterable[Step]) -> None:
        rest = ""
        try:
            for step in steps:
                self._take(step)
        except Left:
            rest = "; the rest goes on waiting"
        counts = ", ".join(f"{number} {what}" for what, number in self._tally.items())
        self._person.say([(counts or "nothing decided") + rest])

    def _take(self, step: Step) -> None:
        from understudy.client import errors

        self._person.forget_typed()
        try:
            done = step()
        except (
            errors.ConflictError,
            errors.InvalidError,
            errors.NotFoundError,
            errors.ForbiddenError,
        ) as problem:
            self._tally["failed"] += 1
            self._person.say(error_lines(problem))
            return
        if done is None:
            self._tally["skipped"] += 1
            return
        what, run = done
        self._tally[what] += 1
        if run is not None:
            self._person.say([outlook(run)])

    def _decide(self, view: "ApprovalView") -> "Done":
        settled = settle(self._client, self._person, view, self._run(view.run_id))
        if settled is None:
            return None
        if is_offer(view):
            return SAID[settled[0].behavior], None
        return DECIDED[settled[0].behavior], settled[1]

    def _answer(self, view: "QuestionView") -> "Done":
        asked = {question.id for question in view.questions} | {"state"}
        about = [
            pair for pair in question_pairs(view, self._run(view.run_id)) if pair[0] not in asked
        ]
        self._person.say(["", *field_lines(about)])
        try:
            resolution = ask_questions(_MaySkip(self._person), view)
        except _Skipped:
            return None
        run = self._client.questions.resolve(view.run_id, resolution)
        return "declined" if resolution.declined else "answered", run

    def _run(self, run_id: str) -> "RunView":
        if run_id not in self._runs:
            self._runs[run_id] = self._client.runs.get(run_id)
        return self._runs[run_id]


class _Skipped(Exception):
    """The person leaves this one for later."""


class _MaySkip:
    """A person who may also leave a question for later."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self.say = person.say
        self.edit = person.edit
        self.key = person.key
        self.forget_typed = person.forget_typed

    def ask(self, prompt: str) -> str:
        """One line, unless it skips the question."""
        typed = self._person.ask(prompt)
        if typed == SKIP:
            raise _Skipped
        return typed


def offer(client: "Client", person: Person, run_id: str) -> bool:
    """Ask about every open request of a run; False if one stays open."""
    from understudy.client.errors import ConflictError, InvalidError, NotFoundError

    person.forget_typed()
    while True:
        run = client.runs.get(run_id)
        try:
            if not _offer_one(client, person, run):
                return True
        except (Left, KeyboardInterrupt):
            person.say(_come_back(run))
            return False
        except (ConflictError, InvalidError, NotFoundError) as problem:
            # Another caller may have answered first, or the daemon refused the answer.
            person.say(error_lines(problem))


def _offer_one(client: "Client", person: Person, run: "RunView") -> bool:
    """Ask about the first open request of a run; False if there is none."""
    if run.pending_approvals:
        if settle(client, person, run.pending_approvals[0]) is None:
            raise Left
        return True
    if run.pending_questions:
        question = run.pending_questions[0]
        client.questions.resolve(run.run_id, ask_questions(person, question))
        return True
    return False


def _come_back(run: "RunView") -> list[str]:
    return [
        f"run {run.run_id} goes on waiting; /pending asks again,",
        f"so does `{understudy()} chat --session {run.session_id}` whenever you come back",
    ]
