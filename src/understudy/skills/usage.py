"""What became of the runs that were told of a skill, and of those that used it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from understudy.core.clock import DAY_MS, Clock
from understudy.core.page import Page
from understudy.core.records import HIDDEN, OMIT
from understudy.runs.model import RunStatus

if TYPE_CHECKING:
    from understudy.storage.unit import Units


Outcome: TypeAlias = Literal["succeeded", "failed", "abandoned"]

# How the end of a run counts for the skills that it used; one that goes on counts for none yet.
OUTCOMES: Final[Mapping[RunStatus, Outcome]] = {
    RunStatus.COMPLETED: "succeeded",
    RunStatus.FAILED: "failed",
    RunStatus.INTERRUPTED: "abandoned",
    RunStatus.CANCELLED: "abandoned",
}
# Of a skill that lies in a folder or was promoted.
NO_VERSION: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillListing:
    """That a run was told of a version of a skill."""

    # The id; for one in a folder `local:` and its slug, for a promoted one `promoted:` and its name.
    ref: str
    version: int
    run_id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFigures:
    """How many runs were told of a skill, used it, and ended how."""

    offered: int = 0
    used: int = 0
    succeeded: int = 0
    failed: int = 0
    abandoned: int = 0
    last_used_at_ms: Annotated[int | None, OMIT] = None

    @property
    def ended(self) -> int:
        """The runs that used it and are over."""
        return self.succeeded + self.failed + self.abandoned


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillVersionUsage(UsageFigures):
    """The figures of one version; a skill that lies in a folder has only version 0."""

    ref: Annotated[str, HIDDEN] = ""
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUsage(Page[SkillVersionUsage]):
    """A page of the versions that runs knew of, newest first, and the sums over all of them."""

    # Again, as Pydantic does not see the type that a page was given.
    items: tuple[SkillVersionUsage, ...]
    skill_id: str
    slug: str
    # Since when is counted; 0: ever.
    since_ms: int
    total: UsageFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedBy:
    """How many runs that used a version are in one status."""

    ref: str
    version: int
    status: RunStatus
    runs: int
    last_at_ms: int


def day_of(at_ms: int) -> int:
    """The day (UTC) that a moment is on, counted from 1970."""
    return at_ms // DAY_MS


def day_begin(at_ms: int) -> int:
    """When that day began: figures are those of whole days."""
    return day_of(at_ms) * DAY_MS


def totals(
    offered: Mapping[tuple[str, int], int], used: tuple[UsedBy, ...]
) -> tuple[SkillVersionUsage, ...]:
    """The figures of each version, the newest of each skill first."""
    by_version: dict[tuple[str, int], list[UsedBy]] = {version: [] for version in offered}
    for it in used:
        by_version.setdefault((it.ref, it.version), []).append(it)
    found = [
        _total(ref, version, offered.get((ref, version), 0), own)
        for (ref, version), own in by_version.items()
    ]
    return tuple(sorted(found, key=lambda it: (it.ref, -it.version)))


def _total(ref: str, version: int, offered: int, own: Sequence[UsedBy]) -> SkillVersionUsage:
    ended: dict[str, int] = {}
    for it in own:
        outcome = OUTCOMES.get(it.status)
        if outcome is not None:
            ended[outcome] = ended.get(outcome, 0) + it.runs
    return SkillVersionUsage(
        ref=ref,
        version=version,
        offered=offered,
        used=sum(it.runs for it in own),
        last_used_at_ms=max((it.last_at_ms for it in own), default=None),
        **ended,
    )


def summed(usages: Iterable[UsageFigures]) -> UsageFigures:
    """The sums over several versions, and when the last of them was used."""
    counted = tuple(usages)
    return UsageFigures(
        offered=sum(it.offered for it in counted),
        used=sum(it.used for it in counted),
        succeeded=sum(it.succeeded for it in counted),
        failed=sum(it.failed for it in counted),
        abandoned=sum(it.abandoned for it in counted),
        last_used_at_ms=max(
            (it.last_used_at_ms for it in counted if it.last_used_at_ms is not None), default=None
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One time that a run was given the body of a skill."""

    # Made from the tool call, so that a call that is done again counts once.
    use_id: str
    # None for one that lies in a folder or was promoted.
    skill_id: str | None
    slug: str
    version: int | None
    digest: str
    agent_id: str
    user_id: str
    session_id: str
    run_id: str
    at_ms: int
    # Of the definition that was promoted; None for every other skill.
    fingerprint: str | None = None
    # What that one calls its version.
    version_label: str | None = None

    @property
    def told_version(self) -> int | str | None:
        """The version as whoever asks is told it."""
        return self.version_label if self.version is None else self.version


# So far back it is known on which day runs were told of a skill; before, only how many there were.
KEPT_DAYS: Final = 90
# So many at once, as nobody else writes meanwhile.
BATCH: Final = 2_000


@dataclass(frozen=True, slots=True)
class UsageUpkeep:
    """Sums up by day of which skills runs were told."""

    units: "Units"
    clock: Clock

    def sweep(self) -> int:
        """Sum up what there is; tells how much that was."""
        total = 0
        while summed := self._sum_up():
            total += summed
        with self.units.write() as unit:
            unit.skill_uses.sum_up_days(before_day=day_of(self.clock.now_ms()) - KEPT_DAYS)
        return total

    def _sum_up(self) -> int:
        with self.units.write() as unit:
            return unit.skill_uses.sum_up(limit=BATCH)
