"""`understudy sessions`: durable conversations, their sidechains, tasks and checkpoints."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.inputs import Asset, Attach
from understudy.cli.options import Key, Locale, SessionId, Text, TextFile
from understudy.cli.output import ExitCode, note, print_json
from understudy.cli.requests import leave_waiting
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.sessions.model import ActiveSkill
    from understudy.wire.sessions import SessionView


commands = Commands("Sessions: durable conversations, each of one agent.")


def _state(view: "SessionView") -> str:
    now = view.snapshot
    if now.active_run_id:
        return f"busy, {now.queued_runs} queued" if now.queued_runs else "busy"
    return now.status


def _persona(view: "SessionView") -> str | None:
    persona = view.persona
    return f"{persona.persona_id} v{persona.persona_version}" if persona else None


def _skill(active: "ActiveSkill") -> str:
    return active.slug if active.version is None else f"{active.slug} v{active.version}"


RECORD: Final[screen.Layout] = {
    "session": "session_id",
    "agent": "agent_id",
    "state": _state,
    "ended because": "ended_reason",
    "persona": _persona,
    "active skills": lambda view: [_skill(each) for each in view.active_skills or []],
    "route": "route_policy.provider",
    "generation": "route_policy.generation",
    "parent": "parent_session_id",
    "thread": "thread_id",
    "capability scope": "capability_scope",
    "effective": "effective_capability_scope",
    "credential scope": "credential_scope",
    "reply targets": lambda view: [f"{to.plugin}:{to.address}" for to in view.reply_targets or []],
    "journal": lambda view: screen.count(view.snapshot.journal_length, "event"),
    "created": "created_at_ms",
    "changed": "updated_at_ms",
}
SESSIONS_COLUMNS: Final[screen.Layout] = {
    "session": "session_id",
    "agent": "agent_id",
    "state": _state,
    "persona": "persona.persona_id",
    "changed": "updated_at_ms",
    "first input": "title",
}


@commands("create", show=lambda view: print(view.session_id))
def create(
    daemon: DaemonConnection,
    session_id: Annotated[
        str | None, typer.Argument(metavar="[SESSION]", help="An id of your own.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="Who works in it; `default` if left out.")
    ] = None,
    persona: Annotated[str | None, typer.Option(help="The persona to copy into it.")] = None,
    parent: Annotated[str | None, typer.Option(help="Make it a sidechain of this session.")] = None,
    thread: Annotated[str | None, typer.Option(help="An id of your own for the thread.")] = None,
    key: Key = None,
) -> object:
    """Create a session, or reuse the one with that id."""
    from understudy.wire.sessions import CreateSession

    wanted = inputs.request(
        CreateSession,
        session_id=session_id,
        agent_id=agent,
        persona_id=persona,
        parent_session_id=parent,
        thread_id=thread,
    )
    return daemon.client.sessions.create(wanted, key=key)


@commands("interrupt")
def interrupt(daemon: DaemonConnection, session_id: SessionId) -> None:
    """Stop the run that is going on; the session goes on."""
    answer = daemon.client.sessions.interrupt(session_id)
    said = "the run is being interrupted" if answer.interrupted else "no run was going on"
    daemon.show(lambda: note(said))


@commands("input")
def send_input(
    daemon: DaemonConnection,
    ctx: typer.Context,
    session_id: SessionId,
    text: Text = None,
    file: TextFile = None,
    route: Annotated[str | None, typer.Option(help="The route of this run.")] = None,
    locale: Locale = None,
    attach: Attach = None,
    asset: Asset = None,
    key: Key = None,
) -> None:
    """Run an input at once and print the reply; refused while the session is busy."""
    from understudy.client.poll_schedule import WAITING_STATUSES
    from understudy.wire.runs import SubmitInput

    attached = inputs.named(ctx, attach, asset)
    content = inputs.content_beside(text, file, attached)
    sent = inputs.upload(daemon.client, attached)
    wanted = inputs.request(
        SubmitInput, content=content, attachments=sent, provider=route, locale=locale
    )
    view = daemon.client.sessions.input(session_id, wanted, key=key)
    last = view.snapshot.last_run
    daemon.show(lambda: _print_reply(view))
    if last is not None and last.status in WAITING_STATUSES:
        raise leave_waiting(daemon.client.runs.get(last.run_id))
    if last is not None and last.status != "completed":
        note(f"run {last.run_id} {last.status}" + (f": {last.error}" if last.error else ""))
        raise typer.Exit(ExitCode.FAILED)


EVENTS_COLUMNS: Final[screen.Layout] = {
    "offset": "offset",
    "when": "at_ms",
    "kind": "kind",
    "run": "run_id",
    "what": lambda event: screen.summary(event.data),
}


@commands("stream")
def stream(
    daemon: DaemonConnection,
    session_id: SessionId,
    after: Annotated[str | None, typer.Option(help="Begin after this event id.")] = None,
) -> None:
    """Print what happens in a session, as it happens."""
    for event in daemon.client.sessions.stream(session_id, last_event_id=after):
        if daemon.as_json:
            print_json({"id": event.id, "event": event.name, "data": event.raw})
        else:
            print(f"{event.name}  {screen.summary(event.raw)}", flush=True)


def _print_reply(view: "SessionView") -> None:
    last = view.snapshot.last_run
    for output in view.outputs:
        if last is None or output.run_id in (None, last.run_id):
            print(screen.printable(output.text))


SIDECHAINS_COLUMNS: Final[screen.Layout] = {
    "session": "session_id",
    "label": "label",
    "agent": "agent_id",
    "state": lambda item: item.last_run.status if item.last_run else item.status,
    "changed": "updated_at_ms",
}


TaskName = Annotated[str, typer.Argument(metavar="TASK", help="The task's number or id.")]
STATUSES = "`pending`, `in_progress`, `blocked`, `completed`, `failed` or `cancelled`."
Title = Annotated[str, typer.Argument(metavar="TITLE", help="What is to be done, in one line.")]
Description = Annotated[str | None, typer.Option(help="More about it.")]
After = Annotated[
    list[str] | None,
    typer.Option(help="Number or id of a task to be completed first; repeatable."),
]


TASKS_COLUMNS: Final[screen.Layout] = {
    "task": "number",
    "status": "status",
    "waits for": lambda item: len(item.waits_for) or None,
    "title": "title",
    "id": "task_id",
}


TASK: Final[screen.Layout] = {
    "task": "number",
    "id": "task_id",
    "title": "title",
    "status": "status",
    "description": "description",
    "depends on": "depends_on",
    "waits for": "waits_for",
    "made by": "created_by",
    "run": "run_id",
    "changed": "updated_at_ms",
}


@commands("show-task", show=TASK)
def show_task(daemon: DaemonConnection, session_id: SessionId, task: TaskName) -> object:
    """Show a task of a session."""
    return daemon.client.tasks.get(session_id, task)


@commands("add-task", show=TASK)
def add_task(
    daemon: DaemonConnection,
    session_id: SessionId,
    title: Title,
    description: Description = None,
    after: After = None,
    key: Key = None,
) -> object:
    """Add a task to a session."""
    from understudy.wire.tasks import CreateTask

    wanted = inputs.request(CreateTask, title=title, description=description, depends_on=after)
    return daemon.client.tasks.create(session_id, wanted, key=key)


@commands("update-task", show=TASK)
def update_task(
    daemon: DaemonConnection,
    session_id: SessionId,
    task: TaskName,
    status: Annotated[str | None, typer.Option(help=STATUSES)] = None,
    title: Annotated[str | None, typer.Option(help="What is to be done, in one line.")] = None,
    description: Description = None,
    after: After = None,
) -> object:
    """Change a task of a session."""
    from understudy.wire.tasks import UpdateTask

    changes = inputs.change(
        UpdateTask, title=title, description=description, status=status, depends_on=after
    )
    return daemon.client.tasks.update(session_id, task, changes)


@commands("stop-task", show=TASK)
def stop_task(daemon: DaemonConnection, session_id: SessionId, task: TaskName) -> object:
    """Cancel a task of a session."""
    return daemon.client.tasks.stop(session_id, task)


CHECKPOINTS_COLUMNS: Final[screen.Layout] = {
    "offset": "offset",
    "made": "at_ms",
    "stands for": lambda item: f"1–{item.upto_offset}",
    "tokens": lambda item: f"{item.tokens_before} → {item.tokens_after}",
    "summary": "summary",
}


declare(
    commands,
    Verb(
        names="list",
        call="sessions.page",
        show=SESSIONS_COLUMNS,
        empty="No sessions yet. `{understudy} chat` or `{understudy} sessions create` makes one.",
    ),
    Verb(names="show get", call="sessions.get", show=RECORD),
    Verb(
        names="bindings",
        call="sessions.bindings_page",
        show={"key": "binding_key", "bound by": "bound_by", "since": "created_at_ms"},
        empty="No key stands for this session. `runs submit --binding-key KEY` binds one.",
    ),
    Verb(names="end", call="sessions.end", show="session {session_id} has ended"),
    Verb(
        names="events",
        call="sessions.events_page",
        show=EVENTS_COLUMNS,
        empty="Nothing has happened yet.",
    ),
    Verb(
        names="sidechains",
        call="sessions.sidechains_page",
        show=SIDECHAINS_COLUMNS,
        empty="No sidechains.",
    ),
    Verb(names="tasks", call="tasks.page", show=TASKS_COLUMNS, empty="No tasks."),
    Verb(
        names="checkpoints",
        call="checkpoints.page",
        show=CHECKPOINTS_COLUMNS,
        empty="No checkpoints: the whole session still fits the model's window.",
    ),
)
