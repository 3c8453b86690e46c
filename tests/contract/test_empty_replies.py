"""A last reply without a word: an answer where tools have done the work, else a failure to answer."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.run_harness import Probe, RunHarness
from understudy.runs.model import RunStatus
from understudy.sessions.journal import EventKind
from understudy.settings import Settings
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel

NOTHING = Answer()


@pytest.fixture
async def harness(database: UnitsOnDatabase, settings: Settings) -> AsyncIterator[RunHarness]:
    harness = RunHarness(database.units, settings, tools=(Probe(),))
    yield harness
    await harness.providers.close()


@pytest.mark.parametrize("last", [NOTHING, Answer(plain=True), Answer(text=" \n")])
async def test_a_run_that_used_tools_may_end_without_a_word(
    harness: RunHarness, fake: FakeModel, last: Answer
) -> None:
    fake.queue(call("probe"), last)

    done = await harness.run()

    assert (done.run.status, done.run.error) == (RunStatus.COMPLETED, None)
    assert len(fake.requests) == 2
    assert done.outputs == ()
    reply = harness.journal(done.run.run_id, EventKind.MESSAGE)[-1].data["text"]
    assert reply == last.text


async def test_what_was_not_said_is_not_told_to_the_model_later(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.queue(call("probe"), NOTHING, "Here I am.")
    await harness.run()
    await harness.run("are you there?")

    # Servers refuse a message without content.
    turns = [turn for turn in fake.requests[-1].turns if turn.role != "system"]
    assert [turn.role for turn in turns] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize(
    "before",
    [
        (),
        # Nothing was done by a call that was refused.
        (Answer(calls=(FakeCall(name="list_files"),)),),
    ],
)
async def test_a_run_that_did_nothing_must_say_something(
    harness: RunHarness, fake: FakeModel, before: tuple[Answer, ...]
) -> None:
    with harness.units.write() as unit:
        unit.tool_switches.set("list_files", enabled=False)
    fake.queue(*before, NOTHING)

    run = (await harness.run()).run

    assert run.status is RunStatus.FAILED
    assert "the answer is empty" in (run.error or "")


async def test_an_answer_that_was_cut_off_before_its_first_word_is_none(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.queue(call("probe"), Answer(finish_reason="length"))

    assert (await harness.run()).run.status is RunStatus.FAILED
