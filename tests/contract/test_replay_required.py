"""What a policy that requires a replay takes for one: no regression that nothing made up for."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE
from tests.support.replay_harness import JUDGE, SKILL, ReplayHarness
from tests.support.rollout_harness import MARKER, NAME
from tests.support.trial_harness import make_trial_harness
from understudy.core.errors import Invalid
from understudy.review.policy import JudgeSettings, PromotionSettings
from understudy.rollout.model import Stage
from understudy.rollout.trials.trial import TrialState
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.one_database

GOOD, BAD = {SKILL: [MARKER]}, {SKILL: ["broken"]}
YES, NO = ['{"success": true, "reason": "ok"}'], ['{"success": false, "reason": "no"}']


@dataclass
class Required:
    """A canary that only a replay keeps from being active."""

    replays: ReplayHarness

    async def recorded(self, *outputs: str) -> list[str]:
        """Runs that said that, and then the canary."""
        run_ids = [await self.replays.record(output) for output in outputs]
        self.bring_up()
        return run_ids

    def bring_up(self) -> None:
        """Have everything that activation asks for but a replay."""
        stage = self.replays.bench.stage
        stage.bring_to(Stage.CANARY)
        stage.show("canary", stage.run())

    def why_not(self) -> str | None:
        """Why it cannot become active; None when it can, and nothing changes either way."""
        missing = self.replays.bench.stage.get().missing
        assert [it.code for it in missing] in ([], ["needs_replay"])
        return missing[0].detail if missing else None


@pytest.fixture
async def required(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[Required]:
    bench = make_trial_harness(database.units, database.queued, settings, fake)
    bench.stage.policy = PromotionSettings(require_replay=True)
    yield Required(ReplayHarness(bench))
    await bench.harness.providers.close()


async def test_easier_cases_make_up_for_no_regression(required: Required) -> None:
    replays = required.replays
    hard, easy = await required.recorded(MARKER, MARKER)
    assert "asks for a replay" in (required.why_not() or "")
    await replays.replay(hard, easy, marker=MARKER, parts=BAD)

    passed = await replays.replay(easy, marker=MARKER, parts=GOOD)

    assert passed.state is TrialState.PASSED
    why = required.why_not()
    assert why is not None
    assert f"run {hard} went worse" in why
    assert easy not in why
    with pytest.raises(Invalid):
        replays.bench.stage.promote(status=Stage.ACTIVE)
    await replays.replay(hard, marker=MARKER, parts=GOOD)
    assert replays.bench.stage.promote(status=Stage.ACTIVE).record.status is Stage.ACTIVE


async def test_the_same_case_by_another_yardstick_makes_up_for_nothing(required: Required) -> None:
    replays = required.replays
    (recorded,) = await required.recorded(f"{MARKER} broken")
    await replays.replay(recorded, marker=MARKER, parts=BAD)
    assert (await replays.replay(recorded, parts=BAD)).state is TrialState.PASSED
    other = await replays.replay(recorded, marker="broken", parts=BAD)
    assert other.state is TrialState.PASSED
    replays.judge = JudgeSettings(enabled=True)
    judged = await replays.replay(recorded, parts={SKILL: ["broken"], JUDGE: YES})
    assert judged.state is TrialState.PASSED

    assert f"run {recorded} went worse" in (required.why_not() or "")
    await replays.replay(recorded, marker=MARKER, parts=GOOD)
    assert required.why_not() is None
    await replays.replay(recorded, marker=MARKER, parts=BAD)
    assert f"run {recorded} went worse" in (required.why_not() or "")


async def test_what_the_judge_found_worse_only_the_judge_finds_better(required: Required) -> None:
    replays = required.replays
    replays.judge = JudgeSettings(enabled=True)
    (recorded,) = await required.recorded(MARKER)
    # Whatever any of them says, the judge is asked last of the one with the skill.
    opinions = iter([YES[0], YES[0], NO[0]])
    await replays.replay(recorded, parts={SKILL: ["x"], JUDGE: [lambda _: next(opinions)]})
    assert f"run {recorded} went worse" in (required.why_not() or "")
    await replays.replay(recorded, marker=MARKER, parts=GOOD)
    assert f"run {recorded} went worse" in (required.why_not() or "")
    await replays.replay(recorded, parts={SKILL: ["x"], JUDGE: YES})
    assert required.why_not() is None


async def test_how_runs_end_alone_is_not_enough(required: Required) -> None:
    replays = required.replays
    first, second = await required.recorded("one", "two")

    trial = await replays.replay(first, second, parts={SKILL: ["anything"]})

    assert trial.state is TrialState.PASSED
    assert "judged by a marker or the judge" in (required.why_not() or "")


@pytest.mark.every_database
async def test_a_regression_counts_before_its_replay_is_over(required: Required) -> None:
    replays = required.replays
    recorded, second = await required.recorded(MARKER, MARKER)
    await replays.replay(second, marker=MARKER, parts=GOOD)
    assert required.why_not() is None
    trial = replays.begin(recorded, second, marker=MARKER)
    without, with_ = replays.sides(trial)
    assert required.why_not() is None

    for run in (without, with_):
        replays.bench.harness.runs.cancel(ALICE, run.run_id)
    await replays.work()

    assert replays.bench.trials.get(NAME, trial.trial_id).state is TrialState.PENDING
    assert f"run {recorded} went worse" in (required.why_not() or "")


async def test_another_attempt_begins_without_regressions(required: Required) -> None:
    replays, stage = required.replays, required.replays.bench.stage
    (recorded,) = await required.recorded(MARKER)
    await replays.replay(recorded, marker=MARKER, parts=BAD)

    stage.promote(status=Stage.DRAFT)
    required.bring_up()

    assert "asks for a replay" in (required.why_not() or "")
    await replays.replay(recorded, marker=MARKER, parts=GOOD)
    assert required.why_not() is None
