"""A policy can be tried on what waits and on what was decided, with nothing stored."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import ALICE
from tests.support.review_harness import ReviewHarness
from tests.support.run_harness import make_settings
from understudy.core.clock import DAY_MS
from understudy.core.errors import Invalid
from understudy.learnings.model import CandidateState, Kind, ReviewAction, Tier
from understudy.providers.registry import Routes
from understudy.review.dry_run import DryRun, dry_run, read_input
from understudy.storage.unit import Units

pytestmark = pytest.mark.anyio

REJECT = {"name": "no", "action": "reject"}


@pytest.fixture
async def harness(units: Units, tmp_path: Path) -> AsyncIterator[ReviewHarness]:
    routes = Routes(make_settings(tmp_path))
    yield ReviewHarness(units, routes)
    await routes.close()


def tried(
    harness: ReviewHarness, *rules: dict[str, Any], mode: str = "enabled", **fields: Any
) -> DryRun:
    document = {"mode": mode, "publication": {"rules": list(rules)}}
    return harness.policies.dry_run(document, **fields)


def changed(result: DryRun) -> dict[str, tuple[ReviewAction, ReviewAction]]:
    return {it.candidate_id: (it.before.action, it.after.action) for it in result.changes}


async def test_what_would_change_is_listed_and_the_rest_counted(harness: ReviewHarness) -> None:
    harness.set_policy({"kind": "fact", "action": "publish_provisional"}, mode="shadow")
    fact, decision = (
        harness.plane.propose("Team is red"),
        harness.plane.propose("Go", kind=Kind.DECISION),
    )
    before = harness.plane.audit()

    result = tried(harness, {"name": "no facts", "kind": "fact", "action": "reject"}, mode="shadow")

    assert changed(result) == {
        fact.candidate_id: (ReviewAction.PUBLISH_PROVISIONAL, ReviewAction.REJECT),
    }
    [change] = result.changes
    assert change.after.matched_rule_name == "no facts"
    assert change.after.reason == "rule 'no facts' says reject"
    assert (result.pending_count, result.decided_count, result.truncated) == (2, 0, False)
    assert result.before[ReviewAction.PUBLISH_PROVISIONAL] == result.after[ReviewAction.REJECT] == 1
    assert (
        result.before[ReviewAction.MANUAL_REVIEW] == result.after[ReviewAction.MANUAL_REVIEW] == 1
    )
    assert harness.plane.audit() == before
    assert harness.plane.candidate(fact) == fact
    assert harness.plane.candidate(decision) == decision


async def test_what_begins_to_happen_is_a_change(harness: ReviewHarness) -> None:
    harness.set_policy(REJECT, mode="shadow")
    waiting = harness.plane.propose("Team is red")

    [change] = tried(harness, REJECT).changes

    assert change.candidate_id == waiting.candidate_id
    assert (change.before.takes_effect, change.after.takes_effect) == (False, True)
    assert tried(harness, REJECT, mode="shadow").changes == ()


async def test_what_was_decided_is_compared_with_what_was_done(harness: ReviewHarness) -> None:
    active, provisional, rejected, escalated = (
        harness.plane.propose(f"Team {number} is red") for number in range(4)
    )
    harness.plane.publish(active)
    harness.plane.publish(provisional, publish_tier=Tier.PROVISIONAL)
    harness.plane.candidates.reject(ALICE, rejected.candidate_id)
    harness.set_policy()
    await harness.work()
    assert harness.plane.candidate(escalated).state is CandidateState.ESCALATED

    result = tried(harness, REJECT)

    assert changed(result) == {
        active.candidate_id: (ReviewAction.PUBLISH_ACTIVE, ReviewAction.REJECT),
        provisional.candidate_id: (ReviewAction.PUBLISH_PROVISIONAL, ReviewAction.REJECT),
        escalated.candidate_id: (ReviewAction.MANUAL_REVIEW, ReviewAction.REJECT),
    }
    by = {it.candidate_id: it.before.reason for it in result.changes}
    assert by[active.candidate_id] == "published by alice"
    assert (result.pending_count, result.decided_count) == (1, 3)


async def test_only_the_last_days_count(harness: ReviewHarness) -> None:
    harness.plane.learn("Team is red")
    harness.clock.advance(7 * DAY_MS + 1)

    assert tried(harness, REJECT).decided_count == 0
    assert tried(harness, REJECT, days=8).decided_count == 1
    for days in (0, 91):
        with pytest.raises(Invalid) as refused:
            tried(harness, REJECT, days=days)
        assert [it.pointer for it in refused.value.errors] == ["/days"]


async def test_a_policy_under_which_people_decide_changes_what_happens_by_itself(
    harness: ReviewHarness,
) -> None:
    harness.set_policy(REJECT)
    waiting = harness.plane.propose("Team is red")

    assert changed(tried(harness, REJECT, mode="manual_only")) == {
        waiting.candidate_id: (ReviewAction.REJECT, ReviewAction.MANUAL_REVIEW)
    }


async def test_a_wrong_policy_is_not_tried(harness: ReviewHarness) -> None:
    with pytest.raises(Invalid) as refused:
        tried(harness, {"action": "publish_active"})
    assert refused.value.code == "invalid_learning_policy"


async def test_it_says_when_there_is_more_than_it_looked_at(harness: ReviewHarness) -> None:
    for number in range(3):
        harness.plane.propose(f"Team {number} is red")
    enabled = harness.policies.read({"mode": "enabled"})

    now = harness.clock.now_ms()

    with harness.units.read() as unit:
        some = dry_run(read_input(unit, days=7, now_ms=now, most=2), enabled, now_ms=now)
        all_of_them = dry_run(read_input(unit, days=7, now_ms=now, most=3), enabled, now_ms=now)

    assert (some.truncated, some.pending_count, len(some.changes)) == (True, 2, 2)
    assert (all_of_them.truncated, all_of_them.pending_count) == (False, 3)
