"""What says otherwise in a scope that some session sees together with this one."""

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import (
    ALICE,
    NOW,
    bound,
    make_member,
    make_persona,
    make_project,
    make_session,
)
from tests.support.learning_factories import PERSONA, PROJECT, SESSION, keep, make_learning
from tests.support.learning_harness import LearningHarness
from understudy.learnings.conflicts import MAX_CONTRADICTIONS
from understudy.learnings.model import Kind, Learning, Sensitivity, related
from understudy.sessions.learning_scopes import WORKSPACE, LearningScope, ScopeKind, session_scope
from understudy.storage.unit import Units

VIM = "Preferred editor is Vim."
HELIX = "Preferred editor is Helix."
OTHER = session_scope("s2")
OTHER_PERSONA = LearningScope(kind=ScopeKind.PERSONA, id="critic")
OTHER_PROJECT = LearningScope(kind=ScopeKind.PROJECT, id="attic")
NOWHERE = session_scope("gone")

# Which scopes are seen together, where s3 is bound to `helper` and belongs to `garden` and `shed`.
TOGETHER: list[tuple[LearningScope, LearningScope, bool]] = [
    (SESSION, WORKSPACE, True),
    (SESSION, OTHER, False),
    (session_scope("s3"), PERSONA, True),
    (session_scope("s3"), PROJECT, True),
    (session_scope("s3"), OTHER_PROJECT, False),
    (SESSION, PERSONA, False),
    (PERSONA, WORKSPACE, True),
    (PERSONA, PROJECT, True),
    (PERSONA, OTHER_PROJECT, False),
    (PERSONA, OTHER_PERSONA, False),
    (PROJECT, WORKSPACE, True),
    (PROJECT, LearningScope(kind=ScopeKind.PROJECT, id="shed"), True),
    (PROJECT, OTHER_PROJECT, False),
    (WORKSPACE, OTHER_PERSONA, True),
    (NOWHERE, WORKSPACE, True),
    (NOWHERE, SESSION, False),
]


@pytest.fixture
def plane(units: Units) -> LearningHarness:
    with units.write() as unit:
        unit.personas.add(make_persona("helper"))
        unit.sessions.add(make_session("s3", **bound(make_persona("helper"))))
        for name in ("garden", "shed"):
            unit.projects.add(make_project(name, members=(make_member("s3"),)))
        unit.projects.add(make_project("attic", members=(make_member("s2"),)))
    return LearningHarness(units)


def elsewhere(number: int) -> Learning:
    return make_learning(VIM, scope=session_scope(f"other-{number}"), published_at_ms=NOW + number)


def test_scopes_that_one_session_sees_contradict_each_other_both_ways(
    plane: LearningHarness,
) -> None:
    for number, (one, other, together) in enumerate(TOGETHER):
        there = plane.learn(f"Editor {number} is Vim", scope=one)
        candidate = plane.propose(f"Editor {number} is Helix", scope=other)
        expected = (there,) if together else ()
        item = plane.candidates.item(candidate.candidate_id)
        assert item.contradicts == related(expected), (one.key, other.key)
        published = plane.publish(candidate)
        assert published.contradicts == expected
        assert published.is_new
        third = plane.propose(f"Editor {number} is Nano", scope=one)
        found = plane.candidates.item(third.candidate_id).contradicts
        assert (related([published.learning])[0] in found) is together, (other.key, one.key)


NOT_SHOWN: list[dict[str, Any]] = [
    {"kind": Kind.PROCEDURE},
    {"sensitivity": Sensitivity.SENSITIVE},
    {"expires_at_ms": NOW},
    {"subject_key": None},
]


def test_only_what_prompts_would_show_contradicts(plane: LearningHarness, units: Units) -> None:
    keep(units, *(make_learning(VIM, **fields) for fields in NOT_SHOWN))
    assert plane.publish(plane.propose(HELIX, scope=SESSION)).contradicts == ()


def test_another_kind_contradicts_in_the_same_scope_too_and_is_never_superseded(
    plane: LearningHarness,
) -> None:
    wish = plane.learn(VIM, kind=Kind.PREFERENCE)
    candidate = plane.propose(HELIX, kind=Kind.DECISION)
    item = plane.candidates.item(candidate.candidate_id)
    assert item.conflicts_with is None
    assert item.contradicts == related([wish])
    published = plane.publish(candidate)
    assert published.contradicts == (wish,)
    assert plane.learning(wish) == wish


def test_the_same_value_in_another_scope_is_no_contradiction(plane: LearningHarness) -> None:
    plane.learn(VIM)
    assert plane.publish(plane.propose("preferred editor: vim", scope=SESSION)).contradicts == ()


def test_a_procedure_contradicts_nothing(plane: LearningHarness) -> None:
    plane.learn(VIM, kind=Kind.PROCEDURE)
    published = plane.publish(plane.propose(HELIX, scope=SESSION, kind=Kind.PROCEDURE))
    assert published.contradicts == ()


def test_a_replacement_is_told_of_contradictions_too(plane: LearningHarness) -> None:
    wide = plane.learn(VIM)
    narrow = plane.learn("preferred editor: vim", scope=SESSION)
    assert plane.supersede(narrow, HELIX).contradicts == (wide,)


def test_only_so_many_contradictions_are_told(plane: LearningHarness, units: Units) -> None:
    keep(units, *(elsewhere(number) for number in range(MAX_CONTRADICTIONS + 2)))
    published = plane.publish(plane.propose(HELIX))
    assert len(published.contradicts) == MAX_CONTRADICTIONS


def test_many_scopes_that_nobody_shares_do_not_hide_the_one_that_is(
    plane: LearningHarness, units: Units
) -> None:
    wide = plane.learn(VIM)
    keep(units, *(elsewhere(number) for number in range(50)))
    assert plane.publish(plane.propose(HELIX, scope=SESSION)).contradicts == (wide,)


def test_a_revoked_learning_contradicts_no_more(plane: LearningHarness) -> None:
    wide = plane.learn(VIM)
    plane.learnings.revoke(ALICE, wide.learning_id)
    assert plane.publish(plane.propose(HELIX, scope=SESSION)).contradicts == ()


@pytest.mark.parametrize("scope", [PERSONA, PROJECT], ids=lambda it: it.key)
def test_what_contradicts_costs_no_more_where_many_sessions_share_a_scope(
    plane: LearningHarness, database: UnitsOnDatabase, scope: LearningScope
) -> None:
    members = [f"member-{number}" for number in range(30)]
    with database.units.write() as unit:
        for name in members:
            unit.sessions.add(make_session(name, **bound(make_persona("helper"))))
        garden = unit.projects.get("garden")
        assert garden is not None
        crowd = replace(garden, members=tuple(map(make_member, members)), version=2)
        unit.projects.update(crowd, expected_version=1)
    there = plane.learn(VIM, scope=session_scope(members[-1]))
    candidate = plane.propose(HELIX, scope=scope)
    asked: list[str] = []

    def note(*event: Any) -> None:
        asked.append(event[2])

    sa.event.listen(database.engine, "before_cursor_execute", note)
    item = plane.candidates.item(candidate.candidate_id)
    sa.event.remove(database.engine, "before_cursor_execute", note)

    assert item.contradicts == related([there])
    assert len(asked) < len(members)
