"""Findings of the guard that somebody answers for: which of them, and which words fit none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from understudy.core.text import and_more, quoted
from understudy.guard.rule import Finding

MAX_REASON_CHARS: Final = 500
# A caller is told so many of each kind.
MAX_TOLD: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A finding of the guard that somebody takes responsibility for, and why."""

    rule_id: str
    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Findings against what was said of them."""

    taken: tuple[Acknowledged, ...]
    # What nobody answers for.
    left: tuple[Finding, ...]
    # What fits no finding.
    idle: tuple[Acknowledged, ...]
    # What gives no reason that can be kept.
    wordless: tuple[Acknowledged, ...]

    @property
    def told(self) -> str:
        """What keeps the findings from being taken as they are."""
        parts = (
            ("not acknowledged", [_place(one) for one in self.left]),
            ("acknowledged, but not found", [_place(one) for one in self.idle]),
            (
                f"acknowledged without a reason of 1 to {MAX_REASON_CHARS} printable characters",
                [_place(one) for one in self.wordless],
            ),
        )
        return "; ".join(f"{what}: {_listed(places)}" for what, places in parts if places)


def answered(found: Sequence[Finding], acknowledged: Sequence[Acknowledged]) -> Answered:
    """Which findings are answered for."""
    found_at = {_key(one) for one in found}
    said = {_key(one): one for one in acknowledged if _is_said(one)}
    return Answered(
        taken=tuple(said[_key(one)] for one in found if _key(one) in said),
        left=tuple(one for one in found if _key(one) not in said),
        idle=tuple(one for one in acknowledged if _key(one) not in found_at),
        wordless=tuple(one for one in acknowledged if not _is_said(one)),
    )


def _key(one: Finding | Acknowledged) -> tuple[str, str, int]:
    return one.rule_id, one.path, one.line


def _place(one: Finding | Acknowledged) -> str:
    return f"{quoted(one.path)} line {one.line} ({quoted(one.rule_id)})"


def _listed(places: Sequence[str]) -> str:
    return ", ".join(and_more(places[:MAX_TOLD], len(places) - MAX_TOLD))


def _is_said(one: Acknowledged) -> bool:
    reason = one.reason.strip()
    return 0 < len(reason) <= MAX_REASON_CHARS and one.reason.isprintable()
