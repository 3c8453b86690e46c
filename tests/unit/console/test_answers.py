"""Answers of a model as HTML: Markdown that can do nothing but be read."""

from collections.abc import Callable

import pytest
from markupsafe import Markup

from understudy.console.answers import MAX_CHARS, answer_html
from understudy.console.markdown import MAX_BRACKETS, rendered


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**bold** `code`", "<p><strong>bold</strong> <code>code</code></p>\n"),
        ("# Title\n\ntext", "<p><strong>Title</strong></p>\n<p>text</p>\n"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>\n"),
        ("![a](https://elsewhere/pixel.png)", "<p></p>\n"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>\n"),
    ],
)
def test_markdown_is_shown_and_nothing_else_is_markup(text: str, html: str) -> None:
    assert html in answer_html(text)


def test_a_link_leads_away_without_telling_where_from() -> None:
    assert 'rel="noopener noreferrer"' in answer_html("[a](https://example.org)")


@pytest.mark.parametrize("show", [answer_html, rendered])
def test_a_text_of_brackets_is_shown_as_it_was_written(show: Callable[[str], Markup]) -> None:
    shown = show("![" * (MAX_BRACKETS + 1) + "<b>")

    assert shown.startswith('<div class="text">![![')
    assert "&lt;b&gt;" in shown


def test_a_very_long_answer_is_shown_as_it_was_written() -> None:
    shown = answer_html("*" * (MAX_CHARS + 1) + "<b>")

    assert shown.startswith('<div class="text">***')
    assert "&lt;b&gt;" in shown
