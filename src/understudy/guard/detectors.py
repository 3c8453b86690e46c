"""The checks for what no pattern of the rules can say: what cannot be seen, and what a file is."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from understudy.guard.opaque import is_bytecode, is_packed, is_program
from understudy.guard.rule import Detector
from understudy.guard.source import Source
from understudy.guard.typosquats import typosquats

_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_NUL: Final = re.compile("\0")
# The flags of England, Scotland and Wales are spelled with tags, after a black flag.
_TAGS: Final = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]")
_ZERO_WIDTH: Final = re.compile("[\u200b-\u200f\u2060-\u2064\u180e\ufeff\u034f]{5,}")
_SELECTORS: Final = re.compile(
    "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}|[\u3164\u115f\u1160\uffa0]{3,}"
)
_FAR_RIGHT: Final = re.compile(r"[^\s|][ \t\u00a0\u3000]{200,}[^\s|\\]")
_BREAK: Final = re.compile(r"\r\n|\r|\n")


class OfText(NamedTuple):
    """A check on what is said, which answers the lines of the file."""

    lines: Callable[[Source], Iterator[int]]


class File(NamedTuple):
    """A file, whatever it says."""

    path: str
    content: bytes
    is_read: bool


class OfFile(NamedTuple):
    """A check on what a file is."""

    holds: Callable[[File], bool]


def _with(pattern: re.Pattern[str]) -> OfText:
    def lines(source: Source) -> Iterator[int]:
        if pattern.search(source.text):
            for number, line in enumerate(_BREAK.split(source.text), 1):
                if pattern.search(line):
                    yield source.number(number)

    return OfText(lines)


CHECKS: Final[Mapping[Detector, OfText | OfFile]] = {
    Detector.BIDI: _with(_BIDI),
    Detector.NUL: _with(_NUL),
    Detector.TAGS: _with(_TAGS),
    Detector.ZERO_WIDTH: _with(_ZERO_WIDTH),
    Detector.SELECTORS: _with(_SELECTORS),
    Detector.FAR_RIGHT: _with(_FAR_RIGHT),
    Detector.TYPOSQUAT: OfText(lambda source: typosquats(source.views[0], source.path)),
    Detector.PROGRAM: OfFile(lambda file: is_program(file.content)),
    Detector.BYTECODE: OfFile(lambda file: is_bytecode(file.path, file.content)),
    Detector.PACKED: OfFile(lambda file: is_packed(file.content)),
    # Which paths, the rule says.
    Detector.PATH: OfFile(lambda _: True),
    Detector.UNREAD: OfFile(lambda file: not file.is_read),
}
