"""Checks of SOUL.md: size, safety, and that an agent changes its style and never its identity."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from math import ceil
from typing import Final

from understudy.core.errors import FieldError, coded_error
from understudy.core.invisible_characters import hidden_in
from understudy.evolution.identity import fields_of
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
