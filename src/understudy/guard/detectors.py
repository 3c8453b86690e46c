"""Checks on the raw text that no pattern of the rules can say: what cannot be seen."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

Detector = Callable[[str], Iterator[int]]

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


def _lines_with(pattern: re.Pattern[str]) -> Detector:
    def detect(text: str) -> Iterator[int]:
        if pattern.search(text):
            for number, line in enumerate(_BREAK.split(text), 1):
                if pattern.search(line):
                    yield number

    return detect


DETECTORS: Final[Mapping[str, Detector]] = {
    "bidi": _lines_with(_BIDI),
    "nul": _lines_with(_NUL),
    "tags": _lines_with(_TAGS),
    "zero_width": _lines_with(_ZERO_WIDTH),
    "selectors": _lines_with(_SELECTORS),
    "far_right": _lines_with(_FAR_RIGHT),
}
