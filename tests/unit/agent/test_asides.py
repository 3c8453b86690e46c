"""What is said aside stands between pieces, stays to the end, and is part of nothing that is kept."""

import pytest

from tests.unit.agent.test_conversation import talk, used_tool, user
from understudy.agent.conversation import Checkpoint, Conversation, fitted
from understudy.providers.base import UserMessage


def shown(conversation: Conversation) -> list[str]:
    """The messages in short: a user's words, or the kind of a message."""
    return [
        message.text if isinstance(message, UserMessage) else type(message).__name__[0]
        for message in conversation.messages
    ]


def test_it_comes_behind_all_there_is_and_before_what_follows() -> None:
    talked = talk(user(1, "ask"), used_tool(2, calls=2), own=1).aside("hear")
    assert shown(talked) == ["ask", "A", "T", "T", "hear"]

    talked = talked.then(used_tool(9)).aside("again").aside("and again")
    assert shown(talked) == ["ask", "A", "T", "T", "hear", "A", "T", "again", "and again"]


def test_before_the_first_step_it_comes_behind_the_input() -> None:
    talked = talk(user(1, "earlier"), used_tool(2), user(5, "ask"), own=5).aside("hear")

    assert shown(talked.then(used_tool(9))) == ["earlier", "A", "T", "ask", "hear", "A", "T"]


@pytest.mark.parametrize("upto", [4, 5, 8])
def test_a_checkpoint_neither_has_it_nor_takes_it_away(upto: int) -> None:
    talked = (
        talk(user(1, "ask"), used_tool(2), used_tool(5), own=1).aside("hear").then(used_tool(9))
    )

    assert all(
        message != UserMessage(text="hear")
        for piece in talked.past(upto)
        for message in piece.messages
    )
    after = shown(talked.after(Checkpoint(summary="short", upto_offset=upto)))
    assert after.count("hear") == 1
    assert after[-3:] == ["hear", "A", "T"]


def test_it_stays_where_pieces_are_left_out_for_room() -> None:
    pieces = [user(1, "ask"), *(used_tool(offset, "y" * 400) for offset in (2, 5, 9))]
    talked = talk(*pieces, own=1).aside("hear").then(used_tool(12, "z"))

    small = fitted(talked, 40)

    assert len(small.pieces) < len(talked.pieces)
    assert shown(small) == ["ask", "hear", "A", "T"]


def test_it_takes_no_part_in_what_is_counted_and_cut() -> None:
    talked = talk(user(1), used_tool(2), used_tool(5), own=1)

    assert talked.aside("hear").tokens == talked.tokens
    assert talked.aside("hear").cut(keep_tokens=10) == talked.cut(keep_tokens=10)
