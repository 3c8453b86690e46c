"""The texts that the rules read: a file, the values parsed from it, or the names of all files."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from understudy.guard.rule import FileKind
from understudy.guard.texts import kind_of, texts_of
from understudy.guard.views import LineView, lines_of, physical, unwrapped, views_of

# A name of these signs says nothing: words in a text have blanks between them.
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_./-]*")
# Between two names, so that nothing is read over the end of one.
_APART: Final = "\n.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedValue:
    """A value that was parsed from a file, and its line."""

    path: str
    line: int
    text: str


# Not slotted: the views are made once.
@dataclass(frozen=True, kw_only=True)
class ScannedText:
    """A text that the rules read, with the line numbers of the file."""

    path: str
    kind: FileKind
    text: str
    # Where the lines stand in the file, when they do not stand one below the other.
    numbers: Sequence[int] | None = None

    @cached_property
    def views(self) -> Sequence[LineView]:
        """The text in each way it can be read."""
        return views_of(physical(self.text, self.numbers))

    @cached_property
    def speech(self) -> bytes:
        """The text of the first view, with each paragraph of prose on one line."""
        return unwrapped(self.views[0], self.kind)

    def number(self, line: int) -> int:
        """Where a line of the text stands in the file."""
        return line if self.numbers is None else self.numbers[line - 1]


def sources_of(path: str, content: bytes) -> Sequence[ScannedText]:
    """The file as each of its readers takes it."""
    return [
        ScannedText(path=path, kind=kind_of(path, text), text=text, numbers=numbers)
        for text, numbers in texts_of(path, content)
    ]


def source_of_values(path: str, values: Iterable[ParsedValue]) -> ScannedText:
    """Values of one file, each as it is and as one line, for that is how they are shown."""
    lines: list[str] = []
    numbers: list[int] = []
    for value in values:
        written = lines_of(value.text)
        one_line = " ".join(value.text.split())
        # The blank keeps it apart from the next.
        written += [""] if written == [one_line] else ["", one_line, ""]
        lines += written
        numbers += [value.line] * len(written)
    return ScannedText(path=path, kind=FileKind.MANIFEST, text="\n".join(lines), numbers=numbers)


def source_of_names(paths: Iterable[str]) -> tuple[ScannedText, Sequence[str]]:
    """The names that may say something, and whose each line is."""
    telling = [path for path in sorted(paths) if not _PLAIN_NAME.fullmatch(path)]
    names = [" ".join(lines_of(path)) for path in telling]
    texts = [_APART.join((name, name.replace("/", " "))) for name in names]
    owners = [path for path in telling for _ in range(4)]
    return ScannedText(path="", kind=FileKind.DOCUMENT, text=_APART.join(texts)), owners
