"""The texts that rules scan: a file, the values parsed from it, or the names of all files."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from understudy.guard.rule import FileKind
from understudy.guard.texts import kind_of, texts_of
from understudy.guard.views import LineView, lines_of, physical, unwrapped, views_of

# A name of these characters is not scanned: text has blanks between its words.
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_./-]*")
# The separator of two names, so that no pattern matches across them.
_APART: Final = "\n.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedValue:
    """A value parsed from a file, with its line."""

    path: str
    line: int
    text: str


# Not slotted: the views are cached properties.
@dataclass(frozen=True, kw_only=True)
class ScannedText:
    """A text that rules scan, with its line numbers in the file."""

    path: str
    kind: FileKind
    text: str
    # The line numbers in the file, if they are not consecutive from 1.
    numbers: Sequence[int] | None = None

    @cached_property
    def views(self) -> Sequence[LineView]:
        """The views of the text: plain, without quotes, decoded."""
        return views_of(physical(self.text, self.numbers))

    @cached_property
    def speech(self) -> bytes:
        """The text of the first view, with each paragraph of prose on one line."""
        return unwrapped(self.views[0], self.kind)

    def number(self, line: int) -> int:
        """The line number in the file of a line of the text."""
        return line if self.numbers is None else self.numbers[line - 1]


def sources_of(path: str, content: bytes) -> Sequence[ScannedText]:
    """A file as text, once per encoding that a reader may assume."""
    return [
        ScannedText(path=path, kind=kind_of(path, text), text=text, numbers=numbers)
        for text, numbers in texts_of(path, content)
    ]


def source_of_values(path: str, values: Iterable[ParsedValue]) -> ScannedText:
    """Parsed values of one file, each as written and folded into one line, as they are shown."""
    lines: list[str] = []
    numbers: list[int] = []
    for value in values:
        written = lines_of(value.text)
        one_line = " ".join(value.text.split())
        # A blank line separates it from the next value.
        written += [""] if written == [one_line] else ["", one_line, ""]
        lines += written
        numbers += [value.line] * len(written)
    return ScannedText(path=path, kind=FileKind.MANIFEST, text="\n".join(lines), numbers=numbers)


def source_of_names(paths: Iterable[str]) -> tuple[ScannedText, Sequence[str]]:
    """The file names that are worth scanning, and the path of each line."""
    telling = [path for path in sorted(paths) if not _PLAIN_NAME.fullmatch(path)]
    names = [" ".join(lines_of(path)) for path in telling]
    texts = [_APART.join((name, name.replace("/", " "))) for name in names]
    owners = [path for path in telling for _ in range(4)]
    return ScannedText(path="", kind=FileKind.DOCUMENT, text=_APART.join(texts)), owners
