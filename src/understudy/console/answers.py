"""Answers of a model as HTML: Markdown without images, in which headings are bold paragraphs."""

from typing import Final

from markdown_it.token import Token
from markupsafe import Markup

from understudy.console.markdown import as_written, html_of, parsed, takes_long

# A longer answer is shown as plain text: parsing its Markdown would take too long.
MAX_CHARS: Final = 60_000


def answer_html(text: str) -> Markup:
    """The HTML of an answer, without headings: the outline of the page is the page's own."""
    if len(text) > MAX_CHARS or takes_long(text):
        return as_written(text)
    return html_of(_without_headings(parsed(text)), lambda target: target)


def _without_headings(tokens: list[Token]) -> list[Token]:
    is_heading = False
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            is_heading = token.type == "heading_open"
            token.tag, token.attrs = "p", {}
        elif is_heading and token.children is not None:
            strong = Token("strong_open", "strong", 1), Token("strong_close", "strong", -1)
            token.children = [strong[0], *token.children, strong[1]]
    return tokens
