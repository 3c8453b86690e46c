"""The files of a definition say what it says, and nothing else."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.rollout_factories import make_definition
from understudy.core.errors import Invalid
from understudy.learnings.guard import NO_LITERALS
from understudy.rollout.definition import Promotion, check_definition
from understudy.rollout.files import bundle_of, field_at, reads_back
from understudy.rollout.model import FORKED, Definition
from understudy.skills.runtime_settings import RUNTIME_FILE

FULL = make_definition(
    "team:notes_1",
    description='Writes "notes": all of them # really',
    when_to_use="- before each release",
    version="1.10",
    instructions="---\nname: other\n---\n\n  Indented, then a line of hyphens:\n---\nEnd.",
)


def test_the_same_definition_gives_the_same_files() -> None:
    again = Definition(
        skill_name=FULL.skill_name,
        description=FULL.description,
        when_to_use=FULL.when_to_use,
        version=FULL.version,
        instructions=FULL.instructions,
        runtime=FORKED,
    )

    assert bundle_of(FULL) == bundle_of(again)
    assert sorted(bundle_of(FULL)) == ["SKILL.md", RUNTIME_FILE]


def test_what_looks_like_markup_reads_back_as_it_was_said() -> None:
    assert reads_back(FULL)


@pytest.mark.parametrize(
    "odd",
    [
        make_definition(description="one\u2028two"),
        make_definition(description="with a bell \a"),
        make_definition(instructions="x" * 200_000),
        make_definition(description="x" * 40_000),
    ],
    ids=["line separator", "control character", "too long", "too long a field"],
)
def test_what_files_cannot_say_does_not_read_back(odd: Definition) -> None:
    assert not reads_back(odd)


text = st.text(st.characters(codec="utf-8"), max_size=60)


@given(description=text, when_to_use=text, version=text, instructions=text)
@example(description="\x85", when_to_use="\ufeff", version="~", instructions="\r")
@example(description="null", when_to_use="{", version="1_000", instructions="---")
def test_whatever_is_taken_reads_back(
    description: str, when_to_use: str, version: str, instructions: str
) -> None:
    wanted = Promotion(
        skill_name="notes",
        description=description,
        when_to_use=when_to_use,
        version=version,
        instructions=instructions,
    )
    try:
        definition = check_definition(wanted, NO_LITERALS)
    except Invalid:
        return

    assert reads_back(definition)


@pytest.mark.parametrize(
    ("path", "line", "field"),
    [
        ("SKILL.md", 1, "instructions"),
        ("SKILL.md", 2, "skill_name"),
        ("SKILL.md", 3, "description"),
        ("SKILL.md", 5, "when_to_use"),
        ("SKILL.md", 6, "instructions"),
        ("SKILL.md", 99, "instructions"),
        (RUNTIME_FILE, 1, "context"),
        (RUNTIME_FILE, 2, "agent_profile"),
        (RUNTIME_FILE, 3, "instructions"),
    ],
)
def test_a_line_leads_to_its_field(path: str, line: int, field: str) -> None:
    assert field_at(FULL, path, line) == field
