"""The life of a run, walked pair by pair against the table of the specification."""

import re
from itertools import product
from pathlib import Path

import pytest

from tests.support.factories import make_run
from tests.support.tables import every_row
from understudy.core.errors import InvalidTransition
from understudy.runs.lifecycle import ACTIVE, RUN, STATUS_EVENTS, TERMINAL, WAITING, status_event
from understudy.runs.model import RunStatus

DOCS = Path(__file__).parents[3] / "docs" / "concepts" / "runs.md"
SPECIFIED = {
    "queued": "running failed cancelled",
    "running": (
        "waiting_for_approval waiting_for_user_question completed failed interrupted cancelled"
    ),
    "waiting_for_approval": "running failed interrupted cancelled",
    "waiting_for_user_question": "running completed failed interrupted cancelled",
    "completed": "",
    "failed": "",
    "interrupted": "",
    "cancelled": "",
}


@every_row(("current", "target"), list(product(RunStatus, RunStatus)))
def test_every_pair_is_as_specified(current: RunStatus, target: RunStatus) -> None:
    expected = current is target or target in SPECIFIED[current].split()

    assert RUN.allows(current, target) is expected
    if not expected:
        with pytest.raises(InvalidTransition) as refused:
            RUN.check(current, target)
        assert (refused.value.domain, refused.value.code) == ("runs", "run_state_conflict")


def test_the_last_four_are_terminal() -> None:
    assert {"completed", "failed", "interrupted", "cancelled"} == TERMINAL


def test_every_status_is_queued_or_active_or_terminal() -> None:
    assert {RunStatus.QUEUED} | ACTIVE | TERMINAL == set(RunStatus)
    assert not ACTIVE & TERMINAL
    assert WAITING < ACTIVE


def test_the_documents_show_this_machine() -> None:
    [diagram] = re.findall(r"```mermaid\n(stateDiagram-v2.*?)\n```", DOCS.read_text(), re.DOTALL)

    assert diagram == RUN.mermaid()


def test_every_status_that_can_be_reached_has_an_event() -> None:
    assert set(STATUS_EVENTS) == set(RunStatus) - {RunStatus.QUEUED}


@pytest.mark.parametrize("status", sorted(STATUS_EVENTS))
def test_the_event_of_a_status_tells_it(status: RunStatus) -> None:
    event = status_event(make_run(status=status), error="no")

    assert event.data["type"] == STATUS_EVENTS[status]
    assert event.data["status"] == status
    assert event.data["error"] == "no"
