"""What the memories of a session are ranked against."""

import pytest

from tests.support.factories import make_letter, make_run
from understudy.mailboxes.letters import framed
from understudy.retrieval.recollect import QUERY_CHARS, query_of
from understudy.runs.model import InputItem, RunInput, RunKind


def asked(*texts: str) -> str | None:
    items = tuple(InputItem(type="text", text=text) for text in texts)
    return query_of(make_run(input=RunInput(items=items)))


@pytest.mark.parametrize(
    ("texts", "query"),
    [(("look", "closely"), "look\nclosely"), ((" \n",), None), ((), None)],
)
def test_the_words_of_an_input_are_the_query(texts: tuple[str, ...], query: str | None) -> None:
    assert asked(*texts) == query


def test_of_a_long_input_both_ends_are_asked_for() -> None:
    query = asked("begin " + "x" * 10_000 + " end")

    assert query is not None
    assert (query[:6], query[-4:]) == ("begin ", " end")
    assert len(query) == 2 * QUERY_CHARS + 1


def test_the_frame_of_a_letter_is_not_asked_for() -> None:
    items = (InputItem(type="text", text=framed(make_letter("the roof leaks"))),)
    run = make_run(input=RunInput(items=items), kind=RunKind.MAILBOX_DELIVERY)

    assert query_of(run) == "Letter from user alice\nthe roof leaks"


def test_an_input_of_files_alone_asks_for_nothing() -> None:
    items = (InputItem(type="asset_reference", asset_id="a1"),)

    assert query_of(make_run(input=RunInput(items=items))) is None
