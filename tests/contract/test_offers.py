"""Offers: kept beside what runs wait for, answered by the user they were made to, open for a week."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.consent_harness import ACCEPT, ConsentHarness, consent_harness_in
from tests.support.factories import ADMIN, make_session
from tests.support.model_scripts import play
from tests.support.skill_runs import BOB, LEARNER, OK_MD
from understudy.core.errors import Conflict, Invalid, NotFound, Rejected
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.runs.approvals import Resolution
from understudy.runs.expiry import expire_due
from understudy.runs.model import RunStatus
from understudy.runs.offers import OPEN_MS, new_offer
from understudy.runs.questions import QuestionService
from understudy.runs.requests import RequestKind, RequestState
from understudy.sessions.journal import EventKind
from understudy.settings import Settings
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.one_database

CREATE = call("skill_manage", {"action": "create", "content": OK_MD})
PUBLISH = call("publish_skill", {"path": "drafts/report"})
# A session in which publishing asks for approval, so that its run waits.
ASKING = "asking"


@pytest.fixture
async def here(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[ConsentHarness]:
    rules = {"rules": [{"tool": "publish_skill", "decision": "ask"}]}
    async with consent_harness_in(database, settings, fake) as here:
        with database.units.write() as unit:
            unit.sessions.add(make_session(ASKING, agent_id=LEARNER, permissions=rules))
        yield here


async def waiting(here: ConsentHarness) -> str:
    """A run that waits for an approval, and made an offer in the same breath."""
    calls = Answer(calls=(*CREATE.calls, *PUBLISH.calls))
    return await here.skilled.run(calls, session_id=ASKING)


@pytest.mark.every_database
async def test_an_offer_is_listed_among_the_approvals_and_shown_under_its_id(
    here: ConsentHarness,
) -> None:
    offer = await here.offered(CREATE)

    assert offer.kind is RequestKind.OFFER
    assert offer.request_id.startswith("off_")
    assert here.approvals.reader.get(offer.request_id) == offer
    assert here.offers(RequestState.PENDING, session_id="s1") == ()
    questions = QuestionService(here.skilled.units, here.skilled.harness.clock).reader
    assert questions.page(PageRequest()).items == ()
    with pytest.raises(NotFound):
        questions.get(offer.request_id)


async def test_an_offer_outlives_its_run_and_can_be_answered_long_after(
    here: ConsentHarness,
) -> None:
    offer = await here.offered(CREATE)
    here.skilled.harness.clock.advance(OPEN_MS - 1)

    detail = here.answer(offer, "deny", reason="not now")

    assert detail.run.status is RunStatus.COMPLETED
    [settled] = here.offers()
    assert (settled.state, settled.resolved_by) == (RequestState.DENIED, "ann")
    assert here.said(offer)["reason"] == "not now"


async def test_nobody_else_answers_an_offer_but_who_acts_for_its_user(here: ConsentHarness) -> None:
    offer = await here.offered(CREATE)

    for stranger in (BOB, ADMIN):
        with pytest.raises(Rejected) as refused:
            here.answer(offer, who=stranger)
        assert refused.value.code == "offer_not_yours"
    here.answer(offer, who=Principal(user_id="ann", role=Role.OPERATOR, acting_admin="root"))

    [settled] = here.offers()
    assert settled.resolved_by == "root as ann"


async def test_an_offer_is_answered_once_and_as_it_is(here: ConsentHarness) -> None:
    offer = await here.offered(CREATE)

    with pytest.raises(Invalid) as unfit:
        here.answer(offer, updated_input={"action": "delete"})
    here.answer(offer)
    with pytest.raises(Conflict) as again:
        here.answer(offer, "deny")

    assert unfit.value.code == "approval_invalid_input"
    assert again.value.code == "offer_state_conflict"
    assert here.offers()[0].state is RequestState.ALLOWED


async def test_two_answers_at_once_do_not_both_count(here: ConsentHarness) -> None:
    offer = await here.offered(CREATE)

    def answer(behavior: str) -> str | None:
        try:
            here.answer(offer, behavior)
        except Conflict as problem:
            return problem.code
        return None

    with ThreadPoolExecutor(2) as pool:
        codes = [*pool.map(answer, ("allow", "deny"))]

    assert sorted(codes, key=str) == [None, "offer_state_conflict"]


@pytest.mark.every_database
async def test_after_a_week_an_offer_has_lapsed(here: ConsentHarness) -> None:
    offer = await here.offered(CREATE)
    units, clock = here.skilled.units, here.skilled.harness.clock
    clock.advance(OPEN_MS)
    with pytest.raises(Conflict) as late:
        here.answer(offer)

    assert expire_due(units, clock) == 1

    assert late.value.code == "offer_state_conflict"
    [lapsed] = here.offers()
    assert lapsed.state is RequestState.EXPIRED
    assert [entry.resource_id for entry in here.skilled.audited("offers.expire")] == [
        offer.request_id
    ]
    # To accept what has lapsed is to ask anew, and another call opens another offer.
    fresh = await here.offered(CREATE)
    assert fresh.request_id != offer.request_id


async def test_a_lapsed_offer_that_nobody_closed_yet_makes_way(here: ConsentHarness) -> None:
    first = await here.offered(CREATE)
    here.skilled.harness.clock.advance(OPEN_MS)

    await here.skilled.run(CREATE)

    states = {offer.request_id: offer.state for offer in here.offers()}
    assert states.pop(first.request_id) is RequestState.EXPIRED
    assert [*states.values()] == [RequestState.PENDING]


async def test_what_was_accepted_counts_in_the_next_run_of_that_user_and_in_no_other(
    here: ConsentHarness,
) -> None:
    offer = await here.offered(CREATE)
    here.answer(offer)

    bobs = await here.told(CREATE, words="Go on.", who=BOB)
    elsewhere = await here.told(CREATE, words="Go on.", session_id="s1")
    unrelated = await here.skilled.run(words="What is the weather like?")
    later = await here.told(CREATE, words="And tomorrow?")

    assert here.said(offer)["for_run"] == unrelated
    for told in (bobs, elsewhere, later):
        assert not any("version 1" in text for text in told)
    assert here.skilled.skill() is None


async def test_what_was_accepted_is_there_for_the_next_run_whenever_that_is(
    here: ConsentHarness,
) -> None:
    here.answer(await here.offered(CREATE))
    here.skilled.harness.clock.advance(2 * OPEN_MS)

    [told] = await here.told(CREATE, words="Go on.")

    assert "version 1" in told


async def test_what_was_accepted_in_a_message_counts_in_that_run_alone(
    here: ConsentHarness,
) -> None:
    offer = await here.offered(CREATE)
    run_id = await here.skilled.run("What shall it be called?", words=ACCEPT)

    for words in ("Never mind, don't save it.", "Wait, not yet.", "And what else?"):
        [told] = await here.told(CREATE, words=words)
        assert told.startswith("approval needed")

    assert here.said(offer)["for_run"] == run_id
    assert here.skilled.skill() is None


@pytest.mark.every_database
async def test_what_is_accepted_while_a_run_is_at_work_counts_in_it(here: ConsentHarness) -> None:
    run_id = await waiting(here)
    by_kind = {it.kind: it for it in here.offers(session_id=ASKING)}
    here.answer(by_kind[RequestKind.OFFER])
    # The two calls that it waits for have two results; then it tries again.
    here.skilled.fake.rule = play({"go": ("", "", CREATE)})
    here.answer(by_kind[RequestKind.APPROVAL], "deny")
    while here.skilled.queued:
        await here.skilled.harness.executor.execute(here.skilled.queued.pop(0)[0])

    results = here.skilled.harness.results(run_id)

    assert "version 1" in results[-1]["content"]
    assert here.skilled.skill() is not None


async def test_a_run_that_has_slept_still_has_what_was_accepted_before_it(
    here: ConsentHarness,
) -> None:
    await here.skilled.run(CREATE, session_id=ASKING)
    [offer] = here.offers(RequestState.PENDING, session_id=ASKING)
    here.answer(offer)
    run_id = await here.skilled.run(PUBLISH, CREATE, words="Go on.", session_id=ASKING)
    [approval] = here.skilled.harness.runs.get(run_id).pending
    here.skilled.harness.clock.advance(2 * OPEN_MS)
    here.answer(approval, "deny")
    while here.skilled.queued:
        await here.skilled.harness.executor.execute(here.skilled.queued.pop(0)[0])

    assert "version 1" in here.skilled.harness.results(run_id)[-1]["content"]
    assert here.said(offer)["for_run"] == run_id


async def test_a_run_waits_for_its_approval_and_not_for_its_offer(here: ConsentHarness) -> None:
    run_id = await waiting(here)
    harness = here.skilled.harness
    detail = harness.runs.get(run_id)
    [approval] = detail.pending
    assert detail.run.status is RunStatus.WAITING_FOR_APPROVAL
    assert approval.kind is RequestKind.APPROVAL

    here.resolve(run_id, [Resolution(request_id=approval.request_id, behavior="deny")])
    while here.skilled.queued:
        await harness.executor.execute(here.skilled.queued.pop(0)[0])

    assert harness.runs.get(run_id).run.status is RunStatus.COMPLETED
    [offer] = here.offers(RequestState.PENDING, session_id=ASKING)
    assert offer.kind is RequestKind.OFFER


async def test_an_offer_can_be_answered_while_its_run_waits(here: ConsentHarness) -> None:
    run_id = await waiting(here)
    offer = next(it for it in here.offers(session_id=ASKING) if it.kind is RequestKind.OFFER)

    detail = here.answer(offer)

    assert detail.run.status is RunStatus.WAITING_FOR_APPROVAL
    assert len(detail.pending) == 1
    assert here.skilled.queued == []
    assert here.skilled.harness.runs.get(run_id).run.asleep


async def test_calls_and_offers_of_a_run_are_settled_together_or_not_at_all(
    here: ConsentHarness,
) -> None:
    run_id = await waiting(here)
    by_kind = {it.kind: it.request_id for it in here.offers(session_id=ASKING)}
    batch = [Resolution(request_id=each, behavior="allow") for each in by_kind.values()]

    with pytest.raises(Rejected):
        here.resolve(run_id, batch, who=BOB)
    untouched = here.offers(RequestState.PENDING, session_id=ASKING)
    detail = here.resolve(run_id, batch)

    assert len(untouched) == 2
    assert detail.run.status is RunStatus.RUNNING
    assert here.offers(RequestState.PENDING, session_id=ASKING) == ()


async def test_an_offer_is_not_an_approval_of_another_run(here: ConsentHarness) -> None:
    offer = await here.offered(CREATE)
    other = await here.skilled.run(session_id="s1")
    resolution = Resolution(request_id=offer.request_id, behavior="allow")

    with pytest.raises(Conflict) as problem:
        here.resolve(other, [resolution])

    assert problem.value.code == "approval_state_conflict"


async def test_the_journal_tells_which_offer_moved_and_none_of_its_words(
    here: ConsentHarness,
) -> None:
    offer = await here.offered(CREATE)
    here.answer(offer)
    with here.skilled.units.read() as unit:
        events = unit.journal.read(session_id=LEARNER, kinds=[EventKind.RUN])
    told = [event.data for event in events if str(event.data["type"]).startswith("offer_")]

    assert [(it["type"], it["state"]) for it in told] == [
        ("offer_opened", "pending"),
        ("offer_resolved", "allowed"),
    ]
    assert {it["request_ids"][0] for it in told} == {offer.request_id}
    assert "Weekly" not in str(told)
    actions = ("offers.open", "offers.resolve")
    assert [len(here.skilled.audited(action)) for action in actions] == [1, 1]


@pytest.mark.every_database
async def test_the_database_keeps_a_user_from_having_two_open_offers(here: ConsentHarness) -> None:
    offer = await here.offered(CREATE)
    run = here.skilled.harness.stored(offer.run_id)
    second = new_offer(run, call_key="another", body=offer.body, at_ms=1)

    with here.skilled.units.write() as unit:
        assert not unit.requests.add(second)
