"""The worker that delivers messages and sees to what came of them; any daemon may run one."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core import audit
from understudy.core.bell import Bell
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, DatabaseUnavailable, UnderstudyError
from understudy.core.principal import DAEMON
from understudy.mailboxes.delivery import MailDelivery
from understudy.mailboxes.model import Message

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

TOPIC: Final = "mail"
EVENTS: Final = "events"
SETTLED_AT_ONCE: Final = 100
# While a run has a message, each event may be its end; but one look serves many events.
SHORTEST_SLEEP_S: Final = 0.2
LONGEST_SLEEP_S: Final = 1.0
# With nothing to do: another daemon may have died before it delivered what it took in.
IDLE_SLEEP_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOutlook:
    """What there is to wait for."""

    is_delivering: bool
    due_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MailWorker:
    """Turns messages into runs, and the ends of those runs into what becomes of the messages."""

    units: "Units"
    clock: Clock
    delivery: MailDelivery
    bell: Bell

    async def run(self) -> None:
        """Deliver and settle, for ever."""
        while True:
            seen = {topic: self.bell.count(topic) for topic in (TOPIC, EVENTS)}
            outlook = await asyncio.to_thread(self.work)
            await self._rest(outlook, seen)

    def work(self) -> DeliveryOutlook:
        """Settle what was read, deliver what is due; answers what there is to wait for."""
        outlook = self._look()
        if outlook.is_delivering and self._settle_all():
            outlook = self._look()
        while self._is_due(outlook.due_at_ms) and self._deliver_one():
            outlook = self._look()
        return outlook

    async def _rest(self, outlook: DeliveryOutlook, seen: Mapping[str, int]) -> None:
        if outlook.is_delivering:
            await asyncio.sleep(SHORTEST_SLEEP_S)
            await self.bell.wait(seen, timeout_s=LONGEST_SLEEP_S - SHORTEST_SLEEP_S)
            return
        seconds = IDLE_SLEEP_S
        if outlook.due_at_ms is not None:
            seconds = (outlook.due_at_ms - self.clock.now_ms()) / 1000
        seconds = min(max(seconds, SHORTEST_SLEEP_S), IDLE_SLEEP_S)
        await self.bell.wait({TOPIC: seen[TOPIC]}, timeout_s=seconds)

    def _look(self) -> DeliveryOutlook:
        with self.units.read() as unit:
            return DeliveryOutlook(
                is_delivering=unit.messages.any_delivering(),
                due_at_ms=unit.messages.next_due_ms(),
            )

    def _is_due(self, due_at_ms: int | None) -> bool:
        return due_at_ms is not None and due_at_ms <= self.clock.now_ms()

    def _settle_all(self) -> bool:
        with self.units.read() as unit:
            message_ids = unit.messages.read_by_ended_runs(limit=SETTLED_AT_ONCE)
        for message_id in message_ids:
            self._with_message(message_id, self.delivery.settle)
        return bool(message_ids)

    def _deliver_one(self) -> bool:
        """Claim a message, submit its run and note it: all of it, or nothing."""
        message_id: str | None = None
        try:
            with self.units.write() as unit:
                message_id = unit.messages.claim_due(self.clock.now_ms())
                if message_id is None:
                    return False
                message = unit.messages.get(message_id)
                if message is not None:
                    self.delivery.submit(unit, message)
        except DatabaseUnavailable:
            raise
        except Exception as problem:
            if message_id is None:
                raise
            self._note_failure(message_id, problem)
        return True

    def _note_failure(self, message_id: str, problem: Exception) -> None:
        """What was begun is undone by now; one that cannot be delivered must not hold up others."""
        if isinstance(problem, UnderstudyError):
            reason = f"{problem.code}: {problem.detail}"
            log.warning("mail.not_delivered", message_id=message_id, reason=reason)
        else:
            reason = f"the daemon failed unexpectedly ({type(problem).__name__})"
            log.error("mail.crashed", message_id=message_id, exc_info=problem)

        def fail(unit: "Unit", message: Message) -> None:
            if self._is_due(message.due_at_ms):
                self.delivery.fail(unit, message, reason)

        self._with_message(message_id, fail)

    def _with_message(self, message_id: str, change: Callable[["Unit", Message], None]) -> None:
        with self.units.write() as unit:
            try:
                message = unit.messages.get(message_id, lock=True)
            except DamagedRecord as damaged:
                now = self.clock.now_ms()
                unit.messages.bury_unread(message_id, reason=damaged.code, at_ms=now)
                unit.audit.add(audit.done(DAEMON, "mailboxes.bury", message_id, at_ms=now))
                return
            if message is not None:
                change(unit, message)
