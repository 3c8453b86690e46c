"""What is not proposed again, and what is proposed with a mark, on both databases."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, make_member, make_project, make_run, make_session
from tests.support.learning_factories import keep, make_learning
from tests.support.learning_runs import LearningRuns
from tests.support.run_harness import Probe
from understudy.assets.contents import draft_of_bytes
from understudy.core.principal import DAEMON
from understudy.learnings.candidates import CandidateService
from understudy.learnings.model import (
    Candidate,
    CapturePath,
    Kind,
    LearningFilter,
    LearningSource,
    LearningStatus,
    PolicyDecision,
    Sensitivity,
    Tier,
)
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.publication import PublishChanges
from understudy.learnings.service import LearningService
from understudy.memory.record import SemanticCapture
from understudy.runs.model import InputItem, RunKind, RunStatus
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.learning_scopes import WORKSPACE, LearningScope, ScopeKind, session_scope
from understudy.sessions.model import Session
from understudy.settings import RouteConfig, Settings
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.one_database

ATLAS = "Fact: Project codename is Atlas."
PORT = json.dumps({"candidate_1": {"kind": "fact", "content": "The port is 8080"}})
FOUND = json.dumps({"candidate_1": {"kind": "fact", "content": "Project codename is Atlas"}})
PROJECT = LearningScope(kind=ScopeKind.PROJECT, id="garden")


@pytest.fixture
async def school(database: UnitsOnDatabase, settings: Settings) -> AsyncIterator[LearningRuns]:
    routes = {**settings.routes, "offline": RouteConfig(provider="scripted")}
    school = LearningRuns(database.units, replace(settings, routes=routes), tools=(Probe(),))
    yield school
    await school.providers.close()


async def learned(school: LearningRuns, text: str = ATLAS, **fields: Any) -> list[Candidate]:
    """What is proposed from a run; no model is asked about labelled texts."""
    run_id = (await school.run(text, **fields)).run.run_id
    route = "offline" if "fact:" in (text or ATLAS).casefold() else "a"
    await school.learn(school.worker(default_route=route))
    assert school.receipt(run_id) is SemanticCapture.COMPLETED
    return school.proposed(run_id)


@pytest.mark.every_database
@pytest.mark.parametrize("run_id", ["run_1", None], ids=["from a run", "by an operator"])
@pytest.mark.parametrize("scope", [session_scope("s1"), PROJECT, WORKSPACE], ids=lambda it: it.key)
async def test_what_a_session_sees_already_is_not_proposed(
    school: LearningRuns, fake: FakeModel, scope: LearningScope, run_id: str | None
) -> None:
    with school.units.write() as unit:
        unit.projects.add(make_project("garden", members=(make_member("s1"),)))
    learning = make_learning(
        "project codename: ATLAS", scope=scope, source=LearningSource(run_id=run_id)
    )
    keep(school.units, learning)
    assert await learned(school) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "project codename: Hermes"},
        {"kind": Kind.DECISION},
        {"scope": session_scope("s2")},
        {"expires_at_ms": 1},
        {"status": LearningStatus.REVOKED},
        {"sensitivity": Sensitivity.SENSITIVE},
        {"status": LearningStatus.PROVISIONAL, "publish_tier": Tier.PROVISIONAL},
    ],
    ids=[
        "other value",
        "other kind",
        "other scope",
        "expired",
        "revoked",
        "never told",
        "provisional by hand",
    ],
)
async def test_what_is_not_known_here_and_now_is_proposed(
    school: LearningRuns, fake: FakeModel, fields: dict[str, Any]
) -> None:
    said: dict[str, Any] = {
        "content": "project codename: ATLAS",
        "source": LearningSource(run_id="run_1"),
    }
    keep(school.units, make_learning(**(said | fields)))
    assert len(await learned(school)) == 1


async def test_what_somebody_else_proposed_does_not_keep_the_daemon_from_it(
    school: LearningRuns, fake: FakeModel
) -> None:
    proposed = NewCandidate(
        scope=session_scope("s1"), kind=Kind.FACT, content="Project codename is Atlas"
    )
    CandidateService(school.units, school.clock).create(ALICE, proposed)
    assert len(await learned(school)) == 1


async def test_what_a_rule_left_provisional_is_not_proposed_again(
    school: LearningRuns, fake: FakeModel
) -> None:
    left = make_learning(
        "project codename: ATLAS",
        scope=session_scope("s1"),
        status=LearningStatus.PROVISIONAL,
        publish_tier=Tier.PROVISIONAL,
        policy_decision=PolicyDecision.AUTOMATIC,
    )
    keep(school.units, left)
    assert await learned(school) == []


async def test_what_waits_for_a_decision_is_not_proposed_twice(
    school: LearningRuns, fake: FakeModel
) -> None:
    assert len(await learned(school)) == 1
    assert await learned(school, f"Once more. {ATLAS}") == []
    assert len(await learned(school, session_id="s2")) == 1


async def test_what_a_person_rejected_comes_back_only_with_new_evidence(
    school: LearningRuns, fake: FakeModel
) -> None:
    service = CandidateService(school.units, school.clock)
    (first,) = await learned(school)
    service.reject(ALICE, first.candidate_id)
    assert await learned(school) == []
    assert await learned(school, "fact:   project codename is ATLAS") == []
    # What is said around it speaks neither for it nor against it.
    assert await learned(school, f"Please. {ATLAS} Thanks!") == []

    (again,) = await learned(school, f"As of today, {ATLAS}")
    assert (again.reproposal_of, again.declined_before) == (first.candidate_id, True)
    assert again.evidence_digest not in (None, first.evidence_digest)
    service.reject(ALICE, again.candidate_id)
    assert await learned(school) == []
    assert await learned(school, f"As of today, {ATLAS}") == []
    (third,) = await learned(school, f"As of tomorrow, {ATLAS}")
    assert third.reproposal_of == again.candidate_id
    assert (first.reproposal_of, first.declined_before) == (None, False)


@pytest.mark.every_database
@pytest.mark.parametrize("wanted", [{}, {"scope": WORKSPACE}], ids=["here", "wider"])
async def test_what_a_person_took_back_comes_back_only_with_new_evidence(
    school: LearningRuns, fake: FakeModel, wanted: dict[str, Any]
) -> None:
    service = CandidateService(school.units, school.clock)
    learnings = LearningService(school.units, school.clock)
    (first,) = await learned(school)
    learning = service.publish(ALICE, first.candidate_id, PublishChanges(**wanted)).learning
    revoked = learnings.revoke_matching(ALICE, LearningFilter(query="codename"), reason="poison")
    assert [it.revoked_by for it in revoked] == [ALICE.user_id]
    assert await learned(school) == []
    assert await learned(school, f"Please. {ATLAS}") == []

    (again,) = await learned(school, f"As of today, {ATLAS}")
    assert (again.reproposal_of, again.declined_before) == (first.candidate_id, True)
    item = service.item(again.candidate_id)
    assert [it.learning_id for it in item.revoked_before] == [learning.learning_id]


async def test_what_the_daemon_itself_ended_may_be_proposed_as_before(
    school: LearningRuns, fake: FakeModel
) -> None:
    ended = make_learning(
        "project codename: ATLAS", status=LearningStatus.REVOKED, revoked_by=DAEMON.user_id
    )
    keep(school.units, ended)
    (found,) = await learned(school)
    assert (found.reproposal_of, found.declined_before) == (None, False)


async def test_what_an_answer_says_is_judged_by_the_answer(
    school: LearningRuns, fake: FakeModel
) -> None:
    service = CandidateService(school.units, school.clock)
    fake.queue("The project codename is Atlas.", FOUND)
    (first,) = await learned(school, "What is it called?")
    service.reject(ALICE, first.candidate_id)
    fake.queue("The project codename is Atlas.", FOUND)
    assert await learned(school, "And what is it called?") == []
    fake.queue("Project codename is Atlas now.", FOUND)
    (again,) = await learned(school, "And what is it called?")
    assert again.reproposal_of == first.candidate_id


async def test_a_rejection_counts_for_its_own_scope_and_kind(
    school: LearningRuns, fake: FakeModel
) -> None:
    service = CandidateService(school.units, school.clock)
    wanted = NewCandidate(scope=WORKSPACE, kind=Kind.FACT, content="Project codename is Atlas")
    service.reject(ALICE, service.create(ALICE, wanted).candidate_id)
    (found,) = await learned(school)
    assert found.reproposal_of is None


async def test_a_run_that_used_a_tool_marks_what_is_found_in_it(
    school: LearningRuns, fake: FakeModel
) -> None:
    assert not (await learned(school))[0].derived_from_untrusted
    fake.queue(call("probe"), "It is 8080.", PORT)
    (found,) = await learned(school, "Which port is it?")
    assert found.derived_from_untrusted


@pytest.mark.every_database
async def test_a_statement_that_the_user_typed_stays_trusted_in_a_run_with_tools(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue(call("probe"), "OK")
    (labelled,) = await learned(school, "Fact: The door is green")
    fake.queue(call("probe"), "OK", PORT)
    (found,) = await learned(school, "The port is 8080. Look at the page.")
    assert (found.capture_path, found.derived_from_untrusted) == (CapturePath.MODEL, False)
    assert not labelled.derived_from_untrusted


@pytest.mark.parametrize(
    "request_text",
    [
        "Tool output:\nThe port is 8080.",
        "I found this: The port is 8080.",
        "> The port is 8080.\n\nLook it up.",
        "Is it true that the port is 8080?",
        "Bob: The port is 8080.",
    ],
)
async def test_a_text_that_the_user_passes_on_is_marked_in_a_run_with_tools(
    school: LearningRuns, fake: FakeModel, request_text: str
) -> None:
    fake.queue(call("probe"), "OK", PORT)
    (found,) = await learned(school, request_text)
    assert found.derived_from_untrusted


@pytest.mark.every_database
async def test_a_run_that_was_given_a_file_marks_what_is_found_in_it(
    school: LearningRuns, fake: FakeModel
) -> None:
    file = draft_of_bytes(b"Fact: x is y", file_name="a.txt")
    text = InputItem(type="text", text=ATLAS)
    (found,) = await learned(school, "", input_items=(text, file))
    assert found.derived_from_untrusted


@pytest.mark.parametrize(
    ("kind", "is_marked"),
    [(RunKind.SCHEDULED_INPUT, False), (RunKind.CHANNEL_DELIVERY, True)],
)
async def test_a_run_that_no_person_typed_marks_what_is_found_in_it(
    school: LearningRuns, fake: FakeModel, kind: RunKind, is_marked: bool
) -> None:
    (found,) = await learned(school, kind=kind)
    assert found.derived_from_untrusted is is_marked


@pytest.mark.every_database
async def test_a_sidechain_marks_what_is_found_in_it(school: LearningRuns, fake: FakeModel) -> None:
    with school.units.write() as unit:
        parent = unit.sessions.get("s1")
        assert parent is not None
        values = {name: getattr(parent, name) for name in ("agent_id", "owner_id")}
        unit.sessions.add(
            Session(
                session_id="below",
                parent_session_id="s1",
                created_at_ms=1,
                updated_at_ms=1,
                **values,
            )
        )
    (found,) = await learned(school, session_id="below")
    assert found.derived_from_untrusted


ELSEWHERE: dict[str, tuple[dict[str, Any], bool]] = {
    "a plugin": ({"source_plugin": "email"}, True),
    "a kind": ({"source_kind": "inbound"}, True),
    "a stranger": ({"actor_id": "stranger@example.com"}, True),
    "the user": ({"actor_id": ALICE.user_id}, False),
    "a schedule": ({"source_plugin": "schedules", "source_kind": "schedule"}, False),
}


@pytest.mark.parametrize(("fields", "is_marked"), ELSEWHERE.values(), ids=ELSEWHERE)
async def test_words_that_somebody_passed_on_mark_what_is_found_in_them(
    school: LearningRuns, fake: FakeModel, fields: dict[str, Any], is_marked: bool
) -> None:
    (found,) = await learned(school, **fields)
    assert found.derived_from_untrusted is is_marked


async def test_what_a_model_finds_in_a_quotation_is_proposed_with_a_mark(
    school: LearningRuns, fake: FakeModel
) -> None:
    # A label in a quotation is not the writer's.
    assert not await learned(school, f"What is this?\n> {ATLAS}\n> bye")
    fake.queue("It is Atlas.", FOUND)
    (found,) = await learned(
        school, "What is this?\n> Project codename is Atlas\n> bye", session_id="s2"
    )
    assert (found.capture_path, found.derived_from_untrusted) == (CapturePath.MODEL, True)
    fake.queue("Noted.", PORT)
    with school.units.write() as unit:
        unit.sessions.add(make_session("s3"))
    (own,) = await learned(
        school, "> What is it?\n\nThe port is surely 8080 there.", session_id="s3"
    )
    assert not own.derived_from_untrusted
    fake.queue("Noted.", PORT)
    (later,) = await learned(school, "The port is surely 8080 there.", session_id="s2")
    assert later.derived_from_untrusted


async def test_what_was_read_stays_in_a_session_however_many_runs_follow(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue(call("probe"), "OK", "{}")
    await learned(school, "Look at the page.")
    with school.units.write() as unit:
        for number in range(150):
            done: dict[str, Any] = {"status": RunStatus.COMPLETED, "finished_at_ms": 1}
            unit.runs.add(make_run(accepted_offset=100 + number, **done))
        unit.journal.append("s1", [NewEvent(kind=EventKind.OUTPUT, data={})] * 300, at_ms=1)
    fake.queue("The page says so.", FOUND)
    (found,) = await learned(school, "What is it called?")
    assert found.derived_from_untrusted


@pytest.mark.parametrize(
    "brought", [{"kind": RunKind.MAILBOX_DELIVERY}, {"actor_id": "stranger"}], ids=str
)
async def test_words_that_came_in_long_ago_mark_what_a_model_finds_later(
    school: LearningRuns, fake: FakeModel, brought: dict[str, Any]
) -> None:
    fake.queue("OK", "{}")
    await learned(school, "The codename is Atlas.", **brought)
    fake.queue("It is Atlas.", FOUND)
    (found,) = await learned(school, "What is it called?")
    assert found.derived_from_untrusted


@pytest.mark.every_database
async def test_what_an_earlier_run_read_while_this_one_waited_counts(
    school: LearningRuns, fake: FakeModel
) -> None:
    first = school.submit("Look at the page.")
    second = school.submit("What is it called?")
    fake.queue(call("probe"), "OK", "It is Atlas.", "{}", FOUND)
    await school.execute(first)
    await school.execute(second)
    await school.learn()
    (found,) = school.proposed(second)
    assert found.derived_from_untrusted


async def test_what_was_read_earlier_in_a_session_marks_what_a_model_finds_later(
    school: LearningRuns, fake: FakeModel
) -> None:
    fake.queue(call("probe"), "OK", "{}")
    await learned(school, "Look at the page.")
    fake.queue("The page says so.", FOUND)
    (found,) = await learned(school, "What is it called?")
    assert found.derived_from_untrusted
    # A label stands in the person's own words, whatever was read before.
    (typed,) = await learned(school, "Fact: The port is 8080")
    assert not typed.derived_from_untrusted
    fake.queue("Atlas.", FOUND)
    (elsewhere,) = await learned(school, "What is it called?", session_id="s2")
    assert not elsewhere.derived_from_untrusted
