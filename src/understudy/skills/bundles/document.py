"""A small, safe parser of YAML and JSON: mappings, lists and strings, with line numbers.

YAML is read as events. Tags, aliases and types are ignored, so `1.10` and `no` stay as written, and
no file can create an object or a bomb.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import yaml

from understudy.core.errors import FieldError, UnderstudyError, coded_error
from understudy.core.text import BYTE_ORDER_MARK

MAX_CHARS: Final = 32_768
MAX_LEVELS: Final = 8
MAX_NODES: Final = 4_000

Value: TypeAlias = "str | tuple[Value, ...] | Mapping[str, Value]"
_WORDS: Final = {None: "", True: "true", False: "false"}
FENCE: Final = "---"
_ONE_LINE: Final = re.compile(r"(?P<key>[A-Za-z_][\w-]{0,63}):[ \t]+(?P<rest>\S.*)")
# Block scalars, whose value is text in any case.
_BLOCKS: Final = ("|", ">")
_NOTHING: Final[Mapping[str, int]] = {}


class UnreadableDocument(Exception):
    """The text cannot be parsed; `line` counts from 1 within it."""

    def __init__(self, cause: str, *, line: int, syntax: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.line = line
        # Whether it is a syntax error, rather than a feature that we refuse.
        self.syntax = syntax


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlDocument:
    """The top mapping of a document, with the line of each key."""

    values: Mapping[str, Value]
    lines: Mapping[str, int]


@dataclass(slots=True)
class _Open:
    """A mapping or list that has not ended yet."""

    is_mapping: bool
    items: list[Value] = field(default_factory=list)
    pairs: dict[str, Value] = field(default_factory=dict)
    key: str | None = None

    def closed(self) -> Value:
        return self.pairs if self.is_mapping else tuple(self.items)


def read_document(text: str) -> YamlDocument:
    """Parse a document: JSON if it is, else YAML; raises `UnreadableDocument`."""
    if len(text) > MAX_CHARS:
        raise UnreadableDocument(f"longer than {MAX_CHARS} characters", line=1)
    found = _json(text) if text.lstrip().startswith("{") else None
    return found if found is not None else _yaml(text)


def _json(text: str) -> YamlDocument | None:
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    values = {key: _plain(inner, level=2) for key, inner in value.items()}
    _check_characters(values, line=1)
    return YamlDocument(values=values, lines=dict.fromkeys(values, 1))


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnreadableDocument("a key is there twice", line=1)
    return found


def _plain(value: object, *, level: int) -> Value:
    if level > MAX_LEVELS:
        raise UnreadableDocument(f"nested deeper than {MAX_LEVELS} levels", line=1)
    if isinstance(value, dict):
        return {str(key): _plain(inner, level=level + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return tuple(_plain(inner, level=level + 1) for inner in value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    return str(value)


def _yaml(text: str) -> YamlDocument:
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise UnreadableDocument(error.problem or "not YAML", line=line, syntax=True) from None
    except yaml.YAMLError:
        raise UnreadableDocument("holds a character that YAML does not allow", line=1) from None
    except (ValueError, OverflowError):
        # An escape of a character that does not exist.
        raise UnreadableDocument("not YAML", line=1, syntax=True) from None
    return reader.document()


class _Reader:
    """Builds values from events, without recursion."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._lines: dict[str, int] = {}
        self._top: Value | None = None
        self._nodes = 0
        self._documents = 0

    def document(self) -> YamlDocument:
        """The parsed document."""
        if self._top is None or self._top == "":
            return YamlDocument(values={}, lines={})
        if not isinstance(self._top, Mapping):
            raise UnreadableDocument("has to be a list of `key: value` lines", line=1)
        return YamlDocument(values=self._top, lines=self._lines)

    def take(self, event: yaml.Event) -> None:
        """Process one event."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1 or event.tags or event.version:
                raise UnreadableDocument("holds more than one plain document", line=line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._put(self._open.pop().closed(), line)
        elif isinstance(event, yaml.NodeEvent):
            self._node(event, line)

    def _node(self, event: yaml.NodeEvent, line: int) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise UnreadableDocument(f"has more than {MAX_NODES} values", line=line)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise UnreadableDocument("anchors and aliases are not allowed", line=line)
        if getattr(event, "tag", None) is not None:
            raise UnreadableDocument("tags are not allowed", line=line)
        if isinstance(event, yaml.ScalarEvent):
            _check_text(event.value, line)
            self._put(event.value, line)
            return
        if len(self._open) >= MAX_LEVELS:
            raise UnreadableDocument(f"nested deeper than {MAX_LEVELS} levels", line=line)
        self._open.append(_Open(is_mapping=isinstance(event, yaml.MappingStartEvent)))

    def _put(self, value: Value, line: int) -> None:
        if not self._open:
            self._top = value
            return
        parent = self._open[-1]
        if not parent.is_mapping:
            parent.items.append(value)
        elif parent.key is None:
            self._key(parent, value, line)
        else:
            parent.pairs[parent.key] = value
            parent.key = None

    def _key(self, parent: _Open, key: Value, line: int) -> None:
        if not isinstance(key, str):
            raise UnreadableDocument("a key has to be a word", line=line)
        if key in parent.pairs:
            raise UnreadableDocument(f"the key {key[:60]!r} is there twice", line=line)
        parent.key = key
        if len(self._open) == 1:
            self._lines[key] = line


def _check_characters(value: Value, *, line: int) -> None:
    if isinstance(value, str):
        _check_text(value, line)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _check_text(key, line)
            _check_characters(inner, line=line)
    else:
        for inner in value:
            _check_characters(inner, line=line)


def _check_text(text: str, line: int) -> None:
    """Refuse NUL and lone surrogates, which an escape can write."""
    if not text.isprintable() and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text):
        raise UnreadableDocument("holds a character that no text can hold", line=line)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentProblem:
    """One problem of a document, with its line from 1; a problem that is not fatal is a warning."""

    code: str
    line: int
    detail: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"line {self.line}: {self.detail}"

    def at(self, pointer: str) -> FieldError:
        """The problem as a field error of a request."""
        return FieldError(pointer=pointer, code=self.code, detail=str(self))


def document_error(row: str, problems: Iterable[DocumentProblem], pointer: str) -> UnderstudyError:
    """The error of a row of the error table that names every problem of a document."""
    found = tuple(problem.at(pointer) for problem in problems)
    detail = "; ".join(each.detail for each in found)
    return coded_error(row, errors=found, detail=detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """The fields of the front matter, the body, and problems with the fields."""

    document: YamlDocument
    body: str
    problems: tuple[DocumentProblem, ...] = ()

    def line(self, key: str) -> int:
        """The line of a field in the file."""
        return self.document.lines.get(key, 1)


def read_front_matter(text: str) -> FrontMatter:
    """The front matter and body of a SKILL.md; a file without front matter is all body."""
    lines = _lines(text)
    if lines[0] != FENCE:
        return _only_body("\n".join(lines))
    end = next((at for at, line in enumerate(lines[1:], 1) if line == FENCE), None)
    if end is None:
        problem = DocumentProblem(
            code="invalid_front_matter", line=1, detail='no line "---" closes it'
        )
        return _only_body("\n".join(lines[1:]), problem)
    body = "\n".join(lines[end + 1 :])
    try:
        document, problems = _fields(lines[1:end])
    except UnreadableDocument as error:
        problem = DocumentProblem(
            code="invalid_front_matter", line=min(error.line, end) + 1, detail=error.cause
        )
        return _only_body(body, problem)
    shifted = {key: line + 1 for key, line in document.lines.items()}
    return FrontMatter(
        document=YamlDocument(values=document.values, lines=shifted), body=body, problems=problems
    )


def _lines(text: str) -> list[str]:
    return text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").split("\n")


def _only_body(body: str, *problems: DocumentProblem) -> FrontMatter:
    return FrontMatter(
        document=YamlDocument(values={}, lines=_NOTHING), body=body, problems=problems
    )


def _fields(lines: list[str]) -> tuple[YamlDocument, tuple[DocumentProblem, ...]]:
    try:
        return read_document("\n".join([*lines, ""])), ()
    except UnreadableDocument as error:
        if not error.syntax:
            raise
        mended, problems = _mend(lines)
        if not problems:
            raise
        return read_document("\n".join([*mended, ""])), problems


def _mend(lines: list[str]) -> tuple[list[str], tuple[DocumentProblem, ...]]:
    """Quote values that are plainly meant as text, such as `hint: [a] [b]`.

    Many skills are written for parsers that take everything after the first colon verbatim.
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
        # The line count stays, so that the other lines keep their numbers.
        mended[at:end] = [f"{found['key']}: '{quoted}'", *[""] * (end - at - 1)]
        detail = f"{found['key']}: no valid YAML; taken as text, put quotes round it"
        problems.append(
            DocumentProblem(code="value_taken_as_text", line=at + 2, detail=detail, fatal=False)
        )
    return mended, tuple(problems)


def _end_of_value(lines: list[str], at: int) -> int:
    """The end of the indented lines that continue a value."""
    end = at + 1
    while end < len(lines) and lines[end].startswith((" ", "\t")):
        end += 1
    return end


def _reads(line: str) -> bool:
    try:
        read_document(line)
    except UnreadableDocument:
        return False
    return True
