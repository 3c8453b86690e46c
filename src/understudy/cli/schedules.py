"""`understudy schedules`: runs that are submitted at their time."""

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.inputs import Asset, Attach
from understudy.cli.options import (
    TARGET_HELP,
    Commands,
    Cursor,
    Key,
    Limit,
    SessionId,
    Text,
    TextFile,
)
from understudy.cli.output import note, understudy

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


@commands("list")
def list_schedules(
    ctx: typer.Context,
    session: Annotated[str | None, typer.Option(help="Only those for a session.")] = None,
    status: Annotated[
        str | None, typer.Option(help="`active`, `paused`, `completed` or `canceled`.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List schedules, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.schedules.page(
            session_id=session, status=status, limit=limit, cursor=cursor
        )
        empty = (
            f"No schedules yet. `{understudy()} schedules create SESSION TEXT --every 1h`"
            " makes one."
        )
        daemon.show_page(page, SCHEDULES_COLUMNS, empty=empty)


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


@commands("create")
def create(
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
) -> None:
    """Have runs submitted in a session: give one of --at, --every and --cron."""
    from understudy.client.calls import given
    from understudy.wire.schedules import CreateSchedule

    content = inputs.content(text, file)
    attached = inputs.named(ctx, attach, asset)
    fields = given(
        name=name or screen.one_line(content, 60),
        target_session_id=session_id,
        cadence=cadence_of(at=at, every=every, cron=cron, timezone=timezone),
        overlap_policy=overlap,
        misfire_policy=None if misfire is None else {"type": misfire},
        max_executions=max_executions,
    )
    with connect(ctx) as daemon:
        request = given(
            content=content,
            attachments=inputs.upload(daemon.client, attached),
            provider=route,
            reply_targets=_targets(reply_target),
        )
        wanted = CreateSchedule.model_validate({**fields, "request": request})
        daemon.show_record(daemon.client.schedules.create(wanted, key=key), RECORD)


@commands("show", "get")
def show(ctx: typer.Context, schedule_id: ScheduleId) -> None:
    """Show a schedule."""
    with connect(ctx) as daemon:
        daemon.show_record(daemon.client.schedules.get(schedule_id), RECORD)


EXECUTIONS_COLUMNS: Final[screen.Layout] = {
    "at": lambda item: when(item.at_ms),
    "status": "status",
    "tries": "attempts",
    "triggered by": "triggered_by",
    "run": "run_id",
    "reason": "reason",
}


@commands("executions")
def executions(
    ctx: typer.Context, schedule_id: ScheduleId, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the last fires of a schedule, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.schedules.executions_page(schedule_id, limit=limit, cursor=cursor)
        daemon.show_page(page, EXECUTIONS_COLUMNS, empty="It has not fired yet.")


@commands("pause")
def pause(ctx: typer.Context, schedule_id: ScheduleId) -> None:
    """Fire no more until it is resumed."""
    with connect(ctx) as daemon:
        _say(daemon, daemon.client.schedules.pause(schedule_id))


@commands("resume")
def resume(ctx: typer.Context, schedule_id: ScheduleId) -> None:
    """Fire again, from the next time on."""
    with connect(ctx) as daemon:
        _say(daemon, daemon.client.schedules.resume(schedule_id))


@commands("trigger", "trigger-now")
def trigger(ctx: typer.Context, schedule_id: ScheduleId, key: Key = None) -> None:
    """Fire now, beside the cadence."""
    with connect(ctx) as daemon:
        _say(daemon, daemon.client.schedules.trigger(schedule_id, key=key))


@commands("cancel")
def cancel(ctx: typer.Context, schedule_id: ScheduleId) -> None:
    """End a schedule for good."""
    with connect(ctx) as daemon:
        _say(daemon, daemon.client.schedules.cancel(schedule_id))


def _targets(typed: list[str] | None) -> list[dict[str, str]] | None:
    if typed is None:
        return None
    pairs = [inputs.reply_target(text) for text in typed]
    return [{"plugin": plugin, "address": address} for plugin, address in pairs]


def _say(daemon: DaemonConnection, answer: "ScheduleAnswer") -> None:
    def say() -> None:
        execution, schedule = answer.execution, answer.schedule
        if execution is None:
            note(f"schedule {schedule.schedule_id} is {schedule.status}")
        elif execution.run_id is not None:
            print(execution.run_id)
        else:
            note(f"{execution.status}: {execution.reason}")

    daemon.show(say)
