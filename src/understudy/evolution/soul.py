"""Checks of SOUL.md: size, safety, and that an agent changes its style and never its identity."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from math import ceil
from typing import Final

from understudy.core.errors import FieldError, coded_error
from understudy.core.invisible_characters import hidden_in
from understudy.evolution.answers import listed, words_of
from understudy.evolution.visible_text import as_seen, plain, word_line
from understudy.guard.scan import scan_text
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.learnings.quotations import sentences

MAX_BYTES: Final = 16 * 1024
# The share of SOUL.md that one run may change.
MAX_CHANGE: Final = 0.4
# This many lines may always change, also of a short text.
FREE_LINES: Final = 10
# A longer line counts as several lines.
LINE_CHARS: Final = 160
# How many findings an error carries.
MAX_FINDINGS: Final = 20
POINTER: Final = "/content"
# Separators between the label and its value; a dash needs blanks around it.
_BETWEEN: Final = re.compile(r"[:=|;\t]|[-=]+>|[\u2192\u21d2]|\s[\u2013\u2014-]\s")
_EMAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_TAG: Final = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_DRESS: Final = str.maketrans("", "", "*`~_<>\"'{}")
# A line whose value may stand below it.
_HEADING: Final = re.compile(r"[\s>]*(?:#{1,6}\s|\*\*.*\*\*\s*$|.*[:\uff1a]\s*$)")
MAX_CELLS: Final = 40
MAX_LABEL_WORDS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulLimits:
    """The size limit of SOUL.md, and the share that one run may change; 1 is everything."""

    max_bytes: int = MAX_BYTES
    max_change: float = MAX_CHANGE


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulDelta:
    """The size of a change, in lines and as a share; the share of an empty text is 0."""

    lines: int
    share: float


def check_soul(
    new: str,
    *,
    current: str | None,
    identity: str | None,
    agent_name: str = "",
    at_start: str | None = None,
    limits: SoulLimits | None = None,
    secrets: SecretGuard = NO_LITERALS,
) -> None:
    """Refuse a new text that is too long, blank or unsafe, sets the identity, or changes too much.

    The change is measured from the current text and from that at the start of the run, so that many
    small changes are limited too.
    """
    limits = limits or SoulLimits()
    check_persons_soul(new, limits=limits, secrets=secrets)
    _check_identity(new, current or "", identity or "", agent_name)
    for before in dict.fromkeys((current or "", at_start or "")):
        _check_change(delta_of(new, before), limits.max_change)


def check_persons_soul(
    new: str, *, limits: SoulLimits | None = None, secrets: SecretGuard = NO_LITERALS
) -> None:
    """Refuse what not even a person may write: too long, blank or unsafe."""
    _check_size(new, (limits or SoulLimits()).max_bytes)
    _check_content(new)
    check_safe(new, secrets, code="soul_unsafe")


def delta_of(new: str, current: str) -> SoulDelta:
    """The number and share of lines that differ, in any order; blank lines do not count."""
    was, becomes = Counter(_lines(current)), Counter(_lines(new))
    lines = max((was - becomes).total(), (becomes - was).total())
    most = max(was.total(), becomes.total(), 1)
    return SoulDelta(lines=lines, share=lines / most if was else 0.0)


def _check_size(new: str, limit: int) -> None:
    size = len(new.encode(errors="replace"))
    if size > limit:
        raise coded_error("evolution/soul_too_large", size_bytes=size, limit_bytes=limit)


def _check_content(new: str) -> None:
    # Rules, empty headings and invisible characters are no content.
    if not any(sign.isalnum() for sign in plain(new)):
        raise coded_error("evolution/soul_blank", pointer=POINTER)


def _check_identity(new: str, current: str, identity: str, agent_name: str) -> None:
    """Refuse identity fields that are neither in IDENTITY.md nor in the current text.

    The agent's name, and the values of IDENTITY.md, stay where the current text says them.
    """
    own = {_words(agent_name), *(field.value for field in fields_of(identity))}
    known = own | {field.value for field in fields_of(current)}
    before, after = f" {_words(current)} ", f" {_words(new)} "
    found = chain(
        (
            f"line {field.line} sets the agent's {field.label}"
            for field in fields_of(new)
            if field.value not in known
        ),
        (
            f"the new text no longer says {value!r}, which is who the agent is"
            for value in sorted(own)
            if value and f" {value} " in before and f" {value} " not in after
        ),
    )
    errors = tuple(wrong("soul_identity", problem) for problem in islice(found, MAX_FINDINGS))
    if errors:
        raise coded_error("evolution/soul_identity", errors=errors, problem=errors[0].detail)


def _words(text: str) -> str:
    return word_line(plain(as_seen(text)))


def _check_change(delta: SoulDelta, most: float) -> None:
    if delta.lines > FREE_LINES and delta.share > most:
        raise coded_error(
            "evolution/soul_change_too_large",
            changed=round(delta.share, 3),
            limit=most,
            share=_percent(delta.share),
            most=_percent(most),
            free_lines=FREE_LINES,
        )


def _percent(share: float) -> int:
    """The percentage, rounded up, so that a value above a limit does not read as within it."""
    return ceil(round(share * 100, 6))


def _lines(text: str) -> Iterator[str]:
    """The sentences with words, long ones in pieces."""
    for start, end in sentences(text):
        said = " ".join(text[start:end].split())
        yield from (said[at : at + LINE_CHARS] for at in range(0, len(said), LINE_CHARS))


def check_safe(new: str, secrets: SecretGuard, *, code: str) -> None:
    """Refuse a text with unsafe commands, hidden characters or secrets, with every finding."""
    errors = tuple(islice(_unsafe(new, secrets), MAX_FINDINGS))
    if errors:
        detail = "; ".join(error.detail for error in errors)
        raise coded_error(f"evolution/{code}", errors=errors, detail=detail)


def wrong(code: str, detail: str) -> FieldError:
    """The error of a finding in the text of a file."""
    return FieldError(pointer=POINTER, code=code, detail=detail)


def _unsafe(new: str, secrets: SecretGuard) -> Iterator[FieldError]:
    # Scanned with the strictest rules: all of it becomes part of the prompt.
    for found in scan_text(new):
        yield wrong(found.rule_id, f"line {found.line}: it {found.reason}")
    if hidden_in(new, besides="\n\r\t"):
        yield wrong("hidden_character", "it holds a character that nobody sees")
    why = secrets.reason(new)
    if why is not None:
        yield wrong(why, "it holds what looks like a secret")


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityField:
    """One identity field of a text, with its line from 1."""

    label: str
    value: str
    line: int


def fields_of(text: str) -> Iterator[IdentityField]:
    """The identity fields of a text, in order."""
    lines = [as_seen(line) for line in text.splitlines()]
    for index, line in enumerate(lines):
        for label, value in _said_in(line, _below(lines, index)):
            yield IdentityField(label=label, value=value, line=index + 1)


def _below(lines: list[str], index: int) -> str:
    """The next line with words, where a line is a heading; else nothing."""
    if _HEADING.match(lines[index]) is None:
        return ""
    return next((words for line in lines[index + 1 : index + 4] if (words := _bare(line))), "")


def _said_in(line: str, below: str) -> Iterator[tuple[str, str]]:
    cells = [cell for cell in map(_bare, _BETWEEN.split(_untagged(line), MAX_CELLS)) if cell]
    for at, cell in enumerate(cells):
        label = _label(cell)
        value = " ".join(cells[at + 1 :]) or below
        if label and value:
            yield label, value
            # What follows is its value.
            break
    yield from (("contact", found[0]) for found in _EMAIL.finditer(plain(line)))


def _untagged(line: str) -> str:
    return _TAG.sub(" ", line).translate(_DRESS)


def _bare(text: str) -> str:
    return word_line(plain(_untagged(text)))


def _label(cell: str) -> str:
    """The label that a cell is, without words for whose it is; empty if it is none."""
    words = cell.split()
    if len(words) > MAX_LABEL_WORDS:
        return ""
    kept = " ".join(word for word in words if word not in _own() and not _counts(word))
    return next((label for label in (kept, cell) if label in _labels()), "")


def _counts(word: str) -> bool:
    """Whether a word only numbers or marks a line."""
    return word.isdecimal() or not any(map(str.isalnum, word))


@cache
def _labels() -> frozenset[str]:
    return frozenset(" ".join(words_of(label)) for label in listed("identity"))


@cache
def _own() -> frozenset[str]:
    return frozenset(word for phrase in listed("own") for word in words_of(phrase))
