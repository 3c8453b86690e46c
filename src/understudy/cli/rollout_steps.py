"""`understudy rollouts promote`, `advance`, `trial`, …: commands that change a stage."""

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, cast

import typer

from understudy.cli import inputs, rollouts, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.learning_options import LearningId
from understudy.cli.options import Key, PageOptions, RunId, TextFile
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
    from understudy.rollout.service import RollbackPreview
    from understudy.wire.rollouts import TrialView

commands = Commands("Steps of rollouts.")
ToVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION",
        help="The number in the history, the label or the place (1 is the first) of a version"
        " that was active; by default the one before.",
    ),
]
COLUMNS: Final = ("case", "recorded", "without", "with", "calls", "tokens", "time", "about")
UNDER_WAY: Final[screen.Layout] = {
    "case": "run_id",
    "without": "without_run_id",
    "with": "with_run_id",
}


@commands("promote", show=rollouts.tell)
def promote(
    daemon: DaemonConnection,
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
) -> object:
    """Make a draft from a procedure, or edit the draft of that name.

    An edit starts the rollout over: earlier evidence no longer counts.
    """
    from understudy.wire.rollouts import PromoteSkill

    if text is not None and instructions is not None:
        raise typer.BadParameter("give a text or --instructions, not both")
    wanted = inputs.request(
        PromoteSkill,
        skill_name=name,
        instructions=inputs.content(instructions if text is None else text, file),
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
    return daemon.client.rollouts.promote(learning_id, wanted, key=key)


@commands("advance", show=rollouts.tell)
def advance(
    daemon: DaemonConnection,
    name: SkillName,
    to: Annotated[
        str | None, typer.Option("--to", help=f"Another stage than the next one: {TARGETS}.")
    ] = None,
    key: Key = None,
) -> object:
    """Take a promoted skill to its next stage, with exactly the definition that it has."""
    return daemon.client.rollouts.advance(name, to=cast("Any", to), key=key)


@commands("result", show=rollouts.tell)
def result(
    daemon: DaemonConnection,
    name: SkillName,
    run_id: RunId,
    expect: Expected,
    kind: Annotated[str, typer.Option(help=f"What it is to show: {KINDS}.")] = "verification",
    fingerprint: OfFingerprint = None,
    key: Key = None,
) -> object:
    """Count a run that has ended as evidence for a promoted skill."""
    from understudy.wire.rollouts import RolloutResult

    wanted = inputs.request(
        RolloutResult,
        kind=kind,
        run_id=run_id,
        expected_output_contains=expect,
        definition_fingerprint=fingerprint,
    )
    return daemon.client.rollouts.result(name, wanted, key=key)


@commands("hold", show=rollouts.tell)
def hold(
    daemon: DaemonConnection, name: SkillName, reason: Reason = None, key: Key = None
) -> object:
    """Keep a rollout from advancing until it is released."""
    return daemon.client.rollouts.hold(name, reason=reason, key=key)


@commands("release", show=rollouts.tell_released)
def release(
    daemon: DaemonConnection, name: SkillName, reason: Reason = None, key: Key = None
) -> object:
    """Let a rollout that was held advance again."""
    return daemon.client.rollouts.release(name, reason=reason, key=key)


@commands("revoke", show=rollouts.tell)
def revoke(
    daemon: DaemonConnection, name: SkillName, reason: Reason = None, key: Key = None
) -> object:
    """Take a promoted skill back: no agent is offered it; its record stays."""
    return daemon.client.rollouts.revoke(name, reason=reason, key=key)


@commands("rollback", show=rollouts.tell)
def rollback(
    daemon: DaemonConnection,
    name: SkillName,
    reason: Reason = None,
    to_version: ToVersion = None,
    key: Key = None,
) -> object:
    """Activate an earlier version of an active or revoked skill."""
    return daemon.client.rollouts.rollback(name, reason=reason, to_version=to_version, key=key)


def _show_preview(view: "RollbackPreview") -> None:
    note(f"revision {view.target} would be active again")
    others = [str(each.number) for each in view.versions if each.number != view.target]
    if others:
        note(f"other versions: {', '.join(others)}")
    rollouts.show_diff(view.diff)


@commands("rollback-preview", show=_show_preview)
def rollback_preview(
    daemon: DaemonConnection, name: SkillName, to_version: ToVersion = None
) -> object:
    """Print what a rollback would change, without doing it."""
    return daemon.client.rollouts.rollback_preview(name, to_version=to_version)


@commands("trial")
def trial(
    daemon: DaemonConnection,
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
    from understudy.wire.rollouts import StartTrial

    wanted = inputs.request(
        StartTrial,
        expected_output_contains=expect,
        kind=kind,
        params=params,
        definition_fingerprint=fingerprint,
        cases=[{"run_id": run_id} for run_id in case] if case else None,
    )
    begun = daemon.client.rollouts.trial(name, wanted, key=key)
    if not wait:
        daemon.show_answer(begun, _tell_under_way)
        return
    ended = daemon.client.rollouts.wait_trial(name, begun.trial_id, timeout_s=timeout)
    daemon.show_answer(ended, show_trial)
    if ended.state != "passed":
        raise typer.Exit(ExitCode.FAILED)


@commands("trials", show=rollouts.TRIAL_COLUMNS, empty="There was no trial.")
def trials(
    daemon: DaemonConnection,
    page: PageOptions,
    name: SkillName,
    trial_id: Annotated[
        str | None, typer.Argument(metavar="[TRIAL]", help="Show this one in full.")
    ] = None,
) -> object:
    """List the trials of a promoted skill, newest first, or show one."""
    if trial_id is None:
        return daemon.client.rollouts.trials_page(name, **page)
    daemon.show_answer(daemon.client.rollouts.get_trial(name, trial_id), show_trial)
    return None


def _tell_under_way(trial: "TrialView") -> None:
    cases = screen.count(len(trial.cases), "case")
    where = f"with {cases}" if trial.cases else f"in {trial.run_id}"
    note(f"trial {trial.trial_id} is under way {where}")


def show_trial(view: "TrialView") -> None:
    """Print a trial; a replay with what became of its cases."""
    screen.fields(trial_pairs(view))
    if view.report is not None:
        _show_report(view.report)
    elif view.cases:
        screen.records(view.cases, UNDER_WAY, empty="")


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
    verdicts = (side.verdict for side in (case.recorded, case.without_skill, case.with_skill))
    costs = _costs(case.without_skill, case.with_skill)
    return (case.recorded.run_id, *verdicts, *costs, _about(case))


def _sum(report: "ReplayReport") -> tuple[object, ...]:
    sides = (report.recorded, report.without_skill, report.with_skill)
    rates = (f"{side.successes} of {side.tries}" for side in sides)
    return ("all", *rates, *_costs(report.without_skill, report.with_skill), "")


def _costs(
    before: "ReplayTotals | ReplayedRun", after: "ReplayTotals | ReplayedRun"
) -> tuple[str, ...]:
    """Calls, tokens and time without the skill and with it."""
    tokens = [side.input_tokens + side.output_tokens for side in (before, after)]
    seconds = [f"{side.took_ms / 1000:.1f} s" for side in (before, after)]
    return (
        f"{before.tool_calls} → {after.tool_calls}",
        f"{tokens[0]} → {tokens[1]}",
        f"{seconds[0]} → {seconds[1]}",
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


def _rate(totals: "ReplayTotals") -> str:
    return f"{totals.successes} of {totals.tries} succeeded"
