"""Words that are made to look like others are told from words of another language."""

import pytest

from understudy.learnings.normal_form import has_lookalikes, unmasked

MASKED = {
    "one letter": ("p\u0430yment account", "payment account"),
    "Greek": ("\u03b1lpha team", "alpha team"),
    "a whole word among Latin ones": ("the \u0441\u043e\u0440", "the cop"),
}
PLAIN = {
    "Latin": "payment account",
    "accents": "d\u1ef1 \u00e1n \u00e9diteur",
    "Russian": "\u0442\u0435\u043a\u0441\u0442 \u043d\u0430 \u0440\u0443\u0441\u0441\u043a\u043e\u043c",
    "Russian with a Latin name": "\u043e\u043d \u043b\u044e\u0431\u0438\u0442 helix",
    "Chinese with a Latin name": "\u9879\u76ee helix",
    "a unit": "5 \u03bcs k\u03c9",
    "a symbol": "angle \u03b1",
}


@pytest.mark.parametrize(("text", "seen"), MASKED.values(), ids=MASKED)
def test_a_word_that_looks_like_another_is_read_as_it_looks(text: str, seen: str) -> None:
    assert unmasked(text.split()) == seen.split()
    assert has_lookalikes(text.split())


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_words_of_any_language_stay_as_they_are(text: str) -> None:
    assert unmasked(text.split()) == text.split()
    assert not has_lookalikes(text.split())
