"""How a run went: by the marker, else by a judge, else by how it ended."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import make_run
from tests.support.run_harness import make_settings
from understudy.core.errors import DatabaseUnavailable
from understudy.learnings.capture_settings import ModelChoice
from understudy.memory.texts import Cleaner
from understudy.providers.registry import Routes
from understudy.providers.structured import StructuredModel
from understudy.review.policy import JudgeSettings
from understudy.rollout.replay.judge import ReplayJudge
from understudy.rollout.replay.report import JudgedBy, ReplayedRun, ReplayVerdict
from understudy.rollout.replay.work import EndedRun, Measuring
from understudy.runs.model import RunStatus, RunUsage
from understudy.testing.answers import Answer
from understudy.testing.fake_model import FakeModel

# Assembled, so that no scanner takes it for a real one.
KEY = "sk-" + "proj-" + "abc123def456ghi789"
ON = JudgeSettings(enabled=True)


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        yield fake


@pytest.fixture
async def judge(tmp_path: Path, fake: FakeModel) -> AsyncIterator[ReplayJudge]:
    routes = Routes(make_settings(tmp_path, fake.url, "a", "b"))
    yield ReplayJudge(model=StructuredModel(routes, lambda: "a"), cleaner=Cleaner(pii=False))
    await routes.close()


async def fared(
    judge: ReplayJudge,
    output: str = "the notes",
    *,
    marker: str | None = None,
    rules: JudgeSettings | None = None,
    **fields: Any,
) -> ReplayedRun:
    run = make_run(**({"status": RunStatus.COMPLETED} | fields))
    measuring = Measuring(
        task=f"Write the notes with {KEY}.",
        marker=marker,
        judge=judge,
        rules=rules or JudgeSettings(),
    )
    return await measuring.fared(EndedRun(run=run, output=output, unrecorded_calls=2))


async def test_the_marker_decides_where_there_is_one(judge: ReplayJudge, fake: FakeModel) -> None:
    good = await fared(judge, "NOTES_OK, all", marker="NOTES_OK", rules=ON)
    bad = await fared(judge, marker="NOTES_OK", rules=ON)

    assert (good.verdict, good.judged_by, good.reason) == (
        ReplayVerdict.SUCCEEDED,
        JudgedBy.MARKER,
        "",
    )
    assert (bad.verdict, bad.reason) == (ReplayVerdict.FAILED, "the last output lacks the marker")
    assert fake.requests == []


async def test_without_a_marker_and_a_judge_the_end_of_the_run_decides(judge: ReplayJudge) -> None:
    done = await fared(judge)

    assert (done.verdict, done.judged_by) == (ReplayVerdict.SUCCEEDED, JudgedBy.STATUS)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (RunStatus.FAILED, ReplayVerdict.FAILED),
        (RunStatus.CANCELLED, ReplayVerdict.UNDECIDED),
        (RunStatus.INTERRUPTED, ReplayVerdict.UNDECIDED),
    ],
)
async def test_a_run_that_did_not_complete_is_no_success_whatever_it_said(
    judge: ReplayJudge, status: RunStatus, verdict: ReplayVerdict
) -> None:
    found = await fared(judge, "NOTES_OK", marker="NOTES_OK", rules=ON, status=status)

    assert (found.verdict, found.judged_by) == (verdict, JudgedBy.STATUS)
    assert found.reason == f"the run is {status}, not completed"


async def test_a_judge_reads_what_was_asked_and_said_and_no_secret(
    judge: ReplayJudge, fake: FakeModel
) -> None:
    fake.queue('{"success": true, "reason": "fine"}', '{"success": false, "reason": "it\\n stops"}')
    rules = JudgeSettings(enabled=True, model=ModelChoice(provider="b"))

    good = await fared(judge, f"the notes with {KEY}", rules=rules)
    bad = await fared(judge, rules=ON)

    assert (good.verdict, good.judged_by, good.reason) == (
        ReplayVerdict.SUCCEEDED,
        JudgedBy.JUDGE,
        "",
    )
    assert (bad.verdict, bad.reason) == (ReplayVerdict.FAILED, "it stops")
    asked = fake.requests[0]
    assert asked.model == "model-b"
    shown = json.loads(asked.last_user)
    assert set(shown) == {"task", "output"}
    assert shown["task"].startswith("Write the notes")
    assert KEY not in json.dumps(asked.body)


@pytest.mark.parametrize(
    "answer",
    [
        "no idea",
        "[]",
        "{}",
        '{"success": "yes"}',
        '{"success": 1}',
        '{"success": true, "reason": 7}',
        Answer(status=400),
    ],
)
async def test_without_a_clear_answer_nobody_knows(
    judge: ReplayJudge, fake: FakeModel, answer: Answer | str
) -> None:
    fake.queue(answer)

    found = await fared(judge, rules=ON)

    assert (found.verdict, found.judged_by) == (ReplayVerdict.UNDECIDED, JudgedBy.JUDGE)
    assert found.reason.startswith("the judge gave no usable answer: ")


async def test_a_judge_that_takes_too_long_leaves_it_undecided(
    judge: ReplayJudge, fake: FakeModel
) -> None:
    fake.queue(Answer(text='{"success": true}', delay_s=0.5))

    found = await fared(judge, rules=JudgeSettings(enabled=True, timeout_ms=50))

    assert found.verdict is ReplayVerdict.UNDECIDED


class Broken(StructuredModel):
    """A model whose route cannot be looked up."""

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    async def ask(self, **_: Any) -> Any:
        raise self._problem


async def test_a_judge_that_breaks_leaves_it_undecided() -> None:
    judge = ReplayJudge(model=Broken(RuntimeError("words")), cleaner=Cleaner())

    found = await fared(judge, rules=ON)

    assert found.verdict is ReplayVerdict.UNDECIDED
    assert found.reason == "the judge gave no usable answer: unexpected RuntimeError"


async def test_a_database_that_is_away_is_no_opinion() -> None:
    away = DatabaseUnavailable("database_unavailable", domain="storage", detail="away")
    judge = ReplayJudge(model=Broken(away), cleaner=Cleaner())

    with pytest.raises(DatabaseUnavailable):
        await fared(judge, rules=ON)


async def test_what_the_run_took_is_told(judge: ReplayJudge) -> None:
    usage = RunUsage(input_tokens=30, output_tokens=4, tool_calls=3)

    found = await fared(judge, usage=usage, started_at_ms=1_000, finished_at_ms=3_500)
    unbegun = await fared(judge, started_at_ms=None, status=RunStatus.CANCELLED)

    assert (found.tool_calls, found.unrecorded_calls) == (3, 2)
    assert (found.input_tokens, found.output_tokens, found.took_ms) == (30, 4, 2_500)
    assert unbegun.took_ms == 0
