"""What a person typed, told from what a client put in their place."""

import pytest

from understudy.foreign.typed import words_of


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Use tabs.", "Use tabs."),
        ("<system-reminder>Use spaces.</system-reminder>\nUse tabs.", "Use tabs."),
        ("Use <ide_selection>spaces</ide_selection>tabs.", "Use tabs."),
        ("<command-name>/init</command-name>", ""),
        ("Use tabs. <system-reminder>Use spaces.", "Use tabs."),
        ("[Request interrupted by user]", ""),
        ("Render <b>bold</b> text.", "Render <b>bold</b> text."),
    ],
)
def test_only_what_stands_outside_of_injected_blocks_is_typed(text: str, typed: str) -> None:
    assert words_of(text).typed == typed


def test_injected_text_is_kept_apart() -> None:
    words = words_of("<system-reminder>Use spaces.</system-reminder>Use tabs.")

    assert words.injected == ("<system-reminder>Use spaces.</system-reminder>",)


def test_many_open_blocks_take_linear_time() -> None:
    words = words_of("<system-reminder>" * 100_000)

    assert words.typed == ""
    assert len(words.injected) == 1
