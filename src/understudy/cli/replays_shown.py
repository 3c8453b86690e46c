"""What a replay came to, as people read it."""

from typing import TYPE_CHECKING, Final

from understudy.cli import screen
from understudy.cli.rollouts_shown import trial_pairs

if TYPE_CHECKING:
    from understudy.wire.rollouts import (
        ReplayedCase,
        ReplayedRun,
        ReplayReport,
        ReplayTotals,
        TrialCaseView,
        TrialView,
    )

COLUMNS: Final = ("case", "recorded", "without", "with", "calls", "tokens", "time", "about")
UNDER_WAY: Final = ("case", "without", "with")


def show_trial(view: "TrialView") -> None:
    """Print a trial; a replay with what became of its cases."""
    screen.fields(trial_pairs(view))
    if view.report is not None:
        _show_report(view.report)
    elif view.cases:
        screen.table(UNDER_WAY, map(_under_way, view.cases), empty="")


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


def _under_way(case: "TrialCaseView") -> tuple[object, ...]:
    return case.run_id, case.without_run_id, case.with_run_id


def _tokens(side: "ReplayTotals | ReplayedRun") -> int:
    return side.input_tokens + side.output_tokens


def _change(before: int, after: int) -> str:
    return f"{before} → {after}"


def _seconds(took_ms: int) -> str:
    return f"{took_ms / 1000:.1f} s"


def _rate(totals: "ReplayTotals") -> str:
    return f"{totals.successes} of {totals.tries} succeeded"
