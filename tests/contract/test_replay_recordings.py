"""Recordings: what would do more when done again is told as it was, and does not happen."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.model_scripts import play
from tests.support.once_tool import Post, send
from tests.support.replay_harness import SKILL, TASK, ReplayHarness
from tests.support.rollout_harness import MARKER
from tests.support.run_harness import Probe, die
from tests.support.trial_harness import make_trial_harness
from understudy.rollout.replay.stand_ins import UNRECORDED
from understudy.runs.model import Run, RunStatus
from understudy.settings import Settings
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Approval


@dataclass
class Office:
    """Replays, and the post that must not go out twice."""

    replays: ReplayHarness
    post: Post
    probe: Probe

    def letters(self, run: Run) -> list[tuple[str, str]]:
        """What the calls of a run were told."""
        return [
            (it["status"], it["content"]) for it in self.replays.bench.harness.results(run.run_id)
        ]


@pytest.fixture
async def office(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[Office]:
    post, probe = Post(), Probe()
    bench = make_trial_harness(database.units, database.queued, settings, fake, (post, probe))
    yield Office(ReplayHarness(bench), post, probe)
    await bench.harness.providers.close()


@pytest.fixture
def replays(office: Office) -> ReplayHarness:
    """A draft that recorded runs can be run again with."""
    office.replays.bench.stage.promote()
    return office.replays


async def test_what_would_do_more_when_done_again_is_answered_from_the_recording(
    office: Office, replays: ReplayHarness
) -> None:
    recorded = await replays.record(send("a"), send("b"), send("a"), send("lost"), "done")
    assert office.post.sent == ["a", "b", "a", "lost"]

    trial = await replays.replay(
        recorded,
        parts={
            SKILL: [send("a"), send("a"), send("lost"), send("b"), "done"],
            TASK: [send("b"), "done"],
        },
    )

    without, with_ = replays.sides(trial)
    assert office.post.sent == ["a", "b", "a", "lost"]
    assert office.letters(without) == [("ok", "letter 2")]
    assert office.letters(with_) == [
        ("ok", "letter 1"),
        ("ok", "letter 3"),
        ("error", "the post is closed"),
        ("ok", "letter 2"),
    ]
    assert trial.report is not None
    assert trial.report["with_skill"]["unrecorded_calls"] == 0


async def test_what_the_recording_does_not_hold_is_refused_in_words(
    office: Office, replays: ReplayHarness
) -> None:
    recorded = await replays.record(send("a"), "done")

    trial = await replays.replay(
        recorded, parts={SKILL: [send("z"), send("a"), send("a"), "done"], TASK: ["done"]}
    )

    (_, never), (status, letter), (_, again) = office.letters(replays.sides(trial)[1])
    assert office.post.sent == ["a"]
    assert never == f"{UNRECORDED}it holds no call of post with these arguments"
    assert (status, letter) == ("ok", "letter 1")
    assert again == f"{UNRECORDED}all 1 calls of post with these arguments are answered"
    assert trial.report is not None
    assert trial.report["cases"][0]["with_skill"]["unrecorded_calls"] == 2


async def test_a_long_answer_is_told_again_as_a_whole(
    office: Office, replays: ReplayHarness
) -> None:
    recorded = await replays.record(send("long"), "done")

    trial = await replays.replay(recorded, parts={SKILL: [send("long"), "done"]})

    with_ = replays.sides(trial)[1]
    with replays.bench.stage.units.read() as unit:
        (listed,) = unit.artifacts.list(with_.run_id)
        artifact = unit.artifacts.get(with_.run_id, listed.artifact_id)
    assert artifact is not None
    assert artifact.content.endswith("xthe end")
    assert office.post.sent == ["long"]


async def test_nobody_is_asked_about_what_does_not_happen(
    office: Office, replays: ReplayHarness
) -> None:
    recorded = await replays.record(send("a"), "done")
    office.post.approval = Approval.ALWAYS

    trial = await replays.replay(recorded, parts={SKILL: [send("a"), MARKER]}, marker=MARKER)

    assert replays.sides(trial)[1].status is RunStatus.COMPLETED
    assert office.post.sent == ["a"]


async def test_a_plain_trial_and_a_run_that_claims_to_be_one_have_their_own_tools(
    office: Office, replays: ReplayHarness
) -> None:
    await replays.bench.trial(send("a"), MARKER)
    await replays.bench.work("done")
    replays.bench.fake.queue(send("b"), "done")
    await replays.bench.harness.run("x", source_plugin="rollout", source_kind="trial")

    assert office.post.sent == ["a", "b"]


async def test_a_replay_taken_up_again_answers_the_call_under_way_as_before(
    office: Office, replays: ReplayHarness
) -> None:
    recorded = await replays.record(send("a"), send("a"), "done")
    trial = replays.begin(recorded)
    _, with_ = replays.sides(trial)
    harness, probe = replays.bench.harness, office.probe
    again = send("a")
    replays.bench.fake.rule = play({SKILL: [again, call("probe"), again, again, "done"]})

    probe.hold()
    task = harness.begin(with_.run_id)
    await probe.reached()
    await die(task)
    probe.go_on.set()
    await harness.execute(with_.run_id)

    assert [content for _, content in office.letters(with_)] == [
        "letter 1",
        "result of ",
        "letter 2",
        f"{UNRECORDED}all 2 calls of post with these arguments are answered",
    ]
