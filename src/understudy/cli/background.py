"""`understudy background`: shell commands that agents run in the background."""

import time
from typing import Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.output import note
from understudy.cli.table import Verb, declare

commands = Commands("Background tasks: shell commands that outlive the run that started them.")

TaskId = Annotated[str, typer.Argument(metavar="TASK", help="The background task's id.")]
FOLLOW_S: Final = 1.0

COLUMNS: Final[screen.Layout] = {
    "task": "task_id",
    "status": "status",
    "why": "terminal_reason",
    "exit": "exit_code",
    "session": "session_id",
    "started": "created_at_ms",
    "ended": "ended_at_ms",
    "command": "command",
}
RECORD: Final[screen.Layout] = {
    "task": "task_id",
    "status": "status",
    "why": "terminal_reason",
    "exit code": "exit_code",
    "command": "command",
    "session": "session_id",
    "run": "run_id",
    "user": "user_id",
    "started": "created_at_ms",
    "ended": "ended_at_ms",
    "seconds allowed": "timeout_s",
    "printed": lambda view: f"{view.output_bytes} bytes",
    "untrusted": lambda view: list(view.untrusted_sources),
    "told": lambda view: [
        f"{each.plugin} {each.address}: {each.status}" for each in view.deliveries
    ],
    "letter": "message_id",
    "can": lambda view: list(view.actions),
}


@commands("output")
def output(
    daemon: DaemonConnection,
    task_id: TaskId,
    offset: Annotated[int, typer.Option(min=0, help="Where to begin, in characters.")] = 0,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the task has ended.")
    ] = False,
) -> None:
    """Print what a background task has printed so far; with --json one part of it."""
    part = daemon.client.background_tasks.output(task_id, offset=offset)
    if daemon.as_json:
        daemon.show(lambda: None)
        return
    while True:
        if part.skipped_chars:
            note(f"[{part.skipped_chars} characters are not kept]")
        print(screen.printable(part.text), end="", flush=True)
        if part.is_end or not (follow or part.text):
            break
        if not part.text:
            time.sleep(FOLLOW_S)
        part = daemon.client.background_tasks.output(task_id, offset=part.next_offset)
    if not part.is_end:
        note("[it runs on; --follow waits for its end]")


declare(
    commands,
    Verb(names="list", call="background_tasks.page", show=COLUMNS, empty="No background tasks."),
    Verb(names="show get", call="background_tasks.get", show=RECORD),
    Verb(
        names="stop",
        call="background_tasks.stop",
        show="{view.task_id} is being stopped, with all that it started",
    ),
)
