"""Asking somebody about an offer."""

from typing import Any

import httpx2
import pytest

from tests.unit.cli.test_offering import posted, reply, talking
from tests.unit.cli.waiting_parts import FakePerson, approval
from tests.unit.client.fake_daemon import run_document
from understudy.cli.decisions import Review, offer_line, offer_pairs, open_to_everybody, settle
from understudy.cli.person import Left
from understudy.wire.approvals import ApprovalView

QUESTION = "Keep what was done here as a skill?"
ENDED = run_document(status="completed")
FORBIDDEN = {"code": "offer_not_yours", "domain": "approvals", "detail": "for somebody else"}


def offer(**more: Any) -> ApprovalView:
    fields = {"id": "off_1", "kind": "offer", "user_id": "ann", "reason": QUESTION, **more}
    return approval(**{"input": {"action": "create"}, "tool_name": "skill_manage", **fields})


@pytest.mark.parametrize(
    ("typed", "behavior"),
    [
        *((word, "allow") for word in ("a", "Y", "yes", "accept", "save", "Save as skill.")),
        *((word, "deny") for word in ("d", "n", "no", "skip", "Skip!", "decline")),
    ],
)
def test_an_offer_is_answered_in_a_word(typed: str, behavior: str) -> None:
    client, seen = talking(ENDED)
    person = FakePerson("what?", typed)

    settled = settle(client, person, offer())

    assert settled is not None
    assert posted(seen) == [{"resolutions": [{"request_id": "off_1", "behavior": behavior}]}]
    assert QUESTION in person.screen
    assert "a  accept" in person.screen


def test_an_offer_can_be_left_open() -> None:
    client, seen = talking(ENDED)

    assert settle(client, FakePerson("l"), offer()) is None
    for leaving in (FakePerson("q"), FakePerson()):
        with pytest.raises(Left):
            settle(client, leaving, offer())
    assert posted(seen) == []


def test_a_review_goes_on_behind_an_offer_to_somebody_else() -> None:
    client, seen = talking(ENDED, reply(FORBIDDEN, 403), ENDED, ENDED)
    person = FakePerson("a", "a", "d")

    Review(client, person).approvals([offer(), offer(id="off_2"), offer(id="off_3")])

    assert len(posted(seen)) == 3
    assert person.heard[-1] == "1 failed, 1 accepted, 1 declined"
    assert "for somebody else" in person.screen
    assert "goes on" not in person.screen


def test_an_offer_is_shown_with_whom_it_asks_and_what_came_of_it() -> None:
    told = dict(offer_pairs(offer(state="denied", resolved_by="ann", resolved_at_ms=1)))

    assert (told["asks"], told["to"]) == (QUESTION, "ann")
    assert str(told["state"]).startswith("declined by ann")
    assert offer_line(offer(reason="\x1b[2Jred")).isprintable()


def test_only_what_is_offered_to_oneself_is_pointed_out() -> None:
    items = [offer(), offer(id="off_2", user_id="bob"), approval()]
    listed = {"items": [item.model_dump() for item in items], "next_cursor": None}

    for user, ids in ((None, ["off_1", "off_2"]), ("ann", ["off_1"]), ("eve", [])):
        client, _ = talking(httpx2.Response(200, json=listed))
        assert [view.id for view in open_to_everybody(client, "s1", user)] == ids


def test_who_cannot_answer_an_offer_is_told_whose_it_is() -> None:
    assert offer_line(offer()) == f"offer: {QUESTION}"
    assert offer_line(offer(actions=[])) == f"offer to ann: {QUESTION}"
    assert offer_line(offer(actions=[], user_id="a\x1bb")) == f"offer to a\\x1bb: {QUESTION}"
