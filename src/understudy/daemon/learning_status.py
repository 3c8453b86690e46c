"""The learning part of `/v1/status`, and its warnings."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from understudy.core.clock import DAY_MS
from understudy.core.errors import Invalid
from understudy.daemon.health import warning
from understudy.learnings.status import status_of
from understudy.review.policy import LEARNING_POLICY, policy_in
from understudy.runtime.service import current_revision
from understudy.storage.job_queue import JobQueue
from understudy.storage.unit import Unit, Units

# A job that is due for so long is stuck; back-off and leases are shorter.
STUCK_MS: Final = 10 * 60 * 1000
# So many failures of a model at one run are no accident.
KEEPS_FAILING: Final = 3
# More than anybody reviews in a sitting.
MANY_WAITING: Final = 500
# Queues, and the warning when their jobs are stuck.
QUEUES: Final[Mapping[str, str]] = {
    "review": "learning_review_stuck",
    "capture": "learning_capture_stuck",
}
Finding = Iterator[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class LearningStatusReport:
    """Takes a snapshot of the learning plane when it is called."""

    units: Units
    counted: Callable[[], Mapping[str, Mapping[str, int]]]

    def __call__(self, now_ms: int) -> dict[str, Any]:
        """The snapshot as a JSON object."""
        with self.units.read() as unit:
            return {
                "mode": str(policy_in(unit).mode),
                "policy_damaged": _is_damaged(unit),
                **status_of(unit),
                "review_late_ms": _late_ms(unit.review_queue, now_ms),
                "capture_late_ms": _late_ms(unit.capture_queue, now_ms),
                "capture_failing": _counted(unit.capture_queue.failing(attempts=KEEPS_FAILING)),
                "capture_given_up": _counted(
                    unit.run_memory_index.given_up(since_ms=now_ms - DAY_MS)
                ),
                "metrics": {name: _plain(counts) for name, counts in self.counted().items()},
            }


def learning_warnings(learning: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every finding about learning, in the order of the rules."""
    return [found for rule in RULES for found in rule(learning)]


def _damaged(learning: Mapping[str, Any]) -> Finding:
    if learning.get("policy_damaged"):
        yield warning(
            "error",
            "learning_policy_damaged",
            f"the stored learning policy cannot be read; learning goes by {learning['mode']} alone",
            action="set the policy again, or roll it back",
        )


def _stuck(learning: Mapping[str, Any]) -> Finding:
    for name, code in QUEUES.items():
        late_ms = learning.get(f"{name}_late_ms", 0)
        if late_ms >= STUCK_MS:
            yield warning(
                "warning",
                code,
                f"{learning[f'{name}_queue']} {name}s wait, the first for {late_ms // 60_000} minutes",
                action="see the log of the daemon, and that the route of the model answers",
            )


def _capture_fails(learning: Mapping[str, Any]) -> Finding:
    failing, given_up = (learning.get(f"capture_{it}", {}) for it in ("failing", "given_up"))
    said = [
        f"{what} for {counted['runs']} run{'' if counted['runs'] == 1 else 's'} ({counted['reason']})"
        for what, counted in (("fails", failing), ("was given up", given_up))
        if counted.get("runs")
    ]
    if said:
        yield warning(
            "warning",
            "learning_capture_failing",
            f"capture {' and '.join(said)}",
            action="see that the route of `capture.semantic_candidates.model` in the learning policy"
            " answers, and with JSON; `understudy memory show RUN` tells of a run",
        )


def _waiting(learning: Mapping[str, Any]) -> Finding:
    states = learning.get("candidates", {})
    count = states.get("pending", 0) + states.get("escalated", 0)
    if count >= MANY_WAITING:
        yield warning(
            "info",
            "learning_candidates_waiting",
            f"{count} candidates wait for a decision",
            action="`understudy review next` goes through them, `understudy candidates bulk`"
            " decides many",
        )


def _late_ms(queue: JobQueue, now_ms: int) -> int:
    """How long the first job has been overdue; 0 when none is."""
    due_ms = queue.next_due_ms()
    return 0 if due_ms is None else max(0, now_ms - due_ms)


def _counted(found: tuple[int, str | None]) -> dict[str, Any]:
    count, reason = found
    return {"runs": count, "reason": reason}


def _is_damaged(unit: Unit) -> bool:
    try:
        LEARNING_POLICY.stored(current_revision(unit).document)
    except Invalid:
        return True
    return False


def _plain(counts: Mapping[str, int]) -> Mapping[str, int] | int:
    """A plain number where there are no labels."""
    return counts[""] if "" in counts else dict(counts)


RULES: Final[tuple[Callable[[Mapping[str, Any]], Finding], ...]] = (
    _damaged,
    _stuck,
    _capture_fails,
    _waiting,
)
