"""`understudy rollouts trial` and `trials`: the daemon executes a definition itself."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import rollouts, screen
from understudy.cli.connection import Connection, connect
from understudy.cli.options import Commands, Cursor, Key, Limit
from understudy.cli.output import ExitCode, note
from understudy.cli.rollouts import KINDS, OfFingerprint, SkillName, trial_pairs

if TYPE_CHECKING:
    from understudy.wire.rollouts import (
        ReplayedCase,
        ReplayedRun,
        ReplayReport,
        ReplayTotals,
        TrialCaseView,
        TrialView,
    )

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
            daemon.show(lambda: show_trial(view))
            return
        page = daemon.client.rollouts.trials_page(name, limit=limit, cursor=cursor)
        daemon.show_page(page, rollouts.TRIAL_COLUMNS, empty="There was no trial.")


def _under_way(trial: "TrialView") -> str:
    where = (
        f"with {screen.count(len(trial.cases), 'case')}" if trial.cases else f"in {trial.run_id}"
    )
    return f"trial {trial.trial_id} is under way {where}"


def _finish(daemon: Connection, view: "TrialView") -> None:
    daemon.show(lambda: show_trial(view))
    if view.state != "passed":
        raise typer.Exit(ExitCode.FAILED)


COLUMNS: Final = ("case", "recorded", "without", "with", "calls", "tokens", "time", "about")
UNDER_WAY: Final = ("case", "without", "with")


def show_trial(view: "TrialView") -> None:
    """Print a trial; a replay with what became of its cases."""
    screen.fields(trial_pairs(view))
    if view.report is not None:
        _show_report(view.report)
    elif view.cases:
        screen.table(UNDER_WAY, map(_replay_under_way, view.cases), empty="")


def _show_report(report: "ReplayReport") -> None:
    screen.document("\n")
    rows = [*map(_row, report.cases), _sum(report)]
    screen.table(COLUMNS, rows, empty="There was no case.")
    screen.document("\n")
    low, high = report.wilson_lower_bound, report.wilson_upper_bound
    screen.fields(
        [
            ("with the skill", f"{_rate(report.with_skill)}, between {low:.0%} and {high:.0%}"),
            ("without it", _rate(report.without_skill)),
            ("recorded", _rate(report.recorded)),
            ("regressions", ", ".join(report.regressions) or "none"),
        ]
    )


def _row(case: "ReplayedCase") -> tuple[object, ...]:
    without, with_ = case.without_skill, case.with_skill
    return (
        case.recorded.run_id,
        case.recorded.verdict,
        without.verdict,
        with_.verdict,
        _change(without.tool_calls, with_.tool_calls),
        _change(_tokens(without), _tokens(with_)),
        f"{_seconds(without.took_ms)} → {_seconds(with_.took_ms)}",
        _about(case),
    )


def _sum(report: "ReplayReport") -> tuple[object, ...]:
    without, with_ = report.without_skill, report.with_skill
    return (
        "all",
        *(f"{side.successes} of {side.tries}" for side in (report.recorded, without, with_)),
        _change(without.tool_calls, with_.tool_calls),
        _change(_tokens(without), _tokens(with_)),
        f"{_seconds(without.took_ms)} → {_seconds(with_.took_ms)}",
        "",
    )


def _about(case: "ReplayedCase") -> str:
    said = ["regression"] if case.is_regression else []
    if case.with_skill.unrecorded_calls:
        said.append(
            f"{screen.count(case.with_skill.unrecorded_calls, 'call')} not in the recording"
        )
    if case.with_skill.reason:
        said.append(screen.visible(case.with_skill.reason))
    return "; ".join(said)


def _replay_under_way(case: "TrialCaseView") -> tuple[object, ...]:
    return case.run_id, case.without_run_id, case.with_run_id


def _tokens(side: "ReplayTotals | ReplayedRun") -> int:
    return side.input_tokens + side.output_tokens


def _change(before: int, after: int) -> str:
    return f"{before} → {after}"


def _seconds(took_ms: int) -> str:
    return f"{took_ms / 1000:.1f} s"


def _rate(totals: "ReplayTotals") -> str:
    return f"{totals.successes} of {totals.tries} succeeded"
