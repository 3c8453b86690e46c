"""Arbitration: who speaks next in a thread, and why; a pure function of roster and messages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from understudy.channels.model import ParticipationMode, TurnOutcome
from understudy.core.records import OMIT_EMPTY, Omitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A session member as arbitration sees it."""

    session_id: str
    member_id: str
    display_name: str
    mode: ParticipationMode
    is_muted: bool = False
    # Whether it has a lease in the thread, or an unfinished run of an earlier turn.
    has_turn: bool = False
    # The last time it spoke in the thread, and in the whole channel; None: never.
    spoke_in_thread_at_ms: int | None = None
    spoke_in_channel_at_ms: int | None = None
    has_commented: bool = False
    has_reacted: bool = False
    active_runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The circumstances of arbitration besides the members."""

    now_ms: int
    cooldown_ms: int
    # Sessions that are asked before all others, in order.
    priority: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSpeaker:
    """A member that may speak, with its reasons and the rule that ranks it before the next."""

    session_id: str
    member_id: str
    display_name: str
    reasons: tuple[str, ...]
    # The rule that ranks it before the next one; None for the last.
    decided_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """A member that may not speak now, and every rule that blocks it."""

    session_id: str
    member_id: str
    display_name: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentTurn:
    """A turn that ended without a message, and why."""

    session_id: str
    run_id: Omitted[str] = None
    outcome: TurnOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Arbitration:
    """Who may speak, in order, and who may not."""

    speakers: tuple[RankedSpeaker, ...]
    passed_over: tuple[PassedOver, ...]
    # Who has had a turn for the message, and said nothing.
    silent: Annotated[tuple[SilentTurn, ...], OMIT_EMPTY] = ()


def _is_cooling(each: Contender, it: Situation) -> bool:
    last = each.spoke_in_thread_at_ms
    if last is None or each.session_id in it.priority:
        return False
    return it.now_ms - last < it.cooldown_ms


# Rules that block a member.
BLOCKERS: Final[tuple[tuple[str, Callable[[Contender, Situation], bool]], ...]] = (
    ("muted", lambda each, _: each.is_muted),
    ("manual_only", lambda each, _: each.mode is ParticipationMode.MANUAL_ONLY),
    ("has_turn", lambda each, _: each.has_turn),
    ("cooldown", _is_cooling),
)
BIAS: Final[Mapping[ParticipationMode, int]] = {
    ParticipationMode.ALWAYS_LISTEN: 0,
    ParticipationMode.PREFER_SELECTED: 1,
    ParticipationMode.SELECTED_ONLY: 2,
    ParticipationMode.MANUAL_ONLY: 3,
}


def _priority(each: Contender, it: Situation) -> int:
    asked = each.session_id in it.priority
    return it.priority.index(each.session_id) if asked else len(it.priority)


def _last_word(each: Contender, _: Situation) -> int:
    return -1 if each.spoke_in_channel_at_ms is None else each.spoke_in_channel_at_ms


# Ranking of the members that may speak: smaller first, the first rule that differs decides.
RANKS: Final[tuple[tuple[str, Callable[[Contender, Situation], int | str]], ...]] = (
    ("priority", _priority),
    ("has_not_commented", lambda each, _: int(each.has_commented)),
    ("has_not_reacted", lambda each, _: int(each.has_reacted)),
    ("participation", lambda each, _: BIAS[each.mode]),
    ("least_recently_spoken", _last_word),
    ("fewest_runs", lambda each, _: each.active_runs),
    ("session_id", lambda each, _: each.session_id),
)
# Reasons that count for a member independently of the others.
MERITS: Final[tuple[tuple[str, Callable[[Contender, Situation], bool]], ...]] = (
    ("priority", lambda each, it: each.session_id in it.priority),
    ("has_not_commented", lambda each, _: not each.has_commented),
    ("has_not_reacted", lambda each, _: not each.has_reacted),
    ("participation", lambda each, _: each.mode is ParticipationMode.ALWAYS_LISTEN),
    ("never_spoken", lambda each, _: each.spoke_in_channel_at_ms is None),
    ("idle", lambda each, _: each.active_runs == 0),
)


def blocked_by(each: Contender, situation: Situation) -> tuple[str, ...]:
    """Every rule that keeps a member from being chosen; empty means it may speak."""
    return tuple(code for code, blocks in BLOCKERS if blocks(each, situation))


def arbitrate(contenders: Sequence[Contender], situation: Situation) -> Arbitration:
    """Who may speak, in order, and who may not; each with the reasons."""
    blocked = {each.session_id: blocked_by(each, situation) for each in contenders}
    free = [each for each in contenders if not blocked[each.session_id]]
    keyed = _ordered(free, situation)
    return Arbitration(
        speakers=tuple(
            RankedSpeaker(
                session_id=each.session_id,
                member_id=each.member_id,
                display_name=each.display_name,
                reasons=tuple(code for code, speaks in MERITS if speaks(each, situation)),
                decided_by=_difference(key, keyed[place + 1][0])
                if place + 1 < len(keyed)
                else None,
            )
            for place, (key, each) in enumerate(keyed)
        ),
        passed_over=tuple(
            PassedOver(
                session_id=each.session_id,
                member_id=each.member_id,
                display_name=each.display_name,
                reasons=blocked[each.session_id],
            )
            for each in contenders
            if blocked[each.session_id]
        ),
    )


Key = tuple[int | str, ...]


def _ordered(contenders: Sequence[Contender], situation: Situation) -> list[tuple[Key, Contender]]:
    keyed = [(tuple(key(each, situation) for _, key in RANKS), each) for each in contenders]
    # The last key is the session id, so no two contenders are ever compared themselves.
    return sorted(keyed, key=lambda pair: pair[0])


def _difference(first: Key, second: Key) -> str | None:
    """The rule that ranks one before the other."""
    rules = (code for code, _ in RANKS)
    pairs = zip(rules, first, second, strict=True)
    return next((code for code, own, other in pairs if own != other), None)
