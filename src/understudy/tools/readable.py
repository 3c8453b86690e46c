"""HTML as text that can be read: no markup, no scripts, links with their addresses.

The parser of the standard library takes time that grows with the square of a hostile page (80 kB
of `<!--` take seconds). This one looks at each character a bounded number of times; it need not
be exact, as nothing is shown in a browser.
"""

import html
import re
from dataclasses import dataclass, field
from typing import Final

# Whose content is nothing to read.
_SKIPPED: Final = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas"}
)
# Before and after these a new line begins.
_BLOCKS: Final = frozenset(
    """
    address article aside blockquote br dd details dialog div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 head header hr li main nav ol option p pre section select
    summary table tbody tfoot thead title tr ul
    """.split()  # noqa: SIM905 - easier to read than forty lines
)
_CELLS: Final = frozenset({"td", "th"})
_MAX_ATTRIBUTE_CHARS: Final = 8192
_TAG_NAME: Final = re.compile(r"/?([a-zA-Z][a-zA-Z0-9:-]{0,40})")
# Up to the end of a tag; `>` may stand in a value that has quotes around it. Nothing is tried twice.
_TAG_END: Final = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+>""")
_HREF: Final = re.compile(r"""\shref\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_BLANKS: Final = re.compile(r"[ \t\r\f\v\u00a0]+")


def readable(page: str) -> str:
    """The text of a page, a line for each block."""
    reader = _Reader()
    position = 0
    while (opening := page.find("<", position)) >= 0:
        reader.say(page[position:opening])
        position = reader.markup(page, opening)
    reader.say(page[position:])
    return reader.text()


@dataclass(slots=True)
class _Reader:
    """What was read so far."""

    pieces: list[str] = field(default_factory=list)
    link: str | None = None

    def say(self, raw: str) -> None:
        """Take in text between two pieces of markup."""
        if raw:
            self.pieces.append(_BLANKS.sub(" ", _unescaped(raw).replace("\n", " ")))

    def markup(self, page: str, opening: int) -> int:
        """Read what begins with `<`; where the text goes on."""
        if page.startswith("<!--", opening):
            return _after(page, "-->", opening + 4)
        if page.startswith(("<!", "<?"), opening):
            return _after(page, ">", opening)
        named = _TAG_NAME.match(page, opening + 1)
        if named is None:
            self.pieces.append("<")
            return opening + 1
        closed = _TAG_END.match(page, named.end())
        end = closed.end() if closed else len(page)
        name = named[1].lower()
        is_start = page[opening + 1] != "/"
        self._tag(name, page[named.end() : end][:_MAX_ATTRIBUTE_CHARS], is_start=is_start)
        if is_start and name in _SKIPPED and page[end - 2 : end] != "/>":
            return _after_element(page, name, end)
        return end

    def _tag(self, name: str, attributes: str, *, is_start: bool) -> None:
        if name in _BLOCKS:
            self.pieces.append("\n- " if name == "li" and is_start else "\n")
        elif name in _CELLS and not is_start:
            self.pieces.append(" | ")
        elif name == "a":
            self._end_link()
            if is_start:
                self.link = _address_in(attributes)

    def _end_link(self) -> None:
        if self.link:
            self.pieces.append(f" <{self.link}>")
        self.link = None

    def text(self) -> str:
        """All of it, without empty lines in a row."""
        lines = (line.strip(" ") for line in "".join(self.pieces).split("\n"))
        return "\n".join(line for line in lines if line.strip("-| "))


def _after(page: str, closing: str, start: int) -> int:
    """Behind `closing`; what is never closed takes the rest of the page with it."""
    found = page.find(closing, start)
    return len(page) if found < 0 else found + len(closing)


def _after_element(page: str, name: str, start: int) -> int:
    closing = re.compile(rf"</{name}[^>]*>?", re.IGNORECASE).search(page, start)
    return closing.end() if closing else len(page)


def _address_in(attributes: str) -> str | None:
    found = _HREF.search(f" {attributes}")
    address = _unescaped(found[1].strip("\"'")).strip() if found else ""
    useless = not address.isprintable() or address.startswith(("#", "javascript:", "data:"))
    return None if useless or len(address) > 500 else address


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a number of thousands of digits
        return text
