"""The offer below the last words of a run: when it is made, how it is kept, and when nobody asks."""

import json
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from typing import Any

import pytest
from pydantic import BaseModel

from tests.contract.conftest import UnitsOnDatabase
from tests.support.evolving_runs import (
    BOTH,
    DONE,
    EVOLVING,
    OPEN,
    PLAIN,
    EvolvingRuns,
    make_evolving_runs,
    working,
)
from tests.support.factories import make_session
from tests.support.learning_runs import ON, LearningRuns
from tests.support.run_harness import Probe, die, restarted, texts
from tests.support.run_memory_reads import evidence_of, record_of, summaries, system_text
from understudy.agent.admission import MAX_CALLS
from understudy.core.errors import DamagedRecord
from understudy.evolution.consent import ConsentRecords, SkillOwnership
from understudy.evolution.nudges import postscript
from understudy.evolution.offer_book import OfferBook
from understudy.i18n.catalogue import phrases
from understudy.runs.model import Run, RunKind, RunStatus
from understudy.runs.requests import PersonRequest, RequestState
from understudy.settings import Settings
from understudy.storage.unit import Unit
from understudy.testing.answers import Answer, FakeCall
from understudy.testing.clock import FrozenClock
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import ToolContext, ToolError

OFFER = postscript("en")
SAVE = phrases("consent.save")["en"][0]


class Book(OfferBook):
    """Notes what is offered, and says what a test wants it to."""

    # A frozen dataclass with slots lets no subclass have attributes of its own.
    __setattr__ = object.__setattr__

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.declined_by = ""
        self.is_damaged = False

    def open(self, unit: Unit, run: Run) -> None:
        self.opened.append(run.run_id)

    def was_declined(self, unit: Unit, run: Run) -> bool:
        if self.is_damaged:
            raise DamagedRecord("record_damaged", domain="storage", detail="torn")
        return run.user_id == self.declined_by


class Action(BaseModel):
    """What a maker of skills is called with."""

    label: str = ""
    action: str = ""


class Maker(Probe):
    """Makes a skill, or fails to."""

    parameters = Action

    async def call(self, arguments: Any, context: ToolContext) -> str:
        if arguments.label == "fail":
            raise ToolError("no")
        return "done"


@pytest.fixture
def book() -> Book:
    return Book()


@pytest.fixture
async def coached(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel, book: Book
) -> AsyncIterator[EvolvingRuns]:
    coached = make_evolving_runs(database.units, settings, fake, offers=book)
    yield coached
    await coached.harness.providers.close()


async def offered(coached: EvolvingRuns, session_id: str = EVOLVING, **fields: Any) -> bool:
    """Whether a run ended with the offer, and nothing of it was told or kept where it did not."""
    run = (await coached.run(session_id, **fields)).run
    assert run.status is RunStatus.COMPLETED
    has_offer = coached.reply(run.run_id).endswith(OFFER)
    noted = [each["nudge"] for each in coached.remarks(run.run_id)]
    assert ("postscript" in noted) is has_offer
    assert coached.reply(run.run_id).count("---") == has_offer
    return has_offer


@pytest.mark.parametrize(
    ("interval", "calls", "at_once", "is_due"),
    [
        *[(15, 14, 1, False), (15, 15, 1, True), (15, 16, 8, True), (15, 15, 3, True)],
        *[(3, 2, 1, False), (3, 3, 1, True), (0, 16, 8, False), (-4, 16, 8, False)],
        ("ten", 15, 5, True),
    ],
)
@pytest.mark.one_database
async def test_the_interval_decides(
    coached: EvolvingRuns, interval: object, calls: int, at_once: int, *, is_due: bool
) -> None:
    coached.switch(skill_evolve=True, skill_nudge_interval=interval)
    coached.fake.rule = working(calls, at_once=at_once)

    assert await offered(coached) is is_due


async def test_it_comes_last_and_once_and_is_stored_with_the_reply(
    coached: EvolvingRuns, book: Book
) -> None:
    coached.fake.rule = working(15, at_once=5)

    done = await coached.run()

    assert coached.reply(done.run.run_id) == DONE + OFFER
    assert [output.data["text"] for output in done.outputs] == [DONE + OFFER]
    assert book.opened == [done.run.run_id]
    assert coached.remarks(done.run.run_id) == [
        {"nudge": "postscript", "step": 4, "agent_id": EVOLVING, "locale": "en"}
    ]
    # One rule, and one paragraph in italics below it.
    rule, paragraph = OFFER.strip("\n").split("\n\n")
    assert rule == "---"
    assert paragraph.startswith("_")
    assert paragraph.endswith("_")
    assert "\n" not in paragraph
    coached.fake.rule = working(0)
    await coached.run()
    assert DONE + OFFER in texts(coached.fake)


@pytest.mark.one_database
async def test_nothing_is_put_below_what_nobody_reads(coached: EvolvingRuns) -> None:
    for final in ("NO_REPLY", "I am done.\nNO_REPLY", "NO_REPLY, all was well"):
        coached.fake.rule = working(20, at_once=20, final=final)
        assert not await offered(coached)

    coached.fake.rule = working(20, at_once=20, final="NO_REPLYING is fine")
    assert await offered(coached)


@pytest.mark.one_database
@pytest.mark.parametrize("final", ["", " \n"])
async def test_an_empty_reply_gets_nothing_below_it(
    coached: EvolvingRuns, book: Book, final: str
) -> None:
    coached.fake.rule = working(20, at_once=20, final=final)

    done = await coached.run()

    assert done.run.status is RunStatus.COMPLETED
    assert [output.data["text"] for output in done.outputs] == []
    assert (coached.remarks(done.run.run_id), book.opened) == ([], [])


@pytest.mark.one_database
async def test_agents_without_the_switch_offer_nothing(coached: EvolvingRuns) -> None:
    coached.fake.rule = working(20, at_once=20)

    assert not await offered(coached, PLAIN)
    assert not await offered(coached, OPEN)


@pytest.mark.one_database
async def test_where_nobody_can_answer_nobody_is_asked(coached: EvolvingRuns) -> None:
    with coached.harness.units.write() as unit:
        child = make_session("child", agent_id=EVOLVING, parent_session_id=EVOLVING)
        unit.sessions.add(child)
        unit.sessions.add(make_session("trial", agent_id=EVOLVING, trial_id="trl_1"))
    coached.fake.rule = working(20, at_once=20)
    kinds = (RunKind.SCHEDULED_INPUT, RunKind.MAILBOX_DELIVERY, RunKind.GOAL_CONTINUATION)

    for kind in kinds:
        assert not await offered(coached, kind=kind)
    assert not await offered(coached, source_kind="heartbeat")
    assert not await offered(coached, "child")
    assert not await offered(coached, "trial")
    assert await offered(coached)


@pytest.mark.parametrize(
    "failed",
    [
        FakeCall(name="read_file", arguments={"path": "nowhere.txt"}),
        FakeCall(name="probe", arguments={"label": []}),
        FakeCall(name="probe", arguments="{"),
        FakeCall(name="probe", arguments="[]"),
        FakeCall(name="no_such_tool"),
    ],
)
async def test_a_call_that_failed_counts(coached: EvolvingRuns, failed: FakeCall) -> None:
    coached.switch(skill_evolve=True, skill_nudge_interval=3)
    coached.fake.queue(Answer(calls=(FakeCall(name="probe"), failed)), DONE)
    assert not await offered(coached)

    coached.fake.queue(Answer(calls=(FakeCall(name="probe"), failed, failed)), DONE)
    assert await offered(coached)


@pytest.mark.one_database
async def test_a_call_that_was_refused_does_not_count(coached: EvolvingRuns) -> None:
    # By the budget of one reply; by a rule; as an admin has switched the tool off.
    coached.switch(skill_evolve=True, skill_nudge_interval=MAX_CALLS + 1)
    coached.fake.queue(Answer(calls=(FakeCall(name="probe"),) * (MAX_CALLS + 9)), DONE)
    assert not await offered(coached)

    denied = {"rules": [{"tool": "probe", "decision": "deny"}]}
    coached.change(permissions=denied, other_config={**BOTH, "skill_nudge_interval": 1})
    with coached.harness.units.write() as unit:
        unit.tool_switches.set("read_file", enabled=False)
    refused = (FakeCall(name="probe"), FakeCall(name="read_file", arguments={"path": "a.txt"}))
    coached.fake.queue(Answer(calls=refused), DONE)
    assert not await offered(coached)


async def test_the_calls_from_before_a_crash_count(coached: EvolvingRuns) -> None:
    coached.switch(skill_evolve=True, skill_nudge_interval=5)
    coached.fake.rule = working(5)
    coached.probe.hold("4")
    run_id = coached.harness.submit(session_id=EVOLVING)
    task = coached.harness.begin(run_id)
    await coached.probe.reached()
    await die(task)
    coached.probe.go_on.set()

    await restarted(coached.harness).execute(run_id)

    assert coached.reply(run_id) == DONE + OFFER


@pytest.mark.one_database
async def test_a_run_without_an_answer_makes_no_offer(coached: EvolvingRuns, book: Book) -> None:
    coached.switch(skill_evolve=True, skill_nudge_interval=1)
    coached.fake.rule = lambda _: Answer(text="Wait.", calls=(FakeCall(name="probe"),))

    run = (await coached.run(max_tool_iterations=3)).run

    assert run.status is RunStatus.FAILED
    assert coached.reply(run.run_id) == "Wait."
    assert [each["nudge"] for each in coached.remarks(run.run_id)] == ["90"]
    assert book.opened == []


@pytest.mark.one_database
async def test_a_run_that_made_a_skill_does_not_offer_to(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> None:
    tools = (Probe(), Maker("skill_manage"), Maker("publish_skill"))
    coached = make_evolving_runs(database.units, settings, fake, tools=tools)
    coached.switch(skill_evolve=True, skill_nudge_interval=1)

    async def offers_after(name: str, **arguments: str) -> bool:
        call = FakeCall(name=name, arguments=arguments)
        fake.queue(Answer(calls=(call,)), DONE)
        return await offered(coached)

    assert not await offers_after("skill_manage", action="create")
    assert not await offers_after("publish_skill")
    assert await offers_after("skill_manage", action="patch")
    assert await offers_after("skill_manage", action="create", label="fail")
    assert await offers_after("publish_skill", label="fail")
    await coached.harness.providers.close()


@pytest.mark.one_database
async def test_who_has_declined_is_not_asked_again(coached: EvolvingRuns, book: Book) -> None:
    coached.fake.rule = working(15, at_once=15)
    book.declined_by = "alice"
    assert not await offered(coached)

    book.declined_by = "somebody else"
    assert await offered(coached)


async def test_an_offer_can_be_answered_and_a_no_holds_for_the_session(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> None:
    clock = FrozenClock()
    offers = OfferBook(clock)
    parts: dict[str, Any] = {
        "clock": clock,
        "consent": ConsentRecords(clock, offers, SkillOwnership(database.units)),
    }
    coached = make_evolving_runs(database.units, settings, fake, offers=offers, **parts)
    fake.rule = working(15, at_once=15)

    assert await offered(coached)
    [offer] = _offers(database, RequestState.PENDING)
    assert (offer.user_id, offer.session_id) == ("alice", EVOLVING)
    # The message itself says no, so the reply to it asks nothing, nor does the next.
    assert not await offered(coached, content="skip")
    assert not await offered(coached)
    assert _offers(database, RequestState.PENDING) == ()
    assert len(_offers(database, RequestState.DENIED)) == 1
    await coached.harness.providers.close()


def _offers(database: UnitsOnDatabase, state: RequestState) -> tuple[PersonRequest, ...]:
    with database.units.read() as unit:
        return unit.requests.offers_to(EVOLVING, "alice", states={state}, limit=10)


@pytest.mark.one_database
async def test_where_the_answers_cannot_be_read_the_run_ends_well_and_nobody_asks(
    coached: EvolvingRuns, book: Book
) -> None:
    coached.fake.rule = working(15, at_once=15)
    book.is_damaged = True

    assert not await offered(coached)


@pytest.mark.one_database
async def test_a_model_that_copied_the_offer_has_made_it(coached: EvolvingRuns, book: Book) -> None:
    coached.fake.rule = working(15, at_once=15, final=DONE + OFFER)

    assert await offered(coached)
    assert len(book.opened) == 1


async def test_what_is_digested_of_a_run_is_what_the_model_said(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> None:
    everything = replace(ON, run_summary_candidates=True)
    coached = make_evolving_runs(
        database.units, settings, fake, kind=LearningRuns, captured=everything
    )
    school = coached.harness
    assert isinstance(school, LearningRuns)
    fake.rule = working(15, at_once=15)
    done = await coached.run(content="sort the harbour ledger")
    run_id = done.run.run_id
    assert [output.data["text"] for output in done.outputs] == [DONE + OFFER]

    fake.rule = None
    fake.queue("{}")
    assert await school.learn() == 1
    asked = json.loads(fake.requests[-1].last_user)
    record, evidence = record_of(database.units, run_id), evidence_of(database.units, run_id)
    assert record is not None
    assert evidence is not None
    [summary] = school.candidates(run_id)
    assert record.memory.outcome_preview == evidence.outcome == asked["outcome"] == DONE
    kept = json.dumps([asdict(record), asdict(evidence), asdict(summary), asked], default=str)
    assert SAVE not in kept

    # Whether it may still be made or not, it stands in the conversation and nowhere else.
    for is_on in (True, False):
        coached.switch(skill_evolve=is_on)
        fake.queue("Welcome.")
        await coached.run(content="sort the harbour ledger again")
        assert summaries(fake)[-1] == record.memory.summary
        assert SAVE not in system_text(fake)
        assert sum(text.count(SAVE) for text in texts(fake)) == 1
        assert DONE + OFFER in texts(fake)
    await coached.harness.providers.close()


@pytest.mark.one_database
async def test_a_copied_offer_is_not_digested_either(coached: EvolvingRuns) -> None:
    coached.fake.rule = working(15, at_once=15, final=DONE + OFFER + "\n")

    run_id = (await coached.run()).run.run_id

    assert coached.reply(run_id) == DONE + OFFER + "\n"
    record = record_of(coached.harness.units, run_id)
    assert record is not None
    assert record.memory.outcome_preview == DONE


@pytest.mark.one_database
async def test_it_speaks_the_language_of_the_run(coached: EvolvingRuns) -> None:
    coached.fake.rule = working(15, at_once=15)

    for asked, spoken in (("vi-VN", "vi"), ("zh-Hans", "zh"), ("fr", "en")):
        run_id = (await coached.run(locale=asked)).run.run_id
        assert coached.reply(run_id) == DONE + postscript(spoken)
