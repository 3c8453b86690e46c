"""What an event of the journal says by itself."""

import pytest

from tests.support.factories import make_event
from understudy.core.errors import Invalid
from understudy.sessions.journal import OWN_CHARS, EventKind, FeedPlace, own_text

WHOLE = "Done.\n\n---\n\n_Shall I keep it?_"


@pytest.mark.parametrize("kind", [EventKind.MESSAGE, EventKind.OUTPUT])
def test_a_digest_ends_where_the_models_own_words_end(kind: EventKind) -> None:
    event = make_event(kind, 1, data={"text": WHOLE, OWN_CHARS: len("Done.")})

    assert own_text(event) == "Done."


@pytest.mark.parametrize("mark", [{}, {OWN_CHARS: None}, {OWN_CHARS: "5"}, {OWN_CHARS: -1}])
def test_without_a_mark_that_can_be_read_all_of_it_is_the_models(mark: dict[str, object]) -> None:
    assert own_text(make_event(EventKind.OUTPUT, 1, data={"text": WHOLE, **mark})) == WHOLE


def test_an_event_without_a_text_says_nothing() -> None:
    assert own_text(make_event(EventKind.TOOL_RESULT, 1, data={"content": "x"})) == ""


@pytest.mark.parametrize(
    ("text", "place"),
    [("0", FeedPlace()), ("17", FeedPlace(0, 17)), ("8.17", FeedPlace(8, 17))],
)
def test_a_place_is_read_as_it_is_written(text: str, place: FeedPlace) -> None:
    assert (FeedPlace.parse(text), str(place)) == (place, text)


@pytest.mark.parametrize("text", ["", "x", "1.", ".1", "1.2.3", "-1", "٣", "1.5e3", "9" * 19])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        FeedPlace.parse(text)


def test_places_are_in_order_of_transaction_and_then_of_number() -> None:
    first, *rest = FeedPlace(0, 9), FeedPlace(3, 8), FeedPlace(3, 10), FeedPlace(20, 1)

    assert sorted([*rest, first]) == [first, *rest]
