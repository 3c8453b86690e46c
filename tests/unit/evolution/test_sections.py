"""What the system text says of evolving, and what all of it costs."""

import pytest

from understudy.core.text import estimate_tokens
from understudy.evolution.nudges import (
    SELF_EVOLUTION,
    SELF_EVOLUTION_TITLE,
    SKILL_CREATION,
    nudge_text,
    postscript,
)
from understudy.i18n.locales import LOCALES

CEILINGS = {
    "self-evolution": (f"## {SELF_EVOLUTION_TITLE}\n\n{SELF_EVOLUTION}", 99),
    "skill creation": (SKILL_CREATION, 141),
    **{f"nudge 70 {locale}": (nudge_text("70", locale), 38) for locale in LOCALES},
    **{f"nudge 90 {locale}": (nudge_text("90", locale), 58) for locale in LOCALES},
    **{f"postscript {locale}": (postscript(locale), 42) for locale in LOCALES},
}


@pytest.mark.parametrize("part", CEILINGS)
def test_a_part_costs_no_more_than_it_may(part: str) -> None:
    text, ceiling = CEILINGS[part]

    assert 0 < estimate_tokens(text) <= ceiling


@pytest.mark.parametrize(
    "said",
    [
        *("SOUL.md", "tone", "voice", "style", "format", "vocabulary", "phrasing", "interaction"),
        *("name", "identity", "contact", "purpose", "role", "IDENTITY.md", "AGENTS.md", "locked"),
        *("small steps", "clear pattern", "you CAN", "You MUST NOT"),
    ],
)
def test_what_may_change_of_oneself_and_what_may_not_is_said(said: str) -> None:
    assert said in SELF_EVOLUTION


@pytest.mark.parametrize(
    "said",
    [
        *("5+ tool calls", "SHOULD create", "other inputs", "easy to forget", "domain workflow"),
        *("one-off", "debugging", "under 5 calls", "SHOULD NOT", 'user said "skip"'),
        *('action="create", content=', 'action="patch", slug=', 'find="', 'replace="'),
        *('action="delete", slug=', "own skills", "Quality over quantity", "consent"),
    ],
)
def test_when_a_skill_is_worth_making_and_how_is_said(said: str) -> None:
    assert said in SKILL_CREATION


def test_the_part_on_skills_stands_below_another_heading() -> None:
    assert SKILL_CREATION.startswith("### ")
    assert SKILL_CREATION.count("\n#") == 0
