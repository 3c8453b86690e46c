"""`understudy schedules`: runs that are submitted at set times."""

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.inputs import Asset, Attach
from understudy.cli.options import (
    TARGET_HELP,
    Key,
    SessionId,
    Text,
    TextFile,
)
from understudy.cli.output import note
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.wire.schedules import CadenceView, ScheduleAnswer

SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def cadence_of(
    *, at: str | None, every: str | None, cron: str | None, timezone: str | None
) -> dict[str, Any]:
    """The cadence that was typed, in one of three ways."""
    if sum(option is not None for option in (at, every, cron)) != 1:
        raise typer.BadParameter("give one of --at, --every and --cron")
    if timezone is not None and cron is None:
        raise typer.BadParameter("--timezone goes with --cron")
    if at is not None:
        return {"type": "once", "fire_at_ms": moment(at)}
    if every is not None:
        return {"type": "interval", "every_seconds": span(every)}
    return {"type": "cron", "expression": cron, "timezone": timezone or "UTC"}


def moment(text: str) -> int:
    """A point in time: ISO 8601, local unless it says otherwise, or milliseconds since 1970."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise typer.BadParameter(f"--at takes a time like 2030-01-31T09:00; got {text!r}") from None


def span(text: str) -> int:
    """A span such as `90`, `30s`, `15m`, `2h` or `1d`, in seconds."""
    number, unit = (text, "s") if text[-1:].isdigit() else (text[:-1], text[-1:])
    if not (number.isascii() and number.isdigit()) or unit not in SECONDS:
        raise typer.BadParameter(f"--every takes a span like 30s, 15m, 2h or 1d; got {text!r}")
    return int(number) * SECONDS[unit]


def span_words(seconds: int) -> str:
    """A span as it would be typed, such as `2h` or `1h 30m`."""
    parts: list[str] = []
    for unit, length in reversed(SECONDS.items()):
        number, seconds = divmod(seconds, length)
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts) or "0s"


def cadence_words(cadence: "CadenceView") -> str:
    """When a schedule fires."""
    match cadence.type:
        case "once":
            return "once"
        case "interval":
            return f"every {span_words(cadence.every_seconds or 0)}"
        case "cron":
            return f"{cadence.expression} ({cadence.timezone})"


def when(at_ms: int | None, zone: str | None = None) -> str | None:
    """A moment in the time zone of a schedule, and which that is; UTC where it has none."""
    if at_ms is None:
        return None
    name, place = _place(zone)
    try:
        time = datetime.fromtimestamp(at_ms / 1000, tz=UTC).astimezone(place)
    except (ValueError, OverflowError, OSError):
        return str(at_ms)
    return f"{time:{'%Y-%m-%d %H:%M:%S' if time.second else '%Y-%m-%d %H:%M'}} {name}"


def _place(zone: str | None) -> tuple[str, tzinfo]:
    try:
        return (zone, ZoneInfo(zone)) if zone else ("UTC", UTC)
    except (ValueError, LookupError, OSError):
        # A zone that this machine does not know.
        return "UTC", UTC


commands = Commands("Schedules: runs that are submitted at their time, again and again.")

ScheduleId: TypeAlias = Annotated[
    str, typer.Argument(metavar="SCHEDULE", help="The schedule's id.")
]


SCHEDULES_COLUMNS: Final[screen.Layout] = {
    "schedule": "schedule_id",
    "status": "status",
    "next": lambda item: when(item.next_fire_at_ms, item.cadence.timezone),
    "session": "target_session_id",
    "cadence": lambda item: cadence_words(item.cadence),
    "name": "name",
}


RECORD: Final[screen.Layout] = {
    "schedule": "schedule_id",
    "name": "name",
    "status": "status",
    "ended because": "ended_reason",
    "session": "target_session_id",
    "cadence": lambda view: cadence_words(view.cadence),
    "next": lambda view: when(view.next_fire_at_ms, view.cadence.timezone),
    "last": lambda view: when(view.last_fired_at_ms, view.cadence.timezone),
    "runs": lambda view: f"{view.executions} of {view.max_executions or 'any number'}",
    "overlap": "overlap_policy",
    "misfire": "misfire_policy.type",
    "owner": "owner_id",
    "input": "request.text_preview",
}


@commands("create", show=RECORD)
def create(
    daemon: DaemonConnection,
    ctx: typer.Context,
    session_id: SessionId,
    text: Text = None,
    file: TextFile = None,
    name: Annotated[str | None, typer.Option(help="What people call it.")] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Once, such as 2030-01-31T09:00 (local time)."),
    ] = None,
    every: Annotated[
        str | None, typer.Option(metavar="SPAN", help="Again and again, such as 30s, 15m or 2h.")
    ] = None,
    cron: Annotated[
        str | None,
        typer.Option(
            metavar="EXPRESSION", help="At the times of a cron expression of 5 or 6 fields."
        ),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="The time zone of --cron; UTC if left out.")
    ] = None,
    overlap: Annotated[
        str | None, typer.Option(help="While a run goes on: `skip`, `queue_one` or `parallel`.")
    ] = None,
    misfire: Annotated[
        str | None, typer.Option(help="For times gone by: `coalesce_once` or `skip_missed`.")
    ] = None,
    max_executions: Annotated[int | None, typer.Option(help="End after so many runs.")] = None,
    route: Annotated[str | None, typer.Option(help="The route of its runs.")] = None,
    reply_target: Annotated[
        list[str] | None, typer.Option(metavar="TARGET", help=f"{TARGET_HELP} Repeatable.")
    ] = None,
    attach: Attach = None,
    asset: Asset = None,
    key: Key = None,
) -> object:
    """Have runs submitted in a session: give one of --at, --every and --cron."""
    from understudy.wire.runs import SubmitInput
    from understudy.wire.schedules import CreateSchedule

    content = inputs.content(text, file)
    attached = inputs.named(ctx, attach, asset)
    fields = {
        "name": name or screen.one_line(content, 60),
        "target_session_id": session_id,
        "cadence": cadence_of(at=at, every=every, cron=cron, timezone=timezone),
        "overlap_policy": overlap,
        "misfire_policy": None if misfire is None else {"type": misfire},
        "max_executions": max_executions,
    }
    request = inputs.request(
        SubmitInput,
        content=content,
        attachments=inputs.upload(daemon.client, attached),
        provider=route,
        reply_targets=inputs.reply_targets(reply_target),
    )
    wanted = inputs.request(CreateSchedule, **fields, request=request)
    return daemon.client.schedules.create(wanted, key=key)


EXECUTIONS_COLUMNS: Final[screen.Layout] = {
    "at": lambda item: when(item.at_ms),
    "status": "status",
    "tries": "attempts",
    "triggered by": "triggered_by",
    "run": "run_id",
    "reason": "reason",
}


def _tell(answer: "ScheduleAnswer") -> None:
    execution, schedule = answer.execution, answer.schedule
    if execution is None:
        note(f"schedule {schedule.schedule_id} is {schedule.status}")
    elif execution.run_id is not None:
        print(execution.run_id)
    else:
        note(f"{execution.status}: {execution.reason}")


declare(
    commands,
    Verb(
        names="list",
        call="schedules.page",
        show=SCHEDULES_COLUMNS,
        empty="No schedules yet. `{understudy} schedules create SESSION TEXT --every 1h` makes one.",
    ),
    Verb(names="show get", call="schedules.get", show=RECORD),
    Verb(
        names="executions",
        call="schedules.executions_page",
        show=EXECUTIONS_COLUMNS,
        empty="It has not fired yet.",
    ),
    Verb(names="pause", call="schedules.pause", show=_tell),
    Verb(names="resume", call="schedules.resume", show=_tell),
    Verb(names="trigger trigger-now", call="schedules.trigger", show=_tell),
    Verb(names="cancel", call="schedules.cancel", show=_tell),
)
