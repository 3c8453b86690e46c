"""The body of an answer from the web: read within bounds, and turned into text."""

import codecs
import re
import zlib
from collections.abc import AsyncIterable, Callable
from typing import Any, Final

from understudy.tools.base import ToolError
from understudy.tools.readable import readable

MAX_BODY_BYTES: Final = 2 * 1024 * 1024

_TEXT_TYPES: Final = re.compile(
    r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|toml)|application/x-(?:ndjson|yaml|sh)|"
    r"application/(?:javascript|ecmascript|ld\+json|graphql|sql|rtf)|image/svg\+xml"
)
_HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET: Final = re.compile(rb"""charset\s*=\s*["']?\s*([a-zA-Z0-9_.:-]{1,40})""", re.IGNORECASE)
# Python also knows encodings that are none, and some that take very long.
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
    """What arrives, unpacked, up to the bound; and whether there was more."""
    unpack = _unpacker(coding.strip().lower())
    body = bytearray()
    arrived = 0
    async for chunk in stream:
        arrived += len(chunk)
        # One byte more than fits tells that it does not fit; a bomb never gets further.
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
    """Refuse what no model can read as text."""
    kind = media_type(content_type)
    if kind and not _TEXT_TYPES.fullmatch(kind):
        raise ToolError(f"the answer is {kind[:80]!r}, not text", code="not_text")


def media_type(content_type: str) -> str:
    """The type alone, without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def text_of(body: bytes, content_type: str) -> str:
    """The body as text to read; HTML without its markup."""
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
