"""The pages about rollouts show the tables of the code, and what they tell to type can be typed."""

import re
import shlex
from pathlib import Path

import pytest

from tests.support.command_line_in_process import typed
from tests.support.rollout_factories import make_rollout
from understudy.review.policy import PromotionSettings
from understudy.rollout.evidence import Counts
from understudy.rollout.guards import GUARDS, RolloutCase, missing
from understudy.rollout.model import ROLLOUT, Proof, RolloutEventName, Stage
from understudy.rollout.outcome import SkillOutcome
from understudy.rollout.regression import (
    FIRST_USES,
    LEAST_RATE,
    LEAST_SESSIONS,
    LEAST_USES,
    LOOKED_AT,
    RECENT_USES,
)

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join(
    (DOCS / name).read_text()
    for name in (
        "concepts/rollout.md",
        "reference/rollout-evidence.md",
        "reference/rollout-in-use.md",
        "reference/rollout-execution.md",
    )
)
HOWTO = (DOCS / "howto" / "promote-a-procedure.md").read_text()
CODE = re.compile(r"`([^`]+)`")
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(understudy .*?)```", HOWTO, re.DOTALL)
    for line in block.splitlines()
]
# Nothing speaks for it, a canary failed, somebody holds it, and the policy asks for everything.
WORST = RolloutCase(
    rollout=make_rollout(held_reason="wait"),
    counts=Counts(canary_failure_count=1),
    rules=PromotionSettings(require_replay=True),
)


def rows(heading: str) -> list[list[str]]:
    """The code in the cells of the table that begins with these words."""
    (table,) = re.findall(rf"^\| {re.escape(heading)}.*\n\|-.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def test_the_stages_are_drawn_as_they_are() -> None:
    assert re.findall(r"```mermaid\n(.*?)\n```", PAGE, re.DOTALL) == [ROLLOUT.mermaid()]


def test_every_stage_is_described() -> None:
    assert [CODE.findall(row[0])[0] for row in rows("stage")] == [*Stage]


def test_what_each_step_asks_for_is_what_decides() -> None:
    told = {
        tuple(Stage(cell.strip("`")) for cell in row[:2]): CODE.findall(row[2])
        for row in rows("from | to")
    }

    assert told == {step: [reason.code for reason in missing(*step, WORST)] for step in GUARDS}


def test_every_reason_is_described() -> None:
    asked = {reason.code for step in GUARDS for reason in missing(*step, WORST)}

    assert {CODE.findall(row[0])[0] for row in rows("reason")} == asked


def test_every_proof_and_every_event_is_described() -> None:
    assert [CODE.findall(row[0])[0] for row in rows("proof")] == [*Proof]
    assert {event for event in RolloutEventName if f"`{event}`" in PAGE} == set(RolloutEventName)


def test_every_outcome_is_described() -> None:
    assert [CODE.findall(row[0])[0] for row in rows("outcome")] == [*SkillOutcome]


def test_an_active_skill_is_measured_as_the_page_says() -> None:
    said = " ".join(PAGE.split())

    assert f"Its first {FIRST_USES} runs in force are added" in said
    assert f"its newest runs, at most {RECENT_USES} and at least {LEAST_USES}" in said
    assert f"the newest after its first {FIRST_USES}" in said
    assert f"its first, up to {RECENT_USES}" in said
    assert f"Of the last {LOOKED_AT} runs" in said
    assert (LEAST_SESSIONS, LEAST_RATE) == (3, 0.5)
    assert "three sessions must have seen the skill fail" in said
    assert "half of the time" in said


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_on_the_page_is_one(line: str) -> None:
    name, *words = shlex.split(line)

    assert name == "understudy"
    assert typed(*words, "--help").exit_code == 0
