"""The rollout part of `/v1/status`, and its warnings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy.core.clock import DAY_MS, Clock, shown_time
from understudy.daemon.health import warning
from understudy.rollout.model import Rollout
from understudy.rollout.mounts import MountKeeper, MountTrouble, MountTroubleCode
from understudy.storage.unit import Units

# A failing disk is reported in a few lines.
MAX_SHOWN: Final = 20
# The message and the advice for each trouble.
WORDS: Final[Mapping[MountTroubleCode, tuple[str, str]]] = {
    MountTroubleCode.UNMOUNTED: (
        "the promoted skill {name} is active, but its files cannot be kept, so nobody can use it",
        "see that the daemon may write to `skills/procedural` in its home, then restart",
    ),
    MountTroubleCode.SHADOWED: (
        "the promoted skill {name} is not mounted: a skill in a folder of this machine has its name",
        "rename or move the other skill, or revoke this one",
    ),
    MountTroubleCode.DRIFTED: (
        "somebody changed the files of the promoted skill {name}, so nobody can use it",
        "look who did, then restart: the files are written anew from the record",
    ),
    MountTroubleCode.LEFT: (
        "files in `skills/procedural` that belong to no active skill cannot be removed: {name}",
        "remove them by hand; no agent is offered what they say",
    ),
}


HELD: Final = "rollout_held"
DEMOTED: Final = "rollout_demoted"
ENDING: Final = "rollout_source_ends"
DEMOTED_SHOWN_MS: Final = 7 * DAY_MS
# Time enough to learn the procedure anew.
ENDING_SHOWN_MS: Final = 3 * DAY_MS
# The message and the advice for flagged rollouts.
FLAGS: Final[Mapping[str, tuple[str, str]]] = {
    HELD: (
        "the promoted skill {name} is held in stage {status}",
        "`understudy rollouts show {name}` says why; then mend, release or revoke it",
    ),
    DEMOTED: (
        "the promoted skill {name} was taken back: it did worse than its baseline",
        "promote a mended draft of {name}, or `understudy rollouts rollback {name}`",
    ),
    ENDING: (
        "the promoted skill {name} is taken back on {ends}: its learning ends then",
        "if the procedure still holds, publish it anew; {name} can come from that one once it is revoked",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStatus:
    """Takes a snapshot of rollouts when it is called."""

    units: Units
    keeper: MountKeeper
    # The active skills whose records could not be read at the last repair.
    unreadable: Callable[[], Sequence[str]]
    counted: Callable[[], Mapping[str, Mapping[str, int]]]
    clock: Clock

    def __call__(self, *, in_full: bool = False) -> dict[str, Any]:
        """Counts by stage, and troubles with files; `in_full` includes paths of the machine."""
        self.keeper.check_changes()
        with self.units.read() as unit:
            stages = unit.rollouts.counts()
            flagged = unit.rollouts.flagged(limit=MAX_SHOWN)
            until = self.clock.now_ms() + ENDING_SHOWN_MS
            ending = unit.rollout_sources.ending(until_ms=until, limit=MAX_SHOWN)
        return {
            "stages": {str(stage): count for stage, count in stages.items()},
            "mounted": self.keeper.mounted(),
            "unreadable": list(self.unreadable()),
            "flagged": [
                *(_flagged(it) for it in flagged if self._is_news(it)),
                *({"code": ENDING, "name": name, "ends_at_ms": ends} for name, ends in ending),
            ],
            "troubles": [_shown(it, in_full=in_full) for it in self.keeper.troubles()],
            "metrics": {name: dict(counts) for name, counts in self.counted().items()},
        }

    def _is_news(self, rollout: Rollout) -> bool:
        """Whether a flagged rollout is still reported; a demoted one is not for ever."""
        since = self.clock.now_ms() - DEMOTED_SHOWN_MS
        return not rollout.is_demoted or (rollout.revoked_at_ms or 0) >= since


def _shown(trouble: MountTrouble, *, in_full: bool) -> dict[str, Any]:
    shown = {"code": str(trouble.code), "name": trouble.name}
    return {**shown, "detail": trouble.detail} if in_full else shown


def _flagged(rollout: Rollout) -> dict[str, Any]:
    code = DEMOTED if rollout.is_demoted else HELD
    return {"code": code, "name": rollout.skill_name, "status": str(rollout.status)}


def rollout_warnings(rollouts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The warnings about rollouts."""
    unreadable = rollouts["unreadable"]
    yield from map(_unread, unreadable[:MAX_SHOWN])
    if len(unreadable) > MAX_SHOWN:
        yield warning(
            "error",
            MountTroubleCode.UNMOUNTED,
            f"records of active promoted skills that cannot be read, beside these: {len(unreadable) - MAX_SHOWN}",
            action="`rollouts.unreadable` of `understudy status --json` names them all",
        )
    troubles = rollouts["troubles"]
    for each in troubles[:MAX_SHOWN]:
        yield _warning(each)
    if len(troubles) > MAX_SHOWN:
        yield warning(
            "error",
            MountTroubleCode.UNMOUNTED,
            f"promoted skills whose files are not in order, beside these: {len(troubles) - MAX_SHOWN}",
            action="`rollouts.troubles` of `understudy status --json` names them all",
        )
    yield from (_flag(each) for each in rollouts["flagged"])


def _unread(name: str) -> dict[str, Any]:
    return warning(
        "error",
        MountTroubleCode.UNMOUNTED,
        f"the record of the promoted skill {name} cannot be read, so nobody can use it",
        related_id=name,
        action=f"`understudy rollouts revoke {name}`, then promote it again or roll it back;"
        " or bring back the database from a backup",
    )


def _warning(trouble: Mapping[str, Any]) -> dict[str, Any]:
    message, action = WORDS[MountTroubleCode(trouble["code"])]
    detail = f" ({trouble['detail']})" if trouble.get("detail") else ""
    return warning(
        "error",
        trouble["code"],
        message.format(name=trouble["name"]) + detail,
        related_id=trouble["name"],
        action=action,
    )


def _flag(flagged: Mapping[str, Any]) -> dict[str, Any]:
    message, action = FLAGS[flagged["code"]]
    name, ends = flagged["name"], shown_time(flagged.get("ends_at_ms", 0))
    return warning(
        "info",
        flagged["code"],
        message.format(name=name, status=flagged.get("status"), ends=ends),
        related_id=name,
        action=action.format(name=name),
    )
