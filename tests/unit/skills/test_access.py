"""Who may use a skill, over every case there is, and what its machines allow."""

from itertools import product
from typing import Any

import pytest

from tests.support.skill_factories import make_skill
from understudy.skills.access import Access, AccessReason, access
from understudy.skills.lifecycle import STATUS, VISIBILITY, after_grants
from understudy.skills.model import SkillOrigin, SkillStatus, Visibility

# The skill, and for its owner, a granted agent, a granted user and a stranger: why it is open.
MATRIX: dict[str, tuple[AccessReason, AccessReason, AccessReason, AccessReason]] = {
    "private": (AccessReason.OWNER, AccessReason.NONE, AccessReason.NONE, AccessReason.NONE),
    "internal": (
        AccessReason.OWNER,
        AccessReason.AGENT_GRANT,
        AccessReason.USER_GRANT,
        AccessReason.NONE,
    ),
    "public": (AccessReason.PUBLIC, AccessReason.PUBLIC, AccessReason.PUBLIC, AccessReason.PUBLIC),
    "system": (AccessReason.SYSTEM, AccessReason.SYSTEM, AccessReason.SYSTEM, AccessReason.SYSTEM),
}
# Who asks: user, whether their agent was granted it, whether they were.
ASKING = (("ann", False, False), ("bob", True, False), ("bob", False, True), ("eve", False, False))


@pytest.mark.parametrize("kind", MATRIX)
@pytest.mark.parametrize("who", range(len(ASKING)), ids=["owner", "agent", "user", "stranger"])
def test_the_matrix_of_access(kind: str, who: int) -> None:
    skill = (
        make_skill(origin=SkillOrigin.SYSTEM, owner_id="system", visibility=Visibility.PUBLIC)
        if kind == "system"
        else make_skill(visibility=Visibility(kind))
    )
    user_id, agent_granted, user_granted = ASKING[who]

    decision = access(
        skill, agent_granted=agent_granted, user_granted=user_granted, user_id=user_id
    )

    reason = MATRIX[kind][who]
    assert decision == Access(allowed=reason is not AccessReason.NONE, reason=reason)


@pytest.mark.parametrize(("agent_granted", "user_granted"), [*product((False, True), repeat=2)])
@pytest.mark.parametrize("origin", SkillOrigin)
@pytest.mark.parametrize("visibility", Visibility)
def test_what_is_inactive_or_switched_off_is_open_to_nobody(
    visibility: Visibility, origin: SkillOrigin, agent_granted: bool, user_granted: bool
) -> None:
    granted = {"agent_granted": agent_granted, "user_granted": user_granted}
    skills: dict[AccessReason, list[dict[str, Any]]] = {
        AccessReason.INACTIVE: [{"status": SkillStatus.ARCHIVED}, {"status": SkillStatus.DELETED}],
        AccessReason.DISABLED: [{"enabled": False}],
    }
    for reason, states in skills.items():
        for state in states:
            skill = make_skill(visibility=visibility, origin=origin, **state)
            decision = access(skill, user_id="ann", **granted)
            assert decision == Access(allowed=False, reason=reason)


def test_an_owner_keeps_an_internal_skill_that_nobody_was_granted() -> None:
    skill = make_skill(visibility=Visibility.INTERNAL)

    decision = access(skill, agent_granted=False, user_granted=False, user_id="ann")

    assert decision == Access(allowed=True, reason=AccessReason.OWNER)


def test_who_is_unknown_owns_nothing() -> None:
    skill = make_skill(owner_id="")

    decision = access(skill, agent_granted=False, user_granted=False, user_id="")

    assert decision == Access(allowed=False, reason=AccessReason.NONE)


@pytest.mark.parametrize(
    ("before", "granted", "after"),
    [
        (Visibility.PRIVATE, True, Visibility.INTERNAL),
        (Visibility.PRIVATE, False, Visibility.PRIVATE),
        (Visibility.INTERNAL, True, Visibility.INTERNAL),
        (Visibility.INTERNAL, False, Visibility.PRIVATE),
        (Visibility.PUBLIC, True, Visibility.PUBLIC),
        (Visibility.PUBLIC, False, Visibility.PUBLIC),
    ],
)
def test_grants_make_a_private_skill_internal_and_back(
    before: Visibility, granted: bool, after: Visibility
) -> None:
    assert after_grants(before, granted=granted) is after
    VISIBILITY.check(before, after)


@pytest.mark.parametrize(("before", "after"), [*product(SkillStatus, repeat=2)])
def test_every_status_may_follow_every_other(before: SkillStatus, after: SkillStatus) -> None:
    STATUS.check(before, after)
    assert STATUS.terminal == frozenset()
