"""Schedules and mail on a database, with a clock that the test moves and routes it can take away."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.factories import ALICE
from understudy.access.tokens import TokenService
from understudy.core.bell import Bell
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.mailboxes.model import Message, NewMessage
from understudy.mailboxes.service import MailboxService
from understudy.mailboxes.worker import MailDelivery, MailDuty
from understudy.providers.registry import RouteInfo, Routes
from understudy.runs.intake import RunIntake, RuntimeDefaults
from understudy.runs.model import DebugLevel, Run, RunStatus
from understudy.runs.submission import Submission
from understudy.schedules.fire import Firing, RetryPolicy
from understudy.schedules.model import (
    Cadence,
    IntervalSchedule,
    NewSchedule,
    Schedule,
    ScheduleExecution,
)
from understudy.schedules.service import ScheduleService
from understudy.schedules.worker import ScheduleDuty
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock

PAGE = PageRequest(limit=200)
MINUTE = 60_000
HOUR = 60 * MINUTE


@dataclass
class Catalogue(Routes):
    """Routes by id; a test may take some away."""

    known: set[str] = field(default_factory=lambda: {"a"})

    def find(self, route_id: str) -> RouteInfo | None:
        if route_id not in self.known:
            return None
        return RouteInfo(route_id=route_id, provider="openai", model=f"model-{route_id}")

    def all(self) -> tuple[RouteInfo, ...]:
        return tuple(info for name in sorted(self.known) if (info := self.find(name)))


@dataclass
class ScheduleHarness:
    """One daemon's worth of schedules and mail; several may share a database and a clock."""

    units: Units
    clock: FrozenClock = field(default_factory=FrozenClock)
    catalogue: Catalogue = field(default_factory=Catalogue)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    # Called when a run was stored and the transaction is not yet committed.
    on_take: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.bell = Bell()
        self.intake = Intake(
            self.clock,
            self.catalogue,
            lambda _: RuntimeDefaults(route_id="a", debug_level=DebugLevel.OFF),
            self.on_take,
        )
        self.tokens = TokenService(self.units, self.clock, admin_token=None, is_loopback=True)
        self.firing = Firing(
            clock=self.clock,
            intake=self.intake,
            may_still=self.tokens.may_still,
            retry=self.retry,
        )
        self.schedules = ScheduleService(
            units=self.units, clock=self.clock, routes=self.catalogue, firing=self.firing
        )
        self.worker = ScheduleDuty(units=self.units, clock=self.clock, firing=self.firing)
        self.mailboxes = MailboxService(units=self.units, clock=self.clock)
        self.postman = MailDuty(
            units=self.units,
            clock=self.clock,
            delivery=MailDelivery(clock=self.clock, intake=self.intake),
        )

    def beside(self) -> "ScheduleHarness":
        """Another daemon on the same database, or this one after a restart."""
        return ScheduleHarness(self.units, self.clock, self.catalogue, self.retry)

    def create(
        self,
        cadence: Cadence | None = None,
        *,
        principal: Principal = ALICE,
        session_id: str = "s1",
        request: Submission | None = None,
        **fields: Any,
    ) -> Schedule:
        """A schedule that says hello every minute, unless told otherwise."""
        wanted = NewSchedule(
            name="hello",
            target_session_id=session_id,
            cadence=cadence or IntervalSchedule(every_seconds=60),
            request=request or Submission(content="hello"),
            **fields,
        )
        return self.schedules.create(principal, wanted)

    def pass_ms(self, ms: int) -> None:
        """Let time go by, then look for what is due."""
        self.clock.advance(ms)
        self.worker.fire_due()

    def get(self, schedule: Schedule) -> Schedule:
        return self.schedules.get(schedule.schedule_id)

    def executions(self, schedule: Schedule) -> list[ScheduleExecution]:
        """Oldest first."""
        page = self.schedules.executions(schedule.schedule_id, PAGE)
        return list(reversed(page.items))

    def statuses(self, schedule: Schedule) -> list[str]:
        return [str(execution.status) for execution in self.executions(schedule)]

    def runs(self, session_id: str = "s1") -> list[Run]:
        """Oldest first."""
        with self.units.read() as unit:
            return list(reversed(unit.runs.page(PAGE, session_id=session_id).items))

    def end(self, run_id: str | None, status: RunStatus, *, error: str | None = None) -> None:
        """Let a run come to its end, as its executor would."""
        self.change(run_id, status=status, finished_at_ms=self.clock.now_ms(), error=error)

    def change(self, run_id: str | None, **fields: Any) -> None:
        with self.units.write() as unit:
            run = unit.runs.get(run_id or "", lock=True)
            assert run is not None
            unit.runs.update(replace(run, **fields))

    def post(self, content: str = "hello", session_id: str | None = "s1", **fields: Any) -> Message:
        return self.mailboxes.post(
            ALICE, NewMessage(content=content, session_id=session_id, **fields)
        )

    def message(self, message: Message) -> Message:
        with self.units.read() as unit:
            stored = unit.messages.get(message.message_id)
        assert stored is not None
        return stored

    def deliver(self, ms: int = 0) -> None:
        """Let time go by, then let the postman work."""
        self.clock.advance(ms)
        self.postman.claim(1)


@dataclass(frozen=True, slots=True)
class Intake(RunIntake):
    """Takes runs in, and can be made to die right after."""

    on_take: Callable[[], None] = lambda: None

    def take(self, *arguments: Any, **options: Any) -> tuple[Run, int]:
        taken = RunIntake.take(self, *arguments, **options)
        self.on_take()
        return taken


class Died(BaseException):
    """The process ends here, as kill -9 would end it."""
