"""The one summary that every run leaves for people to look at, on both databases."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, ODD_TEXTS
from tests.support.learning_runs import OFF, ON, LearningRuns
from tests.support.run_harness import Probe
from tests.support.run_memory_reads import record_of, set_policy
from understudy.core.clock import DAY_MS
from understudy.learnings.capture_settings import CaptureSettings
from understudy.learnings.model import (
    CapturePath,
    EvidenceRef,
    Kind,
    LearningSource,
    Origin,
    Sensitivity,
)
from understudy.runs.model import RunStatus
from understudy.sessions.learning_scopes import session_scope
from understudy.settings import Settings
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel

SUMMARIES = replace(OFF, run_summary_candidates=True)


@pytest.fixture
async def school(database: UnitsOnDatabase, settings: Settings) -> AsyncIterator[LearningRuns]:
    school = LearningRuns(database.units, settings, tools=(Probe(),), captured=SUMMARIES)
    yield school
    await school.providers.close()


async def test_a_completed_run_proposes_its_summary(school: LearningRuns, fake: FakeModel) -> None:
    fake.queue("done")
    run = (await school.run("inspect the repo")).run
    (candidate,) = school.candidates(run.run_id)
    record = record_of(school.units, run.run_id)
    assert record is not None
    assert candidate.content == record.memory.summary
    assert candidate.created_at_ms == record.memory.recorded_at_ms
    assert candidate.expires_at_ms == school.clock.now_ms() + 30 * DAY_MS
    assert (candidate.origin, candidate.kind) == (Origin.DAEMON, Kind.RUN_SUMMARY)
    assert candidate.scope == session_scope("s1")
    assert candidate.sensitivity is Sensitivity.SENSITIVE
    assert candidate.confidence == 100
    assert candidate.capture_path is CapturePath.RUN_SUMMARY
    assert candidate.source == LearningSource(
        run_id=run.run_id, session_id="s1", agent_id=run.agent_id
    )
    assert candidate.evidence_refs == (EvidenceRef(run_id=run.run_id),)
    assert not candidate.derived_from_untrusted
    with school.units.read() as unit:
        assert unit.review_queue.size() == 1
    assert school.waiting() == 0


async def test_every_way_to_end_leaves_exactly_one(school: LearningRuns, fake: FakeModel) -> None:
    fake.queue(call("probe"), "done", Answer(status=400, error="boom"))
    done, failed = (await school.run()).run, (await school.run()).run
    cancelled = school.submit()
    school.runs.cancel(ALICE, cancelled)
    found = {
        it.source.run_id: it for it in school.candidates(done.run_id, failed.run_id, cancelled)
    }
    assert set(found) == {done.run_id, failed.run_id, cancelled}
    assert len(school.candidates(done.run_id, failed.run_id, cancelled)) == 3
    assert failed.status is RunStatus.FAILED
    assert found[done.run_id].derived_from_untrusted
    # Its session has read what the tool answered.
    assert found[failed.run_id].derived_from_untrusted


async def test_a_record_that_is_made_again_proposes_nothing_more(
    school: LearningRuns, fake: FakeModel
) -> None:
    run = (await school.run()).run
    with school.units.write() as unit:
        unit.run_memory_index.postpone(run.run_id, reason="x", at_ms=1)
    assert school.capture.catch_up() == 0
    assert len(school.candidates(run.run_id)) == 1
    with school.units.read() as unit:
        assert unit.review_queue.size() == 1


async def test_a_record_that_is_made_later_proposes_its_summary_then(
    school: LearningRuns, fake: FakeModel
) -> None:
    school.captured = OFF
    run = (await school.run()).run
    with school.units.write() as unit:
        school.keeper.forget(unit, [run.run_id])
        unit.run_memory_index.postpone(run.run_id, reason="x", at_ms=1)
    school.captured = SUMMARIES
    assert school.capture.catch_up() == 0
    assert len(school.candidates(run.run_id)) == 1


@pytest.mark.parametrize("captured", [OFF, ON], ids=["off", "only semantic"])
async def test_where_the_policy_says_no_there_is_none(
    school: LearningRuns, captured: CaptureSettings, fake: FakeModel
) -> None:
    school.captured = captured
    run = (await school.run()).run
    assert not school.candidates(run.run_id)


async def test_without_a_record_there_is_none(school: LearningRuns, fake: FakeModel) -> None:
    set_policy(school.units, enabled=False)
    run = (await school.run()).run
    assert not school.candidates(run.run_id)


@pytest.mark.parametrize("odd", ODD_TEXTS.values(), ids=ODD_TEXTS)
async def test_whatever_a_run_said_its_summary_can_be_proposed(
    school: LearningRuns, fake: FakeModel, odd: str
) -> None:
    fake.queue(Answer(text=f"said {odd}", plain=True))
    run = (await school.run(f"asked {odd}")).run
    (candidate,) = school.candidates(run.run_id)
    assert candidate.content.startswith("Request: asked")


async def test_what_goes_wrong_here_keeps_no_run_from_ending(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> None:
    class Broken(LearningRuns):
        def capture_settings(self, _: object) -> CaptureSettings:
            raise ValueError("no policy today")

    school = Broken(database.units, settings)
    run = (await school.run("inspect the repo")).run
    assert run.status is RunStatus.COMPLETED
    assert record_of(school.units, run.run_id) is not None
    assert not school.candidates(run.run_id)
    await school.providers.close()
