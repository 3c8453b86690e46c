"""Markdown as HTML: raw HTML in the source is escaped, and the result is sanitized by nh3."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final
from urllib.parse import quote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
TAGS: Final = {
    *(
        "a",
        "blockquote",
        "br",
        "code",
        "div",
        "em",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "strong",
        "ul",
    ),
    *("table", "tbody", "td", "th", "thead", "tr"),
    *HEADINGS,
}
ATTRIBUTES: Final = {
    "a": {"href"},
    "div": {"class", "tabindex"},
    "img": {"alt", "src"},
    "ol": {"start"},
    # Scrollable blocks must be reachable by keyboard.
    "pre": {"tabindex"},
    "th": {"scope"},
    **{heading: {"id"} for heading in HEADINGS},
}
# The parser looks for the end of a link from each bracket, in quadratic time: a text with more
# brackets is shown unparsed.
MAX_BRACKETS: Final = 2_000
NOT_IN_ANCHOR: Final = re.compile(r"[^\w\- ]")
Address = Callable[[str], str]


def parsed(text: str) -> list[Token]:
    """The Markdown tokens of a text; every heading gets its anchor as id."""
    tokens = _parser().parse(text)
    used: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            anchor = anchor_of(plain(tokens[at + 1]))
            count = used.get(anchor, 0)
            used[anchor] = count + 1
            token.attrSet("id", f"{anchor}-{count}" if count else anchor)
    return tokens


def html_of(tokens: Sequence[Token], address: Address, *, with_images: bool = False) -> Markup:
    """The HTML of tokens; `address` maps the target of each link or image."""
    for token in tokens:
        for each in token.children or ():
            for name in ("href", "src"):
                if name in each.attrs:
                    each.attrSet(name, address(str(each.attrs[name])))
    parser = _parser()
    made = parser.renderer.render(tokens, parser.options, {})
    tags = TAGS | {"img"} if with_images else TAGS
    # Safe: nh3 sanitizes the HTML here.
    return Markup(nh3.clean(made, tags=tags, attributes=ATTRIBUTES))  # noqa: S704


def rendered(text: str) -> Markup:
    """The HTML of an untrusted text, without images and anchors.

    Headings are lowered below the page's own; a link to a relative path opens the files tab.
    """
    if takes_long(text):
        return as_written(text)
    tokens = _parser().parse(text)
    _lower_headings(tokens)
    return html_of(tokens, _beside)


def takes_long(text: str) -> bool:
    """Whether parsing a text would take too long."""
    return text.count("[") > MAX_BRACKETS


def as_written(text: str) -> Markup:
    """A text as escaped HTML, its Markdown unparsed."""
    return Markup('<div class="text">{}</div>').format(text)


def _lower_headings(tokens: Sequence[Token]) -> None:
    """Lower the headings below the page's own h1, without skipping a level."""
    last = level = 1
    for token in tokens:
        if token.type == "heading_open":
            last = level = min(int(token.tag[1]) + 1, last + 1, len(HEADINGS))
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{level}"


def _beside(target: str) -> str:
    try:
        parts = urlsplit(target)
    except ValueError:
        return ""
    if parts.scheme or parts.netloc:
        return target
    is_file = parts.path and not parts.path.startswith(("/", "\\"))
    return f"?tab=files&file={quote(parts.path.removeprefix('./'), safe='/%')}" if is_file else ""


def rendered_line(text: str) -> Markup:
    """The HTML of one line or paragraph, without a surrounding element."""
    return Markup(nh3.clean(_parser().renderInline(text), tags=TAGS, attributes=ATTRIBUTES))  # noqa: S704


def anchor_of(heading: str) -> str:
    """The anchor of a heading, spelled like GitHub's."""
    return NOT_IN_ANCHOR.sub("", heading.lower()).strip().replace(" ", "-")


def plain(inline: Token) -> str:
    """The text of an inline token without markup."""
    return "".join(
        " " if each.type in ("softbreak", "hardbreak") else each.content
        for each in inline.children or ()
    )


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.add_render_rule("table_open", lambda *_: '<div class="scroll" tabindex="0"><table>\n')
    made.add_render_rule("table_close", lambda *_: "</table></div>\n")
    made.add_render_rule("th_open", lambda *_: '<th scope="col">')
    made.add_render_rule("td_open", lambda *_: "<td>")
    made.add_render_rule("fence", _code)
    made.add_render_rule("code_block", _code)
    return made


def _code(_: object, tokens: Sequence[Token], at: int, *__: object) -> str:
    return f'<pre tabindex="0"><code>{Markup.escape(tokens[at].content)}</code></pre>\n'
