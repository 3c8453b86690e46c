"""Trials and replays stay apart from real life, and so does all that they set going."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE
from tests.support.model_scripts import ask
from tests.support.once_tool import send
from tests.support.replay_harness import TASK
from tests.support.rollout_harness import ASKED, MARKER, NAME
from tests.support.run_memory_reads import indexed
from tests.support.sidechain_trials import (
    HELPER,
    SKILL,
    SidechainTrials,
    make_sidechain_trials,
    use,
)
from understudy.agents.built_in import VERIFICATION_AGENT_ID
from understudy.core.errors import Conflict
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.rollout.model import Stage
from understudy.rollout.replay.stand_ins import NO_SIDECHAIN, UNRECORDED
from understudy.rollout.trials.runs import NOT_IN_TRIALS
from understudy.rollout.trials.trial import MAX_PENDING, TrialState
from understudy.runs.model import RunStatus
from understudy.sessions.creation import NewSession
from understudy.sessions.service import SessionService
from understudy.settings import Settings
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.one_database


@pytest.fixture
async def apart(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[SidechainTrials]:
    apart = make_sidechain_trials(database.units, database.queued, settings, fake)
    yield apart
    await apart.bench.harness.providers.close()
    await apart.skilled.harness.providers.close()


def sessions_of(apart: SidechainTrials) -> SessionService:
    stage = apart.bench.stage
    return SessionService(stage.units, stage.clock, lambda _: True)


async def test_everything_that_a_trial_sets_going_is_a_part_of_it(apart: SidechainTrials) -> None:
    trial = await apart.trial({HELPER: ["helped"], SKILL: [use(), MARKER]})

    assert trial.run_id is not None
    (child,) = apart.below(trial.run_id)
    assert apart.bench.harness.stored(trial.run_id).trial_id == trial.trial_id
    assert (child.trial_id, child.request.source_kind) == (trial.trial_id, "sidechain")
    assert apart.bench.session(trial).trial_id == trial.trial_id
    sessions = sessions_of(apart)
    by_hand = sessions.create(ALICE, NewSession(parent_session_id=trial.session_id))
    assert by_hand.trial_id == trial.trial_id
    later = apart.bench.harness.submit("and now?", session_id=by_hand.session_id)
    assert apart.bench.harness.stored(later).trial_id == trial.trial_id


async def test_what_real_life_does_is_part_of_no_trial(apart: SidechainTrials) -> None:
    run_id = await apart.record(use(), "done", helper=["helped"])

    assert apart.bench.harness.stored(run_id).trial_id is None
    assert [run.trial_id for run in apart.below(run_id)] == [None]


async def test_the_sidechain_of_a_replay_is_answered_from_the_one_that_was_recorded(
    apart: SidechainTrials,
) -> None:
    recorded = await apart.record(use(), "done", helper=[send("a"), send("b"), "helped"])
    assert apart.post.sent == ["a", "b"]

    trial = await apart.replay(
        recorded,
        {
            HELPER: [send("b"), send("a"), send("a"), "helped"],
            SKILL: [use(), "done"],
            TASK: [use(), "done"],
        },
    )

    assert apart.post.sent == ["a", "b"]
    for side in apart.replays.sides(trial):
        (child,) = apart.below(side.run_id)
        assert apart.told(child.run_id) == [
            ("ok", "letter 2"),
            ("ok", "letter 1"),
            ("error", f"{UNRECORDED}all 1 calls of post with these arguments are answered"),
        ]
    assert trial.report is not None
    assert trial.report["with_skill"]["unrecorded_calls"] == 1


async def test_a_sidechain_that_repeats_none_does_nothing(apart: SidechainTrials) -> None:
    recorded = await apart.record(use(), "done", helper=[send("a"), "helped"])

    trial = await apart.replay(
        recorded,
        {HELPER: [send("a"), "helped"], SKILL: [use(), use(), "done"], TASK: ["done"]},
    )

    _, with_ = apart.replays.sides(trial)
    assert [apart.told(run.run_id) for run in apart.below(with_.run_id)] == [
        [("ok", "letter 1")],
        [("error", UNRECORDED + NO_SIDECHAIN)],
    ]
    assert apart.post.sent == ["a"]


async def test_of_several_sidechains_that_were_recorded_none_is_meant(
    apart: SidechainTrials,
) -> None:
    recorded = await apart.record(use(), use(), "done", helper=[send("a"), "helped"])

    trial = await apart.replay(
        recorded, {HELPER: [send("a"), "helped"], SKILL: [use(), "done"], TASK: ["done"]}
    )

    (child,) = apart.below(apart.replays.sides(trial)[1].run_id)
    assert apart.told(child.run_id) == [("error", UNRECORDED + NO_SIDECHAIN)]
    assert apart.post.sent == ["a", "a"]


async def test_what_somebody_asks_in_the_session_of_a_replay_does_nothing_either(
    apart: SidechainTrials,
) -> None:
    recorded = await apart.record(send("a"), "done")
    trial = await apart.replay(recorded, {SKILL: ["done"], TASK: ["done"]})
    side = apart.replays.sides(trial)[1]

    run_id = apart.bench.harness.submit("again", session_id=side.session_id)
    await apart.act({"again": [send("a"), "done"]})

    assert apart.told(run_id) == [("error", UNRECORDED + NO_SIDECHAIN)]
    assert apart.post.sent == ["a"]


async def test_the_sidechain_of_a_plain_trial_has_its_own_tools(apart: SidechainTrials) -> None:
    await apart.trial({HELPER: [send("a"), "helped"], SKILL: [use(), MARKER]})

    assert apart.post.sent == ["a"]


@pytest.mark.every_database
async def test_nobody_in_a_trial_reaches_out_whatever_the_agent_may_do(
    apart: SidechainTrials,
) -> None:
    stage = apart.bench.stage
    with stage.units.write() as unit:
        agent = unit.agents.get(VERIFICATION_AGENT_ID)
        assert agent is not None
        changed = replace(agent, permissions={}, version=agent.version + 1)
        unit.agents.update(changed, expected_version=agent.version)
    reaching = [
        ask("may I?"),
        call("send_mail", {"to_session_id": "s1", "content": "x"}),
        call("spawn_sidechain", {"task": "go on"}),
    ]

    trial = await apart.trial({HELPER: [*reaching, "helped"], SKILL: [*reaching, use(), MARKER]})

    assert trial.state is TrialState.PASSED
    (child,) = apart.below(trial.run_id)
    for run_id in (trial.run_id, child.run_id):
        told = apart.told(run_id)[:3]
        assert [status for status, _ in told] == ["denied"] * 3
        assert "nobody is there to answer" in told[0][1]
    with stage.units.read() as unit:
        assert unit.runs.page(PageRequest(), session_id="s1").items == ()


@pytest.mark.every_database
async def test_nobody_is_told_of_a_tool_that_is_always_denied(apart: SidechainTrials) -> None:
    apart.bench.stage.promote(allowed_tools=("list_files", "use_skill"))

    await apart.trial({HELPER: ["helped"], SKILL: [use(), MARKER]})

    own, child = apart.bench.fake.requests[0], apart.bench.fake.requests[1]
    tools = [[each["function"]["name"] for each in seen.body["tools"]] for seen in (own, child)]
    assert tools == [["list_files", "use_skill"]] * 2
    assert not {*NOT_IN_TRIALS} & {*tools[0]}


async def test_one_who_carries_a_skill_out_uses_others_only_if_that_is_allowed(
    apart: SidechainTrials,
) -> None:
    apart.bench.stage.promote(allowed_tools=("list_files",))

    trial = await apart.trial({HELPER: ["helped"], SKILL: [use(), MARKER]})

    ((status, _),) = apart.told(trial.run_id)
    assert status == "denied"
    assert apart.below(trial.run_id) == []


@pytest.mark.every_database
async def test_nobody_in_a_trial_is_offered_the_skill_that_is_tried(apart: SidechainTrials) -> None:
    trial = await apart.trial({HELPER: ["helped"], SKILL: [use(), MARKER]})

    (child,) = apart.below(trial.run_id)
    sessions = sessions_of(apart)
    assert trial.session_id is not None
    for session_id in (trial.session_id, child.session_id):
        assert sessions.get(session_id).capability_scope == {"skill_deny": [NAME]}
    with pytest.raises(Conflict, match="a trial keeps the scope"):
        sessions.set_capability_scope(ALICE, trial.session_id, None)


async def test_what_a_trial_sets_going_leaves_nothing_to_remember(apart: SidechainTrials) -> None:
    await apart.trial({HELPER: ["helped"], SKILL: [use(), MARKER]})
    assert indexed(apart.bench.stage.units) == 0

    await apart.record(use(), "done", helper=["helped"])
    assert indexed(apart.bench.stage.units) == 2


@pytest.mark.every_database
async def test_a_run_that_only_says_it_is_a_trial_is_remembered(apart: SidechainTrials) -> None:
    await apart.bench.harness.run("x", source_plugin="rollout", source_kind="trial")

    assert indexed(apart.bench.stage.units) == 1


@pytest.mark.every_database
async def test_what_a_trial_uses_is_used_in_nobodys_figures(apart: SidechainTrials) -> None:
    units = apart.bench.stage.units
    await apart.trial({HELPER: ["helped"], SKILL: [use(), MARKER]})
    with units.read() as unit:
        assert unit.skill_uses.usage_since(0) == ()
    assert apart.skilled.uses("helper") == 0

    run_id = await apart.record(use(), "done", helper=["helped"])

    with units.read() as unit:
        (figures,) = unit.skill_uses.usage_since(0)
        ref = figures.ref
        assert unit.skill_uses.runs_that_used(ref, 1, since_ms=0, limit=9) == (run_id,)
    assert (figures.offered, figures.used) == (1, 1)
    assert apart.skilled.uses("helper") == 1


@pytest.mark.every_database
async def test_what_a_trial_does_is_nobodys_habit(apart: SidechainTrials) -> None:
    await apart.trial({SKILL: [call("list_files"), MARKER]})
    run_id = await apart.record(call("list_files"), "done")
    recorded = await apart.replay(run_id, {SKILL: [call("list_files"), "x"], TASK: ["x"]})

    with apart.bench.stage.units.read() as unit:
        found = unit.suggestions.tool_runs(since_ms=0, per_agent=10)
    assert recorded.state is TrialState.PASSED
    assert [run for runs in found.values() for run in runs] == [run_id]


async def test_trials_of_another_definition_do_not_take_up_the_room_and_are_stopped(
    apart: SidechainTrials,
) -> None:
    bench = apart.bench
    moot = [bench.begin() for _ in range(MAX_PENDING)]
    with pytest.raises(Conflict, match="trials under way"):
        bench.begin()
    bench.stage.promote(instructions=f"{SKILL} {MARKER} at once.")

    bench.begin()

    ended = [bench.trials.get(NAME, trial.trial_id) for trial in moot]
    assert {(trial.state, trial.reason) for trial in ended} == {
        (TrialState.FAILED, "not counted: the definition changed while the trial went on")
    }
    runs = [bench.harness.stored(trial.run_id) for trial in moot if trial.run_id]
    assert {run.status for run in runs} == {RunStatus.CANCELLED}


async def test_trials_of_what_was_taken_back_are_stopped(apart: SidechainTrials) -> None:
    bench = apart.bench
    trial = bench.begin()
    bench.stage.rollouts.revoke(ALICE, NAME)

    bench.trials.catch_up()

    ended = bench.trials.get(NAME, trial.trial_id)
    assert (ended.state, ended.reason) == (
        TrialState.FAILED,
        "not counted: the rollout is revoked by now",
    )


@pytest.mark.parametrize("how", ["revoked", "edited", "back to draft"])
async def test_trials_end_as_soon_as_what_they_try_is_otherwise(
    apart: SidechainTrials, how: str
) -> None:
    bench, hand = apart.bench, apart.bench.stage
    if how == "back to draft":
        hand.bring_to(Stage.CANARY)
    trial = bench.begin()
    wired = replace(hand.transactions, stop_trials=bench.trials.stop_moot)
    rollouts = replace(hand.rollouts, transactions=wired)

    # Only what makes them moot ends them.
    rollouts.hold(ALICE, NAME)
    rollouts.release(ALICE, NAME)
    assert bench.trials.get(NAME, trial.trial_id).state is TrialState.PENDING
    if how == "revoked":
        rollouts.revoke(ALICE, NAME)
    elif how == "edited":
        rollouts.promote(ALICE, "lrn_1", replace(ASKED, instructions="Do it otherwise."))
    else:
        rollouts.promote(ALICE, "lrn_1", replace(ASKED, status=Stage.DRAFT))

    assert bench.trials.get(NAME, trial.trial_id).state is TrialState.FAILED
    assert trial.run_id is not None
    assert bench.harness.stored(trial.run_id).status is RunStatus.CANCELLED


async def test_a_change_stands_though_its_trials_cannot_be_stopped(apart: SidechainTrials) -> None:
    bench, hand = apart.bench, apart.bench.stage
    trial = bench.begin()

    def broken(_principal: Principal, _run_id: str) -> object:
        raise RuntimeError("no way")

    trials = replace(bench.trials, runs=replace(bench.trials.runs, cancel=broken))
    wired = replace(hand.transactions, stop_trials=trials.stop_moot)
    revoked = replace(hand.rollouts, transactions=wired).revoke(ALICE, NAME)

    assert revoked.record.status is Stage.REVOKED
    bench.trials.catch_up()
    assert bench.trials.get(NAME, trial.trial_id).state is TrialState.FAILED


async def test_the_runs_of_a_replay_of_what_was_taken_back_are_stopped(
    apart: SidechainTrials,
) -> None:
    trial = apart.replays.begin(await apart.record("done"))
    apart.bench.stage.rollouts.revoke(ALICE, NAME)

    await apart.replays.work()

    assert apart.bench.trials.get(NAME, trial.trial_id).state is TrialState.FAILED
    sides = apart.replays.sides(trial)
    assert {run.status for run in sides} == {RunStatus.CANCELLED}


async def test_room_is_counted_for_each_skill_however_many_others_are_tried(
    apart: SidechainTrials,
) -> None:
    bench = apart.bench
    bench.begin()
    record = bench.stage.get().record
    with bench.stage.units.read() as unit:
        key = (record.skill_name, record.attempt, record.fingerprint)
        assert unit.rollout_trials.count_pending(*key) == 1
        assert unit.rollout_trials.count_pending("another", *key[1:]) == 0
        assert len(unit.rollout_trials.pending(limit=5, skill_name=NAME)) == 1
        assert unit.rollout_trials.pending(limit=5, skill_name="another") == ()


async def test_a_stage_that_goes_on_stops_no_trial(apart: SidechainTrials) -> None:
    bench = apart.bench
    await apart.trial({SKILL: [MARKER]})
    trial = bench.begin()
    bench.stage.promote(status=Stage.VERIFIED)

    bench.trials.catch_up()

    assert bench.trials.get(NAME, trial.trial_id).state is TrialState.PENDING
