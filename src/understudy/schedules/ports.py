"""What schedules need from outside."""

from collections.abc import Sequence
from typing import Protocol

from understudy.access.tokens import TokenStore
from understudy.core.page import Page, PageRequest
from understudy.runs.model import RunStatus
from understudy.runs.ports import RunUnit
from understudy.schedules.model import Execution, Schedule, ScheduleStatus


class ScheduleStore(Protocol):
    """Schedules by id, and what became of their fires."""

    def get(self, schedule_id: str, *, lock: bool = False) -> Schedule | None:
        """One schedule; `lock` holds its row until the unit ends."""
        ...

    def add(self, schedule: Schedule) -> None:
        """Store a new schedule."""
        ...

    def update(self, schedule: Schedule) -> None:
        """Replace a schedule whose row this unit holds locked."""
        ...

    def cancel_unread(self, schedule_id: str, *, reason: str, at_ms: int) -> None:
        """End a schedule without reading it, for one that cannot be read."""
        ...

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        statuses: Sequence[ScheduleStatus] = (),
    ) -> Page[Schedule]:
        """Schedules, newest first."""
        ...

    def open_of(self, owner_id: str) -> int:
        """How many schedules of an owner have not ended; no other unit adds one meanwhile."""
        ...

    def next_due_ms(self) -> int | None:
        """When the next schedule is to be looked at."""
        ...

    def claim_due(self, now_ms: int) -> str | None:
        """A schedule that is due and that nobody else holds; its row is held until the unit ends."""
        ...

    def unfinished(self, schedule_id: str) -> tuple[RunStatus, ...]:
        """Where the runs of a schedule stand that have not ended."""
        ...

    def record(self, execution: Execution, *, keep: int) -> None:
        """Store or replace an execution, and forget the oldest beyond `keep` whose runs have ended."""
        ...

    def has_execution_for(self, schedule_id: str, scheduled_for_ms: int) -> bool:
        """Whether one of the executions that are kept was meant for that time."""
        ...

    def executions(self, schedule_id: str, request: PageRequest) -> Page[Execution]:
        """The executions of a schedule, newest first."""
        ...


class ScheduleUnit(RunUnit, Protocol):
    """One transaction over everything schedules touch."""

    @property
    def schedules(self) -> ScheduleStore: ...

    @property
    def tokens(self) -> TokenStore: ...
