"""Usage of skills: in how many runs each was listed and used, and how those runs ended."""

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

# The outcome of a run's status for the skills that it used; an unfinished run does not count.
OUTCOMES: Final[Mapping[RunStatus, Outcome]] = {
    RunStatus.COMPLETED: "succeeded",
    RunStatus.FAILED: "failed",
    RunStatus.INTERRUPTED: "abandoned",
    RunStatus.CANCELLED: "abandoned",
}
# How many days and runs an answer shows.
SHOWN_DAYS: Final = 90
SHOWN_RUNS: Final = 20
# The version of a local or promoted skill.
NO_VERSION: Final = 0
# Listings are counted by day for this long, and only in total before.
KEPT_DAYS: Final = 90
# Rows per transaction, so that the write lock is not held for long.
BATCH: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillListing:
    """A version of a skill that was listed to a run."""

    # The id; `local:` and the slug of a local skill, `promoted:` and the name of a promoted one.
    ref: str
    version: int
    run_id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFigures:
    """In how many runs a skill was listed and used, and how those that used it ended."""

    offered: int = 0
    used: int = 0
    succeeded: int = 0
    failed: int = 0
    abandoned: int = 0
    last_used_at_ms: Annotated[int | None, OMIT] = None

    @property
    def ended(self) -> int:
        """The number of runs that used it and have ended."""
        return self.succeeded + self.failed + self.abandoned


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillVersionUsage(UsageFigures):
    """The figures of one version; a local or promoted skill has only version 0."""

    ref: Annotated[str, HIDDEN] = ""
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDay:
    """The runs that used a skill on one day (UTC), and how they ended."""

    # The start of the day.
    day_at_ms: int
    used: int = 0
    succeeded: int = 0
    failed: int = 0
    abandoned: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRun:
    """A run that used a skill."""

    run_id: str
    session_id: str
    agent_id: str
    status: RunStatus
    # The last use in the run.
    used_at_ms: int
    # None for a local or promoted skill.
    version: Annotated[int | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUsage(Page[SkillVersionUsage]):
    """A page of the listed or used versions, newest first, and the sums over all of them."""

    # Declared again: Pydantic does not see the type argument of a generic dataclass.
    items: tuple[SkillVersionUsage, ...]
    skill_id: str
    slug: str
    # The start of the period; 0 for all time.
    since_ms: int
    total: UsageFigures
    # The newest days with a use, oldest first, up to 90.
    by_day: tuple[UsageDay, ...] = ()
    # The newest runs that used it, newest first, up to 20.
    recent_runs: tuple[SkillRun, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UsesByStatus:
    """The number of runs in one status that used a version."""

    ref: str
    version: int
    status: RunStatus
    runs: int
    last_at_ms: int


def day_of(at_ms: int) -> int:
    """The day (UTC) of a time, counted from 1970."""
    return at_ms // DAY_MS


def day_begin(at_ms: int) -> int:
    """The start of the day (UTC) of a time; figures are those of whole days."""
    return day_of(at_ms) * DAY_MS


def totals(
    offered: Mapping[tuple[str, int], int], used: tuple[UsesByStatus, ...]
) -> tuple[SkillVersionUsage, ...]:
    """The figures of each version, the newest of each skill first."""
    by_version: dict[tuple[str, int], list[UsesByStatus]] = {version: [] for version in offered}
    for it in used:
        by_version.setdefault((it.ref, it.version), []).append(it)
    found = [
        _total(ref, version, offered.get((ref, version), 0), own)
        for (ref, version), own in by_version.items()
    ]
    return tuple(sorted(found, key=lambda it: (it.ref, -it.version)))


def _total(ref: str, version: int, offered: int, own: Sequence[UsesByStatus]) -> SkillVersionUsage:
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


def by_day(counts: Iterable[tuple[int, RunStatus, int]]) -> tuple[UsageDay, ...]:
    """The figures of each day from the number of runs by day and status, oldest first."""
    days: dict[int, dict[str, int]] = {}
    for day, status, runs in counts:
        figures = days.setdefault(day, {"used": 0})
        figures["used"] += runs
        outcome = OUTCOMES.get(status)
        if outcome is not None:
            figures[outcome] = figures.get(outcome, 0) + runs
    newest = sorted(days.items())[-SHOWN_DAYS:]
    return tuple(UsageDay(day_at_ms=day * DAY_MS, **figures) for day, figures in newest)


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
class RecordedUse:
    """A use: a run was given the instructions of a skill."""

    # Derived from the tool call, so that a retried call counts once.
    use_id: str
    # None for a local or promoted skill.
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
    # The version of a promoted skill, in its SKILL.md.
    version_label: str | None = None
    # The tools that the run is limited to from here on; empty if the skill sets no limits.
    allowed_tools: tuple[str, ...] = ()
    blocked_tools: tuple[str, ...] = ()

    @property
    def shown_version(self) -> int | str | None:
        """The version as answers show it: the number, or the label of a promoted skill."""
        return self.version_label if self.version is None else self.version


@dataclass(frozen=True, slots=True)
class UsageUpkeep:
    """Aggregates listings by day."""

    units: "Units"
    clock: Clock

    def sweep(self) -> int:
        """Aggregate all listings of ended runs; returns how many there were."""
        total = 0
        while summed := self._sum_up():
            total += summed
        with self.units.write() as unit:
            unit.skill_uses.sum_up_days(before_day=day_of(self.clock.now_ms()) - KEPT_DAYS)
        return total

    def _sum_up(self) -> int:
        with self.units.write() as unit:
            return unit.skill_uses.sum_up(limit=BATCH)
