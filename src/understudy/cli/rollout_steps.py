"""`understudy rollouts promote`, `advance`, `trial`, …: what takes a procedure from stage to stage."""

from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from understudy.cli import inputs, rollouts, screen
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.learning_options import LearningId
from understudy.cli.options import Commands, Cursor, Key, Limit, RunId, TextFile
from understudy.cli.output import ExitCode, note
from understudy.cli.rollouts import (
    KINDS,
    TARGETS,
    Expected,
    OfFingerprint,
    Reason,
    SkillName,
    trial_pairs,
)

if TYPE_CHECKING:
    from understudy.rollout.replay.report import (
        ReplayedCase,
        ReplayedRun,
        ReplayReport,
        ReplayTotals,
    )
    from understudy.wire.rollouts import TrialCaseView, TrialView

commands = Commands("Steps of rollouts.")


@commands("promote")
def promote(
    ctx: typer.Context,
    learning_id: LearningId,
    name: SkillName,
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="What an agent is told to do; `-` reads stdin."),
    ] = None,
    file: TextFile = None,
    instructions: Annotated[
        str | None, typer.Option(help="The text, as an option; `-` reads stdin.")
    ] = None,
    description: Annotated[str | None, typer.Option(help="What it does, in one line.")] = None,
    when_to_use: Annotated[
        str | None, typer.Option("--when-to-use", help="When it is the right one, in one line.")
    ] = None,
    version: Annotated[str | None, typer.Option(help="What you call this version.")] = None,
    allow_tool: Annotated[
        list[str] | None,
        typer.Option("--allow-tool", metavar="TOOL", help="Only these tools; repeatable."),
    ] = None,
    block_tool: Annotated[
        list[str] | None,
        typer.Option("--block-tool", metavar="TOOL", help="Never this tool; repeatable."),
    ] = None,
    provider: Annotated[
        str | None, typer.Option(help="The route that its runs take instead of the usual one.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model that its runs use instead of the usual one.")
    ] = None,
    fallback_model: Annotated[
        str | None, typer.Option("--fallback-model", help="The model to try when that one fails.")
    ] = None,
    status: Annotated[str | None, typer.Option(help=f"The stage: {TARGETS}.")] = None,
    key: Key = None,
) -> None:
    """Make a draft from a procedure, or edit the draft of that name.

    An edit starts the rollout over: earlier evidence no longer counts.
    """
    from understudy.client.calls import given
    from understudy.wire.rollouts import PromoteSkill

    fields: dict[str, Any] = given(
        description=description,
        when_to_use=when_to_use,
        version=version,
        allowed_tools=allow_tool or None,
        blocked_tools=block_tool or None,
        provider=provider,
        model=model,
        fallback_model=fallback_model,
        status=status,
    )
    if text is not None and instructions is not None:
        raise typer.BadParameter("give a text or --instructions, not both")
    told = inputs.content(instructions if text is None else text, file)
    fields |= {"skill_name": name, "instructions": told}
    with connect(ctx) as daemon:
        wanted = PromoteSkill.model_validate(fields)
        view = daemon.client.rollouts.promote(learning_id, wanted, key=key)
        daemon.show(lambda: rollouts.tell(view))


@commands("advance")
def advance(
    ctx: typer.Context,
    name: SkillName,
    to: Annotated[
        str | None, typer.Option("--to", help=f"Another stage than the next one: {TARGETS}.")
    ] = None,
    key: Key = None,
) -> None:
    """Take a promoted skill to its next stage, with exactly the definition that it has."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.advance(name, to=cast("Any", to), key=key)
        daemon.show(lambda: rollouts.tell(view))


@commands("result")
def result(
    ctx: typer.Context,
    name: SkillName,
    run_id: RunId,
    expect: Expected,
    kind: Annotated[str, typer.Option(help=f"What it is to show: {KINDS}.")] = "verification",
    fingerprint: OfFingerprint = None,
    key: Key = None,
) -> None:
    """Count a run that has ended as evidence for a promoted skill."""
    from understudy.client.calls import given
    from understudy.wire.rollouts import RolloutResult

    fields = given(
        kind=kind,
        run_id=run_id,
        expected_output_contains=expect,
        definition_fingerprint=fingerprint,
    )
    with connect(ctx) as daemon:
        wanted = RolloutResult.model_validate(fields)
        view = daemon.client.rollouts.result(name, wanted, key=key)
        daemon.show(lambda: rollouts.tell(view))


@commands("hold")
def hold(ctx: typer.Context, name: SkillName, reason: Reason = None, key: Key = None) -> None:
    """Keep a rollout from advancing until it is released."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.hold(name, reason=reason, key=key)
        daemon.show(lambda: rollouts.tell(view))


@commands("release")
def release(ctx: typer.Context, name: SkillName, reason: Reason = None, key: Key = None) -> None:
    """Let a rollout that was held advance again."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.release(name, reason=reason, key=key)
        daemon.show(lambda: rollouts.tell_released(view))


@commands("revoke")
def revoke(ctx: typer.Context, name: SkillName, reason: Reason = None, key: Key = None) -> None:
    """Take a promoted skill back: no agent is offered it; its record stays."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.revoke(name, reason=reason, key=key)
        daemon.show(lambda: rollouts.tell(view))


@commands("rollback")
def rollback(ctx: typer.Context, name: SkillName, reason: Reason = None, key: Key = None) -> None:
    """Put a revoked skill back in force, as it last was."""
    with connect(ctx) as daemon:
        view = daemon.client.rollouts.rollback(name, reason=reason, key=key)
        daemon.show(lambda: rollouts.tell(view))


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
    from understudy.wire.rollouts import StartTrial

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


def _finish(daemon: DaemonConnection, view: "TrialView") -> None:
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
