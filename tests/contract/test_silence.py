"""An agent that has nothing to say: the journal knows, people and webhooks hear nothing."""

import pytest

from tests.support.factories import ALICE
from tests.support.run_harness import RunHarness
from understudy.runs.deliveries import shown_deliveries
from understudy.runs.model import DeliveryStatus, RunStatus
from understudy.runs.submission import Submission
from understudy.sessions.journal import EventKind, is_silence, may_be_silence
from understudy.sessions.model import ReplyTarget
from understudy.testing.fake_model import FakeModel

TARGETS = (
    ReplyTarget(plugin="http", address="http://127.0.0.1:9/hook"),
    ReplyTarget(plugin="local", address="screen"),
)


@pytest.mark.parametrize("said", ["NO_REPLY", "\n`NO_REPLY`.\n"])
async def test_silence_is_a_message_without_an_output_and_without_a_delivery(
    harness: RunHarness, fake: FakeModel, said: str
) -> None:
    fake.queue(said)
    wanted = Submission(content="only if it matters", reply_targets=TARGETS)
    run_id = harness.runs.submit(ALICE, "s1", wanted).run.run_id

    done = await harness.execute(run_id)

    assert done.run.status is RunStatus.COMPLETED
    assert done.outputs == ()
    kinds = {event.kind: event.data for event in harness.journal(run_id)}
    assert kinds[EventKind.MESSAGE]["text"] == said
    assert EventKind.OUTPUT not in kinds
    with harness.units.read() as unit:
        assert unit.deliveries.of_runs([run_id]).get(run_id, {}) == {}
    shown = shown_deliveries(done.run, {})
    assert [each.status for each in shown] == [DeliveryStatus.SKIPPED] * 2


async def test_a_reply_that_only_mentions_the_token_is_said_and_delivered(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.queue("NO_REPLY is what I would have said.")
    wanted = Submission(content="go", reply_targets=TARGETS)
    run_id = harness.runs.submit(ALICE, "s1", wanted).run.run_id

    done = await harness.execute(run_id)

    assert [each.data["text"] for each in done.outputs] == ["NO_REPLY is what I would have said."]
    with harness.units.read() as unit:
        assert len(unit.deliveries.of_runs([run_id])[run_id]) == 1


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("text", "silent", "maybe"),
    [
        ("NO_REPLY", True, True),
        (" **NO_REPLY** ", True, True),
        ("NO_REP", False, True),
        ("", False, True),
        ("NO_REPLYING", False, False),
        ("Nothing. NO_REPLY", False, False),
        ("no_reply", False, False),
    ],
)
def test_only_the_whole_token_is_silence(text: str, silent: bool, maybe: bool) -> None:
    assert (is_silence(text), may_be_silence(text)) == (silent, maybe)
