"""Long sessions: the older part becomes a checkpoint, and everything after goes on from it."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, NOW, make_new_event
from tests.support.learning_factories import keep, make_learning
from tests.support.run_harness import (
    Probe,
    RunHarness,
    arrived,
    die,
    make_settings,
    restarted,
)
from tests.support.run_memory_reads import set_policy, told
from understudy.agent.budget import list_tokens, prompt_limit
from understudy.agent.conversation import FRAME
from understudy.core.text import estimate_tokens
from understudy.memory.policy import policy_in
from understudy.retrieval.explain import explain
from understudy.retrieval.report import injection_report
from understudy.runs.model import DebugLevel, RunStatus
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.sessions.model import require_session
from understudy.storage.schema import journal
from understudy.storage.unit import Units
from understudy.testing.answers import Answer, SeenRequest, call
from understudy.testing.fake_model import FakeModel

pytestmark = [pytest.mark.one_database, pytest.mark.anyio]

WINDOW = 6000
LIMIT = prompt_limit(WINDOW)


@dataclass
class Model:
    """Says what it is told in the conversation, and numbers its summaries."""

    fake: FakeModel
    says: Callable[[int], Answer | str] = lambda number: f"answer {number}"
    summarises: Callable[[int], Answer | str] = lambda number: f"SUMMARY {number}"
    talks: list[SeenRequest] = field(default_factory=list)
    summaries: list[SeenRequest] = field(default_factory=list)

    def __call__(self, request: SeenRequest) -> Answer | str:
        if request.system.startswith("You keep the memory"):
            self.summaries.append(request)
            return self.summarises(len(self.summaries))
        self.talks.append(request)
        return self.says(len(self.talks))

    def shown(self, number: int = -1) -> list[str]:
        """What the conversation was, in one of its calls."""
        return [turn.text for turn in self.talks[number].turns if turn.role != "system"]


@pytest.fixture
def model(fake: FakeModel) -> Model:
    model = Model(fake)
    fake.rule = model
    return model


@pytest.fixture
async def small(
    database: UnitsOnDatabase, tmp_path: Path, fake: FakeModel
) -> AsyncIterator[RunHarness]:
    """A run harness whose model has a small window."""
    settings = make_settings(tmp_path, fake.url)
    route = settings.routes["a"].model_copy(update={"context_window": WINDOW})
    harness = RunHarness(database.units, replace(settings, routes={"a": route}), tools=(Probe(),))
    yield harness
    await harness.providers.close()


def checkpoints(units: Units, session_id: str = "s1") -> tuple[JournalEvent, ...]:
    with units.read() as unit:
        return unit.journal.checkpoints(session_id, before_offset=2**31 - 1, limit=100)


def inputs(units: Units, session_id: str = "s1") -> list[JournalEvent]:
    with units.read() as unit:
        events = unit.journal.read(session_id=session_id, kinds=[EventKind.INPUT])
    return list(events)


def check_wire(request: SeenRequest) -> None:
    """What was sent fits the window, and no call stands without its result."""
    texts = list_tokens(sum(estimate_tokens(turn.text) for turn in request.turns))
    assert texts <= LIMIT + 300
    waiting: list[str] = []
    for message in request.body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert waiting == []
        waiting = [each["id"] for each in message.get("tool_calls") or ()]
    assert waiting == []


def probing(label: str) -> Answer:
    return call("probe", {"label": label})


async def test_a_short_session_is_shown_word_for_word(small: RunHarness, model: Model) -> None:
    await small.run("one")
    await small.run("two")

    assert model.shown() == ["one", "answer 1", "two"]
    assert checkpoints(small.units) == ()


async def test_a_session_that_grows_too_long_is_summarised_and_goes_on(
    small: RunHarness, model: Model
) -> None:
    for number in range(1, 13):
        await small.run(f"wish {number} " + "x" * 2000)

    assert len(model.summaries) >= 2
    first = model.talks[len(model.talks) - 1]
    for request in model.talks:
        check_wire(request)
    shown = model.shown()
    assert shown[0].startswith(FRAME)
    assert f"SUMMARY {len(model.summaries)}" in shown[0]
    assert shown[-1].startswith("wish 12 ")
    assert any(text == "answer 11" for text in shown)
    # The second summary was made from the first one.
    assert "SUMMARY 1" in model.summaries[1].last_user
    assert "wish 1 " in model.summaries[0].last_user
    assert first.last_user.startswith("wish 12 ")


async def test_the_journal_keeps_everything_and_says_what_a_checkpoint_stands_for(
    small: RunHarness, model: Model
) -> None:
    runs = [await small.run(f"wish {number} " + "x" * 2000) for number in range(1, 9)]

    [newest, *_] = checkpoints(small.units)
    with small.units.read() as unit:
        events = unit.journal.read(session_id="s1", limit=1000)
    inputs = [event for event in events if event.kind is EventKind.INPUT]
    assert len(inputs) == len(runs)
    assert [event.offset for event in events] == list(range(1, len(events) + 1))
    assert newest.key == f"{newest.run_id}:checkpoint:1"
    data = newest.data
    assert data["summary"] == f"SUMMARY {len(model.summaries)}"
    assert data["tokens_after"] < LIMIT < data["tokens_before"]
    upto = data["upto_offset"]
    assert 0 < upto < newest.offset
    following = next(event for event in events if event.offset > upto and event.kind in KINDS)
    assert following.kind in (EventKind.INPUT, EventKind.MESSAGE)


KINDS = (EventKind.INPUT, EventKind.MESSAGE, EventKind.TOOL_RESULT)


async def test_a_restart_begins_from_the_checkpoint(small: RunHarness, model: Model) -> None:
    for number in range(1, 9):
        await small.run(f"wish {number} " + "x" * 2000)
    made = len(model.summaries)

    await restarted(small).run("short")

    assert len(model.summaries) == made
    assert model.shown()[0].endswith(f"> SUMMARY {made}")
    assert model.shown()[-1] == "short"
    assert not any(text.startswith("wish 1 ") for text in model.shown())


async def test_a_checkpoint_of_one_session_is_nothing_to_another(
    small: RunHarness, model: Model
) -> None:
    for number in range(1, 7):
        await small.run(f"wish {number} " + "x" * 2000)

    await small.run("hello", session_id="s2")

    assert model.summaries
    assert model.shown() == ["hello"]


@pytest.mark.every_database
async def test_one_long_run_is_compacted_while_it_goes_on(small: RunHarness, model: Model) -> None:
    model.says = lambda n: "done" if n == 15 else probing(f"{n} " + "r" * 2000)

    detail = await small.run("the task at hand")

    assert detail.run.status is RunStatus.COMPLETED
    assert len(model.summaries) >= 2
    for request in model.talks:
        check_wire(request)
        assert request.last_user == "the task at hand"
    made = checkpoints(small.units)
    assert len({event.key for event in made}) == len(made) >= 2
    assert sum(event.data["model_calls"] for event in made) == len(model.summaries)
    assert detail.run.usage.model_calls == len(model.talks) + len(model.summaries)
    results = small.results(detail.run.run_id)
    assert [str(each["content"]).split(" ")[2] for each in results] == [
        str(number) for number in range(1, 15)
    ]


async def test_the_run_after_a_long_one_knows_it_by_its_summary(
    small: RunHarness, model: Model
) -> None:
    model.says = lambda n: "done" if n == 9 else probing(f"{n} " + "r" * 2000)
    await small.run("the task at hand")
    made = len(model.summaries)
    assert "the task at hand" in model.summaries[0].last_user
    model.says = lambda n: "second"

    await small.run("and now?")

    # Memories of the first run may take the room of what is left of it.
    assert len(model.summaries) >= made
    assert model.shown()[0].endswith(f"> SUMMARY {len(model.summaries)}")
    assert "done" in model.shown()
    assert model.shown()[-1] == "and now?"
    assert "the task at hand" not in model.shown()


async def test_a_crash_after_a_checkpoint_shows_the_same_messages_again(
    small: RunHarness, model: Model
) -> None:
    tools = 12
    held = False

    def says(number: int) -> Answer | str:
        nonlocal held
        openings = {model.shown(each)[0] for each in range(len(model.talks))}
        if len([text for text in openings if text.startswith(FRAME)]) == 2 and not held:
            held = True
            return Answer(text="never heard", delay_s=60)
        return "done" if number > tools else probing(f"{number} " + "r" * 2000)

    model.says = says
    run_id = small.submit("the task at hand")
    task = small.begin(run_id)
    while not held:
        await arrived(model.fake, len(model.fake.requests) + 1)
    before = model.shown()
    await die(task)
    tools = 0

    detail = await restarted(small).execute(run_id)

    assert detail.run.status is RunStatus.COMPLETED
    assert model.shown() == before
    assert len(checkpoints(small.units)) == 2
    assert sum(event.data["model_calls"] for event in checkpoints(small.units)) == len(
        model.summaries
    )


@pytest.mark.every_database
async def test_a_crash_during_the_summary_makes_it_again(small: RunHarness, model: Model) -> None:
    model.says = lambda n: probing(f"{n} " + "r" * 2000)
    model.summarises = lambda n: Answer(text="never heard", delay_s=60) if n == 1 else "SUMMARY"
    run_id = small.submit("the task at hand")
    task = small.begin(run_id)
    while not model.summaries:
        await arrived(model.fake, len(model.fake.requests) + 1)
    await die(task)
    assert checkpoints(small.units) == ()
    model.says = lambda _: "done"

    detail = await restarted(small).execute(run_id)

    assert detail.run.status is RunStatus.COMPLETED
    assert len(checkpoints(small.units)) == 1
    assert model.shown()[0].endswith("> SUMMARY")


@pytest.mark.parametrize("answer", [Answer(status=500), Answer(text="  "), probing("no")])
async def test_without_a_summary_the_oldest_is_left_out_and_the_run_goes_on(
    small: RunHarness, model: Model, answer: Answer
) -> None:
    model.summarises = lambda _: answer

    for number in range(1, 9):
        detail = await small.run(f"wish {number} " + "x" * 2000)
        assert detail.run.status is RunStatus.COMPLETED

    for request in model.talks:
        check_wire(request)
    assert checkpoints(small.units) == ()
    shown = model.shown()
    assert shown[-1].startswith("wish 8 ")
    assert len(shown) > 1
    assert not any(text.startswith("wish 1 ") for text in shown)


async def test_a_summary_that_failed_is_tried_again_by_the_next_run(
    small: RunHarness, model: Model
) -> None:
    model.summarises = lambda n: Answer(status=500) if n == 1 else f"SUMMARY {n}"
    number = 0
    while not model.summaries:
        number += 1
        await small.run(f"wish {number} " + "x" * 2000)

    await small.run("x" * 2000)

    assert len(checkpoints(small.units)) == 1
    assert "wish 1 " in model.summaries[1].last_user


@pytest.mark.every_database
async def test_a_huge_turn_does_not_empty_the_history(small: RunHarness, model: Model) -> None:
    model.says = lambda n: "found it" if n == 2 else probing("r" * 60_000)
    await small.run("read it all")
    model.says = lambda _: "ok"
    model.summarises = lambda _: Answer(status=500)

    await small.run("so?")

    shown = model.shown()
    check_wire(model.talks[-1])
    assert shown[-1] == "so?"
    assert "found it" in shown


async def test_an_old_part_larger_than_the_window_is_summarised_in_parts(
    small: RunHarness, model: Model
) -> None:
    with small.units.write() as unit:
        for number in range(1, 41):
            asked = {"items": [{"type": "text", "text": f"old {number} " + "x" * 1500}]}
            told = {"step": 1, "text": f"reply {number}"}
            unit.journal.append(
                "s1",
                (
                    make_new_event(EventKind.INPUT, run_id=f"r{number}", data=asked),
                    make_new_event(EventKind.MESSAGE, run_id=f"r{number}", data=told),
                ),
                at_ms=NOW,
            )

    detail = await small.run("and now?")

    assert len(model.summaries) > 2
    [event] = checkpoints(small.units)
    assert event.data["model_calls"] == len(model.summaries)
    assert event.data["summary"] == f"SUMMARY {len(model.summaries)}"
    assert detail.run.usage.model_calls == len(model.summaries) + 1
    for request in model.summaries:
        texts = list_tokens(sum(estimate_tokens(turn.text) for turn in request.turns))
        assert texts <= LIMIT


async def test_secrets_are_taken_out_of_a_summary(small: RunHarness, model: Model) -> None:
    key = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4"
    model.summarises = lambda _: f"The key is {key}."
    for number in range(1, 7):
        await small.run(f"wish {number} " + "x" * 2000)

    [event, *_] = checkpoints(small.units)
    assert key not in str(event.data)
    assert "The key is" in event.data["summary"]


@pytest.mark.every_database
async def test_a_checkpoint_that_cannot_be_read_is_passed_over(
    small: RunHarness, model: Model, database: UnitsOnDatabase
) -> None:
    while len(checkpoints(small.units)) < 2:
        await small.run("x" * 2000)
    newest, _ = checkpoints(small.units)
    for torn in ({"summary": 3}, {"summary": "x", "upto_offset": 10**6}, ["torn"]):
        with database.engine.begin() as connection:
            connection.execute(
                sa.update(journal).where(journal.c.offset == newest.offset).values(data=torn)
            )
        detail = await small.run("short")
        assert detail.run.status is RunStatus.COMPLETED
        assert model.shown()[0].startswith(FRAME)


@pytest.mark.every_database
async def test_summaries_are_among_the_captured_requests(small: RunHarness, model: Model) -> None:
    details = [
        await small.run(f"wish {number} " + "x" * 2000, debug_level=DebugLevel.FULL)
        for number in range(1, 6)
    ]

    kept: list[Any] = []
    for detail in details:
        kept += small.runs.debug(detail.run.run_id)
    about = [capture for capture in kept if "memory of a long" in capture.request["system"]]
    assert len(kept) == len(model.talks) + len(model.summaries)
    assert len(about) == len(model.summaries) > 0
    assert all(capture.response is not None for capture in kept)


@pytest.mark.every_database
async def test_a_stop_during_the_summary_ends_the_run(small: RunHarness, model: Model) -> None:
    model.summarises = lambda _: Answer(text="never heard", delay_s=60)
    model.says = lambda n: probing(f"{n} " + "r" * 2000)
    run_id = small.submit("the task at hand")
    task = small.begin(run_id)
    while not model.summaries:
        await arrived(model.fake, len(model.fake.requests) + 1)

    small.runs.cancel(ALICE, run_id)
    await task

    assert small.stored(run_id).status is RunStatus.CANCELLED


def test_checkpoints_come_newest_first_and_page_by_offset(units: Units) -> None:
    with units.write() as unit:
        for number in range(5):
            unit.journal.append("s1", (make_new_event(),), at_ms=NOW)
            event = make_new_event(EventKind.CHECKPOINT, data={"summary": str(number)})
            unit.journal.append("s1", (event,), at_ms=NOW)
        unit.journal.append("s2", (make_new_event(EventKind.CHECKPOINT),), at_ms=NOW)

    with units.read() as unit:
        newest = unit.journal.checkpoints("s1", before_offset=99, limit=2)
        older = unit.journal.checkpoints("s1", before_offset=newest[-1].offset, limit=9)

    assert [event.offset for event in newest] == [10, 8]
    assert [event.offset for event in older] == [6, 4, 2]


def test_finding_the_newest_checkpoint_does_not_read_the_whole_journal(
    database: UnitsOnDatabase,
) -> None:
    with database.engine.connect() as connection:
        if database.engine.dialect.name != "sqlite":
            pytest.skip("PostgreSQL plans by what is in the table")
        plan = connection.exec_driver_sql(
            'EXPLAIN QUERY PLAN SELECT * FROM journal WHERE session_id = ? AND "offset" < ? '
            "AND kind = 'checkpoint' ORDER BY \"offset\" DESC LIMIT 1",
            ("s1", 9),
        ).all()

    assert "ix_journal_checkpoints" in str(plan)


async def test_the_run_that_compacts_still_gets_its_memories(
    small: RunHarness, model: Model
) -> None:
    rule = "Wishes are granted on Fridays"
    keep(small.units, make_learning(rule))

    for number in range(1, 13):
        await small.run(f"wish {number}: granted on Fridays? " + "x" * 2000)

    assert len(model.summaries) >= 2
    assert [rule in request.system for request in model.talks] == [True] * 12
    for request in model.talks:
        check_wire(request)


@pytest.mark.every_database
async def test_a_run_that_the_conversation_still_has_is_not_recovered_beside_it(
    small: RunHarness, model: Model
) -> None:
    for number in range(1, 13):
        await small.run(f"wish {number} " + "x" * 2000)
    detail = await small.run("which wish came last?")

    said = model.shown()
    kept = {event.run_id for event in inputs(small.units) if event.data["items"][0]["text"] in said}
    recovered = told(model.fake)
    assert kept
    assert recovered
    assert not kept & set(recovered)
    with small.units.read() as unit:
        report = injection_report(unit, detail.run.run_id) or {}
        now = explain(
            unit,
            require_session(unit, "s1"),
            query="which wish came last?",
            policy=policy_in(unit),
            now_ms=small.clock.now_ms(),
        )
    reasons = {entry["run_id"]: entry["reason"] for entry in report["entries"]}
    assert {run for run, reason in reasons.items() if reason == "in_conversation"} == (
        kept - {detail.run.run_id}
    )
    explained = {it.source_id: it.reason for it in now.entries if it.run_id}
    assert {run for run, reason in explained.items() if reason == "in_conversation"} == kept


@pytest.mark.every_database
async def test_a_policy_recovers_no_run_while_all_are_in_the_conversation(
    small: RunHarness, model: Model
) -> None:
    first = (await small.run("one")).run.run_id
    await small.run("two")
    assert told(model.fake) == [first]

    set_policy(small.units, recover_conversation=False)
    detail = await small.run("three")

    assert told(model.fake) == []
    with small.units.read() as unit:
        counts = (injection_report(unit, detail.run.run_id) or {})["counts"]
    assert (counts["in_conversation"], counts["included"]) == (2, 0)
