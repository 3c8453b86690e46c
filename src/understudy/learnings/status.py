"""Status of the learning plane: counts of records, queue sizes, acceptance rates."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from understudy.learnings.model import CandidateState, CandidateTally, LearningStatus

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def status_of(unit: "Unit") -> dict[str, Any]:
    """Counts of candidates and learnings, queue sizes, and acceptance rates."""
    tallies = unit.candidates.tallies()
    learnings = unit.learnings.count_by_status()
    return {
        "candidates": {
            str(state): sum(it.count for it in tallies if it.state == state)
            for state in CandidateState
        },
        "learnings": {str(status): learnings.get(status, 0) for status in LearningStatus},
        "review_queue": unit.review_queue.size(),
        "capture_queue": unit.capture_queue.size(),
        "acceptance": {
            "capture_paths": acceptance(tallies, lambda it: it.capture_path),
            "rules": acceptance(tallies, lambda it: it.rule),
        },
    }


def acceptance(
    tallies: Iterable[CandidateTally], group: Callable[[CandidateTally], str | None]
) -> dict[str, dict[str, Any]]:
    """Acceptance rates of people and the daemon, by group; tallies without a group are skipped."""
    counted: Counter[tuple[str | None, str]] = Counter()
    for tally in tallies:
        counted[group(tally), _heading(tally)] += tally.count
    return {
        name: {
            "people": _rate(counted[name, "people_published"], counted[name, "people_rejected"]),
            "daemon": _rate(counted[name, "daemon_published"], counted[name, "daemon_rejected"]),
            "open": counted[name, "open"],
            "expired": counted[name, "expired"],
        }
        for name in sorted({name for name, _ in counted if name is not None})
    }


def _heading(tally: CandidateTally) -> str:
    if tally.is_expired:
        return "expired"
    if tally.state not in (CandidateState.PUBLISHED, CandidateState.REJECTED):
        return "open"
    return f"{'daemon' if tally.is_automatic else 'people'}_{tally.state}"


def _rate(published: int, rejected: int) -> dict[str, Any]:
    decided = published + rejected
    return {
        "published": published,
        "rejected": rejected,
        "acceptance_rate": round(published / decided, 4) if decided else None,
    }
