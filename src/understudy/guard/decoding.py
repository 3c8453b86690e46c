"""Reads what is written in another alphabet (Base64, hexadecimal, character codes) in its place."""

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import unquote

_BASE64: Final = re.compile(r"(?<![\w+/])[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX: Final = re.compile(r"(?<!\w)(?:0x)?(?:[0-9a-fA-F]{2}){8,}(?!\w)")
_ESCAPES: Final = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\[0-3][0-7]{2}){2,}")
_ESCAPE: Final = re.compile(r"\\x([0-9a-fA-F]{2})|\\u00([0-9a-fA-F]{2})|\\([0-3][0-7]{2})")
# The end of a line inside a string: what follows is a command of its own.
_ESCAPED_BREAK: Final = re.compile(r"\\[nr](?:\\t)?")
_CODES: Final = re.compile(
    r"(?:(?:0x[0-9a-fA-F]{2}|\d{2,3})[ \t]{0,4},[ \t]{0,4}){5,}(?:0x[0-9a-fA-F]{2}|\d{2,3})"
)
_CHR: Final = re.compile(r"chr\([ \t]{0,4}(\d{1,3})[ \t]{0,4}\)(?:[ \t]{0,4}[+.][ \t]{0,4})?")
_PERCENT: Final = re.compile(r"(?:%[0-9a-fA-F]{2}){2,}")
# What follows a string that is to be read backwards.
_BACKWARDS: Final = re.compile(
    r"(['\"])(?:\[::-1\]|\.split\(['\"]{2}\)\.reverse|\)?\.reverse|[ \t]{0,8}\|[ \t]{0,8}rev\b)"
)
_PRINTABLE: Final = re.compile(r"[\t\n\r -~]+")
# Longer runs are pictures and archives.
_MAX_RUN: Final = 20_000
_MAX_BACKWARDS: Final = 400
_MAX_QUOTED: Final = 3


def decoded(text: str) -> str:
    """A text with every run that decodes to plain text replaced by that text."""
    text = _ESCAPED_BREAK.sub(" ; ", text)
    for pattern, read in _ALPHABETS:
        text = pattern.sub(_replacing(read), text)
    return _BACKWARDS.sub(_turned, text)


def _turned(found: re.Match[str]) -> str:
    """The end of a string that is turned around, with what the string then says."""
    low = max(0, found.start() - _MAX_BACKWARDS)
    before = found.string[low : found.start()].rpartition("\n")[2]
    return f"{found[0]} ; {before.rpartition(found[1])[2][::-1]}"


def _replacing(read: Callable[[str], str | None]) -> Callable[[re.Match[str]], str]:
    def replace(found: re.Match[str]) -> str:
        text = read(found[0]) if len(found[0]) <= _MAX_RUN else None
        if not text or not _PRINTABLE.fullmatch(text):
            return found[0]
        return re.sub(r"[\r\n]+", " ; ", text)

    return replace


def _from_base64(run: str) -> str | None:
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        raw = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    # PowerShell encodes commands as UTF-16: every second byte of them is nothing.
    is_wide = len(raw) > 1 and not any(raw[1::2])
    return _read(raw[::2] if is_wide else raw)


def _from_hex(run: str) -> str | None:
    return _read(bytes.fromhex(run.removeprefix("0x")))


def _from_escapes(run: str) -> str | None:
    signs = [
        int(found[1] or found[2], 16) if found[1] or found[2] else int(found[3], 8)
        for found in _ESCAPE.finditer(run)
    ]
    return _read(bytes(sign & 0xFF for sign in signs))


def _from_codes(run: str) -> str | None:
    codes = [int(code.strip(), 0) if "x" in code else int(code) for code in run.split(",")]
    return _read(bytes(codes)) if max(codes) < 256 else None


def _from_chr(run: str) -> str | None:
    found = _CHR.fullmatch(run)
    return chr(int(found[1])) if found else None


def _from_percent(run: str) -> str | None:
    text = unquote(run, errors="replace")
    # A sign or two in an address: the dollar among them is one, and begins no variable.
    return None if "$" in text and len(text) <= _MAX_QUOTED else text


def _read(raw: bytes) -> str | None:
    try:
        return raw.decode("ascii")
    except UnicodeDecodeError:
        return None


_ALPHABETS: Final[Sequence[tuple[re.Pattern[str], Callable[[str], str | None]]]] = (
    (_ESCAPES, _from_escapes),
    (_CHR, _from_chr),
    (_CODES, _from_codes),
    (_PERCENT, _from_percent),
    (_HEX, _from_hex),
    (_BASE64, _from_base64),
)
