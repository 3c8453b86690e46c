"""What the learning plane counts."""

from concurrent.futures import ThreadPoolExecutor

from understudy.learnings.events import LearningCounters
from understudy.learnings.model import CapturePath, PolicyDecision, ReviewAction


def test_everything_is_counted_by_its_kind_and_nothing_is_missing() -> None:
    counters = LearningCounters()

    counters.count("candidates_total", CapturePath.LABELS)
    counters.count("candidates_total", CapturePath.LABELS)
    counters.count("reviews_total", ReviewAction.REJECT)
    counters.count("judge_failures_total")
    counters.count("publications_total", PolicyDecision.MANUAL)

    assert counters.snapshot() == {
        "candidates_total": {
            "api": 0,
            "run_summary": 0,
            "labels": 2,
            "model": 0,
            "usage": 0,
            "rollout": 0,
        },
        "reviews_total": {
            "manual_review": 0,
            "reject": 1,
            "publish_provisional": 0,
            "publish_active": 0,
        },
        "judge_failures_total": {"": 1},
        "publications_total": {"manual": 1, "automatic": 0, "escalated": 0},
    }


def test_several_threads_lose_no_count() -> None:
    counters = LearningCounters()

    with ThreadPoolExecutor(4) as pool:
        for _ in range(400):
            pool.submit(counters.count, "judge_failures_total")

    assert counters.snapshot()["judge_failures_total"] == {"": 400}
