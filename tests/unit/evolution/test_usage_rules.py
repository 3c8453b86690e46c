"""What the figures of a week say about skills."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.skill_factories import make_skill
from understudy.core.ids import new_id
from understudy.evolution.usage_rules import (
    CODES,
    REPEATED_TOOLS,
    RULES,
    RepeatedSteps,
    Suggestion,
    by_strength,
    called_for,
    group_of,
    same_subject,
    subject_of,
    suggested_by,
    suggested_for,
)
from understudy.learnings.keys import key_of
from understudy.learnings.model import Kind, Origin
from understudy.learnings.proposal import NewCandidate, make_candidate
from understudy.sessions.learning_scopes import WORKSPACE
from understudy.skills.model import Skill, SkillOrigin, Visibility
from understudy.skills.usage import SkillVersionUsage

SKILL_ID = new_id("skl")


def skill(**fields: Any) -> Skill:
    return replace(make_skill("weekly-report", skill_id=SKILL_ID), **fields)


def usage(**figures: int) -> SkillVersionUsage:
    it = skill()
    return SkillVersionUsage(ref=it.skill_id, version=it.version, **figures)


def suggestions(it: Skill, figures: SkillVersionUsage) -> tuple[Suggestion, ...]:
    """What all rules say of a skill."""
    found = (suggested_by(rule, it, figures) for rule in RULES)
    return tuple(each for each in found if each is not None)


def rules_for(**figures: int) -> list[str]:
    return [each.rule for each in suggestions(skill(), usage(**figures))]


@pytest.mark.parametrize(
    ("figures", "rules"),
    [
        ({}, []),
        ({"offered": 5, "used": 5, "failed": 5}, ["low_success"]),
        ({"offered": 9, "used": 4, "failed": 4}, []),
        ({"used": 6, "succeeded": 3, "failed": 3}, []),
        ({"used": 7, "succeeded": 3, "failed": 2, "abandoned": 2}, ["low_success"]),
        # Those that are still under way say nothing.
        ({"used": 30, "failed": 1}, []),
        ({"offered": 19}, []),
        ({"offered": 20}, ["unused"]),
        ({"offered": 500, "used": 1, "succeeded": 1}, []),
    ],
)
def test_figures_call_for_something_from_a_bound_on(
    figures: dict[str, int], rules: list[str]
) -> None:
    assert rules_for(**figures) == rules


def test_the_words_hold_no_figures_so_that_they_are_the_same_every_week() -> None:
    [one] = suggestions(skill(), usage(used=9, failed=9))
    [other] = suggestions(skill(), usage(used=40, succeeded=3, failed=37))

    assert one.content == other.content
    assert one.note != other.note
    assert "failed 37" in other.note


def test_nothing_is_suggested_for_what_comes_with_the_product() -> None:
    assert suggestions(skill(origin=SkillOrigin.SYSTEM), usage(used=9, failed=9)) == ()


def test_an_older_version_is_left_alone() -> None:
    it = skill(version=3)

    assert suggestions(it, replace(usage(used=9, failed=9), version=2)) == ()


def test_a_new_version_may_fail_anew_and_an_unused_skill_is_one_whatever_its_version() -> None:
    def subjects(version: int, **figures: int) -> list[str]:
        figures_of = replace(usage(**figures), version=version)
        return [each.subject for each in suggestions(skill(version=version), figures_of)]

    assert subjects(1, used=9, failed=9) != subjects(2, used=9, failed=9)
    assert subjects(1, offered=90) == subjects(2, offered=90)


def test_the_slug_of_a_skill_that_not_all_may_know_of_is_not_told() -> None:
    figures = usage(used=9, failed=9)
    [private] = suggestions(skill(visibility=Visibility.PRIVATE), figures)
    [shared] = suggestions(skill(visibility=Visibility.INTERNAL), figures)
    [public] = suggestions(skill(visibility=Visibility.PUBLIC), figures)

    assert "weekly-report" not in private.content + private.note + shared.content
    assert skill().skill_id in private.content
    assert "weekly-report" in public.content


def test_what_lies_in_a_folder_has_no_version_to_speak_of() -> None:
    it = skill(origin=SkillOrigin.LOCAL, version=0, visibility=Visibility.PUBLIC)
    [found] = suggestions(it, SkillVersionUsage(ref=it.skill_id, version=0, used=9, failed=9))

    assert found.content.startswith("Improve the skill weekly-report:")


def test_every_suggestion_can_be_a_candidate() -> None:
    steps = tuple("shell" if at % 2 else f"mcp__{'server' * 15}__{at}" for at in range(8))
    found = [
        suggested_for(RepeatedSteps(agent_id="a" * 200, steps=steps, run_ids=("run_1",))),
        *suggestions(skill(), usage(offered=99)),
        *suggestions(skill(), usage(used=9, failed=9)),
    ]
    assert {each.rule for each in found} == set(CODES)
    for each in found:
        wanted = NewCandidate(scope=WORKSPACE, kind=Kind.PROCEDURE, content=each.content)
        assert make_candidate(wanted, origin=Origin.DAEMON, now_ms=1).content == each.content


def test_two_suggestions_have_two_keys() -> None:
    figures = usage(used=9, failed=9, offered=99)
    told = [
        *suggestions(skill(), figures),
        *suggestions(skill(skill_id="skl_other"), replace(figures, ref="skl_other")),
        *suggestions(skill(), usage(offered=99)),
        *(suggested_for(steps_of(agent)) for agent in ("one", "two")),
    ]
    assert len({key_of(each.content).semantic for each in told}) == len(told)


def steps_of(agent_id: str, *steps: str) -> RepeatedSteps:
    return RepeatedSteps(agent_id=agent_id, steps=steps or ("a", "b", "c"), run_ids=("run_1",))


def test_steps_are_the_same_where_they_have_a_piece_in_common() -> None:
    short, long = (suggested_for(steps_of("one", *each)).subject for each in ("abc", "xabcy"))
    foreign = suggested_for(steps_of("two", *"abc")).subject
    other = suggested_for(steps_of("one", *"acb")).subject

    assert same_subject(REPEATED_TOOLS, short, long)
    assert not same_subject(REPEATED_TOOLS, short, foreign)
    assert not same_subject(REPEATED_TOOLS, short, other)
    assert not same_subject(RULES[0].code, "skl_1 1", "skl_1 2")


def test_the_same_is_looked_for_only_where_it_can_be() -> None:
    short, long = (suggested_for(steps_of("one", *each)).subject for each in ("abc", "xabcy"))
    foreign = suggested_for(steps_of("two", *"abc")).subject

    assert group_of(REPEATED_TOOLS, short) == group_of(REPEATED_TOOLS, long) == "one"
    assert group_of(REPEATED_TOOLS, foreign) == "two"
    assert group_of(RULES[0].code, "skl_1 1") == "skl_1 1"


def test_what_most_speaks_for_comes_first() -> None:
    low, unused = RULES
    failing = [
        replace(usage(used=9, failed=failed, succeeded=9 - failed), ref=f"skl_{failed}")
        for failed in (5, 9, 7, 2)
    ]
    idle = [replace(usage(offered=offered), ref=f"skl_{offered}") for offered in (20, 90, 5)]
    habits = [steps_of("one", *"abc"), steps_of("one", *"abcd"), steps_of("two", *"abcd")]

    assert [it.ref for it in called_for(low, failing)] == ["skl_9", "skl_7", "skl_5"]
    assert [it.ref for it in called_for(unused, idle)] == ["skl_90", "skl_20"]
    assert by_strength(habits) == [habits[1], habits[2], habits[0]]


def test_figures_alone_tell_what_a_suggestion_is_about() -> None:
    figures = usage(offered=99, used=9, failed=9)
    for each in suggestions(skill(), figures):
        rule = next(rule for rule in RULES if rule.code == each.rule)
        assert each.subject == subject_of(rule, figures)
