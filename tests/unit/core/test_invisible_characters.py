"""What hides words from a reader is found; what only joins what is seen is not."""

import pytest

from understudy.core.invisible_characters import hidden_in

SHOWN = {
    "plain text": "Project codename is Atlas.",
    "lines and tabs": "one\n\ttwo",
    "accents": "mật khẩu, déjà vu, Ångström",
    "a joined emoji": "👩🏽‍🚀 🏳️‍🌈 ❤️‍🔥",
    "an emoji with a form": "✔️ ☎︎ 5️⃣",
    "Persian": "می‌خواهم",
    "Hindi": "क्‍ष",
}
HIDDEN = {
    "NUL": "a\0b",
    "escape": "\x1b[31mred",
    "carriage return": "shown\rhidden",
    "zero width space": "pass\u200bword",
    "a joiner within Latin": "pass\u200dword",
    "a joiner at the end": "é\u200d",
    "two joiners in a row": "é\u200d\u200dé",
    "right to left override": "txt\u202eexe",
    "isolate": "\u2066a\u2069",
    "tag characters": "a\U000e0041\U000e0042",
    "a row of selectors": "é\ufe0f\ufe0e\ufe0f",
    "selectors beyond the basic plane": "😀\U000e0100",
    "half a character": "\ud83d",
    "line separator": "a\u2028b",
    "private use": "\ue000",
    "Hangul filler": "a\u3164b",
    "soft hyphen": "se\u00adcret",
    "byte order mark": "\ufeffa",
}


@pytest.mark.parametrize("text", SHOWN.values(), ids=SHOWN)
def test_what_is_seen_hides_nothing(text: str) -> None:
    assert hidden_in(text) is None


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_what_nobody_sees_is_found(text: str) -> None:
    assert hidden_in(text) is not None
