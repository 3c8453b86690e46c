"""The tool `remember`: what an agent suggests becomes a candidate and nothing more."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, make_session
from tests.support.learning_runs import LearningRuns
from tests.support.run_harness import Probe
from understudy.core.page import PageRequest
from understudy.learnings.candidates import CandidateService
from understudy.learnings.guard import SecretGuard
from understudy.learnings.model import (
    Applies,
    CandidateState,
    CapturePath,
    EvidenceRef,
    Kind,
    LearningSource,
    Origin,
)
from understudy.learnings.remember import MAX_PER_RUN, Remember, Suggestions
from understudy.runs.model import RunKind
from understudy.sessions.journal import EventKind
from understudy.sessions.learning_scopes import session_scope
from understudy.settings import Settings
from understudy.testing.answers import call
from understudy.testing.clock import FrozenClock
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.one_database

METRIC = "I always want metric units."
# Assembled, so that no scanner takes it for a real one.
KEY = "sk-" + "proj-" + "abc123def456ghi789"


@pytest.fixture
async def school(database: UnitsOnDatabase, settings: Settings) -> AsyncIterator[LearningRuns]:
    clock = FrozenClock()
    suggestions = Suggestions(database.units, clock, guard=SecretGuard(("hunter22",)))
    school = LearningRuns(
        database.units,
        settings,
        tools=(Remember(suggestions), Probe()),
        clock=clock,
        ending=(suggestions.ended,),
    )
    yield school
    await school.providers.close()


def remember(content: str, **fields: Any) -> Any:
    return call("remember", {"content": content, **fields})


async def answers(
    school: LearningRuns, fake: FakeModel, text: str, *calls: Any, **fields: Any
) -> tuple[str, list[str]]:
    """A run that makes these calls one after another: its id, and what the tool answered."""
    fake.queue(*calls, "Noted.")
    run_id = (await school.run(text, **fields)).run.run_id
    results = [it for it in school.results(run_id) if it["name"] == "remember"]
    return run_id, [str(it["content"]) for it in results]


@pytest.mark.every_database
async def test_a_suggestion_is_a_candidate_with_the_request_as_evidence(
    school: LearningRuns, fake: FakeModel
) -> None:
    wanted = remember(METRIC, kind="preference", standing=True)
    run_id, (told,) = await answers(school, fake, f"Remember: {METRIC}", wanted)

    assert told.startswith("suggested: a person reviews it")
    (found,) = school.proposed(run_id)
    run = school.stored(run_id)
    assert (found.kind, found.content, found.origin) == (Kind.PREFERENCE, METRIC, Origin.DAEMON)
    assert (found.scope, found.state) == (session_scope("s1"), CandidateState.PENDING)
    assert (found.capture_path, found.applies) == (CapturePath.MODEL, Applies.ALWAYS)
    assert found.evidence_refs == (EvidenceRef(run_id=run_id),)
    source = LearningSource(
        run_id=run_id,
        session_id="s1",
        agent_id=run.agent_id,
        derivation_id=found.source.derivation_id,
    )
    assert found.source == source
    assert not found.derived_from_untrusted
    (added,) = school.journal(run_id, EventKind.CANDIDATES_ADDED)
    assert added.data == {"candidate_ids": [found.candidate_id]}
    with school.units.read() as unit:
        assert unit.review_queue.size() == 1
        entries = unit.audit.page(PageRequest(limit=50), resource=None, actor=None).items
    assert "learning_candidates.create" in [entry.action for entry in entries]


async def test_the_review_waits_for_the_end_of_the_run(
    school: LearningRuns, fake: FakeModel
) -> None:
    probe = school.tools[1]
    assert isinstance(probe, Probe)
    probe.hold()
    fake.queue(remember(METRIC), call("probe", {}), "Noted.")
    run_id = school.submit(METRIC)
    task = school.begin(run_id)
    await probe.reached()
    assert len(school.proposed(run_id)) == 1
    with school.units.read() as unit:
        assert unit.review_queue.size() == 0
    probe.go_on.set()
    await task
    with school.units.read() as unit:
        assert unit.review_queue.size() == 1


@pytest.mark.parametrize(
    ("fields", "kind", "applies"),
    [
        ({}, Kind.FACT, Applies.WHEN_RELEVANT),
        ({"standing": True}, Kind.PREFERENCE, Applies.ALWAYS),
        ({"kind": "decision"}, Kind.DECISION, Applies.WHEN_RELEVANT),
    ],
)
async def test_a_kind_that_is_not_named_follows_from_standing(
    school: LearningRuns, fake: FakeModel, fields: dict[str, Any], kind: Kind, applies: Applies
) -> None:
    run_id, _ = await answers(school, fake, "x", remember("The roof is red.", **fields))
    (found,) = school.proposed(run_id)
    assert (found.kind, found.applies) == (kind, applies)


@pytest.mark.parametrize("secret", [f"The key is {KEY}", "The word is hunter22"])
async def test_a_secret_is_refused_and_the_answer_does_not_repeat_it(
    school: LearningRuns, fake: FakeModel, secret: str
) -> None:
    run_id, (told,) = await answers(school, fake, "x", remember(secret))
    assert told.startswith("not suggested: this looks like secret material")
    assert KEY not in told
    assert "hunter22" not in told
    assert not school.proposed(run_id)


async def test_what_waits_or_is_known_is_not_suggested_twice(
    school: LearningRuns, fake: FakeModel
) -> None:
    again = remember("i always want metric units", kind="decision")
    run_id, told = await answers(school, fake, METRIC, remember(METRIC), again)
    (first,) = school.proposed(run_id)
    CandidateService(school.units, school.clock).publish(ALICE, first.candidate_id)
    later, after = await answers(school, fake, "And?", remember(METRIC))

    assert told[1].startswith("known already")
    assert after[0].startswith("known already")
    assert not school.proposed(later)


async def test_a_no_is_remembered_until_there_is_new_evidence(
    school: LearningRuns, fake: FakeModel
) -> None:
    run_id, _ = await answers(school, fake, METRIC, remember(METRIC))
    (first,) = school.proposed(run_id)
    CandidateService(school.units, school.clock).reject(ALICE, first.candidate_id)
    same, told = await answers(school, fake, METRIC, remember(METRIC))
    other, _ = await answers(
        school, fake, "Once more: I always want metric units please.", remember(METRIC)
    )

    assert told[0].startswith("declined before")
    assert not school.proposed(same)
    (found,) = school.proposed(other)
    assert (found.reproposal_of, found.declined_before) == (first.candidate_id, True)


async def test_a_run_suggests_a_few_things_only(school: LearningRuns, fake: FakeModel) -> None:
    calls = [remember(f"Room {number} is free.") for number in range(MAX_PER_RUN + 1)]
    run_id, told = await answers(school, fake, "x", *calls)
    assert f"at most {MAX_PER_RUN}" in told[-1]
    assert len(school.proposed(run_id)) == MAX_PER_RUN


async def test_what_tools_answered_stays_untrusted_and_what_the_user_typed_does_not(
    school: LearningRuns, fake: FakeModel
) -> None:
    run_id, _ = await answers(
        school,
        fake,
        METRIC,
        call("probe", {"label": "x"}),
        remember("The moon is made of cheese."),
        remember(METRIC),
    )
    by_tool, typed = school.proposed(run_id)
    assert by_tool.derived_from_untrusted
    assert not typed.derived_from_untrusted


async def test_what_a_run_memory_does_not_keep_is_not_typed(
    school: LearningRuns, fake: FakeModel
) -> None:
    long = "We talked for a while. " * 500 + METRIC
    run_id, _ = await answers(school, fake, long, call("probe", {"label": "x"}), remember(METRIC))
    (found,) = school.proposed(run_id)
    assert found.derived_from_untrusted


async def test_capture_still_reads_a_run_and_leaves_out_what_was_suggested(
    school: LearningRuns, fake: FakeModel
) -> None:
    helix = {"kind": "fact", "content": "Preferred editor is Helix."}
    metric = {"kind": "preference", "content": METRIC}
    run_id, _ = await answers(school, fake, f"{METRIC} I edit in Helix.", remember(METRIC))
    fake.queue(json.dumps({"candidate_1": metric, "candidate_2": helix}))
    await school.learn()
    assert [it.content for it in school.proposed(run_id)] == [METRIC, helix["content"]]


@pytest.mark.every_database
async def test_nothing_is_suggested_where_nobody_speaks(
    school: LearningRuns, fake: FakeModel
) -> None:
    with school.units.write() as unit:
        unit.sessions.add(make_session("below", parent_session_id="s1"))
    below, told = await answers(school, fake, METRIC, remember(METRIC), session_id="below")
    mail, other = await answers(
        school, fake, METRIC, remember(METRIC), kind=RunKind.PARENT_CLARIFICATION
    )
    assert "only a session with a user" in told[0]
    assert "only a session with a user" in other[0]
    assert not school.proposed(below, mail)
    offered = [tool["function"]["name"] for tool in fake.requests[0].body["tools"]]
    assert "remember" not in offered


async def test_a_rule_can_deny_it_as_any_tool(school: LearningRuns, fake: FakeModel) -> None:
    rules = {"rules": [{"tool": "remember", "decision": "deny"}]}
    with school.units.write() as unit:
        unit.sessions.add(make_session("quiet", permissions=rules))
    run_id, told = await answers(school, fake, METRIC, remember(METRIC), session_id="quiet")
    assert told[0].startswith("denied")
    assert not school.proposed(run_id)
