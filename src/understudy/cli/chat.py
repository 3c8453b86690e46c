"""`understudy chat`: a conversation with an agent in one session."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from understudy.cli import ids, inputs, screen
from understudy.cli.connection import DaemonConnection, command
from understudy.cli.decisions import (
    IN_REPLY,
    offer,
    offer_line,
    open_to_everybody,
    settle_offer,
    tell_open,
)
from understudy.cli.inputs import Asset, Attach, Attachment, upload
from understudy.cli.options import Locale
from understudy.cli.output import ExitCode, error_lines, note, understudy
from understudy.cli.person import Left, Person, read_line, somebody
from understudy.cli.requests import WAITING, tell_left
from understudy.cli.runs import finish
from understudy.cli.sessions import RECORD
from understudy.cli.transcript import Transcript, tell_candidates

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.client.streams import StreamEvent
    from understudy.learnings.candidates import ReviewItem
    from understudy.wire.approvals import ApprovalView
    from understudy.wire.runs import RunView
    from understudy.wire.runtime import RouteView
    from understudy.wire.sessions import CreateSession, SessionView

OFFLINE = "scripted"
# How long a message waits for the candidates of its run, once the reply is printed; capture may
# ask a model. At the prompt what comes later is told after the next message.
CAPTURE_WAIT_S: Final = 3.0
PROMPT_WAIT_S: Final = 1.0


@dataclass(slots=True, kw_only=True)
class StreamPlace:
    """The cursor of a run's stream."""

    last_event_id: str | None = None
    status: str = ""
    # The candidates captured from the run so far.
    candidate_ids: list[str] = field(default_factory=list)

    @property
    def offset(self) -> int:
        """The journal offset of the last event."""
        return int((self.last_event_id or "0").partition(".")[0])


class ChatConversation:
    """A conversation in one session; Ctrl-C interrupts the current run, not the session."""

    def __init__(
        self,
        client: "Client",
        session: "SessionView",
        *,
        route_id: str | None = None,
        locale: str | None = None,
        person: Person | None = None,
    ) -> None:
        self.client = client
        self.session = session
        # The route of all runs, overriding session and agent.
        self.route_id = route_id
        # The language of the daemon in these runs.
        self.locale = locale
        # The person who answers approvals and questions; None without a terminal.
        self.person = person
        # Assets that go with the next message.
        self._attached: list[str] = []
        # For whom this talks, once a run has told, and the offers that were pointed out.
        self._user_id: str | None = None
        self._pointed_out: set[str] = set()
        # The journal offset after which a run may still leave candidates.
        self._captured_after: int | None = None

    def introduce(self) -> None:
        """Print the session and the agent."""
        session = self.session
        route = self._route()
        where = _named(route) if route else "none"
        note(f"session {session.session_id} · agent {session.agent_id} · route {where}")
        if route is not None and route.provider == OFFLINE:
            note("offline: replies come from a script; set OPENAI_API_KEY for a real model")

    def attach(self, attachments: Sequence[Attachment]) -> None:
        """Attach files to the next message."""
        self._attached += upload(self.client, attachments) or ()

    def say(self, text: str, *, wait_s: float = PROMPT_WAIT_S) -> str:
        """Run a message, print the reply as it comes, and answer how the run ended or waits.

        What the session waits for comes first: a message would only queue behind it. Once the
        reply is printed, candidates of the run are waited for that long.
        """
        self._tell_late()
        if (waits := self.take_up()) is not None:
            note("not sent: the session waits for that first")
            return waits
        run = self.submit(text)
        ahead = self.client.sessions.get(self.session.session_id).snapshot.active_run_id
        if ahead not in (None, run.run_id):
            note(f"waiting for {ahead} to end")
        self._user_id = run.user_id
        place = StreamPlace()
        status = self._follow(run.run_id, place)
        self._point_out()
        self._tell_candidates(run.run_id, place, wait_s)
        return status

    def take_up_offers(self) -> bool:
        """Ask about what is offered in this session; False when nothing is."""
        offers = self._offers()
        self._pointed_out.update(view.id for view in offers)
        if self.person is None:
            tell_open(offers)
        elif offers:
            self.person.forget_typed()
            with suppress(Left):
                for view in offers:
                    settle_offer(self.client, self.person, view)
        return bool(offers)

    def waiting_run(self) -> "RunView | None":
        """The run of the session that waits for a person."""
        return self._waiting()[0]

    def take_up(self) -> str | None:
        """Offer what the session waits for and print how it goes on; its status if it waits on."""
        run, place = self._waiting()
        if run is None:
            return None
        if not self._settle(run.run_id):
            return run.status
        status = self._follow(run.run_id, StreamPlace(last_event_id=place))
        return status if status in WAITING else None

    def submit(self, text: str) -> "RunView":
        """Submit a run with a text and the attachments."""
        from understudy.wire.runs import SubmitInput

        wanted = inputs.request(
            SubmitInput,
            content=text,
            attachments=self._attached or None,
            provider=self.route_id,
            locale=self.locale,
        )
        run = self.client.runs.submit(self.session.session_id, wanted)
        self._attached = []
        return run

    def _offers(self) -> "list[ApprovalView]":
        return open_to_everybody(self.client, self.session.session_id, self._user_id)

    def _point_out(self) -> None:
        """Say what a run offered beside its reply; what stands in the reply was read there."""
        for view in self._offers():
            if view.origin != IN_REPLY and view.id not in self._pointed_out:
                self._pointed_out.add(view.id)
                note(f"{offer_line(view)}  /pending answers it ({view.id})")

    def _tell_candidates(self, run_id: str, place: StreamPlace, wait_s: float) -> None:
        """Say what a run left to review; capture may go on for longer than anybody waits."""
        from understudy.client import ClientError

        # The reply is complete, even if this fails.
        with suppress(ClientError, KeyboardInterrupt):
            if place.status == "completed":
                self._captured_after = place.offset
                if _is_captured(self.client, run_id, wait_s):
                    place.candidate_ids += self._late_candidates()
                    self._captured_after = None
        tell_candidates(place.candidate_ids)

    def _tell_late(self) -> None:
        """Say what the run before left to review after it was waited for."""
        if self._captured_after is not None:
            tell_candidates(self._late_candidates())
            self._captured_after = None

    def _late_candidates(self) -> list[str]:
        events = self.client.sessions.events(self.session.session_id, after=self._captured_after)
        return [
            candidate_id
            for event in events
            if event.kind == "candidates_added"
            for candidate_id in event.data.get("candidate_ids", ())
        ]

    def _follow(self, run_id: str, place: StreamPlace) -> str:
        """Print a run to its end; the first break interrupts it, a second one leaves it.

        What it waits for on the way is asked; if that is left open, the run is left waiting.
        """
        is_stopping = False
        with Transcript(run_id, on_wait=lambda: None) as transcript:
            while True:
                try:
                    has_ended = self._print(run_id, place, transcript)
                except KeyboardInterrupt:
                    transcript.end_line()
                    if is_stopping:
                        raise
                    is_stopping = True
                    self._stop(run_id)
                    continue
                if has_ended or not (is_stopping or self._settle(run_id)):
                    place.candidate_ids += transcript.candidate_ids
                    return place.status

    def _print(self, run_id: str, place: StreamPlace, transcript: Transcript) -> bool:
        """Print a run from a cursor on, until it has ended (True) or waits for a person."""
        from understudy.wire.events import RunUpdated

        for event in self.client.runs.stream(
            run_id, last_event_id=place.last_event_id, on_away=transcript.show_away
        ):
            place.last_event_id = event.id
            transcript.show(event)
            if isinstance(event.data, RunUpdated):
                place.status = event.data.status
            if begins_to_wait(event):
                return False
        return True

    def _waiting(self) -> "tuple[RunView | None, str]":
        """The run that waits for a person, and the event up to which the session is known."""
        # The session comes first: what happens to the run after that is still to be told.
        now = self.client.sessions.get(self.session.session_id).snapshot
        run = self.client.runs.get(now.active_run_id) if now.active_run_id else None
        waits = run is not None and run.status in WAITING
        return run if waits else None, str(now.journal_length)

    def _settle(self, run_id: str) -> bool:
        """Ask for what a run waits for; False when it is left waiting."""
        if self.person is not None:
            return offer(self.client, self.person, run_id)
        run = self.client.runs.get(run_id)
        if run.status not in WAITING:
            return True
        tell_left(run)
        return False

    def _stop(self, run_id: str) -> None:
        """Interrupt this run, or cancel it if it is queued; other runs of the session continue."""
        if self.client.runs.get(run_id).status == "queued":
            self.client.runs.cancel(run_id)
            note("cancelled before it began; the session goes on")
        else:
            self.client.sessions.interrupt(self.session.session_id)
            note("interrupting the run; the session goes on")

    def _route(self) -> "RouteView | None":
        policy = self.session.route_policy
        wanted = self.route_id or (policy.provider if policy else None)
        wanted = wanted or self.client.agents.get(self.session.agent_id).route
        routes = list(self.client.routes.list())
        if wanted:
            return next((route for route in routes if route.route_id == wanted), None)
        return next((route for route in routes if route.default), None)


def _is_captured(client: "Client", run_id: str, wait_s: float) -> bool:
    """Whether the candidates of a run are proposed within a time, or there will be none."""
    from understudy.client.errors import NotFoundError, WaitTimeout
    from understudy.client.poll_schedule import PollSchedule

    looks = PollSchedule(f"the capture of {run_id}", wait_s)
    try:
        while (state := client.run_memories.get(run_id).capture.state) == "pending":
            client.transport.retries.sleep(looks.pause(state))
    except WaitTimeout:
        return False
    except NotFoundError:
        # The run has no run memory, so nothing is captured from it.
        return True
    return True


def begins_to_wait(event: "StreamEvent") -> bool:
    """Whether an event says that from now on its run waits for a person."""
    from understudy.wire.events import RunUpdated

    return isinstance(event.data, RunUpdated) and event.data.event.get("type") in WAITING


def _named(route: "RouteView") -> str:
    is_one_name = route.model == route.route_id
    return route.route_id if is_one_name else f"{route.route_id} ({route.model})"


T = TypeVar("T")

ATTACH: Final = "/attach"
REMEMBER: Final = "/remember"
WITH_REST: Final = frozenset({ATTACH, REMEMBER})
# The longest note of a piece of evidence.
NOTE_CHARS: Final = 400
HELP: Final = """\
/attach PATH    send a file along with the next message
/remember TEXT  suggest something to be remembered; a review decides
/pending        answer what the session waits for, or an offer
/status         how the session stands
/new            go on in a new session
/quit           leave (so do Ctrl-D, and Ctrl-C at the prompt)
Ctrl-C while a reply comes interrupts the run, not the session; while you are asked
something it leaves the run waiting."""


@command()
def chat(
    daemon: DaemonConnection,
    ctx: typer.Context,
    message: Annotated[
        str | None, typer.Argument(metavar="[MESSAGE]", help="Say this and leave; `-` reads stdin.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="Go on in this session, or make it.")] = None,
    again: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on with your last session.")
    ] = False,
    agent: Annotated[str | None, typer.Option(help="Who answers.")] = None,
    persona: Annotated[str | None, typer.Option(help="The persona to bind.")] = None,
    route: Annotated[str | None, typer.Option(help="The route of what is said here.")] = None,
    locale: Locale = None,
    attach: Attach = None,
    asset: Asset = None,
) -> None:
    """Talk to an agent; with a MESSAGE, or with text on stdin, say that and leave."""
    from understudy.wire.sessions import CreateSession

    text = _one_shot(message)
    if text is None and daemon.as_json:
        raise typer.BadParameter("--json needs a MESSAGE, or text on stdin")
    if again and session is not None:
        raise typer.BadParameter("give --session or --continue, not both")
    attached = inputs.named(ctx, attach, asset)
    if again:
        session = ids.resolved(daemon.client, "session", ids.LAST, as_json=daemon.as_json)
    if route is not None:
        _check_route(daemon, route)
    wanted = inputs.request(CreateSession, session_id=session, agent_id=agent, persona_id=persona)
    conversation = _open(daemon, wanted, route, locale)
    conversation.attach(attached)
    if text is None:
        _talk(daemon, wanted, conversation)
    else:
        _say_once(daemon, conversation, text)


def _one_shot(message: str | None) -> str | None:
    if message is None and sys.stdin.isatty():
        return None
    text = sys.stdin.read() if message in (None, inputs.STDIN) else message
    if text is None or not text.strip():
        raise typer.BadParameter("there is nothing to say: the message is empty")
    return text


def _say_once(daemon: DaemonConnection, conversation: ChatConversation, text: str) -> None:
    if text.split(maxsplit=1)[0] == REMEMBER:
        made = _remember(conversation, text.strip().removeprefix(REMEMBER).strip())
        if made is None:
            raise typer.Exit(ExitCode.USAGE)
        if daemon.as_json:
            daemon.show_answer(made, RECORD)
        return
    if daemon.as_json:
        if (waiting := conversation.waiting_run()) is not None:
            finish(daemon, waiting)
        run = conversation.submit(text)
        finish(daemon, daemon.client.runs.wait_settled(run.run_id))
        return
    conversation.introduce()
    status = conversation.say(text, wait_s=CAPTURE_WAIT_S)
    if status != "completed":
        raise typer.Exit(ExitCode.REFUSED if status in WAITING else ExitCode.FAILED)


def _talk(
    daemon: DaemonConnection, wanted: "CreateSession", conversation: ChatConversation
) -> None:
    conversation.introduce()
    note("/help lists what you can type beside messages")
    _attempt(daemon, conversation.take_up)
    while (line := _prompt()) is not None:
        if line.startswith("/"):
            if line == "/quit":
                return
            conversation = _command(daemon, conversation, wanted, line)
        elif line:
            _attempt(daemon, partial(conversation.say, line))


def _prompt() -> str | None:
    """A line from the terminal; None at the end of input."""
    try:
        return read_line("> ")
    except (EOFError, KeyboardInterrupt):
        print()
        return None


def _command(
    daemon: DaemonConnection, conversation: ChatConversation, wanted: "CreateSession", line: str
) -> ChatConversation:
    client, session_id = daemon.client, conversation.session.session_id
    word, _, rest = line.partition(" ")
    commands: Mapping[str, Callable[[], object]] = {
        "/help": lambda: note(HELP),
        ATTACH: lambda: _attach(conversation, rest.strip()),
        REMEMBER: lambda: _remember(conversation, rest.strip()),
        "/pending": lambda: _take_up(conversation),
        "/status": lambda: daemon.show_answer(client.sessions.get(session_id), RECORD),
    }
    if line == "/new":
        fresh = wanted.model_copy(update={"session_id": None})
        return _attempt(daemon, lambda: _begin(daemon, fresh, conversation)) or conversation
    known = word if word in WITH_REST else line
    _attempt(daemon, commands.get(known, lambda: note(f"{line} is not known; /help lists what is")))
    return conversation


def _attach(conversation: ChatConversation, path: str) -> None:
    """Read and upload a file; errors are printed at once."""
    if not path:
        note("give the path of a file after /attach")
        return
    try:
        file = inputs.read(Path(path).expanduser())
    except (typer.BadParameter, RuntimeError) as problem:
        note(f"error: {problem}")
        return
    conversation.attach([file])
    note(f"{file.name} ({screen.count(len(file.data), 'byte')}) goes with your next message")


def _remember(conversation: ChatConversation, text: str) -> "ReviewItem | None":
    """Propose a typed text for the session, and say where it is reviewed; None if it says nothing."""
    from understudy.learnings.non_statements import says_nothing
    from understudy.learnings.remember import kind_of
    from understudy.wire.learnings import CreateCandidate

    if says_nothing(text):
        note("give a statement to remember after /remember")
        return None
    session_id, candidates = conversation.session.session_id, conversation.client.candidates
    wanted = inputs.request(
        CreateCandidate,
        scope={"kind": "session", "id": session_id},
        kind=str(kind_of(text)),
        content=text,
        source={"session_id": session_id, "agent_id": conversation.session.agent_id},
        evidence_refs=[{"note": screen.one_line(f"{REMEMBER} {text}", NOTE_CHARS)}],
    )
    made = candidates.get(candidates.create(wanted).candidate_id)
    same, contrary = made.duplicate_of, made.conflicts_with or next(iter(made.contradicts), None)
    known = f"; {same.learning_id} says the same already" if same else ""
    if contrary is not None:
        known = f"; it contradicts {contrary.learning_id}, review replaces it or keeps both"
    note(f"suggested to remember{known}: {understudy()} review next")
    return made


def _take_up(conversation: ChatConversation) -> None:
    """Ask for what a run waits for; where none does, about what is offered."""
    if conversation.waiting_run() is not None:
        conversation.take_up()
    elif not conversation.take_up_offers():
        note("nothing waits for you")


def _check_route(daemon: DaemonConnection, route: str) -> None:
    """Refuse an unknown route before a session is made for it."""
    known = [each.route_id for each in daemon.client.routes.list()]
    if route not in known:
        raise typer.BadParameter(f"there is no route {route!r}; the routes are: {', '.join(known)}")


def _open(
    daemon: DaemonConnection, wanted: "CreateSession", route: str | None, locale: str | None
) -> ChatConversation:
    session = daemon.client.sessions.create(wanted)
    return ChatConversation(
        daemon.client, session, route_id=route, locale=locale, person=somebody()
    )


def _begin(
    daemon: DaemonConnection, wanted: "CreateSession", like: ChatConversation
) -> ChatConversation:
    conversation = _open(daemon, wanted, like.route_id, like.locale)
    conversation.introduce()
    return conversation


def _attempt(daemon: DaemonConnection, do: Callable[[], T]) -> T | None:
    """Run an action; errors are printed, and the conversation continues."""
    from understudy.client import ClientError

    try:
        return do()
    except ClientError as problem:
        for text in error_lines(problem, has_token=daemon.has_token):
            note(text)
    except KeyboardInterrupt:
        print()
    return None
