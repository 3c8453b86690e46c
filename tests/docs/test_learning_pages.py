"""The pages about learning show the tables of the code, and what they tell to type works."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line_in_process import typed
from understudy.learnings.keys import key_of
from understudy.learnings.model import CANDIDATE, LEARNING, Kind, Mode, ReviewAction
from understudy.learnings.visibility import RULES, SEARCH_RULES
from understudy.retrieval.choice import MAX_ENTRIES, LearningReason
from understudy.review.judge import ALLOWED, BEYOND
from understudy.review.policy import DEFAULT, LEARNING_POLICY, PolicyRule

DOCS = Path(__file__).parents[2] / "docs"
LEARNING_PAGE = "\n".join(
    (DOCS / "concepts" / name).read_text() for name in ("learning.md", "capture.md")
)
REVIEW_PAGE = (DOCS / "concepts" / "review.md").read_text()
POLICY_PAGE = (DOCS / "howto" / "write-a-learning-policy.md").read_text()
HOWTO_PAGE = (DOCS / "howto" / "review-what-was-learned.md").read_text()
CODE = re.compile(r"`([^`]+)`")
COMMANDS = sorted(
    {
        line
        for page in (REVIEW_PAGE, POLICY_PAGE, HOWTO_PAGE)
        for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
        for line in block.splitlines()
    }
)


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the table that begins with these words."""
    (table,) = re.findall(rf"^\| {re.escape(heading)}.*\n\|-.*\n((?:\|.*\n)+)", page, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """The fields of a policy by their way; a list is one."""
    if not isinstance(value, dict):
        return {path: value}
    found: dict[str, Any] = {}
    for name, inner in value.items():
        found |= leaves(inner, f"{path}.{name}" if path else name)
    return found


def test_both_machines_are_drawn_as_they_are() -> None:
    drawn = re.findall(r"```mermaid\n(stateDiagram-v2.*?)\n```", LEARNING_PAGE, re.DOTALL)

    assert drawn == [CANDIDATE.mermaid(), LEARNING.mermaid()]


def test_the_table_of_visibility_is_the_one_that_decides() -> None:
    told = [[f"`{it.code}`", it.words, "no" if it in SEARCH_RULES else "yes"] for it in RULES]

    assert rows(LEARNING_PAGE, "reason | it is kept out") == told


def test_every_other_reason_is_described() -> None:
    described = {CODE.findall(row[0])[0] for row in rows(LEARNING_PAGE, "reason | meaning")}

    assert described == set(LearningReason)
    assert f"| {MAX_ENTRIES} others come before it |" in LEARNING_PAGE


def test_every_kind_is_described() -> None:
    assert {CODE.findall(row[0])[0] for row in rows(LEARNING_PAGE, "kind")} == set(Kind)


@pytest.mark.parametrize("row", rows(LEARNING_PAGE, "content | key"), ids=lambda row: row[0])
def test_the_keys_are_those_of_the_examples(row: list[str]) -> None:
    content, key, subject = (CODE.findall(cell) for cell in row)
    found = key_of(content[0])

    assert [found.semantic] == key
    assert [found.subject] == (subject or [None])


def test_the_envelope_of_the_judge_is_the_one_that_counts() -> None:
    told = {CODE.findall(row[0])[0]: row for row in rows(REVIEW_PAGE, "the policy says")}

    assert set(told) == set(ReviewAction) - {ReviewAction.MANUAL_REVIEW}
    for action, (_, allowed, beyond) in told.items():
        if action == ReviewAction.PUBLISH_ACTIVE:
            assert (allowed, set(ALLOWED[ReviewAction(action)])) == ("all four", set(ReviewAction))
            continue
        assert set(CODE.findall(allowed)) == set(ALLOWED[ReviewAction(action)])
        assert CODE.findall(beyond) == [BEYOND[ReviewAction(action)]]


@pytest.mark.parametrize("page", [LEARNING_PAGE, REVIEW_PAGE], ids=["learning", "review"])
def test_what_comes_through_the_api_is_not_said_to_wait_for_a_person(page: str) -> None:
    assert re.search(r"What\s+somebody\s+proposes\s+through\s+the\s+API", page, re.IGNORECASE)


def test_a_no_is_said_to_count_in_its_own_scope() -> None:
    assert "counts in its own scope only" in LEARNING_PAGE


def test_every_mode_is_described() -> None:
    assert [CODE.findall(row[0])[0] for row in rows(REVIEW_PAGE, "mode")] == [*Mode]


def test_every_field_of_the_policy_is_there_with_its_default() -> None:
    told = {CODE.findall(name)[0]: default for name, default, _ in rows(POLICY_PAGE, "field |")}
    real = leaves(LEARNING_POLICY.to_json(DEFAULT))

    assert set(told) == set(real)
    for path, default in told.items():
        first = default.partition(";")[0].strip("`")
        word = first if isinstance(real[path], str) else json.loads(first)
        assert word == real[path], path


def test_every_field_of_a_rule_is_there() -> None:
    told = [name for row in rows(POLICY_PAGE, "field of a rule") for name in CODE.findall(row[0])]

    assert sorted(told) == sorted(PolicyRule.__slots__)


@pytest.mark.parametrize("block", re.findall(r"```json\n(.*?)```", POLICY_PAGE, re.DOTALL))
def test_the_policies_on_the_page_are_taken(block: str) -> None:
    assert LEARNING_POLICY.read(json.loads(block)) != DEFAULT


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_on_the_pages_is_one(line: str) -> None:
    name, *words = shlex.split(line)

    result = typed(*words, "--help")

    assert name == "understudy"
    assert result.exit_code == 0, result.output
