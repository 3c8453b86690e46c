"""The states of a proposal."""

from pathlib import Path

import pytest

from understudy.core.errors import InvalidTransition
from understudy.evolution.proposals import PROPOSAL, ProposalState

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "evolution.md"


@pytest.mark.parametrize("current", ProposalState)
@pytest.mark.parametrize("target", ProposalState)
def test_only_one_that_waits_is_decided(current: ProposalState, target: ProposalState) -> None:
    if current in (target, ProposalState.PENDING):
        PROPOSAL.check(current, target)
    else:
        with pytest.raises(InvalidTransition):
            PROPOSAL.check(current, target)


def test_what_is_decided_stays() -> None:
    assert PROPOSAL.terminal == set(ProposalState) - {ProposalState.PENDING}


def test_the_page_shows_the_machine() -> None:
    assert PROPOSAL.mermaid() in PAGE.read_text()
