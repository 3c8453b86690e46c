"""The copy of a persona that a session keeps."""

from dataclasses import replace

import pytest

from tests.support.factories import ODD_TEXTS, make_persona
from understudy.sessions.model import DefaultSkill
from understudy.sessions.persona import snapshot_of

PERSONA = make_persona(
    soul="A", capability_scope={"skill_allow": ["x"]}, default_skills=(DefaultSkill(name="greet"),)
)
SNAPSHOT = snapshot_of(PERSONA, bound_at_ms=5)


def test_it_holds_what_the_persona_said_and_when_it_was_bound() -> None:
    assert (SNAPSHOT.persona_id, SNAPSHOT.persona_version) == ("helper", 1)
    assert (SNAPSHOT.soul, SNAPSHOT.bound_at_ms) == ("A", 5)
    assert SNAPSHOT.capability_scope == {"skill_allow": ["x"]}
    assert SNAPSHOT.default_skills == (DefaultSkill(name="greet"),)


@pytest.mark.parametrize(
    "change",
    [
        {"soul": "B"},
        {"capability_scope": {"skill_allow": ["y"]}},
        {"default_skills": (DefaultSkill(name="part"),)},
    ],
)
def test_the_digest_changes_with_what_the_agent_would_notice(change: dict) -> None:
    assert snapshot_of(replace(PERSONA, **change), bound_at_ms=5).digest != SNAPSHOT.digest


@pytest.mark.parametrize("change", [{"version": 9}, {"metadata": {"a": 1}}, {"updated_at_ms": 9}])
def test_the_digest_stays_when_only_the_record_changed(change: dict) -> None:
    assert snapshot_of(replace(PERSONA, **change), bound_at_ms=99).digest == SNAPSHOT.digest


@pytest.mark.parametrize("odd", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_any_soul_has_a_digest(odd: str) -> None:
    assert len(snapshot_of(replace(PERSONA, soul=odd), bound_at_ms=5).digest) == 64
