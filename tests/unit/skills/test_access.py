"""Who may use a skill and what a caller may do with it, over every case there is."""

from itertools import product
from typing import Any

import pytest

from tests.support.skill_factories import make_skill
from understudy.core.principal import Principal, Role
from understudy.skills.access import Access, AccessReason, access, actions_of
from understudy.skills.lifecycle import STATUS, VISIBILITY, after_grants
from understudy.skills.model import Skill, SkillOrigin, SkillStatus, Visibility

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


ANN = Principal(user_id="ann", role=Role.OPERATOR)
BOB = Principal(user_id="bob", role=Role.OPERATOR)
ROOT = Principal(user_id="root", role=Role.ADMIN)
HERS = ("update", "patch", "restore", "disable", "grant", "revoke", "delete")

CASES = {
    "hers": (make_skill(), ANN, HERS),
    "of another": (make_skill(), BOB, ()),
    "hers for an admin": (make_skill(), ROOT, (*HERS[:-1], "publish", "delete")),
    "public for an admin": (
        make_skill(visibility=Visibility.PUBLIC),
        ROOT,
        (*HERS[:-1], "unpublish", "delete"),
    ),
    "switched off": (
        make_skill(enabled=False),
        ANN,
        tuple("enable" if action == "disable" else action for action in HERS),
    ),
    "for a viewer": (make_skill(), Principal(user_id="ann", role=Role.VIEWER), ()),
    "of the product": (make_skill(origin=SkillOrigin.SYSTEM, owner_id="system"), ANN, ()),
    "of the product for an admin": (
        make_skill(origin=SkillOrigin.SYSTEM, owner_id="system"),
        ROOT,
        ("disable",),
    ),
    "of the product for somebody called like it": (
        make_skill(origin=SkillOrigin.SYSTEM, owner_id="system"),
        Principal(user_id="system", role=Role.OPERATOR),
        (),
    ),
    "of the machine": (make_skill(origin=SkillOrigin.LOCAL), ROOT, ()),
    "deleted": (make_skill(status=SkillStatus.DELETED), ROOT, ()),
    "archived": (make_skill(status=SkillStatus.ARCHIVED), ANN, HERS),
}


@pytest.mark.parametrize("case", CASES)
def test_a_view_offers_what_the_service_would_do(case: str) -> None:
    skill, principal, expected = CASES[case]
    given: Skill = skill

    assert actions_of(given, principal) == expected
