"""What the runs of an attempt amount to is counted where they are kept, and read by few."""

from functools import partial

import sqlalchemy as sa

from tests.support.cpu_effort import effort
from tests.support.factories import NOW
from tests.support.rollout_factories import make_event, make_evidence, make_rollout
from tests.support.rollout_harness import NAME, RolloutHarness
from understudy.core.page import PageRequest
from understudy.rollout.evidence import NOTHING, Counts, EvidenceSums
from understudy.rollout.model import (
    EvidenceKind,
    EvidenceRecord,
    Proof,
    Rollout,
    RolloutEventName,
    Stage,
)
from understudy.rollout.service import SHOWN, SHOWN_IN_LIST
from understudy.storage.rows import to_row
from understudy.storage.schema import rollout_events, rollout_evidence
from understudy.storage.unit import Units

ROLLOUT = make_rollout()
shown = partial(make_evidence, ROLLOUT)
canary = partial(shown, kind=EvidenceKind.CANARY)


def sums(units: Units, *evidence: EvidenceRecord) -> EvidenceSums:
    with units.write() as unit:
        unit.rollouts.add(ROLLOUT)
        for each in evidence:
            assert unit.rollouts.add_evidence(each)
    with units.read() as unit:
        return unit.rollouts.sums_of([ROLLOUT])[ROLLOUT.skill_name]


def test_nothing_amounts_to_nothing(units: Units) -> None:
    assert sums(units) == NOTHING
    with units.read() as unit:
        assert unit.rollouts.sums_of([]) == {}


def test_verifying_runs_and_their_sessions_are_counted(units: Units) -> None:
    found = sums(units, shown("a"), shown("b"), shown("c", session_id="s2"))
    assert found == EvidenceSums(every=Counts(successful_run_count=3, distinct_session_count=2))


def test_canary_runs_count_for_themselves(units: Units) -> None:
    found = sums(units, canary("a"), canary("b"), canary("c", success=False))
    assert found.every == Counts(canary_success_count=2, canary_failure_count=1)


def test_what_is_about_another_definition_or_attempt_counts_for_nothing(units: Units) -> None:
    other = (
        shown("a", fingerprint="f"),
        canary("b", fingerprint="f", success=False),
        shown("c", attempt=2, evidence_id="evd_c"),
    )
    assert sums(units, *other) == NOTHING


def test_what_was_executed_is_counted_once_more_by_itself(units: Units) -> None:
    executed = {"proof": Proof.EXECUTED}
    found = sums(
        units,
        shown("a"),
        shown("b", session_id="s2", **executed),
        canary("c"),
        canary("d", **executed),
        canary("e", success=False),
    )
    assert found.every == Counts(
        successful_run_count=2,
        distinct_session_count=2,
        executed_run_count=2,
        canary_success_count=2,
        canary_failure_count=1,
    )
    assert found.executed == Counts(
        successful_run_count=1,
        distinct_session_count=1,
        executed_run_count=2,
        canary_success_count=1,
    )


def test_each_of_several_is_counted_by_itself(units: Units) -> None:
    other = make_rollout("other")
    with units.write() as unit:
        for rollout in (ROLLOUT, other):
            unit.rollouts.add(rollout)
        unit.rollouts.add_evidence(shown("a"))
        unit.rollouts.add_evidence(make_evidence(other, "b", kind=EvidenceKind.CANARY))

    with units.read() as unit:
        found = unit.rollouts.sums_of([ROLLOUT, other])
    assert {name: it.every for name, it in found.items()} == {
        ROLLOUT.skill_name: Counts(successful_run_count=1, distinct_session_count=1),
        "other": Counts(canary_success_count=1),
    }


def test_of_much_evidence_the_newest_of_each_kind_is_read(units: Units) -> None:
    rows = [
        *(shown(f"v{at}", recorded_at_ms=NOW + at) for at in range(5)),
        *(canary(f"c{at}", recorded_at_ms=NOW + 100 + at) for at in range(5)),
    ]
    sums(units, *reversed(rows))

    with units.read() as unit:
        found = unit.rollouts.newest_evidence([ROLLOUT], limit=2)
    assert [it.run_id for it in found[ROLLOUT.skill_name]] == ["v3", "v4", "c3", "c4"]


FEW, MANY = 300, 6_000


def crowd(units: Units, rollout: Rollout, numbers: range) -> None:
    """So many more canary runs that speak for a rollout, each with its event."""
    evidence, events = [], []
    for at in numbers:
        run_id = f"run_{at:05}"
        found = make_evidence(
            rollout, run_id, kind=EvidenceKind.CANARY, session_id=f"s{at}", recorded_at_ms=NOW + at
        )
        evidence.append(to_row(found, rollout_evidence))
        events.append(
            to_row(
                make_event(rollout, event=RolloutEventName.ROLLOUT_RESULT, run_id=run_id),
                rollout_events,
            )
        )
    with units.write() as unit:
        unit.connection.execute(sa.insert(rollout_evidence), evidence)
        unit.connection.execute(sa.insert(rollout_events), events)


def test_what_a_rollout_costs_does_not_grow_with_what_speaks_for_it(units: Units) -> None:
    hand = RolloutHarness(units)
    hand.learn()
    rollout = hand.bring_to(Stage.CANARY).record
    crowd(units, rollout, range(FEW))
    hand.get()
    little = effort(hand.get)

    crowd(units, rollout, range(FEW, MANY))

    # Twenty times as much, which is counted by the database alone.
    assert effort(hand.get) < 4 * little
    detail = hand.get()
    assert detail.counts.canary_success_count == MANY
    canaries = [it for it in detail.evidence if it.kind is EvidenceKind.CANARY]
    assert [it.run_id for it in canaries] == [f"run_{at:05}" for at in range(MANY - SHOWN, MANY)]
    assert len(detail.events) == SHOWN
    (listed,) = hand.rollouts.page(PageRequest()).items
    # So many canary runs, and the one that verified it.
    assert len(listed.evidence) == SHOWN_IN_LIST + 1
    assert len(listed.events) == SHOWN_IN_LIST == 20
    assert listed.verifier_run_ids == detail.verifier_run_ids


def test_a_list_names_every_run_that_verified_a_skill_however_many(units: Units) -> None:
    hand = RolloutHarness(units)
    hand.learn()
    hand.learn("lrn_2")
    other = hand.promote("lrn_2", skill_name="other").record
    hand.promote()
    runs = [hand.run() for _ in range(SHOWN_IN_LIST + 5)]
    for run in runs:
        hand.show("verification", run)

    wanted = tuple(run.run_id for run in runs)
    listed = {it.record.skill_name: it for it in hand.rollouts.page(PageRequest()).items}
    assert hand.get().verifier_run_ids == wanted
    assert listed[NAME].verifier_run_ids == wanted
    assert len(listed[NAME].evidence) == SHOWN_IN_LIST
    assert listed[other.skill_name].verifier_run_ids == ()
    # What another definition was shown with says nothing for this one.
    assert hand.promote(instructions="Otherwise.").verifier_run_ids == ()
