"""Checks of context files before a person or an agent writes them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from understudy.agents.model import CONTEXT_FILES, SOUL
from understudy.core.errors import coded_error
from understudy.evolution.soul import (
    MAX_BYTES,
    MAX_FINDINGS,
    SoulLimits,
    check_persons_soul,
    check_safe,
    check_soul,
    wrong,
)
from understudy.evolution.visible_text import as_seen, plain
from understudy.learnings.guard import NO_LITERALS, SecretGuard


@dataclass(frozen=True, slots=True)
class FileChecks:
    """Refuses texts that may not be stored; knows the secrets of the settings."""

    secrets: SecretGuard = NO_LITERALS
    limits: SoulLimits = field(default_factory=SoulLimits)

    def by_person(self, name: str, content: str) -> None:
        """Refuse what not even a person may write into SOUL.md; other files are not checked."""
        if name == SOUL:
            check_persons_soul(content, limits=self.limits, secrets=self.secrets)

    def copy_by_agent(self, name: str, content: str) -> None:
        """Refuse what an agent may not write into the copy of its user."""
        if name == SOUL:
            check_persons_soul(content, limits=self.limits, secrets=self.secrets)
        else:
            _check_size(name, content)
            check_safe(content, self.secrets, code="agent_file_unsafe")
        _check_headings(name, content)

    def soul_by_agent(
        self,
        content: str,
        *,
        current: str | None,
        at_start: str | None,
        identity: str | None,
        agent_name: str,
    ) -> None:
        """Refuse what an agent may not write into SOUL.md, which all its users share."""
        check_soul(
            content,
            current=current,
            at_start=at_start,
            identity=identity,
            agent_name=agent_name,
            limits=self.limits,
            secrets=self.secrets,
        )
        _check_headings(SOUL, content)


def _check_size(name: str, content: str) -> None:
    size = len(content.encode(errors="replace"))
    if size > MAX_BYTES:
        raise coded_error(
            "agents/agent_file_too_large:written_by_agent",
            size_bytes=size,
            limit_bytes=MAX_BYTES,
            name=name,
        )


def _check_headings(name: str, content: str) -> None:
    """Refuse lines that imitate the heading of another part of the prompt."""
    found = (
        *((line, "stands as the heading of") for line in imitating_lines(content, name)),
        *((line, "holds a mark of") for line in marked_lines(content)),
    )
    errors = tuple(
        wrong("imitates_prompt", f"line {line} {does} another part of the prompt")
        for line, does in found[:MAX_FINDINGS]
    )
    if errors:
        code = "soul_unsafe" if name == SOUL else "agent_file_unsafe"
        raise coded_error(f"evolution/{code}", errors=errors, detail=errors[0].detail)


# The sections of the system prompt; a test compares them with the real ones.
SECTIONS: Final = (
    "Base instructions",
    "Persona",
    "Context files",
    # Names that readers would take for them.
    "Context",
    "Self-Evolution",
    "Skills",
    "Skill creation",
    "Skill Creation (recommended after complex tasks)",
    "learned_context",
    "recovered_memory",
)
# Tags and lines of frames, as `plain` shows them.
_MARKS: Final = re.compile(
    r"</?\s*(?:available[_ -]?skills?|skills?\b|learned[_ -]?context|recovered[_ -]?memory|system\b"
    r"|context[_ -]?files?)|\(end of [\w-]+, [0-9a-f]{6,}\)|```json [0-9a-f]{6,}"
)
# Prefix of a list item or a quotation.
_LEAD: Final = r"(?:[\s>]|[-+*]\s|\d{1,3}[.)]\s)*+"
_HEADING: Final = re.compile(
    rf"{_LEAD}(?:#{{1,6}}|<h[1-6][^>]{{0,100}}>)(?P<title>.*?)(?:</h[1-6]>\s*)?"
)
# A line in bold reads as a heading too.
_BOLD: Final = re.compile(
    rf"{_LEAD}(?:\*\*|__|<b>|<strong>)(?P<title>(?:(?!\*\*|__|<).)++)"
    r"(?:\*\*|__|</b>|</strong>)[\s:.*_]*"
)
# Markup that only changes how words look.
_DRESS: Final = re.compile(r"[*`~]|</?[a-z][^<>]*>")
_UNDERLINE: Final = re.compile(r"\s{0,3}(?:=+|-+)\s*")
# Characters around the words of a heading.
_AROUND: Final = " \t#*_`~:\"'<>/[]()."
_NAMES: Final = frozenset(plain(name) for name in CONTEXT_FILES)
_TITLES: Final = frozenset(plain(title).replace("_", " ").replace("-", " ") for title in SECTIONS)


def imitating_lines(text: str, own: str) -> Iterator[int]:
    """The numbers, from 1, of lines that look like the heading of another file or section.

    A file may begin with its own name.
    """
    lines = [plain(as_seen(line)) for line in text.splitlines()]
    for index, line in enumerate(lines):
        heading = _HEADING.fullmatch(line) or _BOLD.fullmatch(line)
        below = lines[index + 1] if index + 1 < len(lines) else ""
        if heading is not None:
            title = heading["title"]
        elif line.strip() and _UNDERLINE.fullmatch(below):
            title = line
        else:
            continue
        if _imitates(_DRESS.sub("", title).strip(_AROUND), plain(own)):
            yield index + 1


def marked_lines(text: str) -> Iterator[int]:
    """The numbers, from 1, of lines that hold a tag or a mark by which the prompt frames its parts."""
    for number, line in enumerate(text.splitlines(), 1):
        if _MARKS.search(plain(as_seen(line))):
            yield number


def _imitates(title: str, own: str) -> bool:
    first = title.split(maxsplit=1)[0].strip(_AROUND) if title else ""
    if first in _NAMES:
        return first != own
    return title.replace("_", " ").replace("-", " ") in _TITLES
