"""What an executor does with a run: take it, ask, act, answer, fail."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, bound, make_file, make_persona, make_session
from tests.support.run_harness import (
    Probe,
    RunHarness,
    arrived,
    die,
    make_settings,
    restarted,
    texts,
    until,
)
from understudy.core.errors import Conflict, NotFound
from understudy.runs.model import DebugLevel, RunStatus
from understudy.runs.submission import Submission
from understudy.sessions.model import RoutePolicy
from understudy.settings import Settings
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.one_database

# Asking and acting


@pytest.mark.every_database
async def test_a_plain_answer_completes_the_run(harness: RunHarness, fake: FakeModel) -> None:
    fake.queue("Hello there.")

    done = await harness.run("hi", actor_id="tester")

    assert (done.run.status, done.run.error) == (RunStatus.COMPLETED, None)
    assert [output.data["text"] for output in done.outputs] == ["Hello there."]
    assert (done.run.usage.model_calls, done.run.usage.input_tokens) == (1, 10)
    kinds = [(e.kind.value, e.data.get("type")) for e in harness.journal(done.run.run_id)]
    assert kinds == [
        ("run", "accepted"),
        ("run", "queued"),
        ("run", "started"),
        ("input", None),
        ("message", None),
        ("output", None),
        ("run", "completed"),
    ]


async def test_tools_are_called_until_the_model_has_answered(
    harness: RunHarness, fake: FakeModel, settings: Settings
) -> None:
    fake.queue(
        call("write_file", {"path": "a.txt", "content": "beans"}),
        call("read_file", {"path": "a.txt"}),
        "The file says beans.",
    )

    done = await harness.run("write and read")

    assert done.run.status is RunStatus.COMPLETED
    assert (settings.workspace / "a.txt").read_text() == "beans"
    assert "beans" in texts(fake)[-1]
    assert (done.run.usage.model_calls, done.run.usage.tool_calls) == (3, 2)


@pytest.mark.every_database
async def test_the_calls_of_one_reply_run_side_by_side_and_answer_in_order(
    harness: RunHarness, fake: FakeModel, probe: Probe
) -> None:
    pair = (FakeCall(name="probe", arguments={"label": "slow"}), FakeCall(name="other"))
    fake.queue(Answer(calls=pair), "done")
    probe.hold()
    run_id = harness.submit()
    task = harness.begin(run_id)
    await probe.reached()
    await until(lambda: bool(harness.results(run_id)))

    assert [result["name"] for result in harness.results(run_id)] == ["other"]
    probe.go_on.set()
    await task

    assert harness.stored(run_id).status is RunStatus.COMPLETED
    assert texts(fake)[-2:] == ["result of slow", "result of "]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (call("probe", '{"label": '), "not valid JSON"),
        (call("probe", '{"label": 7}'), "label"),
        (call("probe", "[]"), "must be a JSON object"),
        (call("teleport"), "there is no tool 'teleport'"),
        (call(" probe "), "there is no tool ' probe '"),
    ],
)
async def test_a_bad_call_is_told_to_the_model_and_runs_nothing(
    harness: RunHarness, fake: FakeModel, probe: Probe, bad: Answer, said: str
) -> None:
    fake.queue(bad, "sorry")

    done = await harness.run()

    assert done.run.status is RunStatus.COMPLETED
    assert said in texts(fake)[-1]
    assert probe.labels == []
    assert done.run.usage.tool_calls == 0


@pytest.mark.every_database
async def test_a_tool_that_was_switched_off_is_neither_offered_nor_called(
    harness: RunHarness, fake: FakeModel, probe: Probe
) -> None:
    with harness.units.write() as unit:
        unit.tool_switches.set("probe", enabled=False)
    fake.queue(call("probe"), "sorry")

    await harness.run()

    offered = [tool["function"]["name"] for tool in fake.requests[0].body["tools"]]
    assert "probe" not in offered
    assert "other" in offered
    assert "there is no tool" in texts(fake)[-1]
    assert probe.labels == []


@pytest.mark.parametrize(
    ("locale", "said"), [("en", "Answer now"), ("vi", "Hãy trả lời ngay"), ("zh", "立即回答")]
)
async def test_the_last_call_of_the_budget_has_no_tools_and_says_so_in_the_runs_language(
    harness: RunHarness, fake: FakeModel, probe: Probe, locale: str, said: str
) -> None:
    fake.rule = lambda seen: call("probe") if seen.body.get("tools") else "That is all I have."

    done = await harness.run(max_tool_iterations=3, locale=locale)

    assert done.run.status is RunStatus.COMPLETED
    assert len(fake.requests) == 3
    assert len(probe.labels) == 2
    assert "tools" not in fake.requests[-1].body
    last = [text for n in range(3) for text in texts(fake, n) if text.startswith("[Budget]")]
    assert last == [texts(fake, 2)[-1]]
    assert said in last[0]


async def test_a_model_that_asks_for_tools_beyond_the_budget_fails_the_run(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.rule = lambda _: call("probe")

    done = await harness.run(max_tool_iterations=2)

    assert done.run.status is RunStatus.FAILED
    assert done.run.error == "no answer within 2 steps of the budget"
    assert len(fake.requests) == 2


@pytest.mark.every_database
async def test_the_smaller_budget_counts(harness: RunHarness, fake: FakeModel) -> None:
    with harness.units.write() as unit:
        agent = unit.agents.get("default")
        assert agent is not None
        unit.agents.update(replace(agent, max_tool_iterations=2, version=2), expected_version=1)
    fake.rule = lambda seen: call("probe") if seen.body.get("tools") else "enough"

    await harness.run(max_tool_iterations=9)

    assert len(fake.requests) == 2


# The prompt


@pytest.mark.every_database
async def test_soul_and_context_files_are_in_the_system_text(
    harness: RunHarness, fake: FakeModel
) -> None:
    with harness.units.write() as unit:
        unit.sessions.add(make_session("bound", **bound(make_persona(soul="I am Ada."))))
        unit.agents.add_file(make_file("AGENTS.md", "Answer in rhyme."))

    await harness.run(session_id="bound")

    system = fake.requests[0].system
    order = [system.index(part) for part in ("Base instructions", "I am Ada.", "Answer in rhyme.")]
    assert order == sorted(order)


async def test_earlier_runs_of_the_session_are_in_the_prompt_and_other_sessions_are_not(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.queue(call("probe", {"label": "x"}), "first answer", "elsewhere", "second answer")
    await harness.run("first question")
    await harness.run("secret question", session_id="s2")

    await harness.run("second question")

    assert texts(fake) == [
        "first question",
        "",
        "result of x",
        "first answer",
        "second question",
    ]


async def test_a_run_sees_what_was_there_when_it_started_even_after_a_crash(
    harness: RunHarness, fake: FakeModel
) -> None:
    with harness.units.write() as unit:
        unit.agents.add_file(make_file("SOUL.md", "old soul"))
    fake.hold()
    run_id = harness.submit()
    task = harness.begin(run_id)
    await arrived(fake, 1)
    await die(task)
    with harness.units.write() as unit:
        unit.agents.add_file(make_file("SOUL.md", "new soul", version=2))
    fake.release()

    await restarted(harness).execute(run_id)

    assert "old soul" in fake.requests[1].system
    assert "new soul" not in fake.requests[1].system


# Failing


async def test_a_failing_provider_fails_the_run_in_words_and_the_session_goes_on(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.fail(500)

    failed = await harness.run("first")
    done = await harness.run("second")

    assert failed.run.status is RunStatus.FAILED
    assert failed.run.error is not None
    assert "500" in failed.run.error
    assert harness.journal(failed.run.run_id)[-1].data["error"] == failed.run.error
    assert done.run.status is RunStatus.COMPLETED
    assert texts(fake) == ["first", "second"]


async def test_a_route_that_vanished_fails_the_run_instead_of_drifting(
    harness: RunHarness, fake: FakeModel, tmp_path: Path
) -> None:
    run_id = harness.submit(provider="b")
    without = restarted(harness, settings=make_settings(tmp_path, fake.url, "a"))

    done = await without.execute(run_id)

    assert done.run.status is RunStatus.FAILED
    assert "'b'" in (done.run.error or "")
    assert fake.requests == []


async def test_a_tool_that_breaks_costs_its_call_and_not_the_run(
    harness: RunHarness, fake: FakeModel
) -> None:
    class Broken(Probe):
        async def call(self, arguments: object, context: object) -> str:
            raise ZeroDivisionError

    fake.queue(call("broken"), "sorry")

    done = await restarted(harness, tools=(Broken("broken"),)).run()

    assert done.run.status is RunStatus.COMPLETED
    assert texts(fake)[-1] == "the tool failed unexpectedly"


# Submitting


async def test_the_same_key_is_the_same_run_and_another_request_is_a_conflict(
    harness: RunHarness, database: UnitsOnDatabase
) -> None:
    def submit(content: str, session_id: str = "s1") -> str:
        detail = harness.runs.submit(
            ALICE, session_id, Submission(content=content), idempotency_key="k"
        )
        return detail.run.run_id

    first = submit("hello")
    await harness.execute(first)

    assert submit("hello") == first
    assert database.queued == [(first, "s1")]
    for content, session_id in (("other", "s1"), ("hello", "s2")):
        with pytest.raises(Conflict) as refused:
            submit(content, session_id)
        assert refused.value.code == "idempotency_conflict"


@pytest.mark.every_database
async def test_many_who_submit_under_one_key_at_once_get_one_run(
    harness: RunHarness, database: UnitsOnDatabase
) -> None:
    def submit() -> str:
        detail = harness.runs.submit(ALICE, "s1", Submission(content="hi"), idempotency_key="k")
        return detail.run.run_id

    ids = await asyncio.gather(*(asyncio.to_thread(submit) for _ in range(8)))

    assert len(set(ids)) == 1
    assert len(database.queued) == 1


@pytest.mark.every_database
async def test_a_refused_submission_leaves_nothing(
    harness: RunHarness, database: UnitsOnDatabase
) -> None:
    with pytest.raises(NotFound):
        harness.submit(session_id="nobody")
    with pytest.raises(Exception, match="no route"):
        harness.submit(provider="nowhere")

    with database.units.read() as unit:
        assert unit.runs.counts() == {}
        assert unit.journal.read() == ()
    assert database.queued == []


@pytest.mark.every_database
async def test_an_inline_run_needs_an_idle_session(harness: RunHarness) -> None:
    harness.submit()

    with pytest.raises(Conflict) as refused:
        harness.runs.submit(ALICE, "s1", Submission(content="hi"), needs_idle=True)

    assert (refused.value.domain, refused.value.code) == ("sessions", "session_busy")


@pytest.mark.every_database
async def test_the_route_is_pinned_when_the_run_is_submitted(
    harness: RunHarness, fake: FakeModel
) -> None:
    run_id = harness.submit()
    with harness.units.write() as unit:
        session = unit.sessions.get("s1")
        assert session is not None
        policy = RoutePolicy(provider="b")
        unit.sessions.update(replace(session, route_policy=policy, version=2), expected_version=1)

    await harness.execute(run_id)
    await harness.run()

    assert [seen.model for seen in fake.requests] == ["model-a", "model-b"]


# Looking inside


@pytest.mark.parametrize(
    ("level", "captured", "answered"),
    [(DebugLevel.OFF, 0, 0), (DebugLevel.REQUESTS, 2, 0), (DebugLevel.FULL, 2, 2)],
)
async def test_what_is_captured_is_what_was_sent_without_secrets(
    harness: RunHarness, fake: FakeModel, level: DebugLevel, captured: int, answered: int
) -> None:
    key = "sk-proj-" + "Ab3dEf6hIj9lMn2pQr5t" * 2
    fake.queue(call("probe", {"label": f"{key} hunter22"}), f"I saw {key} and hunter22.")

    done = await harness.run(f"my key is {key} and hunter22", debug_level=level)

    captures = harness.runs.debug(done.run.run_id)
    assert len(captures) == captured
    assert len([capture for capture in captures if capture.response]) == answered
    shown = json.dumps([[capture.request, capture.response] for capture in captures])
    assert key not in shown
    assert "hunter22" not in shown
    if captured:
        assert captures[0].request["route_id"] == "a"
        assert captures[0].request["model"] == "model-a"
        assert "my key is" in captures[0].request["messages"][0]["content"]
        assert [capture.step for capture in captures] == [1, 2]


@pytest.mark.every_database
@pytest.mark.parametrize("level", [DebugLevel.REQUESTS, DebugLevel.FULL])
async def test_every_try_is_captured_with_its_model(
    harness: RunHarness, fake: FakeModel, settings: Settings, level: DebugLevel
) -> None:
    route = settings.routes["a"].model_copy(update={"max_attempts": 2, "fallback_model": "spare"})
    patient = restarted(harness, settings=replace(settings, routes={"a": route}))
    fake.queue(call("probe", {"label": "x"}))
    fake.fail(500, times=2)

    done = await patient.run(debug_level=level)

    assert done.run.status is RunStatus.COMPLETED
    captures = patient.runs.debug(done.run.run_id)
    assert [(c.step, c.attempt, c.request["try"], c.request["model"]) for c in captures] == [
        (1, 1, 1, "model-a"),
        (2, 1, 1, "model-a"),
        (2, 1, 2, "model-a"),
        (2, 1, 3, "spare"),
    ]
    assert len(captures) == len(fake.requests)
    if level is DebugLevel.FULL:
        assert [bool(c.response) for c in captures] == [True, False, False, True]
    await patient.providers.close()


@pytest.mark.every_database
async def test_a_request_that_never_got_an_answer_is_captured(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.fail(400)

    done = await harness.run(debug_level=DebugLevel.FULL)

    assert done.run.status is RunStatus.FAILED
    (capture,) = harness.runs.debug(done.run.run_id)
    assert capture.response is None
