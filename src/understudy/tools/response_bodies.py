"""The body of a web response: read within a size limit and turned into text."""

import codecs
import html
import re
import zlib
from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.tools.base import ToolError

MAX_BODY_BYTES: Final = 2 * 1024 * 1024

_TEXT_TYPES: Final = re.compile(
    r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|toml)|application/x-(?:ndjson|yaml|sh)|"
    r"application/(?:javascript|ecmascript|ld\+json|graphql|sql|rtf)|image/svg\+xml"
)
_HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET: Final = re.compile(rb"""charset\s*=\s*["']?\s*([a-zA-Z0-9_.:-]{1,40})""", re.IGNORECASE)
# Python also has codecs that are no text encodings, and some that are very slow.
_CHARSETS: Final = re.compile(
    r"utf-8|utf-8-sig|utf-16.*|utf-32.*|ascii|iso8859-\d+|cp125\d|koi8-[rut]|"
    r"gb2312|gbk|gb18030|big5|shift_jis|cp932|euc_jp|euc_kr|cp949|iso2022_jp"
)
_CHARSET_LOOK_BYTES: Final = 1024

_DECODERS: Final[dict[str, Callable[[], Any]]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "x-gzip": lambda: zlib.decompressobj(wbits=31),
    "deflate": zlib.decompressobj,
}
ACCEPTED_CODINGS: Final = "gzip, deflate"


async def read_body(stream: AsyncIterable[bytes], coding: str) -> tuple[bytes, bool]:
    """The decompressed body up to the limit, and whether it was longer."""
    unpack = _unpacker(coding.strip().lower())
    body = bytearray()
    arrived = 0
    async for chunk in stream:
        arrived += len(chunk)
        # One byte beyond the limit proves that it is exceeded; a zip bomb gets no further.
        body += unpack(chunk, MAX_BODY_BYTES + 1 - len(body))
        if len(body) > MAX_BODY_BYTES or arrived > MAX_BODY_BYTES:
            return bytes(body[:MAX_BODY_BYTES]), True
    return bytes(body), False


def _unpacker(coding: str) -> Callable[[bytes, int], bytes]:
    if coding in ("", "identity"):
        return lambda chunk, room: chunk[:room]
    if coding not in _DECODERS:
        raise ToolError(
            f"the answer is packed with {coding[:40]!r}, which is not known", code="bad_coding"
        )
    decoder = _DECODERS[coding]()

    def unpack(chunk: bytes, room: int) -> bytes:
        try:
            unpacked: bytes = decoder.decompress(chunk, room)
        except zlib.error:
            raise ToolError("the answer is packed wrongly", code="bad_coding") from None
        return unpacked

    return unpack


def check_is_text(content_type: str) -> None:
    """Refuse binary content."""
    kind = media_type(content_type)
    if kind and not _TEXT_TYPES.fullmatch(kind):
        raise ToolError(f"the answer is {kind[:80]!r}, not text", code="not_text")


def media_type(content_type: str) -> str:
    """The media type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def text_of(body: bytes, content_type: str) -> str:
    """The body as text; HTML without its markup."""
    is_html = media_type(content_type) in _HTML_TYPES
    named = content_type.encode(errors="replace")
    text = body.decode(_charset(named, body if is_html else b""), errors="replace")
    if "\0" in text and not media_type(content_type):
        raise ToolError("the answer does not say what it is, and is not text", code="not_text")
    text = text.replace("\0", "\ufffd")
    return readable(text) if is_html else text


def _charset(content_type: bytes, page: bytes) -> str:
    found = _CHARSET.search(content_type) or _CHARSET.search(page[:_CHARSET_LOOK_BYTES])
    try:
        name = codecs.lookup(found[1].decode()).name if found else "utf-8"
    except LookupError:
        return "utf-8"
    return name if _CHARSETS.fullmatch(name) else "utf-8"


# Elements whose content is not text to read.
_SKIPPED: Final = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas"}
)
# Block elements, before and after which a line begins.
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
# Up to the end of a tag; `>` may be inside a quoted value. Possessive, so there is no backtracking.
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
    """The text read so far."""

    pieces: list[str] = field(default_factory=list)
    link: str | None = None

    def say(self, raw: str) -> None:
        """Add text between two tags."""
        if raw:
            self.pieces.append(_BLANKS.sub(" ", _unescaped(raw).replace("\n", " ")))

    def markup(self, page: str, opening: int) -> int:
        """Read the tag that begins at `<`; returns where the text continues."""
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
        """The text without consecutive empty lines."""
        lines = (line.strip(" ") for line in "".join(self.pieces).split("\n"))
        return "\n".join(line for line in lines if line.strip("-| "))


def _after(page: str, closing: str, start: int) -> int:
    """The position after `closing`; an unclosed element extends to the end of the page."""
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
