"""What a view offers to do with a skill, for each kind of caller."""

import pytest

from tests.support.skill_factories import make_skill
from understudy.core.principal import Principal, Role
from understudy.skills.authority import actions_of
from understudy.skills.model import Skill, SkillOrigin, SkillStatus, Visibility

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
