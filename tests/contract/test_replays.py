"""Replays: recorded runs, run again with the skill and without, and compared."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE
from tests.support.replay_harness import JUDGE, SKILL, TASK, ReplayHarness
from tests.support.rollout_harness import MARKER, NAME
from tests.support.run_memory_reads import indexed
from tests.support.trial_harness import make_trial_harness
from understudy.agents.built_in import VERIFICATION_AGENT_ID
from understudy.core.errors import (
    Conflict,
    DatabaseUnavailable,
    Invalid,
    Unavailable,
    UnderstudyError,
)
from understudy.review.policy import JudgeSettings, PromotionSettings
from understudy.rollout.model import EvidenceKind, Stage
from understudy.rollout.outcome import SuccessTally
from understudy.rollout.replay.report import replayed
from understudy.rollout.replay.service import MAX_CASES
from understudy.rollout.replay.work import CHANGED, ReplayDuty
from understudy.rollout.trials.trial import MAX_MARKER_CHARS, MAX_PENDING, CaseRequest, TrialState
from understudy.runs.model import Run
from understudy.sessions.model import Session
from understudy.settings import Settings
from understudy.testing.answers import SeenRequest, call
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import WORKTREES

pytestmark = pytest.mark.one_database

WITH_SKILL: dict[str, Any] = {SKILL: [MARKER], TASK: [MARKER]}
TORN = ("report = '{\"a\"'", "report = '[]'", "report = '{\"recorded\":{}}'", "marker = '5'")


@pytest.fixture
async def replays(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[ReplayHarness]:
    """A draft that recorded runs can be run again with."""
    bench = make_trial_harness(database.units, database.queued, settings, fake)
    bench.stage.promote()
    yield ReplayHarness(bench)
    await bench.harness.providers.close()


def refused(kind: type[UnderstudyError], do: Callable[[], object]) -> tuple[str, list[str]]:
    with pytest.raises(kind) as problem:
        do()
    places = problem.value.errors if isinstance(problem.value, Invalid) else ()
    return problem.value.code, [each.pointer for each in places]


def session_of(replays: ReplayHarness, run: Run) -> Session:
    with replays.bench.stage.units.read() as unit:
        found = unit.sessions.get(run.session_id)
    assert found is not None
    return found


@pytest.mark.every_database
async def test_each_case_runs_again_with_the_skill_and_without(replays: ReplayHarness) -> None:
    recorded = await replays.record("nothing to see")
    stage = replays.bench.stage

    trial = await replays.replay(recorded, marker=MARKER, parts={SKILL: [MARKER], TASK: ["no"]})

    without, with_ = replays.sides(trial)
    fingerprint = stage.get().record.fingerprint
    assert (trial.state, trial.reason) == (TrialState.PASSED, None)
    assert trial.cases == ({"run_id": recorded, "marker": MARKER},)
    assert (without.skill_fingerprint, with_.skill_fingerprint) == (None, fingerprint)
    assert without.input.text == TASK
    assert TASK in with_.input.text
    assert "Reply with exactly" in with_.input.text
    assert {without.agent_id, with_.agent_id} == {VERIFICATION_AGENT_ID}
    folders = {session_of(replays, run).workdir for run in (without, with_)}
    assert len(folders) == 2
    assert all(folder and folder.startswith(f"{WORKTREES}/") for folder in folders)
    assert [entry.action for entry in stage.audit()][-1] == "rollouts.trial"


async def test_a_replay_keeps_whose_text_its_recorded_runs_had_read(
    replays: ReplayHarness,
) -> None:
    recorded = await replays.record(call("list_files"), "nothing to see")

    trial = replays.begin(recorded)

    assert trial.cases == ({"run_id": recorded, "untrusted_path": ["tool_result"]},)


@pytest.mark.every_database
async def test_the_report_compares_all_three(replays: ReplayHarness) -> None:
    recorded = await replays.record(call("list_files"), "nothing to see")

    trial = await replays.replay(
        recorded, marker=MARKER, parts={SKILL: [MARKER], TASK: [call("list_files"), "no"]}
    )

    report = trial.report
    assert report is not None
    (case,) = report["cases"]
    without, with_ = replays.sides(trial)
    assert {
        side: case[side]["verdict"] for side in ("recorded", "without_skill", "with_skill")
    } == {
        "recorded": "failed",
        "without_skill": "failed",
        "with_skill": "succeeded",
    }
    assert [case[side]["run_id"] for side in ("recorded", "without_skill", "with_skill")] == [
        recorded,
        without.run_id,
        with_.run_id,
    ]
    assert (case["without_skill"]["tool_calls"], case["with_skill"]["tool_calls"]) == (1, 0)
    assert case["with_skill"]["input_tokens"] == with_.usage.input_tokens > 0
    assert report["with_skill"] | {"successes": 1, "tries": 1} == report["with_skill"]
    assert (report["regressions"], report["is_clean"]) == ([], True)
    assert 0 < report["wilson_lower_bound"] < 1


@pytest.mark.every_database
async def test_a_replay_is_no_evidence_and_leaves_nothing_to_remember(
    replays: ReplayHarness,
) -> None:
    recorded = await replays.record("fine")
    before = indexed(replays.bench.stage.units)

    trial = await replays.replay(recorded)

    assert trial.state is TrialState.PASSED
    assert replays.bench.stage.get().evidence == ()
    assert indexed(replays.bench.stage.units) == before
    replays.bench.trials.catch_up()
    assert replays.bench.stage.get().evidence == ()


async def test_a_case_that_worked_and_no_longer_does_is_a_regression(
    replays: ReplayHarness,
) -> None:
    good = await replays.record(MARKER)
    other = await replays.record("other words", task="Look elsewhere.")

    trial = await replays.replay(
        good, other, marker=MARKER, parts={SKILL: ["broken"], TASK: ["broken"]}
    )

    assert (trial.state, trial.reason) == (
        TrialState.FAILED,
        "1 of 2 cases went worse with the skill",
    )
    assert trial.report is not None
    assert (trial.report["regressions"], trial.report["is_clean"]) == ([good], False)


async def test_a_case_that_asks_for_a_word_is_judged_by_it(replays: ReplayHarness) -> None:
    """Both sides are asked for it alike, so it favours neither."""
    asked = "Check the queue, and reply with exactly CASE_OK."
    recorded = await replays.record("CASE_OK", task=asked)

    trial = await replays.replay(
        recorded, marker="CASE_OK", parts={SKILL: ["CASE_OK"], asked: ["no"]}
    )

    assert trial.state is TrialState.PASSED
    assert trial.report is not None
    sides = trial.report["without_skill"], trial.report["with_skill"]
    assert [it["successes"] for it in sides] == [0, 1]


async def test_cases_have_markers_of_their_own(replays: ReplayHarness) -> None:
    first, second = await replays.record("one"), await replays.record("two")
    cases = (CaseRequest(run_id=first, marker=" one "), CaseRequest(run_id=second))

    trial = await replays.replay(
        marker="two", cases=cases, parts={SKILL: ["one and two"], TASK: ["one and two"]}
    )

    assert trial.state is TrialState.PASSED
    assert [case.marker for case in replays.cases(trial)] == ["one", "two"]


async def test_a_judge_decides_where_the_policy_has_one_and_nothing_is_expected(
    replays: ReplayHarness,
) -> None:
    replays.judge = JudgeSettings(enabled=True)
    recorded = await replays.record("something")

    trial = await replays.replay(
        recorded,
        parts={SKILL: ["better"], TASK: ["worse"], JUDGE: ['{"success": true, "reason": "ok"}']},
    )
    unsure = await replays.replay(recorded, parts={SKILL: ["better"], JUDGE: ["no object"]})

    assert trial.state is TrialState.PASSED
    assert trial.report is not None
    assert trial.report["cases"][0]["with_skill"]["judged_by"] == "judge"
    assert unsure.state is TrialState.FAILED
    assert unsure.report is not None
    assert unsure.report["cases"][0]["with_skill"]["verdict"] == "undecided"


@pytest.mark.every_database
async def test_activation_asks_for_a_clean_replay_where_the_policy_says_so(
    replays: ReplayHarness,
) -> None:
    stage = replays.bench.stage
    recorded = await replays.record(MARKER)
    stage.bring_to(Stage.CANARY)
    stage.show("canary", stage.run())
    stage.policy = PromotionSettings(require_replay=True)

    def activate() -> object:
        return stage.promote(status=Stage.ACTIVE)

    assert refused(Invalid, activate)[0] == "rollout_not_ready"
    await replays.replay(recorded, marker=MARKER, parts={SKILL: ["broken"]})
    assert [it.code for it in stage.get().missing] == ["needs_replay"]
    await replays.replay(recorded, marker=MARKER, parts={SKILL: [MARKER]})

    record = stage.get().record
    with stage.units.read() as unit:
        assert replayed(unit, record) == SuccessTally(successes=1, tries=1)
    stage.promote(status=Stage.ACTIVE)
    assert stage.get().record.status is Stage.ACTIVE


async def test_a_replay_of_other_words_counts_for_nothing(replays: ReplayHarness) -> None:
    recorded = await replays.record(MARKER)
    await replays.replay(recorded)
    stage = replays.bench.stage

    changed = stage.promote(instructions="Something else altogether.").record

    with stage.units.read() as unit:
        assert replayed(unit, changed) == SuccessTally(successes=0, tries=0)


@pytest.mark.parametrize("is_revoked", [False, True])
async def test_a_replay_ends_when_what_it_is_about_is_gone(
    replays: ReplayHarness, is_revoked: bool
) -> None:
    recorded = [await replays.record("one"), await replays.record("two")]
    trial = replays.begin(*recorded)

    if is_revoked:
        replays.bench.stage.rollouts.revoke(ALICE, NAME)
    else:
        replays.bench.stage.promote(instructions="Something else altogether.")
    await replays.go_on(WITH_SKILL)

    ended = replays.bench.trials.get(NAME, trial.trial_id)
    assert (ended.state, ended.reason, ended.report) == (TrialState.FAILED, CHANGED, None)
    assert [case.is_begun for case in replays.cases(trial)] == [True, False]


async def test_a_replay_that_ended_while_the_judge_thought_stays_as_it_is(
    replays: ReplayHarness,
) -> None:
    replays.judge = JudgeSettings(enabled=True)
    trial = replays.begin(await replays.record("one"))

    def think(_: SeenRequest) -> str:
        with replays.bench.stage.units.write() as unit:
            unit.rollout_trials.end(
                replace(trial, state=TrialState.FAILED, reason="another daemon was quicker")
            )
        return '{"success": true}'

    await replays.go_on({SKILL: ["x"], TASK: ["x"], JUDGE: [think]})

    ended = replays.bench.trials.get(NAME, trial.trial_id)
    assert (ended.state, ended.reason) == (TrialState.FAILED, "another daemon was quicker")
    assert replays.cases(trial)[0].report is None


async def test_a_case_is_not_begun_with_words_that_changed_a_moment_ago(
    replays: ReplayHarness,
) -> None:
    trial = replays.begin(await replays.record("one"), await replays.record("two"))
    case = replays.cases(trial)[1]
    replays.bench.stage.promote(instructions="Something else altogether.")
    replays.bench.queued.clear()

    replays.worker().replaying.open(trial, case)

    assert replays.bench.queued == []
    assert not replays.cases(trial)[1].is_begun


async def test_cases_follow_each_other_and_each_is_begun_once(replays: ReplayHarness) -> None:
    recorded = [await replays.record("one"), await replays.record("two")]
    trial = replays.begin(*recorded)
    first, second = replays.cases(trial)
    assert (first.is_begun, second.is_begun) == (True, False)
    assert len(replays.bench.queued) - 2 == 2

    for case in (first, second, second):
        replays.worker().replaying.open(trial, case)
    await replays.go_on(WITH_SKILL)

    folders = replays.bench.harness.settings.workspace / WORKTREES / "learning-sched"
    assert len([*folders.iterdir()]) == 4
    ended = replays.bench.trials.get(NAME, trial.trial_id)
    assert ended.report is not None
    assert len(ended.report["cases"]) == 2
    before = replays.cases(trial)
    replays.worker().replaying.open(ended, second)
    assert replays.cases(trial) == before


async def test_a_run_that_somebody_stopped_leaves_its_case_undecided(
    replays: ReplayHarness,
) -> None:
    trial = replays.begin(await replays.record("fine"))
    replays.bench.harness.runs.cancel(ALICE, replays.sides(trial)[1].run_id)

    await replays.go_on(WITH_SKILL)

    ended = replays.bench.trials.get(NAME, trial.trial_id)
    assert ended.state is TrialState.FAILED
    assert ended.report is not None
    assert ended.report["cases"][0]["with_skill"]["verdict"] == "undecided"


async def test_a_replay_that_cannot_go_on_ends(replays: ReplayHarness) -> None:
    trial = replays.begin(await replays.record("one"), await replays.record("two"))
    folder = replays.bench.harness.settings.workspace / WORKTREES
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(replays.bench.harness.settings.home)

    await replays.go_on(WITH_SKILL)

    ended = replays.bench.trials.get(NAME, trial.trial_id)
    assert ended.state is TrialState.FAILED
    assert ended.reason
    assert ended.report is None


@pytest.mark.every_database
async def test_a_case_that_cannot_be_read_ends_its_replay_and_no_other(
    replays: ReplayHarness,
) -> None:
    recorded = await replays.record("one")
    torn = [replays.begin(recorded) for _ in TORN]
    sound = replays.begin(recorded)
    with replays.bench.stage.units.write() as unit:
        for trial, change in zip(torn, TORN, strict=True):
            where = f"WHERE trial_id = '{trial.trial_id}'"
            unit.connection.execute(sa.text(f"UPDATE rollout_replay_cases SET {change} {where}"))

    await replays.go_on(WITH_SKILL)

    states = [replays.bench.trials.get(NAME, it.trial_id).state for it in (*torn, sound)]
    assert states == [*(TrialState.FAILED for _ in TORN), TrialState.PASSED]


async def test_a_worker_that_stumbles_tries_again(replays: ReplayHarness) -> None:
    trial = replays.begin(await replays.record("one"))
    away = DatabaseUnavailable("database_unavailable", domain="storage", detail="away")

    def stumbling(problem: Exception) -> ReplayDuty:
        def rules_of(_: object) -> JudgeSettings:
            raise problem

        return replace(replays.worker(), rules_of=rules_of)

    await replays.work(stumbling(RuntimeError("words")))
    with pytest.raises(DatabaseUnavailable):
        await replays.work(stumbling(away))
    assert replays.bench.trials.get(NAME, trial.trial_id).state is TrialState.PENDING
    await replays.go_on(WITH_SKILL)

    assert replays.bench.trials.get(NAME, trial.trial_id).state is TrialState.PASSED


async def test_nobody_in_a_replay_is_offered_the_skill(replays: ReplayHarness) -> None:
    trial = replays.begin(await replays.record("one"))

    without, with_ = (session_of(replays, run) for run in replays.sides(trial))

    assert without.capability_scope == with_.capability_scope == {"skill_deny": [NAME]}


async def test_runs_have_the_tools_and_models_of_the_definition(replays: ReplayHarness) -> None:
    replays.bench.stage.promote(provider="b", model="model-x", blocked_tools=("list_files",))
    recorded = await replays.record("one")

    trial = await replays.replay(
        recorded, parts={SKILL: [call("list_files"), "x"], TASK: [call("list_files"), "x"]}
    )

    without, with_ = replays.sides(trial)
    assert {run.route.model for run in (without, with_)} == {"model-x"}
    results = replays.bench.harness.results
    assert [it["status"] for it in results(without.run_id)] == ["ok"]
    assert [it["status"] for it in results(with_.run_id)] == ["denied"]


@pytest.mark.every_database
async def test_what_cannot_be_replayed_is_refused_with_its_place(replays: ReplayHarness) -> None:
    good = await replays.record("fine")
    long = await replays.record("fine", task="x" * 5_000)
    tried = await replays.bench.trial(MARKER)
    going_on = replays.bench.harness.submit("wait")
    replays.bench.queued.clear()
    assert tried.run_id is not None
    many = tuple(CaseRequest(run_id=good) for _ in range(MAX_CASES + 1))

    def cases(*more: CaseRequest) -> dict[str, Any]:
        return {"cases": (CaseRequest(run_id=good), *more)}

    wrong: tuple[tuple[dict[str, Any], str, str], ...] = (
        (cases(CaseRequest(run_id="run_none")), "unknown_case", "/cases/1/run_id"),
        (cases(CaseRequest(run_id=going_on)), "run_not_ended", "/cases/1/run_id"),
        (cases(CaseRequest(run_id=tried.run_id)), "case_not_replayable", "/cases/1/run_id"),
        (cases(CaseRequest(run_id=long)), "case_not_replayable", "/cases/1/run_id"),
        (cases(CaseRequest(run_id=good)), "case_twice", "/cases/1/run_id"),
        ({"cases": (CaseRequest(run_id=good, marker=" "),)}, "invalid_marker", "/cases/0/marker"),
        (
            {"cases": (CaseRequest(run_id=good, marker="x" * (MAX_MARKER_CHARS + 1)),)},
            "invalid_marker",
            "/cases/0/marker",
        ),
        ({**cases(), "marker": " "}, "invalid_marker", "/expected_output_contains"),
        ({**cases(), "kind": EvidenceKind.VERIFICATION}, "not_of_replays", "/kind"),
        ({**cases(), "params": "x"}, "not_of_replays", "/params"),
        ({"cases": many}, "too_many_cases", "/cases"),
        (
            {**cases(), "definition_fingerprint": "0" * 64},
            "fingerprint_mismatch",
            "/definition_fingerprint",
        ),
    )

    for wish, code, place in wrong:
        found = refused(Invalid, partial(replays.bench.begin, **wish))
        assert found == (code, [place]), wish
    assert replays.bench.queued == []


async def test_a_replay_that_cannot_begin_gives_its_folders_back(replays: ReplayHarness) -> None:
    recorded = await replays.record("fine")
    replays.bench.stage.promote(provider="nowhere")

    assert refused(Invalid, partial(replays.begin, recorded))[0] == "route_not_found"

    folders = replays.bench.harness.settings.workspace / WORKTREES / "learning-sched"
    assert [*folders.iterdir()] == []
    (replays.bench.harness.settings.workspace / WORKTREES / "learning-sched").rmdir()
    (replays.bench.harness.settings.workspace / WORKTREES / ".gitignore").unlink()
    (replays.bench.harness.settings.workspace / WORKTREES).rmdir()
    (replays.bench.harness.settings.workspace / WORKTREES).symlink_to(
        replays.bench.harness.settings.home
    )
    assert refused(Unavailable, partial(replays.begin, recorded))[0] == "worktree_missing"


async def test_replays_count_among_the_trials_that_go_on_at_once(replays: ReplayHarness) -> None:
    recorded = await replays.record("fine")
    for _ in range(MAX_PENDING):
        replays.begin(recorded)

    assert refused(Conflict, partial(replays.begin, recorded))[0] == "too_many_trials"


async def test_what_is_in_force_is_not_replayed(replays: ReplayHarness) -> None:
    recorded = await replays.record("fine")
    replays.bench.stage.bring_to(Stage.ACTIVE)

    assert refused(Invalid, partial(replays.begin, recorded))[0] == "rollout_not_on_trial"


async def test_cases_are_kept_as_they_are(replays: ReplayHarness) -> None:
    trial = replays.begin(await replays.record("one"), marker="ö\x00")
    (case,) = replays.cases(trial)

    with replays.bench.stage.units.write() as unit:
        unit.replay_cases.update(replace(case, marker="😀 é"))
        assert unit.replay_cases.of_run("run_none") is None
        assert case.with_run_id is not None
        assert case.without_run_id is not None
        found = [unit.replay_cases.of_run(it) for it in (case.with_run_id, case.without_run_id)]

    assert case.marker == "ö\x00"
    assert [it.marker for it in found if it] == ["😀 é"] * 2
