"""What people are asked to look at when the daemon did something to a rollout of itself."""

import pytest

from tests.support.factories import NOW
from tests.support.rollout_factories import make_definition, make_rollout
from understudy.learnings.model import CapturePath, Kind, Origin
from understudy.learnings.proposal import make_candidate
from understudy.learnings.secrets import secret_reason
from understudy.rollout.changes import ASKED, MOST_RUNS, review_candidate
from understudy.rollout.model import RolloutEventName, Stage

# No promotion takes such a name today; one from before the rules grew may be there.
ODD = "password:hunter2-" + "x9q"


@pytest.mark.parametrize(("event", "stage"), ASKED)
def test_each_is_a_candidate_that_says_what_happened_and_which_runs(
    event: RolloutEventName, stage: Stage
) -> None:
    rollout = make_rollout(status=stage)

    wanted = review_candidate(rollout, event, "2 of its last 10 runs succeeded", ["run_1", "run_2"])

    candidate = make_candidate(wanted, origin=Origin.DAEMON, now_ms=NOW)
    assert (candidate.kind, candidate.capture_path) == (Kind.PROCEDURE, CapturePath.ROLLOUT)
    assert rollout.skill_name in candidate.content
    assert candidate.scope == rollout.source_scope
    # It waits until somebody decides.
    assert candidate.expires_at_ms is None
    note, *runs = candidate.evidence_refs
    assert note.note == "2 of its last 10 runs succeeded"
    assert [it.run_id for it in runs] == ["run_1", "run_2"]


def test_no_more_runs_are_named_than_a_candidate_may_have() -> None:
    failed = [f"run_{number}" for number in range(100)]
    rollout = make_rollout(status=Stage.REVOKED)

    wanted = review_candidate(rollout, RolloutEventName.DEMOTE, "why", failed)

    assert len(make_candidate(wanted, origin=Origin.DAEMON, now_ms=NOW).evidence_refs) == 32
    assert [it.run_id for it in wanted.evidence_refs[1:]] == failed[:MOST_RUNS]


def test_a_name_that_passes_for_a_secret_keeps_nobody_from_being_asked() -> None:
    rollout = make_rollout(
        ODD, definition=make_definition(ODD), status=Stage.CANARY, source_learning_id="lrn_1"
    )
    words = ASKED[RolloutEventName.HOLD, Stage.CANARY]
    assert secret_reason(words.format(skill=ODD)) is not None

    wanted = review_candidate(rollout, RolloutEventName.HOLD, "why", ["run_1"])

    content = make_candidate(wanted, origin=Origin.DAEMON, now_ms=NOW).content
    assert ODD not in content
    assert "lrn_1" in content
