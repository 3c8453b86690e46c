"""Which names skills of other kinds have already."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.skill_factories import make_skill
from understudy.rollout.name_clashes import CatalogueNames, Shadows
from understudy.skills.bundles.manifest import Manifest
from understudy.skills.local.skill import LocalSkill
from understudy.skills.model import SkillStatus
from understudy.skills.runtime_settings import RuntimeSettings
from understudy.storage.unit import Units

WORKSPACE = Path("/workspace")


def local(name: str, *, owner_id: str | None = None, root: str = "/skills") -> LocalSkill:
    return LocalSkill(
        name=name,
        description="Lies in a folder",
        owner_id=owner_id,
        path=Path(root, "one", "SKILL.md"),
        root=Path(root),
        digest="0" * 64,
        runtime=RuntimeSettings(),
        manifest=Manifest(name=name),
        instructions="",
    )


def is_taken(units: Units, name: str, skills: Iterable[LocalSkill] = ()) -> bool:
    with units.read() as unit:
        known = {skill.slug: skill for skill in skills}
        return CatalogueNames(Shadows(lambda: known))(unit, name)


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("weekly-report", True),
        ("WEEKLY-Report", True),
        ("Weekly:Report", True),
        ("weekly:report", True),
        ("weekly", False),
        ("report", False),
        ("old-one", False),
        ("learning:sched", False),
    ],
)
def test_a_kept_skill_has_its_slug_and_its_name(units: Units, name: str, taken: bool) -> None:
    with units.write() as unit:
        unit.skills.add(make_skill("weekly-report", name="Weekly:Report"))
        unit.skills.add(make_skill("old-one", status=SkillStatus.DELETED))
    assert is_taken(units, name) is taken


def test_a_name_is_found_however_many_contain_it(units: Units) -> None:
    with units.write() as unit:
        for number in range(201):
            unit.skills.add(make_skill(f"s-{number}", name=f"a deploy {number}"))
        unit.skills.add(make_skill("last", name="Deploy"))
    assert is_taken(units, "deploy")
    assert not is_taken(units, "eploy")


def test_a_skill_in_a_folder_has_its_name_as_well(units: Units) -> None:
    skills = [local("Tide:Tables")]
    assert is_taken(units, "tide:tables", skills)
    assert is_taken(units, "tide-tables", skills)
    assert not is_taken(units, "tide", skills)


@pytest.mark.parametrize(
    ("owner_id", "taken"), [("ann", False), (None, True)], ids=["an operator's", "in the config"]
)
def test_a_skill_in_the_root_of_one_operator_takes_no_name(
    units: Units, owner_id: str | None, taken: bool
) -> None:
    assert is_taken(units, "squat", [local("squat", owner_id=owner_id)]) is taken
