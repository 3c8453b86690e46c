"""The receipt of learning, walked pair by pair."""

import re
from itertools import product
from pathlib import Path

import pytest

from understudy.core.errors import InvalidTransition
from understudy.memory.record import RECEIPT, SemanticCapture

DOCS = Path(__file__).parents[3] / "docs" / "concepts" / "run-memory.md"
SPECIFIED = {"pending": "completed skipped", "completed": "", "skipped": ""}


@pytest.mark.parametrize(("current", "target"), list(product(SemanticCapture, SemanticCapture)))
def test_every_pair_is_as_specified(current: SemanticCapture, target: SemanticCapture) -> None:
    expected = current is target or target in SPECIFIED[current].split()

    assert RECEIPT.allows(current, target) is expected
    if not expected:
        with pytest.raises(InvalidTransition) as refused:
            RECEIPT.check(current, target)
        assert (refused.value.domain, refused.value.code) == (
            "run_memories",
            "semantic_capture_conflict",
        )


def test_what_is_settled_stays_settled() -> None:
    assert RECEIPT.terminal == {SemanticCapture.COMPLETED, SemanticCapture.SKIPPED}


def test_the_documents_show_this_machine() -> None:
    [diagram] = re.findall(r"```mermaid\n(stateDiagram-v2.*?)\n```", DOCS.read_text(), re.DOTALL)

    assert diagram == RECEIPT.mermaid()
