"""Checks of SOUL.md: size, safety, and that an agent changes its style and never its identity."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil
from typing import Final

from understudy.core.errors import FieldError, coded_error
from understudy.core.invisible_characters import hidden_in
from understudy.evolution.identity.rule import IdentityField, fields_of
from understudy.evolution.visible_text import plain
from understudy.guard.scan import scan_text
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.learnings.quotations import sentences

MAX_BYTES: Final = 16 * 1024
# The share of it that one run may change.
MAX_CHANGE: Final = 0.4
# So few lines may always change: a short text has no small part.
FREE_LINES: Final = 10
# A longer line counts as several, or all of it could be one.
LINE_CHARS: Final = 160
# So many are told of one text.
MAX_FINDINGS: Final = 20
POINTER: Final = "/content"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulLimits:
    """How much it may hold, and how much of it one run may change; 1 is everything."""

    max_bytes: int = MAX_BYTES
    max_change: float = MAX_CHANGE


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulDelta:
    """What a write would change, in lines and as a share; of nothing there is no share."""

    lines: int
    share: float


def check_soul(
    new: str,
    *,
    current: str | None,
    identity: str | None,
    at_start: str | None = None,
    limits: SoulLimits | None = None,
    secrets: SecretGuard = NO_LITERALS,
) -> None:
    """Refuse a new text that is too long, blank, unsafe, says who the agent is, or changes too much.

    What it changes counts from the text in force, and from the one that the run began with: many
    small steps are no way round.
    """
    limits = limits or SoulLimits()
    check_persons_soul(new, limits=limits, secrets=secrets)
    _check_identity(new, current or "", identity or "")
    for before in dict.fromkeys((current or "", at_start or "")):
        _check_change(delta_of(new, before), limits.max_change)


def check_persons_soul(
    new: str, *, limits: SoulLimits | None = None, secrets: SecretGuard = NO_LITERALS
) -> None:
    """Refuse what not even a person may make of it: too long, blank or unsafe."""
    _check_size(new, (limits or SoulLimits()).max_bytes)
    _check_content(new)
    check_safe(new, secrets, code="soul_unsafe")


def delta_of(new: str, current: str) -> SoulDelta:
    """How many lines differ, wherever they stand, and which part that is; blank ones do not count."""
    was, becomes = Counter(_lines(current)), Counter(_lines(new))
    lines = max((was - becomes).total(), (becomes - was).total())
    most = max(was.total(), becomes.total(), 1)
    return SoulDelta(lines=lines, share=lines / most if was else 0.0)


def _check_size(new: str, limit: int) -> None:
    size = len(new.encode(errors="replace"))
    if size > limit:
        raise coded_error("evolution/soul_too_large", size_bytes=size, limit_bytes=limit)


def _check_content(new: str) -> None:
    # Rules, heads without words and what nobody sees are as good as nothing.
    if not any(sign.isalnum() for sign in plain(new)):
        raise coded_error("evolution/soul_blank", pointer=POINTER)


def _check_identity(new: str, current: str, identity: str) -> None:
    """What IDENTITY.md says may be said again, and what the file said already may stay."""
    known = {field.key for text in (identity, current) for field in fields_of(text)}
    added = (field for field in fields_of(new) if field.key not in known)
    errors = tuple(wrong("soul_identity", _named(field)) for field in islice(added, MAX_FINDINGS))
    if errors:
        raise coded_error("evolution/soul_identity", errors=errors, problem=errors[0].detail)


def _named(field: IdentityField) -> str:
    return f"line {field.line} sets the agent's {field.kind}"


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
    """Rounded up: what is just above a limit must not read as if it were within."""
    return ceil(round(share * 100, 6))


def _lines(text: str) -> Iterator[str]:
    """The lines that count: those with words, long ones in pieces."""
    for start, end in sentences(text):
        said = " ".join(text[start:end].split())
        yield from (said[at : at + LINE_CHARS] for at in range(0, len(said), LINE_CHARS))


def check_safe(new: str, secrets: SecretGuard, *, code: str) -> None:
    """Refuse a text that holds any of it, with every finding."""
    errors = tuple(islice(_unsafe(new, secrets), MAX_FINDINGS))
    if errors:
        detail = "; ".join(error.detail for error in errors)
        raise coded_error(f"evolution/{code}", errors=errors, detail=detail)


def wrong(code: str, detail: str) -> FieldError:
    """What is wrong with the text of a file."""
    return FieldError(pointer=POINTER, code=code, detail=detail)


def _unsafe(new: str, secrets: SecretGuard) -> Iterator[FieldError]:
    # Read as the strictest of files: all of it becomes part of the prompt.
    for found in scan_text(new):
        yield wrong(found.rule_id, f"line {found.line}: it {found.reason}")
    if hidden_in(new, besides="\n\r\t"):
        yield wrong("hidden_character", "it holds a character that nobody sees")
    why = secrets.reason(new)
    if why is not None:
        yield wrong(why, "it holds what looks like a secret")
