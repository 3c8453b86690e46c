"""What a reader is told about the capture of a run: what was found, or why nothing was."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE
from tests.support.learning_runs import OFF, LearningRuns
from tests.support.run_harness import Probe
from understudy.core.clock import SystemClock
from understudy.learnings.candidates import CandidateService
from understudy.learnings.remember import Remember, Suggestions
from understudy.memory.record import CaptureState, RunCapture, SemanticCapture
from understudy.settings import Settings
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel

HELIX = {"kind": "preference", "content": "Preferred editor is Helix."}
# Assembled, so that no scanner takes it for a real one.
KEY = "sk-" + "proj-" + "abc123def456ghi789"


@pytest.fixture
async def school(database: UnitsOnDatabase, settings: Settings) -> AsyncIterator[LearningRuns]:
    school = LearningRuns(database.units, settings, tools=(Probe(),))
    yield school
    await school.providers.close()


async def captured(
    school: LearningRuns, fake: FakeModel, *found: dict[str, Any], text: str = "I edit in Helix."
) -> RunCapture:
    """The capture of a run in which the model finds these."""
    said = {f"candidate_{number}": it for number, it in enumerate(found, 1)}
    fake.queue("Noted.", json.dumps(said))
    run_id = (await school.run(text)).run.run_id
    await school.learn()
    return school.capture_of(run_id)


def completed(found: int, reason: str | None = None) -> RunCapture:
    return RunCapture(state=CaptureState.COMPLETED, found=found, attempts=1, reason=reason)


async def test_what_was_found_is_counted(school: LearningRuns, fake: FakeModel) -> None:
    assert await captured(school, fake, HELIX) == completed(1)


async def test_a_run_in_which_nothing_was_found_says_so(
    school: LearningRuns, fake: FakeModel
) -> None:
    assert await captured(school, fake) == completed(0, "nothing_found")


async def test_statements_beyond_the_limit_are_counted_and_named(
    school: LearningRuns, fake: FakeModel
) -> None:
    names = ("host", "port", "disk", "shell", "fan", "rack")
    text = " ".join(f"Fact: The {it} is {it}-7." for it in names)
    assert await captured(school, fake, text=text) == completed(len(names), "over_limit")


async def test_a_run_whose_agent_suggested_something_does_not_say_that_nothing_was_found(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> None:
    suggestions = Suggestions(units=database.units, clock=SystemClock())
    school = LearningRuns(database.units, settings, tools=(Remember(suggestions),))
    fake.queue(call("remember", {"content": "I edit in Helix."}), "Noted.", "{}")
    run_id = (await school.run("Please remember: I edit in Helix.")).run.run_id
    await school.learn()
    assert school.capture_of(run_id) == completed(1, "suggested_by_agent")
    await school.providers.close()


async def test_a_secret_is_counted_without_its_content(
    school: LearningRuns, fake: FakeModel
) -> None:
    secret = {"kind": "fact", "content": f"The key is {KEY}"}
    assert await captured(school, fake, HELIX, secret) == completed(2, "secret")


async def test_what_is_known_and_what_was_declined_are_told_apart(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue("Noted.", json.dumps({"candidate_1": HELIX}))
    first = (await school.run("I edit in Helix.")).run.run_id
    await school.learn()
    assert await captured(school, fake, HELIX) == completed(1, "known_already")
    (candidate,) = school.proposed(first)
    CandidateService(school.units, school.clock).reject(ALICE, candidate.candidate_id)
    assert await captured(school, fake, HELIX) == completed(1, "declined_before")


async def test_a_run_that_ends_while_capture_is_off_says_so(
    school: LearningRuns, fake: FakeModel
) -> None:
    school.captured = OFF
    run_id = (await school.run("I edit in Helix.")).run.run_id
    assert school.capture_of(run_id) == RunCapture(state=CaptureState.OFF)


async def test_a_run_that_waits_is_pending_and_one_that_failed_is_skipped(
    school: LearningRuns, fake: FakeModel
) -> None:
    run_id = (await school.run("I edit in Helix.")).run.run_id
    assert school.capture_of(run_id) == RunCapture(state=CaptureState.PENDING)
    fake.queue(Answer(status=400, error="boom"))
    failed = (await school.run("I edit in Helix.")).run.run_id
    assert school.receipt(failed) is SemanticCapture.SKIPPED
    assert school.capture_of(failed) == RunCapture(
        state=CaptureState.SKIPPED, reason="run_not_completed"
    )
