"""The manifest: the fields and the instructions of a SKILL.md."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.core.errors import coded_error
from understudy.core.text import BYTE_ORDER_MARK, ELLIPSIS
from understudy.skills.bundles.document import (
    DocumentProblem,
    FrontMatter,
    Value,
    document_error,
    read_front_matter,
)
from understudy.skills.fields import (
    FieldKind,
    WrongValue,
    as_text,
    dependencies,
    line,
    pairs,
    text,
    tools,
    words,
)

MAX_NAME_CHARS: Final = 200

_VERSION: Final = FieldKind(attribute="version_label", read=line(100))
_WHEN: Final = FieldKind(attribute="when_to_use", read=text)
_TOOLS: Final = FieldKind(attribute="allowed_tools", read=tools)
FIELDS: Final[Mapping[str, FieldKind]] = {
    "name": FieldKind(attribute="name", read=line(MAX_NAME_CHARS)),
    "description": FieldKind(attribute="description", read=text),
    "slug": FieldKind(attribute="slug", read=line(MAX_NAME_CHARS)),
    "tags": FieldKind(attribute="tags", read=words),
    "version": _VERSION,
    "author": FieldKind(attribute="author", read=line(500)),
    "license": FieldKind(attribute="license", read=line(2000)),
    "compatibility": FieldKind(attribute="compatibility", read=text),
    "allowed-tools": _TOOLS,
    "allowed_tools": _TOOLS,
    "when-to-use": _WHEN,
    "when_to_use": _WHEN,
    "deps": FieldKind(attribute="deps", read=dependencies),
    "exclude_deps": FieldKind(attribute="exclude_deps", read=dependencies),
    "metadata": FieldKind(attribute="metadata", read=pairs),
}
MAX_CHARS: Final = 1024
# Markdown that is no prose: headings, lists, quotes, tables, rules, pictures, comments, code.
_NOT_PROSE: Final = re.compile(
    r"#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|>|\||!\[|<|(?:[-*_]\s*){3,}$|[=-]+\s*$|\t|    "
)
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
# Prefix of our fields in the `metadata` of an exported skill.
PREFIX: Final = "understudy-"
_PLAIN: Final = ("tags", "author", "when-to-use", "deps", "exclude_deps", "slug")
LIFTED: Final[Mapping[str, str]] = {
    **{f"{PREFIX}{key}": key for key in ("name", "description", "compatibility", *_PLAIN)},
    f"{PREFIX}version-label": "version",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The fields of a SKILL.md; empty means not given."""

    name: str = ""
    description: str = ""
    slug: str = ""
    tags: tuple[str, ...] = ()
    version_label: str = ""
    author: str = ""
    license: str = ""
    compatibility: str = ""
    allowed_tools: tuple[str, ...] = ()
    when_to_use: str = ""
    # None: detected by scanning; otherwise exactly these.
    deps: tuple[str, ...] | None = None
    exclude_deps: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Value] = field(default_factory=dict)
    # The fields as written, each as one text.
    written: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestReading:
    """A SKILL.md as far as it could be parsed."""

    manifest: Manifest
    body: str
    problems: tuple[DocumentProblem, ...] = ()


def read(content: str) -> ManifestReading:
    """Parse any SKILL.md; errors are in `problems`."""
    front = read_front_matter(content)
    given = front.document.values
    values, problems = _values(lift(given), front)
    manifest = Manifest(
        **values,
        extra={key: value for key, value in given.items() if key not in FIELDS},
        written={key: as_text(value) for key, value in given.items()},
    )
    unread = any(problem.fatal for problem in front.problems)
    missing = () if manifest.description or unread else (_undescribed(front),)
    return ManifestReading(
        manifest=manifest, body=front.body, problems=(*front.problems, *problems, *missing)
    )


def parse(content: str, *, pointer: str = "/content") -> ManifestReading:
    """Parse a SKILL.md that can be stored, or raise `Invalid` with every problem."""
    check_not_blank(content, pointer=pointer)
    reading = read(content)
    fatal = tuple(problem for problem in reading.problems if problem.fatal)
    if fatal:
        unreadable = any(problem.code == "invalid_front_matter" for problem in fatal)
        row = "skills/invalid_front_matter" if unreadable else "skills/invalid_manifest"
        raise document_error(row, fatal, pointer)
    if not reading.manifest.name:
        raise coded_error("skills/skill_name_missing", pointer=pointer)
    return reading


def check_not_blank(content: str, *, pointer: str) -> None:
    """Refuse a blank SKILL.md."""
    if not content.removeprefix(BYTE_ORDER_MARK).strip():
        raise coded_error("skills/skill_blank", pointer=pointer)


def described(reading: ManifestReading) -> str:
    """The description, or else the first paragraph of prose in the body."""
    return reading.manifest.description or first_paragraph(reading.body)


def _values(
    given: Mapping[str, Value], front: FrontMatter
) -> tuple[dict[str, Any], list[DocumentProblem]]:
    values: dict[str, Any] = {}
    problems: list[DocumentProblem] = []
    for key, value in given.items():
        kind = FIELDS.get(key)
        if kind is None:
            continue
        try:
            found = kind.read(value)
        except WrongValue as error:
            detail = f"{key}: {error}"
            problems.append(
                DocumentProblem(code="invalid_field", line=front.line(key), detail=detail)
            )
            continue
        if found or key == "deps":
            values[kind.attribute] = found
    return values, problems


def _undescribed(front: FrontMatter) -> DocumentProblem:
    return DocumentProblem(
        code="description_missing",
        line=front.line("description"),
        detail="no description: an agent cannot tell when to use this skill",
        fatal=False,
    )


def first_paragraph(markdown: str) -> str:
    """The lines of the first paragraph, joined; empty without one."""
    found: list[str] = []
    fence: str | None = None
    for each in markdown.splitlines():
        mark = _FENCE.match(each)
        if mark and (fence is None or mark[1] == fence):
            fence = mark[1] if fence is None else None
            plain = ""
        else:
            plain = "" if fence or _NOT_PROSE.match(each) else each.strip()
        if plain:
            found.append(plain)
        elif found:
            break
    return " ".join(" ".join(found).split())[:MAX_CHARS].rstrip()


def lift(given: Mapping[str, Value]) -> Mapping[str, Value]:
    """The fields, with ours lifted out of `metadata`.

    Only while the export is unchanged: a renamed skill keeps its new name.
    """
    metadata = given.get("metadata")
    if not isinstance(metadata, Mapping) or not _is_export(given, metadata):
        return given
    lifted = {
        field: metadata[key]
        for key, field in LIFTED.items()
        if key in metadata and _may_replace(field, given.get(field, ""), metadata[key])
    }
    rest = {key: value for key, value in metadata.items() if key not in LIFTED}
    return {**given, "metadata": rest, **lifted}


def _is_export(given: Mapping[str, Value], metadata: Mapping[str, Value]) -> bool:
    slug = metadata.get(f"{PREFIX}slug")
    return slug is not None and given.get("name") == slug


def _may_replace(field: str, given: Value, kept: Value) -> bool:
    """Whether a lifted field replaces the given one: a name, a missing or a shortened field."""
    if field == "name" or not given:
        return True
    return (
        isinstance(given, str)
        and isinstance(kept, str)
        and given.endswith(ELLIPSIS)
        and kept.startswith(given.removesuffix(ELLIPSIS))
    )
