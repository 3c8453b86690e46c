"""What is counted of rollouts."""

from understudy.rollout.changes import RolloutCounters
from understudy.rollout.model import EvidenceKind, Proof, RolloutEventName, Stage
from understudy.rollout.outcome import SkillOutcome


def test_every_event_and_every_kind_of_evidence_has_a_counter() -> None:
    counted = RolloutCounters().snapshot()
    assert set(counted["events_total"]) == set(RolloutEventName)
    assert len(counted["evidence_total"]) == 8
    assert len(counted["uses_total"]) == len(Stage) * len(SkillOutcome)
    assert sum(sum(it.values()) for it in counted.values()) == 0


def test_what_happens_is_counted_once() -> None:
    counters = RolloutCounters()
    counters.happened(RolloutEventName.PROMOTE)
    counters.shown(EvidenceKind.CANARY, Proof.EXECUTED, success=False)
    counters.used(Stage.ACTIVE, SkillOutcome.SUCCEEDED)
    counted = counters.snapshot()
    assert {name: n for name, n in counted["events_total"].items() if n} == {"promote": 1}
    assert {name: n for name, n in counted["evidence_total"].items() if n} == {
        "canary_executed_failure": 1
    }
    assert {name: n for name, n in counted["uses_total"].items() if n} == {"active_succeeded": 1}
