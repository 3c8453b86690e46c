"""What stands above the text of a SKILL.md, between two lines of three hyphens."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from understudy.core.text import BYTE_ORDER_MARK
from understudy.skills.bundles.document import Document, Unreadable, read_document
from understudy.skills.problems import Problem

FENCE: Final = "---"
_ONE_LINE: Final = re.compile(r"(?P<key>[A-Za-z_][\w-]{0,63}):[ \t]+(?P<rest>\S.*)")
# These begin a value of several lines, which is text whatever it holds.
_BLOCKS: Final = ("|", ">")
_NOTHING: Final[Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """The fields above the body, the body, and what was wrong with the fields."""

    document: Document
    body: str
    problems: tuple[Problem, ...] = ()

    def line(self, key: str) -> int:
        """On which line of the file a field stands."""
        return self.document.lines.get(key, 1)


def read_front_matter(text: str) -> FrontMatter:
    """The fields and the body of a SKILL.md; a file without fields is all body."""
    lines = _lines(text)
    if lines[0] != FENCE:
        return _only_body("\n".join(lines))
    end = next((at for at, line in enumerate(lines[1:], 1) if line == FENCE), None)
    if end is None:
        problem = Problem(code="invalid_front_matter", line=1, detail='no line "---" closes it')
        return _only_body("\n".join(lines[1:]), problem)
    body = "\n".join(lines[end + 1 :])
    try:
        document, problems = _fields(lines[1:end])
    except Unreadable as error:
        problem = Problem(
            code="invalid_front_matter", line=min(error.line, end) + 1, detail=error.cause
        )
        return _only_body(body, problem)
    shifted = {key: line + 1 for key, line in document.lines.items()}
    return FrontMatter(
        document=Document(values=document.values, lines=shifted), body=body, problems=problems
    )


def _lines(text: str) -> list[str]:
    return text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").split("\n")


def _only_body(body: str, *problems: Problem) -> FrontMatter:
    return FrontMatter(document=Document(values={}, lines=_NOTHING), body=body, problems=problems)


def _fields(lines: list[str]) -> tuple[Document, tuple[Problem, ...]]:
    try:
        return read_document("\n".join([*lines, ""])), ()
    except Unreadable as error:
        if not error.syntax:
            raise
        mended, problems = _mend(lines)
        if not problems:
            raise
        return read_document("\n".join([*mended, ""])), problems


def _mend(lines: list[str]) -> tuple[list[str], tuple[Problem, ...]]:
    """Put quotes round values that are plainly meant as text, such as `hint: [a] [b]`.

    Many skills are written for readers that take everything behind the first colon as it stands.
    """
    mended, problems = list(lines), []
    for at, line in enumerate(lines):
        found = _ONE_LINE.fullmatch(line)
        if found is None or found["rest"].startswith(_BLOCKS):
            continue
        end = _end_of_value(lines, at)
        if _reads("\n".join(lines[at:end])):
            continue
        words = " ".join(" ".join((found["rest"], *lines[at + 1 : end])).split())
        quoted = words.replace("'", "''")
        # As many lines as before, so that others keep their numbers.
        mended[at:end] = [f"{found['key']}: '{quoted}'", *[""] * (end - at - 1)]
        detail = f"{found['key']}: no valid YAML; taken as text, put quotes round it"
        problems.append(
            Problem(code="value_taken_as_text", line=at + 2, detail=detail, fatal=False)
        )
    return mended, tuple(problems)


def _end_of_value(lines: list[str], at: int) -> int:
    """Behind the indented lines that go on with the value on a line."""
    end = at + 1
    while end < len(lines) and lines[end].startswith((" ", "\t")):
        end += 1
    return end


def _reads(line: str) -> bool:
    try:
        read_document(line)
    except Unreadable:
        return False
    return True
