"""Why recorded runs are not run again."""

from understudy.core.errors import Invalid


def not_of_replays(part: str) -> Invalid:
    """What a plain trial is told, and a replay has no use for."""
    return Invalid(
        "not_of_replays",
        domain="rollout",
        pointer=f"/{part}",
        detail=f"a replay takes its cases, and no {part}",
    )


def too_many_cases(most: int) -> Invalid:
    """Each case is two runs."""
    return Invalid(
        "too_many_cases",
        domain="rollout",
        pointer="/cases",
        detail=f"a replay has at most {most} cases",
    )


def case_twice(run_id: str, pointer: str) -> Invalid:
    """Once more tells nothing new."""
    return Invalid(
        "case_twice", domain="rollout", pointer=pointer, detail=f"run {run_id} is a case already"
    )


def no_such_run(run_id: str, pointer: str) -> Invalid:
    """There is nothing to run again."""
    return Invalid(
        "unknown_case", domain="rollout", pointer=pointer, detail=f"there is no run {run_id!r}"
    )


def run_goes_on(run_id: str, pointer: str) -> Invalid:
    """A recording is whole, or none."""
    return Invalid(
        "run_not_ended",
        domain="rollout",
        pointer=pointer,
        detail=f"run {run_id} has not ended; wait for it",
    )


def skill_in_recording(run_id: str, pointer: str) -> Invalid:
    """There would be no run without the skill."""
    return Invalid(
        "case_not_replayable",
        domain="rollout",
        pointer=pointer,
        detail=f"run {run_id} carries out a skill itself; take one that somebody asked for",
    )


def unfit_input(detail: str, pointer: str) -> Invalid:
    """The skill could not be given this input in earnest either."""
    return Invalid("case_not_replayable", domain="rollout", pointer=pointer, detail=detail)
