"""What is to be installed for which skill."""

from tests.support.skill_factories import make_skill
from understudy.skills.dependencies.names import Manager, check_dependency
from understudy.skills.dependencies.requirements import Requirements
from understudy.skills.dependencies.service import (
    InstallPlan,
    SkillNeeds,
    plans_for_missing,
    plans_for_one,
)

ALL = Requirements(
    system=("ffmpeg",), pip=("Pillow", "python_docx"), npm=("marked",), optional=("pip:rich",)
)


def needs(*missing: str, requirements: Requirements = ALL) -> SkillNeeds:
    return SkillNeeds(skill=make_skill("a-skill"), requirements=requirements, missing=missing)


def pip(*names: str) -> InstallPlan:
    return InstallPlan(slug="a-skill", manager=Manager.PIP, names=names)


def test_a_manager_that_has_something_to_bring_brings_all_of_it() -> None:
    assert list(plans_for_missing(needs("pip:Pillow"))) == [pip("Pillow", "python_docx")]


def test_each_manager_has_a_plan_of_its_own_and_programs_have_none() -> None:
    plans = list(plans_for_missing(needs("ffmpeg", "pip:Pillow", "npm:marked")))

    assert [plan.manager for plan in plans] == [Manager.PIP, Manager.NPM]
    assert list(plans_for_missing(needs("ffmpeg"))) == []


def test_one_package_comes_beside_those_that_are_there() -> None:
    one = check_dependency("pip:pillow")

    assert list(plans_for_one(needs("pip:Pillow"), one)) == [pip("Pillow", "python_docx")]
    assert list(plans_for_one(needs("pip:Pillow", "pip:python_docx"), one)) == [pip("Pillow")]


def test_names_that_pip_takes_for_one_another_are_one() -> None:
    one = check_dependency("pip:Python.Docx")

    (plan,) = plans_for_one(needs("pip:python_docx", "pip:Pillow"), one)

    assert plan == pip("python_docx")


def test_one_that_a_skill_can_do_without_may_come_too() -> None:
    (plan,) = plans_for_one(needs("pip:Pillow"), check_dependency("pip:rich"))

    assert plan == pip("python_docx", "rich")


def test_one_that_a_skill_does_not_need_is_not_for_it() -> None:
    assert list(plans_for_one(needs(), check_dependency("pip:requests"))) == []
    assert list(plans_for_one(needs(), check_dependency("npm:pillow"))) == []
