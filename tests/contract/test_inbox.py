"""The inbox: what waits for a person, of every kind, as each caller may see it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN, ALICE, NOW, make_agent, make_run
from tests.support.learning_harness import LearningHarness
from tests.support.rollout_harness import NAME, RolloutHarness
from understudy.core.errors import Invalid
from understudy.core.page import PageRequest, decode_cursor, encode_cursor
from understudy.core.principal import Principal, Role
from understudy.evolution.proposals import FileProposal, ProposalState
from understudy.inbox.service import InboxItem, InboxKind, InboxService
from understudy.learnings.model import Kind, Sensitivity
from understudy.rollout.model import Stage
from understudy.runs.requests import Audience, PersonRequest, RequestKind, RequestState
from understudy.storage.unit import Units

VIEWER = Principal(user_id="vera", role=Role.VIEWER)
BOB = Principal(user_id="bob", role=Role.OPERATOR)
# A cursor begins with the place of a kind.
PLACES = list(InboxKind)


@dataclass
class Desk:
    """An inbox, and hands that put something in."""

    units: Units
    learning: LearningHarness = field(init=False)
    rollouts: RolloutHarness = field(init=False)

    def __post_init__(self) -> None:
        self.learning = LearningHarness(self.units)
        self.rollouts = RolloutHarness(self.units)
        self.inbox = InboxService(
            units=self.units, clock=self.learning.clock, rollouts=self.rollouts.rollouts
        )
        with self.units.write() as unit:
            unit.agents.add(make_agent("hers", owner_id="alice"))
            unit.agents.add(make_agent("theirs", owner_id="carol"))
            unit.runs.add(make_run(run_id="run_1"))

    def ask(self, request_id: str, kind: RequestKind, **fields: Any) -> None:
        bodies: dict[RequestKind, dict[str, Any]] = {
            RequestKind.APPROVAL: {"tool_name": "shell", "input": {"command": "make clean"}},
            RequestKind.QUESTION: {"questions": [{"id": "q1", "question": "Which port?"}]},
            RequestKind.OFFER: {"tool_name": "", "reason": "Keep this as a skill?", "input": {}},
        }
        values: dict[str, Any] = {
            "kind": kind,
            "run_id": "run_1",
            "session_id": "s1",
            "call_key": f"key of {request_id}",
            "body": bodies[kind],
            "created_at_ms": NOW,
        }
        with self.units.write() as unit:
            unit.requests.add(PersonRequest(request_id=request_id, **(values | fields)))

    def suggest(self, proposal_id: str, agent_id: str, **fields: Any) -> None:
        values: dict[str, Any] = {
            "name": "SOUL.md",
            "content": "Speak warmly.",
            "base_version": 1,
            "state": ProposalState.PENDING,
            "actor": "ann",
            "run_id": "run_1",
            "created_at_ms": NOW,
        }
        with self.units.write() as unit:
            unit.proposals.add(
                FileProposal(proposal_id=proposal_id, agent_id=agent_id, **(values | fields))
            )

    def page(self, by: Principal = ALICE, *, kind: InboxKind | None = None) -> list[InboxItem]:
        return list(self.inbox.page(by, PageRequest(), kind=kind).items)

    def ids(self, by: Principal = ALICE, **narrowed: Any) -> list[str]:
        return [it.id for it in self.page(by, **narrowed)]

    def counts(self, by: Principal = ALICE) -> dict[str, int]:
        found = self.inbox.page(by, PageRequest(limit=1)).counts
        return {str(kind): number for kind, number in found.items()}


@pytest.fixture
def desk(units: Units) -> Desk:
    return Desk(units)


def fill(desk: Desk) -> list[str]:
    """One of each kind that can wait, and the ids in the order of the inbox."""
    fact = desk.learning.propose("X is blue").candidate_id
    desk.rollouts.learn()
    desk.rollouts.promote()
    desk.rollouts.show("verification", desk.rollouts.run())
    desk.suggest("prp_1", "hers")
    desk.ask("qst_1", RequestKind.QUESTION)
    desk.ask("apr_1", RequestKind.APPROVAL)
    return ["apr_1", "qst_1", "prp_1", NAME, fact]


def test_everything_that_waits_is_listed_and_what_runs_wait_for_comes_first(desk: Desk) -> None:
    expected = fill(desk)

    items = desk.page()

    assert [it.id for it in items] == expected
    approval, question, proposal, step, candidate = items
    assert (approval.title, approval.tags) == ("make clean", ("shell",))
    assert (approval.session_id, approval.run_id) == ("s1", "run_1")
    assert approval.actions == ("allow", "deny")
    assert question.title == "Which port?"
    assert (proposal.agent_id, proposal.actions) == ("hers", ("approve", "reject"))
    assert step.tags == ("draft", "verified")
    assert "promote" in step.actions
    assert (candidate.title, candidate.tags) == ("X is blue", ("fact", "workspace"))
    assert (candidate.version, candidate.actions) == (1, ("publish", "reject", "snooze"))
    assert desk.counts() == {
        "approval": 1,
        "question": 1,
        "second_approval": 0,
        "soul_proposal": 1,
        "skill_draft": 0,
        "rollout_step": 1,
        "candidate": 1,
    }


def test_one_kind_is_listed_alone_and_all_kinds_are_still_counted(desk: Desk) -> None:
    expected = fill(desk)

    assert desk.ids(kind=InboxKind.QUESTION) == [expected[1]]
    assert desk.ids(kind=InboxKind.SKILL_DRAFT) == []
    page = desk.inbox.page(ALICE, PageRequest(), kind=InboxKind.QUESTION)
    assert sum(page.counts.values()) == 5


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_pages_follow_each_other_across_kinds(desk: Desk, limit: int) -> None:
    expected = fill(desk)
    expected.append(desk.learning.propose("Y is red").candidate_id)

    found: list[str] = []
    cursor: str | None = None
    for _ in range(len(expected)):
        page = desk.inbox.page(ALICE, PageRequest.parse(limit=limit, cursor=cursor))
        assert len(page.items) <= limit
        found += [it.id for it in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert (found, cursor) == (expected, None)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "key",
    [
        (len(PLACES),),
        (-1,),
        ("x",),
        (PLACES.index(InboxKind.APPROVAL), "x"),
        (PLACES.index(InboxKind.ROLLOUT_STEP), 1),
        (PLACES.index(InboxKind.ROLLOUT_STEP), "a", "b"),
        (PLACES.index(InboxKind.CANDIDATE), 0),
        (PLACES.index(InboxKind.CANDIDATE), 0, 1),
    ],
)
def test_a_cursor_of_another_list_is_refused(desk: Desk, key: tuple[int | str, ...]) -> None:
    fill(desk)
    with pytest.raises(Invalid) as told:
        desk.inbox.page(ALICE, PageRequest(after=decode_cursor(encode_cursor(key))))
    assert told.value.code == "invalid_cursor"


def test_what_no_longer_waits_is_not_listed(desk: Desk) -> None:
    _, _, _, _, fact = fill(desk)
    for request_id, kind in (("apr_2", RequestKind.APPROVAL), ("qst_2", RequestKind.QUESTION)):
        desk.ask(request_id, kind, state=RequestState.CANCELLED)
    # Answered by the session above, not by a person.
    desk.ask("qst_3", RequestKind.QUESTION, audience=Audience.PARENT)
    desk.suggest("prp_2", "hers", state=ProposalState.REJECTED)
    snoozed = desk.learning.propose("Y is red")
    desk.learning.candidates.snooze(ALICE, snoozed.candidate_id, NOW + 1000)
    desk.learning.propose("Z is green", expires_at_ms=NOW + 1)
    rejected = desk.learning.propose("W is grey")
    desk.learning.candidates.reject(ALICE, rejected.candidate_id)
    desk.learning.clock.advance(2)

    assert desk.ids() == ["apr_1", "qst_1", "prp_1", NAME, fact]
    assert sum(desk.counts().values()) == 5


def test_candidates_come_in_the_order_of_review(desk: Desk) -> None:
    learning = desk.learning
    secret = learning.propose("Y is red", sensitivity=Sensitivity.SENSITIVE)
    procedure = learning.propose("Do that", kind=Kind.PROCEDURE)
    fact = learning.propose("X is blue")

    ordered = [it.candidate_id for it in (fact, procedure, secret)]
    assert desk.ids() == ordered
    assert desk.page()[2].tags == ("fact", "workspace", "sensitive")


def test_a_rollout_waits_when_nothing_is_missing_and_not_before(desk: Desk) -> None:
    hand = desk.rollouts
    hand.learn()
    hand.promote()
    assert desk.ids() == []

    hand.show("verification", hand.run())
    assert desk.page()[0].tags == (Stage.DRAFT, Stage.VERIFIED)
    hand.rollouts.hold(ALICE, NAME)
    assert desk.ids() == [], "a person holds it"
    hand.rollouts.release(ALICE, NAME)
    hand.bring_to(Stage.ACTIVE)
    assert desk.ids() == []


def test_a_viewer_sees_what_waits_without_actions_and_no_proposals(desk: Desk) -> None:
    expected = fill(desk)

    items = desk.page(VIEWER)

    assert [it.id for it in items] == [it for it in expected if it != "prp_1"]
    assert {it.actions for it in items} == {()}
    assert "soul_proposal" not in desk.counts(VIEWER)


def test_proposals_wait_for_the_owner_of_the_agent_and_for_admins(desk: Desk) -> None:
    desk.suggest("prp_1", "hers")
    desk.suggest("prp_2", "theirs")

    assert desk.ids(ALICE) == ["prp_1"]
    assert desk.ids(BOB) == []
    assert desk.ids(ADMIN) == ["prp_1", "prp_2"]
    assert [desk.counts(it)["soul_proposal"] for it in (ALICE, BOB, ADMIN)] == [1, 0, 2]


def test_an_offer_waits_for_the_user_that_it_was_made_to(desk: Desk) -> None:
    desk.ask("off_1", RequestKind.OFFER, user_id="alice")

    (offer,) = desk.page(ALICE)
    assert (offer.title, offer.tags) == ("Keep this as a skill?", ("offer",))
    assert desk.ids(ADMIN) == []
    assert desk.counts(ADMIN)["approval"] == 0


def test_a_long_title_is_cut(desk: Desk) -> None:
    desk.ask(
        "apr_1", RequestKind.APPROVAL, body={"tool_name": "x", "input": {"a": 1, "b": ["é" * 900]}}
    )

    (item,) = desk.page()

    assert item.title.startswith('{"a": 1, "b": ["é')
    assert len(item.title) == 201


@pytest.mark.one_database
def test_as_many_queries_for_many_things_as_for_one(database: UnitsOnDatabase) -> None:
    desk = Desk(database.units)
    fill(desk)
    few = statements(database, desk.page)
    for number in range(20):
        desk.learning.propose(f"Thing {number} is blue")
        desk.ask(f"apr_{number}0", RequestKind.APPROVAL)
        desk.suggest(f"prp_{number}0", "hers")

    assert statements(database, desk.page) == few


def statements(database: UnitsOnDatabase, act: Callable[[], object]) -> int:
    seen: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        seen.append(statement)

    sa.event.listen(database.engine, "before_cursor_execute", note)
    try:
        act()
    finally:
        sa.event.remove(database.engine, "before_cursor_execute", note)
    return len(seen)
