"""What SOUL.md may become when an agent writes it: how it speaks, never who it is."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from understudy.core.errors import FieldError, Invalid, LimitExceeded, Rejected, Unsafe
from understudy.core.unseen import hidden_in
from understudy.evolution.identity import Field, fields_of
from understudy.evolution.reading import plain
from understudy.guard.scan import scan_text
from understudy.learnings.guard import NO_LITERALS, Guard
from understudy.learnings.sentences import sentences

SOUL: Final = "SOUL.md"
MAX_BYTES: Final = 16 * 1024
# The share of it that one write may change.
MAX_CHANGE: Final = 0.4
# So few lines may always change: a short text has no small part.
FREE_LINES: Final = 10
# A longer line counts as several, or all of it could be one.
LINE_CHARS: Final = 160
# So many are told of one text.
MAX_FINDINGS: Final = 20
_POINTER: Final = "/content"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulLimits:
    """How much it may hold, and how much of it one write may change; 1 is everything."""

    max_bytes: int = MAX_BYTES
    max_change: float = MAX_CHANGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a write would change, in lines and as a share; of nothing there is no share."""

    lines: int
    share: float


def check_soul(
    new: str,
    *,
    current: str | None,
    identity: str | None,
    limits: SoulLimits | None = None,
    secrets: Guard = NO_LITERALS,
) -> None:
    """Refuse a new text that is too long, blank, unsafe, says who the agent is, or changes too much."""
    limits = limits or SoulLimits()
    _check_size(new, limits.max_bytes)
    _check_content(new)
    _check_safety(new, secrets)
    _check_identity(new, current or "", identity or "")
    _check_change(change_of(new, current or ""), limits.max_change)


def change_of(new: str, current: str) -> Change:
    """How many lines differ, wherever they stand, and which part that is; blank ones do not count."""
    was, becomes = Counter(_lines(current)), Counter(_lines(new))
    lines = max((was - becomes).total(), (becomes - was).total())
    most = max(was.total(), becomes.total(), 1)
    return Change(lines=lines, share=lines / most if was else 0.0)


def _check_size(new: str, limit: int) -> None:
    size = len(new.encode(errors="replace"))
    if size > limit:
        raise LimitExceeded(
            "soul_too_large",
            domain="evolution",
            detail=f"{SOUL} has {size} bytes; at most {limit} are allowed",
            params={"size_bytes": size, "limit_bytes": limit},
        )


def _check_content(new: str) -> None:
    # Rules, heads without words and what nobody sees are as good as nothing.
    if not any(sign.isalnum() for sign in plain(new)):
        raise Invalid(
            "soul_blank", domain="evolution", pointer=_POINTER, detail=f"{SOUL} must not be blank"
        )


def _check_safety(new: str, secrets: Guard) -> None:
    errors = tuple(islice(_unsafe(new, secrets), MAX_FINDINGS))
    if errors:
        detail = "; ".join(error.detail for error in errors)
        raise Unsafe("soul_unsafe", domain="evolution", detail=detail, errors=errors)


def _unsafe(new: str, secrets: Guard) -> Iterator[FieldError]:
    # Read as the strictest of files: all of it becomes part of the prompt.
    for found in scan_text(new):
        yield _wrong(found.rule_id, f"line {found.line}: it {found.reason}")
    if hidden_in(new, besides="\n\r\t"):
        yield _wrong("hidden_character", "it holds a character that nobody sees")
    why = secrets.reason(new)
    if why is not None:
        yield _wrong(why, "it holds what looks like a secret")


def _wrong(code: str, detail: str) -> FieldError:
    return FieldError(pointer=_POINTER, code=code, detail=detail)


def _check_identity(new: str, current: str, identity: str) -> None:
    """What IDENTITY.md says may be said again, and what the file said already may stay."""
    known = {field.key for text in (identity, current) for field in fields_of(text)}
    added = (field for field in fields_of(new) if field.key not in known)
    errors = tuple(_wrong("soul_identity", _named(field)) for field in islice(added, MAX_FINDINGS))
    if errors:
        raise Invalid(
            "soul_identity",
            domain="evolution",
            detail=f"{errors[0].detail}: {SOUL} is how you speak, IDENTITY.md is who you are",
            errors=errors,
        )


def _named(field: Field) -> str:
    return f"line {field.line} sets the agent's {field.kind}"


def _check_change(change: Change, most: float) -> None:
    if change.lines > FREE_LINES and change.share > most:
        raise Rejected(
            "soul_change_too_large",
            domain="evolution",
            detail=f"this changes {change.share:.0%} of {SOUL}; at most {most:.0%} may at once",
            params={"changed": round(change.share, 3), "limit": most},
        )


def _lines(text: str) -> Iterator[str]:
    """The lines that count: those with words, long ones in pieces."""
    for start, end in sentences(text):
        said = " ".join(text[start:end].split())
        yield from (said[at : at + LINE_CHARS] for at in range(0, len(said), LINE_CHARS))
