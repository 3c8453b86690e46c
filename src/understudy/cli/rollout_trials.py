"""`understudy rollouts trial` and `trials`: the daemon executes a definition itself."""

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import replays_shown, rollouts_shown, screen
from understudy.cli.arguments import Cursor, Key, Limit
from understudy.cli.connection import Connection, connect
from understudy.cli.options import Commands
from understudy.cli.output import ExitCode, note
from understudy.cli.rollout_options import KINDS, OfFingerprint, SkillName

if TYPE_CHECKING:
    from understudy.wire.rollouts import TrialView

commands = Commands("Trials of rollouts.")


@commands("trial")
def trial(
    ctx: typer.Context,
    name: SkillName,
    expect: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What the last output must contain; by default what the previous trial expected,"
            " or else anything.",
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="Run the input of this recorded run again, with the skill and without; repeatable.",
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help=f"What it is to show: {KINDS}; by default what comes next.")
    ] = None,
    params: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the skill is to work on.")
    ] = None,
    fingerprint: OfFingerprint = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the trial ends; exit with 1 if it failed.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(min=0, help="Give up waiting after so many seconds; by default never."),
    ] = None,
    key: Key = None,
) -> None:
    """Have the daemon execute exactly the current definition; what comes of it is evidence.

    With --case it is a replay: recorded runs, run again with the skill and without, and compared.
    """
    from understudy.client.calls import given
    from understudy.wire.rollout_requests import StartTrial

    fields = given(
        expected_output_contains=expect,
        kind=kind,
        params=params,
        definition_fingerprint=fingerprint,
        cases=[{"run_id": run_id} for run_id in case] if case else None,
    )
    with connect(ctx) as daemon:
        wanted = StartTrial.model_validate(fields)
        begun = daemon.client.rollouts.trial(name, wanted, key=key)
        if not wait:
            daemon.show(lambda: note(_under_way(begun)))
            return
        _finish(daemon, daemon.client.rollouts.wait_trial(name, begun.trial_id, timeout_s=timeout))


@commands("trials")
def trials(
    ctx: typer.Context,
    name: SkillName,
    trial_id: Annotated[
        str | None, typer.Argument(metavar="[TRIAL]", help="Show this one in full.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the trials of a promoted skill, newest first, or show one."""
    with connect(ctx) as daemon:
        if trial_id is not None:
            view = daemon.client.rollouts.get_trial(name, trial_id)
            daemon.show(lambda: replays_shown.show_trial(view))
            return
        page = daemon.client.rollouts.trials_page(name, limit=limit, cursor=cursor)
        rows = rollouts_shown.trial_rows(page.items)
        columns = rollouts_shown.TRIAL_COLUMNS
        daemon.show(lambda: screen.table(columns, rows, empty="There was no trial."))
        daemon.more(page.next_cursor)


def _under_way(trial: "TrialView") -> str:
    where = (
        f"with {screen.count(len(trial.cases), 'case')}" if trial.cases else f"in {trial.run_id}"
    )
    return f"trial {trial.trial_id} is under way {where}"


def _finish(daemon: Connection, view: "TrialView") -> None:
    daemon.show(lambda: replays_shown.show_trial(view))
    if view.state != "passed":
        raise typer.Exit(ExitCode.FAILED)
