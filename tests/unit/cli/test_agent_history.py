"""What the record of an agent's evolution reads like."""

import pytest

from understudy.cli.agents import ROWS
from understudy.core.records import parsed
from understudy.evolution.record import OfferEntry


@pytest.mark.parametrize(
    ("state", "told"), [("offered", "offer open"), ("declined", "offer declined")]
)
def test_an_offer_is_told_by_what_became_of_it(state: str, told: str) -> None:
    entry = parsed(
        OfferEntry,
        {
            "kind": "offer",
            "at_ms": 1,
            "run_id": "run_1",
            "session_id": "s1",
            "offer_id": "off_1",
            "state": state,
            "user_id": "ann",
            "question": "Keep it?",
        },
    )

    assert ROWS["offer"](entry) == (told, "ann", "off_1 Keep it?")
