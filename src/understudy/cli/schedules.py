"""`understudy schedules`: runs that are submitted at their time."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from understudy.cli import attachments, inputs, screen
from understudy.cli.arguments import TARGET_HELP, Cursor, Key, Limit, SessionId, Text, TextFile
from understudy.cli.attachments import Asset, Attach
from understudy.cli.cadences import cadence_of, cadence_words, when
from understudy.cli.connection import Connection, connect
from understudy.cli.hints import understudy
from understudy.cli.options import Commands
from understudy.cli.output import note

if TYPE_CHECKING:
    from understudy.wire.schedules import ScheduleAnswer, ScheduleView

commands = Commands("Schedules: runs that are submitted at their time, again and again.")

ScheduleId: TypeAlias = Annotated[
    str, typer.Argument(metavar="SCHEDULE", help="The schedule's id.")
]


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
        rows = [
            (
                item.schedule_id,
                item.status,
                when(item.next_fire_at_ms, item.cadence.timezone),
                item.target_session_id,
                cadence_words(item.cadence),
                item.name,
            )
            for item in page.items
        ]
        columns = ("schedule", "status", "next", "session", "cadence", "name")
        empty = (
            f"No schedules yet. `{understudy()} schedules create SESSION TEXT --every 1h`"
            " makes one."
        )
        daemon.show(lambda: screen.table(columns, rows, empty=empty))
        daemon.more(page.next_cursor)


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
    attached = attachments.named(ctx, attach, asset)
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
            attachments=attachments.upload(daemon.client, attached),
            provider=route,
            reply_targets=_targets(reply_target),
        )
        wanted = CreateSchedule.model_validate({**fields, "request": request})
        _show(daemon, daemon.client.schedules.create(wanted, key=key))


@commands("show", "get")
def show(ctx: typer.Context, schedule_id: ScheduleId) -> None:
    """Show a schedule."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.schedules.get(schedule_id))


@commands("executions")
def executions(
    ctx: typer.Context, schedule_id: ScheduleId, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the last fires of a schedule, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.schedules.executions_page(schedule_id, limit=limit, cursor=cursor)
        rows = [
            (
                when(item.at_ms),
                item.status,
                item.attempts,
                item.triggered_by,
                item.run_id,
                item.reason,
            )
            for item in page.items
        ]
        columns = ("at", "status", "tries", "triggered by", "run", "reason")
        daemon.show(lambda: screen.table(columns, rows, empty="It has not fired yet."))
        daemon.more(page.next_cursor)


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


def _show(daemon: Connection, view: "ScheduleView") -> None:
    pairs = [
        ("schedule", view.schedule_id),
        ("name", view.name),
        ("status", view.status),
        ("ended because", view.ended_reason),
        ("session", view.target_session_id),
        ("cadence", cadence_words(view.cadence)),
        ("next", when(view.next_fire_at_ms, view.cadence.timezone)),
        ("last", when(view.last_fired_at_ms, view.cadence.timezone)),
        ("runs", f"{view.executions} of {view.max_executions or 'any number'}"),
        ("overlap", view.overlap_policy),
        ("misfire", view.misfire_policy.type),
        ("owner", view.owner_id),
        ("input", view.request.text_preview),
    ]
    daemon.show(lambda: screen.fields(pairs))


def _say(daemon: Connection, answer: "ScheduleAnswer") -> None:
    def say() -> None:
        execution, schedule = answer.execution, answer.schedule
        if execution is None:
            note(f"schedule {schedule.schedule_id} is {schedule.status}")
        elif execution.run_id is not None:
            print(execution.run_id)
        else:
            note(f"{execution.status}: {execution.reason}")

    daemon.show(say)
