"""What runs that use a promoted skill amount to: in the canary, and in force."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE, make_run, make_session
from tests.support.rollout_harness import MARKER, NAME
from tests.support.threads_at_once import together
from tests.support.watched_rollouts import WatchedRollouts
from understudy.core.errors import Invalid
from understudy.learnings.model import CandidateState, CapturePath, Kind, Origin
from understudy.review.policy import PromotionSettings
from understudy.rollout.model import EvidenceKind, Proof, Stage
from understudy.rollout.outcome import OutcomeCounts, SuccessTally
from understudy.rollout.outcome_recorder import LOOK_BACK_MS
from understudy.rollout.regression import FIRST_USES, LEAST_USES, RECENT_USES
from understudy.runs.model import TRIAL_SOURCE, RunRequest, RunStatus
from understudy.storage.unit import Units

pytestmark = pytest.mark.one_database

GOOD, BAD, STOPPED = RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED
START = [GOOD] * FIRST_USES
REGRESSION = [BAD] * LEAST_USES
FOR_A_TRIAL = RunRequest(source_plugin="rollout", source_kind=TRIAL_SOURCE)
ONLY_TOLD = PromotionSettings(demote_when_worse=False)


@pytest.fixture
def canary(units: Units) -> WatchedRollouts:
    watched = WatchedRollouts(units)
    watched.hand.bring_to(Stage.CANARY)
    return watched


@pytest.fixture
def active(units: Units) -> WatchedRollouts:
    watched = WatchedRollouts(units)
    watched.hand.bring_to(Stage.ACTIVE)
    return watched


@contextmanager
def damaged(watched: WatchedRollouts, table: str, column: str) -> Iterator[None]:
    """What stands in a column of all rows cannot be read meanwhile."""
    swap = f"UPDATE {table} SET {column} = "
    with watched.units.write() as unit:
        unit.connection.execute(sa.text(f"{swap} '{{' || {column}"))
    yield
    with watched.units.write() as unit:
        unit.connection.execute(sa.text(f"{swap} substr({column}, 2)"))


def test_a_canary_run_that_succeeds_is_executed_evidence(canary: WatchedRollouts) -> None:
    [used_by] = canary.use(GOOD)

    run = canary.carried_out_for(used_by)
    detail = canary.hand.get()
    [evidence] = [it for it in detail.evidence if it.kind is EvidenceKind.CANARY]
    assert (evidence.proof, evidence.success, evidence.run_id) == (Proof.EXECUTED, True, run.run_id)
    assert (evidence.session_id, evidence.actor) == (run.session_id, "daemon")
    assert detail.missing == ()
    assert canary.counts(Stage.CANARY) == OutcomeCounts(succeeded=1)
    assert detail.uses.canary == OutcomeCounts(succeeded=1)
    assert canary.items() == []


@pytest.mark.every_database
def test_a_canary_run_that_fails_holds_the_rollout_and_asks_somebody_to_look(
    canary: WatchedRollouts,
) -> None:
    [used_by] = canary.use(BAD)

    run = canary.carried_out_for(used_by)
    record = canary.hand.get().record
    assert (record.status, record.held_reason) == (
        Stage.CANARY,
        f"canary run {run.run_id} failed",
    )
    assert canary.hand.happened()[-2:] == ["rollout_result", "hold"]
    [item] = canary.items()
    assert (item.kind, item.origin, item.capture_path, item.state) == (
        Kind.PROCEDURE,
        Origin.DAEMON,
        CapturePath.ROLLOUT,
        CandidateState.PENDING,
    )
    assert NAME in item.content
    assert [it.run_id for it in item.evidence_refs] == [None, run.run_id]
    assert canary.rung == ["review"]
    with canary.units.read() as unit:
        assert unit.review_queue.next_due_ms() is not None
    assert [it.action for it in canary.hand.audit()][-1] == "rollouts.hold"
    with pytest.raises(Invalid):
        canary.hand.promote(status=Stage.ACTIVE)


def test_another_failure_holds_what_is_held_no_second_time(canary: WatchedRollouts) -> None:
    canary.use(BAD, BAD)

    assert canary.hand.happened().count("hold") == 1
    assert len(canary.items()) == 1
    assert canary.hand.get().counts.canary_failure_count == 2


@pytest.mark.every_database
def test_a_failure_that_somebody_reports_asks_people_as_well(canary: WatchedRollouts) -> None:
    detail = canary.hand.show("canary", canary.hand.run("nothing of the kind"))

    assert detail.record.held_reason is not None
    assert len(canary.items()) == 1


def test_a_hold_by_hand_asks_nobody(canary: WatchedRollouts) -> None:
    canary.hand.rollouts.hold(ALICE, NAME, reason="let me think")

    assert canary.items() == []


@pytest.mark.parametrize("own_end", [GOOD, BAD, STOPPED])
@pytest.mark.parametrize(
    ("carried_out", "counted"),
    [
        (GOOD, OutcomeCounts(succeeded=1)),
        (BAD, OutcomeCounts(failed=1)),
        (STOPPED, OutcomeCounts(abandoned=1)),
    ],
)
def test_how_the_skill_was_carried_out_counts_and_not_what_else_its_run_did(
    canary: WatchedRollouts, own_end: RunStatus, carried_out: RunStatus, counted: OutcomeCounts
) -> None:
    run = canary.begin()
    canary.carry_out(run, carried_out)

    canary.end(run, own_end)

    assert canary.counts(Stage.CANARY) == counted
    assert (canary.hand.get().record.held_reason is not None) is (carried_out is BAD)


def test_where_nobody_carried_it_out_nothing_is_shown(canary: WatchedRollouts) -> None:
    canary.end(canary.begin(), GOOD)
    canary.end(canary.begin(), BAD)

    assert canary.counts(Stage.CANARY) == OutcomeCounts(abandoned=2)
    assert canary.hand.get().counts.canary_success_count == 0
    assert canary.hand.get().record.held_reason is None


def test_what_failed_once_has_failed_though_it_was_done_again(canary: WatchedRollouts) -> None:
    run = canary.begin()
    failed = canary.carry_out(run, BAD)
    canary.carry_out(run, GOOD)

    canary.end(run)

    assert canary.hand.get().record.held_reason == f"canary run {failed.run_id} failed"


def test_what_somebody_stopped_is_counted_and_shows_nothing(canary: WatchedRollouts) -> None:
    canary.use(STOPPED, RunStatus.INTERRUPTED)

    assert canary.counts(Stage.CANARY) == OutcomeCounts(abandoned=2)
    assert canary.hand.get().counts.canary_success_count == 0
    assert canary.hand.happened()[-1] == "promote"


def test_a_use_is_noted_once_the_sidechain_is_over_too(canary: WatchedRollouts) -> None:
    run = canary.begin()
    carrying = canary.carry_out(run)

    canary.end(run)
    assert canary.counts(Stage.CANARY) == OutcomeCounts()

    canary.end(carrying, BAD)
    assert canary.counts(Stage.CANARY) == OutcomeCounts(failed=1)


def test_the_end_of_a_sidechain_notes_nothing_while_its_run_goes_on(
    canary: WatchedRollouts,
) -> None:
    run = canary.begin()
    canary.end(canary.carry_out(run))
    assert canary.counts(Stage.CANARY) == OutcomeCounts()

    canary.end(run)
    assert canary.counts(Stage.CANARY) == OutcomeCounts(succeeded=1)


@pytest.mark.parametrize("fingerprint", [None, "f" * 64])
def test_a_run_that_used_no_promoted_skill_is_none_of_it(
    canary: WatchedRollouts, fingerprint: str | None
) -> None:
    # One that carries a definition out for a trial has no run above it.
    run = make_run(status=RunStatus.RUNNING, skill_fingerprint=fingerprint)
    with canary.units.write() as unit:
        unit.runs.add(run)

    canary.end(run)

    assert sum(canary.hand.counters.snapshot()["uses_total"].values()) == 0


@pytest.mark.every_database
def test_a_use_of_what_has_no_rollout_is_left(canary: WatchedRollouts) -> None:
    run = canary.begin()
    canary.carry_out(run, BAD)
    with canary.units.write() as unit:
        unit.connection.execute(sa.text("UPDATE skill_uses SET slug = 'unknown'"))

    canary.end(run, BAD)

    assert sum(canary.hand.counters.snapshot()["uses_total"].values()) == 0
    assert canary.outcomes.catch_up() == 0


def test_a_trial_says_nothing_of_what_it_happens_to_use(canary: WatchedRollouts) -> None:
    run = canary.begin(request=FOR_A_TRIAL, trial_id="trl_of_another_skill")
    canary.carry_out(run, BAD)

    canary.end(run, BAD)

    assert canary.outcomes.catch_up() == 0
    assert canary.counts(Stage.CANARY) == OutcomeCounts()
    assert canary.hand.get().record.held_reason is None


def test_a_run_that_only_says_it_is_a_trial_counts_as_any_other(canary: WatchedRollouts) -> None:
    canary.use(BAD, request=FOR_A_TRIAL)

    assert canary.counts(Stage.CANARY) == OutcomeCounts(failed=1)
    assert canary.hand.get().record.held_reason is not None


def test_uses_of_an_earlier_definition_are_counted_for_that_one(canary: WatchedRollouts) -> None:
    earlier = canary.hand.get().record.fingerprint
    run = canary.begin()
    canary.carry_out(run, BAD)
    canary.hand.promote(instructions=f"Say {MARKER} and no more.")

    canary.end(run)

    record = canary.hand.get().record
    assert record.fingerprint != earlier
    assert record.held_reason is None
    assert canary.counts(Stage.DRAFT, earlier) == OutcomeCounts(failed=1)
    assert canary.counts(Stage.DRAFT) == OutcomeCounts()


@pytest.mark.parametrize("status", [GOOD, BAD])
def test_a_use_of_an_earlier_attempt_is_counted_and_shows_nothing(
    canary: WatchedRollouts, status: RunStatus
) -> None:
    run = canary.begin()
    canary.carry_out(run, status)
    canary.hand.promote(status=Stage.DRAFT)
    canary.hand.clock.advance(1_000)
    canary.hand.bring_to(Stage.CANARY)

    canary.end(run)

    detail = canary.hand.get()
    assert (detail.counts.canary_success_count, detail.counts.canary_failure_count) == (0, 0)
    assert detail.record.held_reason is None


def test_what_was_left_is_noted_later_and_only_once(canary: WatchedRollouts) -> None:
    run = canary.begin()
    canary.carry_out(run, GOOD)
    canary.stop(run, GOOD)
    assert canary.counts(Stage.CANARY) == OutcomeCounts()

    assert canary.outcomes.catch_up() == 1
    assert canary.outcomes.catch_up() == 0
    with canary.units.write() as unit:
        canary.outcomes.ended(unit, run)

    assert canary.counts(Stage.CANARY) == OutcomeCounts(succeeded=1)
    assert canary.hand.happened().count("rollout_result") == 2


def test_what_is_carried_out_still_is_left_until_it_ends(canary: WatchedRollouts) -> None:
    run = canary.begin()
    carrying = canary.carry_out(run)
    canary.stop(run, GOOD)
    assert canary.outcomes.catch_up() == 0

    canary.stop(carrying, GOOD)

    assert canary.outcomes.catch_up() == 1
    assert canary.counts(Stage.CANARY) == OutcomeCounts(succeeded=1)


def test_what_is_long_past_is_left(canary: WatchedRollouts) -> None:
    canary.stop(canary.begin(), BAD)
    canary.hand.clock.advance(LOOK_BACK_MS + 1)

    assert canary.outcomes.catch_up() == 0


@pytest.mark.every_database
def test_a_run_that_cannot_be_read_says_nothing(canary: WatchedRollouts) -> None:
    run = canary.begin()
    canary.carry_out(run, BAD)
    run = canary.stop(run, BAD)

    with damaged(canary, "runs", "wanted"):
        assert canary.outcomes.catch_up() == 1

    assert canary.counts(Stage.CANARY) == OutcomeCounts(abandoned=1)
    assert canary.hand.get().record.held_reason is None
    assert run.status is BAD


@pytest.mark.every_database
def test_a_rollout_that_cannot_be_read_keeps_no_run_from_ending(canary: WatchedRollouts) -> None:
    run = canary.begin()
    canary.carry_out(run, GOOD)

    with damaged(canary, "rollouts", "body"):
        canary.end(run)

    assert canary.outcomes.catch_up() == 1
    assert canary.counts(Stage.CANARY) == OutcomeCounts(succeeded=1)


def test_several_daemons_note_a_use_once(canary: WatchedRollouts) -> None:
    run = canary.begin()
    canary.carry_out(run, BAD)
    canary.stop(run, GOOD)

    together([canary.outcomes.catch_up] * 4)

    assert canary.hand.happened().count("hold") == 1
    assert len(canary.items()) == 1
    assert canary.hand.counters.snapshot()["uses_total"]["canary_failed"] == 1


def test_a_skill_that_does_worse_than_it_did_is_demoted(active: WatchedRollouts) -> None:
    runs = active.use(*START, *REGRESSION)

    detail = active.hand.get()
    record = detail.record
    assert (record.status, record.is_demoted) == (Stage.REVOKED, True)
    assert record.revoked_reason == (
        "0 of its last 10 runs succeeded, which is below its baseline of 11 of 11"
    )
    last = detail.events[-1]
    assert (last.event, last.actor, last.from_status, last.to_status) == (
        "demote",
        "daemon",
        "active",
        "revoked",
    )
    # Its files follow, as they do with every other change.
    assert active.hand.mounted.files == {}
    [item] = active.items()
    assert [it.run_id for it in item.evidence_refs[1:]] == [
        active.carried_out_for(run).run_id for run in reversed(runs[FIRST_USES:])
    ]
    assert active.hand.counters.snapshot()["events_total"]["demote"] == 1
    assert active.hand.counters.snapshot()["uses_total"]["active_failed"] == LEAST_USES


def test_a_skill_that_does_as_it_did_stays(active: WatchedRollouts) -> None:
    active.use(*[GOOD, GOOD, GOOD, BAD] * 6)

    detail = active.hand.get()
    assert detail.record.status is Stage.ACTIVE
    assert detail.uses.active == OutcomeCounts(succeeded=18, failed=6)
    assert (detail.uses.baseline.successes, detail.uses.baseline.tries) == (9, 11)
    assert (detail.uses.recent.successes, detail.uses.recent.tries) == (10, 14)
    assert detail.uses.offered_percent == 100
    assert active.items() == []


def test_what_was_demoted_shows_the_figures_of_then(active: WatchedRollouts) -> None:
    active.use(*START, *REGRESSION)

    uses = active.hand.get().uses
    assert uses.recent == SuccessTally(successes=0, tries=10)
    assert uses.baseline == SuccessTally(successes=11, tries=11)


def test_what_fails_from_its_first_day_is_demoted_though_somebody_vouched_for_it(
    active: WatchedRollouts,
) -> None:
    active.use(*REGRESSION[1:])
    assert active.hand.get().record.status is Stage.ACTIVE

    active.use(BAD)

    record = active.hand.get().record
    assert record.is_demoted
    assert record.revoked_reason == (
        "0 of its first 10 runs succeeded, so it fails more often than not"
    )


def test_one_session_alone_takes_nothing_back_that_works_for_others(
    active: WatchedRollouts,
) -> None:
    for number in range(FIRST_USES):
        active.use_in(f"other{number}", GOOD)

    active.use_in("mallory", *[BAD] * RECENT_USES)

    detail = active.hand.get()
    assert detail.record.status is Stage.ACTIVE
    assert detail.uses.active == OutcomeCounts(succeeded=FIRST_USES, failed=RECENT_USES)


def test_the_sidechains_of_a_session_count_as_that_session(active: WatchedRollouts) -> None:
    for number in range(FIRST_USES):
        active.use_in(f"other{number}", GOOD)
    for number in range(RECENT_USES):
        child = make_session(f"below{number}", parent_session_id="s1")
        with active.units.write() as unit:
            unit.sessions.add(child)
        active.use(BAD, session_id=child.session_id)

    record = active.hand.get().record
    assert record.status is Stage.ACTIVE
    about = (NAME, record.fingerprint, Stage.ACTIVE)
    with active.units.read() as unit:
        found = unit.rollout_outcomes.newest(*about, since_ms=0, limit=RECENT_USES)
    assert {it.root_session_id for it in found} == {"s1"}


def test_what_many_sessions_see_fail_is_taken_back(active: WatchedRollouts) -> None:
    active.use(*START)
    for number in range(LEAST_USES + 1):
        active.use_in(f"other{number}", BAD)

    assert active.hand.get().record.is_demoted


def test_evidence_that_somebody_adds_later_forgets_no_failure(active: WatchedRollouts) -> None:
    active.use(*START, *REGRESSION[1:])
    active.hand.show("verification", active.hand.run())

    active.use(BAD)

    assert active.hand.get().record.is_demoted


def test_what_the_canary_showed_is_part_of_the_baseline(canary: WatchedRollouts) -> None:
    canary.use(*[GOOD] * 5)
    canary.hand.promote(status=Stage.ACTIVE)

    canary.use(*REGRESSION)

    reason = canary.hand.get().record.revoked_reason
    assert reason is not None
    assert reason.endswith("below its baseline of 5 of 5")


def test_where_the_policy_takes_nothing_back_it_is_held_and_stays_in_force(
    active: WatchedRollouts,
) -> None:
    active.hand.policy = ONLY_TOLD

    active.use(*START, *REGRESSION, BAD)

    record = active.hand.get().record
    assert record.status is Stage.ACTIVE
    assert record.held_reason is not None
    assert NAME in active.hand.mounted.files
    assert active.hand.happened().count("hold") == 1
    assert len(active.items()) == 1


def test_what_is_released_is_watched_anew(active: WatchedRollouts) -> None:
    active.hand.policy = ONLY_TOLD
    active.use(*START, *REGRESSION)
    active.hand.clock.advance(1)
    active.hand.rollouts.release(ALICE, NAME)

    active.use(*[BAD] * (LEAST_USES - 1))
    assert active.hand.get().record.held_reason is None

    active.use(BAD)
    assert active.hand.get().record.held_reason is not None
    assert len(active.items()) == 2


@pytest.mark.every_database
def test_what_is_rolled_back_has_to_fail_again_before_it_is_demoted_again(
    active: WatchedRollouts,
) -> None:
    active.use(*START, *REGRESSION)
    active.hand.clock.advance(1)
    active.hand.rollouts.rollback(ALICE, NAME)

    active.use(BAD)
    assert active.hand.get().record.status is Stage.ACTIVE

    active.use(*[BAD] * (LEAST_USES - 1))
    assert active.hand.get().record.is_demoted


def test_runs_that_end_at_once_demote_once(active: WatchedRollouts) -> None:
    active.use(*START, *REGRESSION[1:])
    runs = [active.begin() for _ in range(4)]
    for run in runs:
        active.carry_out(run, BAD)
        active.stop(run, GOOD)

    together([partial(active.outcomes.catch_up) for _ in runs])

    assert active.hand.happened().count("demote") == 1
    assert len(active.items()) == 1
    active.outcomes.catch_up()
    with active.units.read() as unit:
        assert unit.rollout_outcomes.unsettled(since_ms=0, limit=10) == ()


@pytest.mark.every_database
def test_what_deserves_a_look_is_found_by_it(active: WatchedRollouts) -> None:
    with active.units.read() as unit:
        assert unit.rollouts.flagged(limit=5) == ()
    active.use(*START, *REGRESSION)
    demoted = active.hand.get().record

    with active.units.read() as unit:
        assert unit.rollouts.flagged(limit=5) == (demoted,)
    with active.units.write() as unit:
        unit.rollouts.update(
            replace(demoted, is_demoted=False, revision=demoted.revision + 1),
            expected_version=demoted.revision,
        )
        assert unit.rollouts.flagged(limit=5) == ()
