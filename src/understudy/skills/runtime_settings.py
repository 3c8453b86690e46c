"""The runtime settings of a skill: tools, context, and the profile and model of a fork."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Final

from understudy.core.records import OMIT
from understudy.core.text import BYTE_ORDER_MARK
from understudy.skills.bundles.bundle import Bundle, decode
from understudy.skills.bundles.document import (
    DocumentProblem,
    UnreadableDocument,
    Value,
    YamlDocument,
    document_error,
    read_document,
)
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.bundles.manifest import read
from understudy.skills.fields import MAX_TOOL_CHARS, WrongValue, line, tool_names

RUNTIME_FILE: Final = "agents/understudy.yaml"
SETTINGS_ROW: Final = "skills/invalid_runtime_settings"
# Only a sidechain can have another profile or model; the run itself keeps its own.
# Tools of other programs that read Agent Skills, by the names that SKILL.md has for them.
THEIR_TOOLS: Final[Mapping[str, str]] = {
    "Bash": "shell",
    "Edit": "edit_file",
    "Glob": "list_files",
    "Grep": "search_files",
    "LS": "list_files",
    "MultiEdit": "edit_file",
    "Read": "read_file",
    "WebFetch": "fetch_url",
    "Write": "write_file",
}
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.:/*-]")
CHILD_ONLY: Final = ("agent_profile", "provider", "model", "fallback_model")


class SkillContext(StrEnum):
    """Whether a skill runs in the run itself or in a sidechain."""

    INLINE = "inline"
    FORK = "fork"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """The settings in `agents/understudy.yaml`; None and empty change nothing of the run."""

    allowed_tools: tuple[str, ...] = ()
    blocked_tools: tuple[str, ...] = ()
    context: SkillContext = SkillContext.INLINE
    agent_profile: Annotated[str | None, OMIT] = None
    provider: Annotated[str | None, OMIT] = None
    model: Annotated[str | None, OMIT] = None
    fallback_model: Annotated[str | None, OMIT] = None


def _context(value: Value) -> SkillContext:
    if not isinstance(value, str) or value not in set(SkillContext):
        raise WrongValue("has to be inline or fork")
    return SkillContext(value)


_word: Final = line(200)
FIELDS: Final[Mapping[str, Any]] = {
    "allowed_tools": tool_names,
    "blocked_tools": tool_names,
    "context": _context,
    **dict.fromkeys(CHILD_ONLY, _word),
}


def parse_settings(content: str, *, pointer: str = "/file") -> RuntimeSettings:
    """The settings in a file; `Invalid` with every problem and its line."""
    try:
        document = read_settings(content)
    except UnreadableDocument as error:
        problem = DocumentProblem(code="invalid_yaml", line=error.line, detail=error.cause)
        raise document_error(SETTINGS_ROW, [problem], pointer) from None
    values, problems = _values(document)
    settings = RuntimeSettings(**values)
    problems += _child_only(settings, document)
    if problems:
        raise document_error(SETTINGS_ROW, problems, pointer)
    return settings


def read_settings(content: str) -> YamlDocument:
    """The document in the file, not validated; `UnreadableDocument` when it cannot be parsed."""
    return read_document(content.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n"))


def settings_of(bundle: Bundle) -> RuntimeSettings:
    """The settings of a bundle: those of its settings file, and where that names no tools, the
    `allowed-tools` of SKILL.md."""
    data = bundle.get(RUNTIME_FILE)
    settings = RuntimeSettings() if data is None else parse_settings(decode(RUNTIME_FILE, data))
    if settings.allowed_tools:
        return settings
    written = read(bundle[MANIFEST].decode(errors="replace")).manifest.allowed_tools
    return replace(settings, allowed_tools=tuple(dict.fromkeys(map(_our_tool, written))))


def _our_tool(written: str) -> str:
    """A tool of SKILL.md by the name it has here. A pattern behind it, as in `Bash(git:*)`, limits
    nothing: each command is decided on its own."""
    name = written.partition("(")[0]
    # A run is told it, so it must be a plain name; an unknown name matches no tool.
    return THEIR_TOOLS.get(name) or _NO_NAME.sub("_", name)[:MAX_TOOL_CHARS] or "_"


def _values(document: YamlDocument) -> tuple[dict[str, Any], list[DocumentProblem]]:
    values: dict[str, Any] = {}
    problems: list[DocumentProblem] = []
    for written, value in document.values.items():
        at = document.lines.get(written, 1)
        key = written.replace("-", "_")
        if key not in FIELDS:
            detail = f"{key[:60]}: there is no such setting; known are {', '.join(FIELDS)}"
            problems.append(DocumentProblem(code="unknown_setting", line=at, detail=detail))
            continue
        try:
            found = FIELDS[key](value)
        except WrongValue as error:
            problems.append(
                DocumentProblem(code="invalid_field", line=at, detail=f"{key}: {error}")
            )
        else:
            if found:
                values[key] = found
    return values, problems


def _child_only(settings: RuntimeSettings, document: YamlDocument) -> list[DocumentProblem]:
    if settings.context is SkillContext.FORK:
        return []
    return [
        DocumentProblem(
            code="child_only_setting",
            line=document.lines.get(key, 1),
            detail=f"{key}: only for a skill with `context: fork`",
        )
        for key in CHILD_ONLY
        if getattr(settings, key) is not None
    ]
