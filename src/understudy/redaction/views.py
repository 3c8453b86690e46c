"""Views of a text in which an encoded secret is plain.

A secret may be written with full-width characters, with terminal colours or invisible characters
inside, percent-encoded, as HTML entities, in escapes or over several lines. Each view decodes one
of these.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final

from understudy.patterns.views import TextView, Writing, decode_base64, read_as, reread
from understudy.redaction.marker import MARKER_PATTERN

# Invisible: soft hyphen, joiners, directions, fillers, variation selectors, tags.
_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\U000e0000-\U000e0fff"
)
# Look-alikes of ASCII: odd spaces and dashes, full-width and styled letters, other digits.
_COMPATIBLE: Final = (
    "\u00a0\u2000-\u200a\u2010-\u2015\u2024\u2025\u202f\u205f\u2212\u2460-\u24ff\u3000\ufe50-\ufe6b\uff01-\uffe6"
    "\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0e50-\u0e59\U0001d400-\U0001d7ff"
)
# Chinese writes no space after these.
_SPACED: Final = {"\uff0c": ", ", "\uff1b": "; "}
_DASHES: Final = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")
# Each begins with a distinct character, so that the search is fast.
_MARKS: Final = (
    rf"{MARKER_PATTERN}"
    r"|\x1b\[[0-9;:?]{0,40}[@-~]|\\(?:x1[bB]|u001[bB]|033|e)\[[0-9;:?]{0,40}[@-~]"
    r"|\x1b\][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)"
)
_FOLDED_ASCII: Final = re.compile(_MARKS)
_FOLDED: Final = re.compile(rf"{_MARKS}|[{_INVISIBLE}{_COMPATIBLE}\ud800-\udfff]")
_TEXT_BYTES: Final = re.compile(rb"[\n\r\t -~\x80-\xff]+")
_TEXT: Final = re.compile(r"[\n\r\t -~\u00a0-\uffff]+")
# Look-alike letters of other scripts, and their Latin counterparts.
_TWINS: Final = str.maketrans(
    "аеорсухіјѕԁһкмтвнАВЕКМНОРСТХІЈЅαορνικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdhkmtbhABEKMHOPCTXIJSaopvikABEZHIKMNOPTYX",
)
_TWIN: Final = "".join(map(chr, _TWINS))


def _fold(match: re.Match[str]) -> str:
    piece = match[0]
    if piece.startswith("<"):
        # As long as the marker, and matched by no rule.
        return "<" * (len(piece) - 1) + ">"
    return _fold_character(piece) if len(piece) == 1 else ""


@cache
def _fold_character(character: str) -> str:
    if character in _DASHES:
        return "-"
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    if character in _SPACED:
        return _SPACED[character]
    folded = unicodedata.normalize("NFKC", character)
    if folded == character and unicodedata.category(character) == "Nd":
        return str(unicodedata.digit(character))
    return "" if folded == character else folded


def _percent(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def _printable(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else ""


def _escape(match: re.Match[str]) -> str:
    character = chr(int(match[1] or match[2], 16))
    return "\ufffd" if "\ud800" <= character <= "\udfff" else character


def _slash(match: re.Match[str]) -> str:
    return "/" if match[3] else _escape(match)


def _base64(match: re.Match[str]) -> str | None:
    """The text that a run encodes in Base64; None without one."""
    raw = decode_base64(match[0])
    # Most runs encode no text: a check is cheaper than an exception for each.
    if raw is None or not _TEXT_BYTES.fullmatch(raw):
        return None
    try:
        plain = raw.decode()
    except UnicodeDecodeError:
        return None
    return plain if _TEXT.fullmatch(plain) else None


_PERCENT: Final = Writing(
    sign=re.compile("%"),
    pattern=re.compile(r"%[2-7][0-9A-Fa-f]|%[cdefCDEF][0-9A-Fa-f](?:%[89abAB][0-9A-Fa-f]){1,3}"),
    read=_percent,
)
# In order, each on top of the one before; a double encoding is decoded twice.
WRITINGS: Final = (
    Writing(
        sign=re.compile(r"\\[ux/]"),
        pattern=re.compile(r"\\+(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(/))"),
        read=_slash,
    ),
    Writing(
        sign=re.compile(r"\\[nrt]"),
        pattern=re.compile(r"\\+([nrt])"),
        read=lambda match: {"n": "\n", "r": "\r", "t": "\t"}[match[1]],
    ),
    Writing(
        sign=re.compile("&(?:#|(?:amp|quot|apos|commat|colon|equals|period);)"),
        pattern=re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[a-z]{2,8});"),
        read=lambda match: html.unescape(match[0])[:1],
    ),
    Writing(
        sign=re.compile(r"=(?:3D|40|\r?\n)"),
        pattern=re.compile(r"=(?:\r?\n|([2-7][0-9A-F]))"),
        read=_printable,
    ),
    _PERCENT,
    _PERCENT,
    Writing(
        sign=re.compile(r"\\\r?\n|[\"'](?=[ \t]{0,20}[+.&\\\r\n])"),
        # A continued line, and a quoted text continued in the next quotes.
        pattern=re.compile(
            r"\\\r?\n[ \t]{0,40}"
            r"|([\"'])[ \t]{0,20}(?:[+.&]|\\?\r?\n)[ \t\r\n]{0,40}[+.&]?[ \t]{0,20}[a-z]?\1"
        ),
        read=lambda _: "",
    ),
    Writing(
        # A letter of another script within a Latin word.
        sign=re.compile(f"[{_TWIN}]"),
        pattern=re.compile(rf"(?<=[A-Za-z])[{_TWIN}]|[{_TWIN}](?=[A-Za-z])"),
        read=lambda match: match[0].translate(_TWINS),
    ),
)
# A prefilter: each writing begins with one of these.
_WRITTEN: Final = re.compile(rf"[\\&=%\"'{_TWIN}]")
_BASE64: Final = Writing(
    sign=re.compile("[A-Za-z0-9+/_-]{20}"),
    pattern=re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,8192}={0,2}(?![A-Za-z0-9+/_=-])"),
    read=_base64,
)
# Every byte is printable or a line end, which a hash never is by chance.
_HEX: Final = Writing(
    sign=re.compile("(?:[2-7][0-9A-Fa-f]){10}"),
    pattern=re.compile(r"(?<![0-9A-Fa-f])(?:[2-7][0-9A-Fa-f]|0[9ADad]){10,4096}(?![0-9A-Fa-f])"),
    read=lambda match: bytes.fromhex(match[0]).decode("ascii"),
)


def views(text: str) -> Iterator[TextView]:
    """The distinct readings of a text, plainest first.

    The later ones contain only the neighbourhood of decoded parts.
    """
    view = TextView(text)
    view = reread(view, _FOLDED_ASCII if text.isascii() else _FOLDED, _fold) or view
    yield view
    plain = view
    for writing in WRITINGS if _WRITTEN.search(view.text) else ():
        further = read_as(writing, view)
        if further:
            view = further
            yield view
    for read in {id(plain): plain, id(view): view}.values():
        for writing in (_BASE64, _HEX):
            decoded = read_as(writing, read)
            if decoded:
                yield decoded
