"""What an event of the journal says by itself."""

import pytest

from tests.support.factories import make_event
from understudy.sessions.journal import OWN_CHARS, EventKind, own_text

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
