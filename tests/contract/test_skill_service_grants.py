"""Granting a skill and taking it back, and the visibility that follows."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import make_agent
from tests.support.skill_service_harness import ANN, OK_MD, ROOT, SLUG, SkillServiceHarness
from understudy.core.errors import Invalid, NotFound, UnderstudyError
from understudy.skills.model import Visibility
from understudy.skills.revisions import SkillFieldChanges

pytestmark = pytest.mark.one_database

ROUNDS = 50


@pytest.fixture
def harness(database: UnitsOnDatabase) -> SkillServiceHarness:
    with database.units.write() as unit:
        unit.agents.add(make_agent("other"))
    harness = SkillServiceHarness(database.units)
    harness.service.create(ANN, OK_MD)
    return harness


def code_of(problem: pytest.ExceptionInfo[UnderstudyError]) -> str:
    return problem.value.code


@pytest.mark.every_database
def test_the_first_grant_makes_a_skill_internal_and_the_last_revocation_private(
    harness: SkillServiceHarness,
) -> None:
    service = harness.service

    assert service.grant_agent(ANN, SLUG, "default").visibility is Visibility.INTERNAL
    assert service.revoke_agent(ANN, SLUG, "default").visibility is Visibility.PRIVATE
    assert service.grant_user(ANN, SLUG, "bob").visibility is Visibility.INTERNAL
    assert service.revoke_user(ANN, SLUG, "bob").visibility is Visibility.PRIVATE
    assert harness.grants() == ([], [])
    assert [(entry.action, entry.reason) for entry in harness.audit()[:4]] == [
        ("skills.revoke", f"{SLUG} from user bob"),
        ("skills.grant", f"{SLUG} to user bob"),
        ("skills.revoke", f"{SLUG} from agent default"),
        ("skills.grant", f"{SLUG} to agent default"),
    ]
    assert harness.heard.changes[1:] == [(SLUG, "grant"), (SLUG, "revoke")] * 2


def test_only_the_last_of_both_kinds_makes_it_private_again(harness: SkillServiceHarness) -> None:
    revocations = [
        lambda: harness.service.revoke_agent(ANN, SLUG, "default"),
        lambda: harness.service.revoke_user(ANN, SLUG, "bob"),
    ]
    for in_order in (revocations, revocations[::-1]):
        harness.service.grant_agent(ANN, SLUG, "default")
        harness.service.grant_user(ANN, SLUG, "bob")
        assert [revoke().visibility for revoke in in_order] == [
            Visibility.INTERNAL,
            Visibility.PRIVATE,
        ]


def test_grants_leave_a_public_skill_public(harness: SkillServiceHarness) -> None:
    harness.service.update(ROOT, SLUG, SkillFieldChanges(visibility=Visibility.PUBLIC))

    assert harness.service.grant_agent(ANN, SLUG, "default").visibility is Visibility.PUBLIC
    assert harness.service.grant_user(ANN, SLUG, "bob").visibility is Visibility.PUBLIC
    assert harness.service.revoke_agent(ANN, SLUG, "default").visibility is Visibility.PUBLIC
    assert harness.service.revoke_user(ANN, SLUG, "bob").visibility is Visibility.PUBLIC


def test_the_same_grant_again_is_one_grant(harness: SkillServiceHarness) -> None:
    first = harness.service.grant_agent(ANN, SLUG, "default")
    harness.service.grant_user(ANN, SLUG, "bob")
    audit = harness.audit()

    assert harness.service.grant_agent(ANN, SLUG, "default") == first
    assert harness.service.grant_user(ANN, SLUG, "bob") == first
    assert harness.grants() == (["default"], ["bob"])
    assert harness.audit() == audit


def test_taking_what_nobody_has_changes_nothing(harness: SkillServiceHarness) -> None:
    before, audit = harness.row(), harness.audit()

    assert harness.service.revoke_agent(ANN, SLUG, "never-was") == before
    assert harness.service.revoke_user(ANN, SLUG, "bob") == before
    assert harness.audit() == audit


@pytest.mark.every_database
def test_a_grant_can_be_pinned_and_let_go(harness: SkillServiceHarness) -> None:
    harness.service.patch(ANN, SLUG, find="Collect", replace="Count")

    harness.service.grant_agent(ANN, SLUG, "default", version=1)
    assert harness.pins() == {"default": 1}
    harness.service.grant_agent(ANN, SLUG, "default", version=2)
    assert harness.pins() == {"default": 2}
    harness.service.grant_agent(ANN, SLUG, "default", version=0)
    assert harness.pins() == {"default": None}
    assert harness.audit()[1].reason == f"{SLUG} to agent default at version 2"


def test_a_grant_to_no_agent_or_of_no_version_is_refused(harness: SkillServiceHarness) -> None:
    for agent_id, version, code in (
        ("nobody", None, "agent_not_found"),
        ("default", 9, "skill_version_not_found"),
        ("", None, "invalid_id"),
        ("a/b", None, "invalid_id"),
        ("\0", None, "invalid_id"),
    ):
        with pytest.raises((NotFound, Invalid)) as problem:
            harness.service.grant_agent(ANN, SLUG, agent_id, version=version)
        assert code_of(problem) == code

    assert harness.row().visibility is Visibility.PRIVATE


def test_a_grant_to_what_is_no_user_is_refused(harness: SkillServiceHarness) -> None:
    for user_id in ("", " ", "x" * 256, "a\0b", "half \ud83d"):
        for act in (harness.service.grant_user, harness.service.revoke_user):
            with pytest.raises(Invalid) as problem:
                act(ANN, SLUG, user_id)
            assert code_of(problem) == "invalid_user_id"


def test_a_skill_is_internal_just_when_somebody_has_it_whatever_happens_at_once(
    harness: SkillServiceHarness,
) -> None:
    service = harness.service
    acts = [
        lambda: service.grant_agent(ANN, SLUG, "default"),
        lambda: service.grant_agent(ROOT, SLUG, "other"),
        lambda: service.grant_user(ANN, SLUG, "bob"),
        lambda: service.revoke_agent(ANN, SLUG, "default"),
        lambda: service.revoke_agent(ROOT, SLUG, "other"),
        lambda: service.revoke_user(ANN, SLUG, "bob"),
    ]
    chosen = random.Random(6)

    with ThreadPoolExecutor(4) as pool:
        for _ in range(ROUNDS):
            for done in [pool.submit(act) for act in chosen.sample(acts, k=len(acts))]:
                done.result()
            agents, users = harness.grants()
            expected = Visibility.INTERNAL if agents or users else Visibility.PRIVATE
            assert harness.row().visibility is expected
