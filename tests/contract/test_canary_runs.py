"""Runs of sessions that are offered a canary: they use it, and what becomes of them counts."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.canary_catalogue import Canaries
from tests.support.promoted_skill_runs import skilled_with
from tests.support.rollout_harness import MARKER, NAME, Mounted
from tests.support.skill_runs import SkillRuns
from understudy.rollout.changes import RolloutTransactions
from understudy.rollout.model import EvidenceKind, Proof, Stage
from understudy.rollout.outcome import OutcomeCounts
from understudy.rollout.outcome_recorder import OutcomeRecorder
from understudy.settings import Settings
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel

USE = call("use_skill", {"name": NAME})


@pytest.fixture
def canaries(database: UnitsOnDatabase, settings: Settings) -> Canaries:
    canaries = Canaries(database.units, settings.home)
    canaries.hand.learn()
    canaries.hand.bring_to(Stage.CANARY)
    canaries.set_share(100)
    return canaries


@pytest.fixture
async def skilled(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel, canaries: Canaries
) -> AsyncIterator[SkillRuns]:
    async with skilled_with(database, settings, fake, canaries.catalogue) as skilled:
        # The canary began by another clock, which went on meanwhile.
        skilled.harness.clock.ms = canaries.hand.clock.ms
        outcomes = OutcomeRecorder(
            units=database.units,
            transactions=RolloutTransactions(clock=skilled.harness.clock, mounts=Mounted()),
            policy_of=lambda _unit: canaries.hand.policy,
        )
        plain = skilled.harness
        skilled.harness = replace(plain, ending=(outcomes.ended,))
        skilled.harness.providers = plain.providers
        skilled.harness.executor = skilled.harness._executor()
        yield skilled


async def test_a_run_that_uses_the_canary_is_evidence_for_it(
    skilled: SkillRuns, canaries: Canaries
) -> None:
    run_id = await skilled.run(USE, "end", child=(MARKER,))

    detail = canaries.hand.get()
    [evidence] = [it for it in detail.evidence if it.kind is EvidenceKind.CANARY]
    with canaries.units.read() as unit:
        spawn = unit.sidechains.spawn_of(evidence.session_id)
        assert spawn is not None
        # The one that carried it out, and not the one that it was carried out for.
        assert (spawn.run_id, spawn.first_run_id) == (run_id, evidence.run_id)
    assert (evidence.proof, evidence.success) == (Proof.EXECUTED, True)
    assert detail.uses.canary == OutcomeCounts(succeeded=1)
    assert canaries.hand.promote(status=Stage.ACTIVE).record.status is Stage.ACTIVE


async def test_a_canary_that_fails_in_a_run_is_held_and_offered_to_nobody(
    skilled: SkillRuns, canaries: Canaries
) -> None:
    await skilled.run(USE, "I could not do it", child=(Answer(status=400),))

    detail = canaries.hand.get()
    assert detail.uses.canary == OutcomeCounts(failed=1)
    assert detail.record.held_reason is not None
    [refused] = await skilled.told(USE, "end")
    assert "there is no skill" in refused
