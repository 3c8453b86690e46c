"""Learning from runs once they have ended, on both databases."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.contract.conftest import UnitsOnDatabase
from tests.support.learning_runs import OFF, ON, LearningRuns
from tests.support.run_harness import Probe, arrived, until
from understudy.core.clock import DAY_MS
from understudy.learnings.capture import MAX_ATTEMPTS, WAITS_MS
from understudy.learnings.capture_settings import SemanticCaptureSettings
from understudy.learnings.model import (
    Applies,
    CapturePath,
    EvidenceRef,
    Kind,
    LearningSource,
    Origin,
)
from understudy.learnings.proposal import NewCandidate, make_candidate
from understudy.memory.record import CaptureState, RunCapture, SemanticCapture
from understudy.runs.model import RunStatus
from understudy.sessions.journal import EventKind
from understudy.sessions.learning_scopes import session_scope
from understudy.settings import RouteConfig, Settings
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel
from understudy.work.queue_worker import LEASE_MS

pytestmark = pytest.mark.one_database

EXAMPLE = (
    "For future turns: Preference: Preferred editor is Helix. Fact: Project codename is Atlas. "
    "Reply exactly OK."
)
HELIX = {"kind": "preference", "content": "Preferred editor is Helix."}
# Assembled, so that no scanner takes it for a real one.
KEY = "sk-" + "proj-" + "abc123def456ghi789"
PENDING, COMPLETED, SKIPPED = SemanticCapture


@pytest.fixture
async def school(database: UnitsOnDatabase, settings: Settings) -> AsyncIterator[LearningRuns]:
    school = LearningRuns(database.units, settings, tools=(Probe(),))
    yield school
    await school.providers.close()


def answer(**candidates: dict[str, Any]) -> str:
    return json.dumps(candidates)


async def ended(school: LearningRuns, text: str = "I always edit in Helix.") -> str:
    """A run that has ended and waits to be learned from."""
    run = (await school.run(text)).run
    assert school.receipt(run.run_id) is PENDING
    return run.run_id


@pytest.mark.every_database
async def test_labels_stand_that_the_model_does_not_strike(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue("OK", "{}")
    run_id = await ended(school, EXAMPLE)
    assert await school.learn() == 1
    first, second = school.proposed(run_id)
    assert (first.kind, first.content) == (Kind.PREFERENCE, "Preferred editor is Helix")
    assert (second.kind, second.content) == (Kind.FACT, "Project codename is Atlas")
    run = school.stored(run_id)
    for it in (first, second):
        assert (it.origin, it.confidence, it.scope) == (Origin.DAEMON, 98, session_scope("s1"))
        assert it.capture_path is CapturePath.LABELS
        assert it.source == LearningSource(run_id=run_id, session_id="s1", agent_id=run.agent_id)
        assert it.evidence_refs == (EvidenceRef(run_id=run_id),)
        assert it.created_at_ms == run.finished_at_ms
        assert it.expires_at_ms is None
        assert not it.derived_from_untrusted
        assert it.reproposal_of is None
    asked = json.loads(fake.requests[-1].last_user)
    assert [it["content"] for it in asked["labels"]] == [first.content, second.content]
    assert school.receipt(run_id) is COMPLETED
    assert school.waiting() == 0
    with school.units.read() as unit:
        assert unit.review_queue.size() == 2
        told = unit.journal.read(session_id="s1", kinds=[EventKind.LEARNING])
        (added,) = unit.journal.read(session_id="s1", kinds=[EventKind.CANDIDATES_ADDED])
    ids = [first.candidate_id, second.candidate_id]
    assert [event.data["candidate_id"] for event in told] == ids
    assert (added.run_id, added.data) == (run_id, {"candidate_ids": ids})


@pytest.mark.every_database
async def test_a_standing_instruction_is_proposed_for_every_task(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue("OK", "{}")
    run_id = await ended(
        school, "Preference: always answer in Dutch.\n\nFact: the mill is in Delft."
    )
    await school.learn()
    assert {it.kind: it.applies for it in school.proposed(run_id)} == {
        Kind.PREFERENCE: Applies.ALWAYS,
        Kind.FACT: Applies.WHEN_RELEVANT,
    }


async def test_the_limit_of_what_a_model_finds_leaves_labels_alone(
    school: LearningRuns, fake: FakeModel
) -> None:
    one = SemanticCaptureSettings(enabled=True, max_candidates_per_run=1)
    school.captured = replace(ON, semantic_candidates=one)
    more = [{**HELIX, "content": it} for it in ("HQ is in Oslo", "The mill is in Delft")]
    fake.queue("OK", json.dumps({"candidates": more}))
    run_id = await ended(school, EXAMPLE)
    await school.learn()
    assert [it.content for it in school.proposed(run_id)] == [
        "Preferred editor is Helix",
        "Project codename is Atlas",
        "HQ is in Oslo",
    ]


async def test_a_label_that_the_model_strikes_is_not_proposed(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue("OK", json.dumps({"candidates": [], "not_meant": ["label_1", "label_9", 7]}))
    run_id = await ended(school, EXAMPLE)
    await school.learn()
    assert [it.content for it in school.proposed(run_id)] == ["Project codename is Atlas"]


async def test_a_label_takes_the_fields_that_the_model_says_of_it(
    school: LearningRuns, fake: FakeModel
) -> None:
    said = {
        "kind": "preference",
        "content": "The user's editor is Helix",
        "quote": "Preferred editor is Helix",
        "standing": True,
        "until": "2100-01-31",
    }
    fake.queue("OK", json.dumps({"candidates": [said]}))
    run_id = await ended(school, EXAMPLE)
    await school.learn()
    helix, _ = school.proposed(run_id)
    assert (helix.content, helix.capture_path) == ("Preferred editor is Helix", CapturePath.LABELS)
    assert (helix.applies, helix.quote) == (Applies.ALWAYS, said["quote"])
    end = datetime(2100, 2, 1, tzinfo=UTC)
    assert helix.expires_at_ms == int(end.timestamp() * 1000)


async def test_a_model_finds_what_has_no_label(school: LearningRuns, fake: FakeModel) -> None:
    fake.queue(
        "Noted.",
        answer(
            candidate_1={**HELIX, "content": "  Preferred   editor is Helix. ", "confidence": 101},
            candidate_2={"kind": "preference", "content": "preferred editor: helix"},
            candidate_3={"kind": "procedure", "content": "Open Helix first."},
        ),
    )
    run_id = await ended(school)
    await school.learn()
    (found,) = school.proposed(run_id)
    assert (found.content, found.confidence) == ("Preferred editor is Helix.", 100)
    assert found.capture_path is CapturePath.MODEL
    assert school.receipt(run_id) is COMPLETED
    asked = json.loads(fake.requests[-1].last_user)
    assert (asked["request"], asked["outcome"]) == ("I always edit in Helix.", "Noted.")


async def test_a_label_leaves_the_model_to_find_the_rest(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue(
        "Noted.", answer(candidate_1=HELIX, candidate_2={**HELIX, "content": "HQ is in Oslo"})
    )
    run_id = await ended(school, "Preference: Preferred editor is Helix. Our HQ is in Oslo.")
    await school.learn()
    assert [(it.content, it.capture_path) for it in school.proposed(run_id)] == [
        ("Preferred editor is Helix", CapturePath.LABELS),
        ("HQ is in Oslo", CapturePath.MODEL),
    ]


async def test_labels_are_proposed_where_the_model_is_given_up(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue("OK", *["No."] * (2 * MAX_ATTEMPTS))
    run_id = await ended(school, "Fact: Project codename is Atlas this week.")
    for _ in range(MAX_ATTEMPTS):
        await school.learn()
        school.clock.advance(WAITS_MS[-1])
    (found,) = school.proposed(run_id)
    assert found.content == "Project codename is Atlas this week"
    assert found.expires_at_ms is not None
    assert found.expires_at_ms > found.created_at_ms


async def test_labels_do_not_wait_for_a_model_that_fails(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue("OK", "No.", "Still no.", answer(candidate_1={**HELIX, "content": "HQ is in Oslo"}))
    run_id = await ended(school, "Fact: Project codename is Atlas. Our HQ is in Oslo.")
    await school.learn()
    (label,) = school.proposed(run_id)
    assert label.capture_path is CapturePath.LABELS
    assert school.capture_of(run_id).state is CaptureState.FAILED
    school.clock.advance(WAITS_MS[0])
    await school.learn()
    assert [it.content for it in school.proposed(run_id)] == [label.content, "HQ is in Oslo"]
    assert school.capture_of(run_id) == RunCapture(
        state=CaptureState.COMPLETED, found=2, attempts=2
    )


async def test_a_model_may_find_nothing(school: LearningRuns, fake: FakeModel) -> None:
    fake.queue("Noted.", "{}")
    run_id = await ended(school)
    await school.learn()
    assert not school.proposed(run_id)
    assert school.receipt(run_id) is COMPLETED
    with school.units.read() as unit:
        assert not unit.journal.read(session_id="s1", kinds=[EventKind.CANDIDATES_ADDED])


@pytest.mark.every_database
async def test_only_completed_runs_are_learned_from(school: LearningRuns, fake: FakeModel) -> None:
    fake.queue(Answer(status=400, error="boom"))
    run_id = (await school.run(EXAMPLE)).run.run_id
    assert school.stored(run_id).status is RunStatus.FAILED
    await school.learn()
    assert not school.proposed(run_id)
    assert school.receipt(run_id) is SKIPPED
    assert len(fake.requests) == 1


async def test_what_ended_while_capture_was_off_is_never_learned_from(
    school: LearningRuns, fake: FakeModel
) -> None:
    school.captured = OFF
    run = (await school.run(EXAMPLE)).run
    assert school.receipt(run.run_id) is SKIPPED
    school.captured = ON
    school.worker().startup()
    assert await school.learn() == 0
    assert school.receipt(run.run_id) is SKIPPED


async def test_a_run_that_is_queued_already_is_not_replayed_at_start(
    school: LearningRuns, fake: FakeModel
) -> None:
    await ended(school)
    with capture_logs() as logged:
        assert school.worker().startup() == 0
    assert not logged


async def test_a_labelled_secret_is_no_candidate(school: LearningRuns, fake: FakeModel) -> None:
    fake.queue("OK", "{}")
    run_id = await ended(school, f"Fact: api-key: {KEY}")
    await school.learn()
    assert not school.proposed(run_id)
    assert school.receipt(run_id) is COMPLETED
    assert KEY not in fake.requests[-1].last_user


async def test_a_fact_late_in_a_long_request_is_found(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue("OK", "{}")
    run_id = await ended(school, "word " * 120 + "end. Fact: Project codename is Atlas.")
    await school.learn()
    assert [it.content for it in school.proposed(run_id)] == ["Project codename is Atlas"]


async def test_capture_that_was_killed_is_taken_up_and_done_once(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue("Noted.")
    run_id = await ended(school)
    fake.hold()
    (job,) = school.claimed()
    killed = asyncio.create_task(school.worker().work(job))
    await arrived(fake, 2)
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    assert school.receipt(run_id) is PENDING
    fake.release()
    school.worker().startup()
    assert await school.learn() == 0  # somebody still seems to hold it

    school.clock.advance(LEASE_MS + 1)
    fake.queue(answer(candidate_1=HELIX))
    assert await school.learn() == 1
    assert [it.content for it in school.proposed(run_id)] == ["Preferred editor is Helix."]
    assert school.receipt(run_id) is COMPLETED
    school.worker().startup()
    school.clock.advance(DAY_MS)
    assert await school.learn() == 0
    assert len(school.proposed(run_id)) == 1


async def test_capture_that_was_half_done_is_settled_without_a_model(
    school: LearningRuns, fake: FakeModel
) -> None:
    run_id = await ended(school)
    source = LearningSource(run_id=run_id, session_id="s1")
    wanted = NewCandidate(
        scope=session_scope("s1"),
        kind=Kind.FACT,
        content="x is y",
        source=source,
        capture_path=CapturePath.MODEL,
    )
    with school.units.write() as unit:
        unit.candidates.add(make_candidate(wanted, origin=Origin.DAEMON, now_ms=1))
    calls = len(fake.requests)
    await school.learn()
    assert school.receipt(run_id) is COMPLETED
    assert len(school.proposed(run_id)) == 1
    assert len(fake.requests) == calls


async def test_a_provider_that_recovers_is_asked_again(
    school: LearningRuns, fake: FakeModel
) -> None:
    run_id = await ended(school)
    fake.fail(500)
    await school.learn()
    assert school.receipt(run_id) is PENDING
    assert not school.proposed(run_id)
    assert await school.learn() == 0
    school.clock.advance(1000)
    fake.queue(answer(candidate_1=HELIX))
    assert await school.learn() == 1
    assert len(school.proposed(run_id)) == 1
    assert school.receipt(run_id) is COMPLETED


async def test_a_provider_that_never_recovers_is_given_up_after_a_day(
    school: LearningRuns, fake: FakeModel
) -> None:
    run_id = await ended(school)
    tries, began = 0, school.clock.now_ms()
    while school.receipt(run_id) is PENDING:
        fake.fail(500)
        tries += await school.learn()
        school.clock.advance(WAITS_MS[min(tries, len(WAITS_MS)) - 1])
    assert tries == MAX_ATTEMPTS
    # After the last attempt the loop waited once more.
    waited = school.clock.now_ms() - began - WAITS_MS[-1]
    assert DAY_MS <= waited <= DAY_MS + 3600 * 1000
    assert not school.proposed(run_id)
    assert school.waiting() == 0


@pytest.mark.every_database
async def test_a_model_that_cannot_answer_in_json_is_given_up_after_as_many_attempts(
    school: LearningRuns, fake: FakeModel
) -> None:
    run_id = await ended(school)
    asked = len(fake.requests)
    while school.receipt(run_id) is PENDING:
        fake.queue("I would rather not.", "Really not.")
        await school.learn()
        # Each attempt sends an unusable answer back once.
        tried = (len(fake.requests) - asked) // 2
        if tried < MAX_ATTEMPTS:
            assert school.capture_of(run_id) == RunCapture(
                state=CaptureState.FAILED, attempts=tried, reason="model_answer_unusable"
            )
        school.clock.advance(WAITS_MS[-1])
    assert len(fake.requests) == asked + 2 * MAX_ATTEMPTS
    # What was given up is not completed.
    assert school.receipt(run_id) is SKIPPED
    assert school.capture_of(run_id) == RunCapture(
        state=CaptureState.GIVEN_UP, attempts=MAX_ATTEMPTS, reason="model_answer_unusable"
    )
    with school.units.read() as unit:
        now = school.clock.now_ms()
        assert unit.run_memory_index.given_up(since_ms=now - DAY_MS) == (1, "model_answer_unusable")
        assert unit.run_memory_index.given_up(since_ms=now) == (0, None)


@pytest.mark.every_database
async def test_while_capture_is_off_nothing_is_claimed_and_nothing_is_lost(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue("OK", "{}")
    run_id = await ended(school, EXAMPLE)
    school.captured = OFF
    assert await school.learn() == 0
    assert (school.receipt(run_id), school.waiting()) == (PENDING, 1)
    school.captured = ON
    (job,) = school.claimed()
    school.captured = OFF
    await school.worker().work(job)
    assert (school.receipt(run_id), school.waiting()) == (PENDING, 1)
    school.captured = ON
    assert await school.learn() == 1
    assert school.receipt(run_id) is COMPLETED


@pytest.mark.every_database
async def test_a_run_that_is_forgotten_meanwhile_leaves_nothing(
    school: LearningRuns, fake: FakeModel
) -> None:
    first, second = await ended(school, EXAMPLE), await ended(school)
    with school.units.write() as unit:
        school.keeper.forget(unit, [first])
    fake.hold()
    fake.queue(answer(candidate_1=HELIX))
    jobs = school.claimed()
    work = [asyncio.create_task(school.worker().work(job)) for job in jobs]
    await arrived(fake, 3)
    with school.units.write() as unit:
        school.keeper.forget(unit, [second])
    fake.release()
    await asyncio.gather(*work)
    assert not school.proposed(first, second)
    assert school.waiting() == 0


async def test_what_is_erased_meanwhile_is_not_proposed(
    school: LearningRuns, fake: FakeModel
) -> None:
    run_id = await ended(school, "I always edit in Helix.")
    fake.hold()
    fake.queue(answer(candidate_1=HELIX))
    (job,) = school.claimed()
    work = asyncio.create_task(school.worker().work(job))
    await arrived(fake, 2)
    with school.units.write() as unit:
        unit.unlearns.scrub_everywhere("Helix", now_ms=school.clock.now_ms())
    fake.release()
    await work
    assert not school.proposed(run_id)
    # What is left is read once more.
    fake.queue(answer(candidate_1={**HELIX, "content": "Somebody always edits"}))
    await school.learn()
    assert [it.content for it in school.proposed(run_id)] == ["Somebody always edits"]
    assert (school.receipt(run_id), school.waiting()) == (COMPLETED, 0)


async def test_two_who_work_on_the_same_run_propose_once(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue("Noted.", answer(candidate_1=HELIX), answer(candidate_1=HELIX))
    run_id = await ended(school)
    (slow,) = school.claimed()
    school.clock.advance(LEASE_MS + 1)
    (quick,) = school.claimed()
    await school.worker().work(quick)
    await school.worker().work(slow)
    assert len(school.proposed(run_id)) == 1
    assert (school.receipt(run_id), school.waiting()) == (COMPLETED, 0)


async def test_a_start_queues_what_waits_and_leaves_claims_alone(
    school: LearningRuns, fake: FakeModel
) -> None:
    lost, held = await ended(school, EXAMPLE), await ended(school, "Fact: The port is 8080")
    (one, other) = school.claimed()
    with school.units.write() as unit:
        unit.capture_queue.done(one if one.job_id == lost else other)
    school.worker().startup()
    assert school.waiting() == 2
    (claimed,) = school.claimed()
    assert claimed.job_id == lost
    assert held in {one.job_id, other.job_id}


@pytest.mark.every_database
async def test_the_worker_is_woken_by_a_run_that_ends(
    school: LearningRuns, fake: FakeModel
) -> None:
    school.bell.attach(asyncio.get_running_loop())
    working = asyncio.create_task(school.worker().run())
    fake.queue("OK", "{}")
    run = (await school.run(EXAMPLE)).run
    await until(lambda: school.waiting() == 0)
    assert school.receipt(run.run_id) is COMPLETED
    assert len(school.proposed(run.run_id)) == 2
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


async def test_on_the_offline_route_only_labels_are_read(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> None:
    routes = {**settings.routes, "offline": RouteConfig(provider="scripted")}
    school = LearningRuns(database.units, replace(settings, routes=routes))
    plain, labelled = await ended(school), await ended(school, EXAMPLE)
    calls = len(fake.requests)
    await school.learn(school.worker(default_route="offline"))
    assert [it.source.run_id for it in school.proposed(plain, labelled)] == [labelled] * 2
    assert school.receipt(plain) is COMPLETED
    assert len(fake.requests) == calls
    await school.providers.close()


class Talker(Probe):
    """A tool that says more than fits a prompt."""

    async def call(self, *_: object) -> str:
        return "x" * 200_000


@pytest.mark.every_database
async def test_artifacts_of_the_run_are_its_evidence(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> None:
    school = LearningRuns(database.units, settings, tools=(Talker(),))
    fake.queue(call("probe"), "OK")
    run_id = await ended(school, EXAMPLE)
    await school.learn()
    refs = school.proposed(run_id)[0].evidence_refs
    assert {(ref.run_id, ref.note) for ref in refs} == {(run_id, "source run artifact")}
    with database.units.read() as unit:
        made = [it.artifact_id for it in unit.artifacts.list(run_id)]
    assert [ref.artifact_id for ref in refs] == made != []
    await school.providers.close()


async def test_nothing_of_what_was_found_is_logged(school: LearningRuns, fake: FakeModel) -> None:
    fake.queue("OK", "Noted.", "{}", "Helix, I say", "Helix!")
    await ended(school, EXAMPLE)
    await ended(school)
    with capture_logs() as logs:
        await school.learn()
    assert {"capture.done", "capture.failed"} == {entry["event"] for entry in logs}
    assert "Helix" not in str(logs)
