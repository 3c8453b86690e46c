"""`understudy runs`: execution requests in sessions, their outputs and deliveries."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.inputs import Asset, Attach
from understudy.cli.memory import capture_line
from understudy.cli.options import (
    TARGET_HELP,
    Key,
    Locale,
    PageOptions,
    RunId,
    SessionId,
    Text,
    TextFile,
)
from understudy.cli.output import ExitCode, note, print_json, understudy
from understudy.cli.requests import WaitNotice, leave_waiting, need_lines, requests_of, tell_waiting
from understudy.cli.table import Verb, declare
from understudy.cli.transcript import remembered_line

if TYPE_CHECKING:
    from understudy.core.page import Page
    from understudy.deliveries.model import DeliveryLog, Try
    from understudy.wire.runs import RunCounts, RunView

commands = Commands("Runs: execution requests in sessions, one at a time in each.")
ARTIFACTS_COLUMNS: Final[screen.Layout] = {
    "artifact": "artifact_id",
    "tool": "tool_name",
    "bytes": "size",
    "made": "created_at_ms",
}


def _state(run: "RunView") -> str:
    words = run.status.replace("_", " ")
    return f"{words} (position {run.queued_position})" if run.queued_position else words


RUNS_COLUMNS: Final[screen.Layout] = {
    "run": "run_id",
    "status": _state,
    "submitted": "submitted_at_ms",
    "took": lambda run: screen.lasted(run.started_at_ms, run.finished_at_ms),
    "session": "session_id",
    "input": lambda run: run.request.text_preview or "",
}
RECORD: Final[screen.Layout] = {
    "run": "run_id",
    "session": "session_id",
    "agent": "agent_id",
    "status": _state,
    "waits for": lambda run: "\n".join(
        line for each in requests_of(run) for line in need_lines(each)
    ),
    "error": "error",
    "route": "request.provider",
    "model": "request.model",
    "locale": "locale",
    "submitted": "submitted_at_ms",
    "took": lambda run: screen.lasted(run.started_at_ms, run.finished_at_ms),
    "calls": lambda run: f"{run.usage.model_calls} model, {run.usage.tool_calls} tool",
    "tokens": lambda run: f"{run.usage.input_tokens} in, {run.usage.output_tokens} out",
    "deliveries": lambda run: [f"{to.plugin}:{to.address} {to.status}" for to in run.deliveries],
    "input": "request.text_preview",
    "output": lambda run: "\n".join(output.text for output in run.outputs),
    "remembered": lambda run: remembered_line(run.remembered) if run.remembered else None,
}


@commands("list")
def list_runs(
    daemon: DaemonConnection,
    page: PageOptions,
    session: Annotated[str | None, typer.Option(help="Only those of a session.")] = None,
    status: Annotated[str | None, typer.Option(help="Only those in a status.")] = None,
) -> None:
    """List runs, newest first."""
    found = daemon.client.runs.page(session_id=session, status=status, **page)
    # Whoever asked for one session knows which it is.
    hidden = "session" if session else None
    columns = {label: source for label, source in RUNS_COLUMNS.items() if label != hidden}
    empty = "No runs yet. `{understudy} runs submit SESSION TEXT` makes one."
    daemon.show_answer(found, columns, empty)


def _counted(found: "RunCounts") -> screen.Pairs:
    by_status = [(status.replace("_", " "), count) for status, count in found.statuses.items()]
    return [*by_status, ("all", found.total)]


@commands("show", "get")
def show(daemon: DaemonConnection, run_id: RunId) -> None:
    """Show a run, what it answered and what was learned from it."""
    run = daemon.client.runs.get(run_id)
    layout = RECORD
    if run.finished_at_ms is not None and not daemon.as_json:
        layout = {**RECORD, "capture": lambda _: _captured(daemon, run_id)}
    daemon.show_answer(run, layout)


def _captured(daemon: DaemonConnection, run_id: str) -> str | None:
    """What capture made of a run; None where no run memory is kept."""
    from understudy.client.errors import NotFoundError

    try:
        return capture_line(daemon.client.run_memories.get(run_id).capture)
    except NotFoundError:
        return None


@commands("submit")
def submit(
    daemon: DaemonConnection,
    ctx: typer.Context,
    session_id: SessionId,
    text: Text = None,
    file: TextFile = None,
    route: Annotated[str | None, typer.Option(help="The route of this run.")] = None,
    model: Annotated[str | None, typer.Option(help="The model of this run.")] = None,
    max_tool_iterations: Annotated[
        int | None, typer.Option(help="The most rounds of tool calls.")
    ] = None,
    debug_level: Annotated[
        str | None, typer.Option(help="Keep provider requests: off, requests or full.")
    ] = None,
    reply_target: Annotated[
        list[str] | None, typer.Option(metavar="TARGET", help=f"{TARGET_HELP} Repeatable.")
    ] = None,
    binding_key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Let a key stand for the session. Repeatable."),
    ] = None,
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="Kept with the run.")] = None,
    locale: Locale = None,
    attach: Attach = None,
    asset: Asset = None,
    key: Key = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the end, print the reply.")
    ] = False,
) -> None:
    """Queue a run in a session."""
    from understudy.wire.runs import SubmitInput

    attached = inputs.named(ctx, attach, asset)
    fields = {
        "content": inputs.content_beside(text, file, attached),
        "provider": route,
        "generation": {"model": model} if model else None,
        "max_tool_iterations": max_tool_iterations,
        "debug_level": debug_level,
        "reply_targets": inputs.reply_targets(reply_target),
        "binding_keys": binding_key or None,
        "metadata": inputs.json_object(metadata, "--metadata"),
        "locale": locale,
    }
    sent = inputs.upload(daemon.client, attached)
    wanted = inputs.request(SubmitInput, **fields, attachments=sent)
    run = daemon.client.runs.submit(session_id, wanted, key=key)
    if wait:
        finish(daemon, daemon.client.runs.wait(run.run_id, on_look=WaitNotice().look))
        return
    daemon.show(lambda: print(run.run_id))
    if not daemon.as_json:
        note(f"{_state(run)}; follow it with `{understudy()} runs watch {run.run_id}`")


@commands("wait")
def wait_for(
    daemon: DaemonConnection,
    run_id: RunId,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="Give up after this many seconds.")
    ] = None,
) -> None:
    """Wait until a run has ended and print its reply; fails unless it completed.

    While the run waits for a person it says for what, and goes on waiting.
    """
    run = daemon.client.runs.wait(run_id, timeout_s=timeout, on_look=WaitNotice().look)
    finish(daemon, run)


@commands("watch", "stream")
def watch(
    daemon: DaemonConnection,
    run_id: RunId,
    after: Annotated[str | None, typer.Option(help="Begin after this event id.")] = None,
) -> None:
    """Follow a run from its start to its end; fails unless it completed."""
    from understudy.cli.transcript import Transcript, tell_candidates
    from understudy.wire.events import RunUpdated

    status = ""
    with Transcript(run_id, on_wait=lambda: _tell_needs(daemon, run_id)) as transcript:
        stream = daemon.client.runs.stream
        for event in stream(run_id, last_event_id=after, on_away=transcript.show_away):
            if daemon.as_json:
                print_json({"id": event.id, "event": event.name, "data": event.raw})
            else:
                transcript.show(event)
            if isinstance(event.data, RunUpdated):
                status = event.data.status
        tell_candidates(transcript.candidate_ids)
        if status != "completed":
            raise typer.Exit(ExitCode.FAILED)


EVENTS_COLUMNS: Final[screen.Layout] = {
    "when": lambda item: screen.ago(item.timestamp_ms),
    "what": lambda item: screen.summary(item.event),
}


DEBUG_COLUMNS: Final[screen.Layout] = {
    "artifact": "artifact_id",
    "step": "step",
    "attempt": "attempt",
    "when": "at_ms",
    "request": lambda item: screen.compact(item.request),
}


def finish(daemon: DaemonConnection, run: "RunView") -> None:
    """Print a run that has ended or waits; anything but `completed` is a failure."""
    from understudy.client.poll_schedule import WAITING_STATUSES

    daemon.show(lambda: _print_outputs(run))
    if run.status in WAITING_STATUSES:
        raise leave_waiting(run)
    if run.status != "completed":
        note(f"run {run.run_id} {run.status}" + (f": {run.error}" if run.error else ""))
        raise typer.Exit(ExitCode.FAILED)


def _tell_needs(daemon: DaemonConnection, run_id: str) -> None:
    from understudy.client import UnavailableError, UnreachableError

    # Without an answer the stream knows what to do.
    with suppress(UnreachableError, UnavailableError):
        tell_waiting(daemon.client.runs.get(run_id))


def _print_outputs(run: "RunView") -> None:
    for output in run.outputs:
        print(screen.printable(output.text))


def rows_of(item: "DeliveryLog") -> list[tuple[object, ...]]:
    """A line for each try, the last one with the next; one that was not tried has its own line."""
    target = f"{item.plugin}:{item.address}"
    about = (item.delivery_id or "–", item.status)
    upcoming = screen.ahead(item.next_attempt_at_ms)
    if not item.tries:
        never = (item.attempts, screen.ago(None), "–")
        return [(*about, *never, target, upcoming, item.last_error)]
    *earlier, last = item.tries
    return [
        (*about, each.attempt, screen.ago(each.at_ms), _outcome(each), target, after, each.error)
        for each, after in (*((each, None) for each in earlier), (last, upcoming))
    ]


def _outcome(each: "Try") -> str:
    return f"{each.outcome} ({each.status_code})" if each.status_code else each.outcome


def _show_deliveries(page: "Page[DeliveryLog]") -> None:
    rows = [row for item in page.items for row in rows_of(item)]
    columns = ("delivery", "status", "try", "when", "outcome", "target", "next try", "why")
    screen.table(columns, rows, empty="This run has no reply targets.")


@commands(
    "artifacts",
    show=ARTIFACTS_COLUMNS,
    empty="No tool of this run answered more than the model was shown.",
)
def artifacts(
    daemon: DaemonConnection,
    page: PageOptions,
    run_id: RunId,
    artifact_id: Annotated[
        str | None, typer.Argument(metavar="[ARTIFACT]", help="Print the text of this one.")
    ] = None,
) -> object:
    """List the long answers of a run's tools, of which the model was shown a part; or print one.

    Admins can also print a captured request, as `runs debug` lists, and an input file.
    """
    if artifact_id is not None:
        text = daemon.client.runs.artifact(run_id, artifact_id)
        # The API answers with the text itself, which is no JSON.
        daemon.answer = {"run_id": run_id, "artifact_id": artifact_id, "text": text}
        daemon.show(lambda: screen.document(text))
        return None
    return daemon.client.runs.artifacts_page(run_id, **page)


declare(
    commands,
    Verb(names="counts", call="runs.counts", show=_counted),
    Verb(names="events", call="runs.events_page", show=EVENTS_COLUMNS, empty="No events yet."),
    Verb(
        names="cancel",
        call="runs.cancel",
        show=lambda run: note(f"run {run.run_id} is {_state(run)}"),
    ),
    Verb(
        names="debug",
        call="runs.debug_page",
        show=DEBUG_COLUMNS,
        empty="Nothing was kept. Submit with --debug-level requests to keep provider requests.",
    ),
    Verb(names="deliveries", call="deliveries.page", show=_show_deliveries),
    Verb(
        names="retry-delivery",
        call="deliveries.retry",
        show="delivery {delivery_id} is tried again",
    ),
)
