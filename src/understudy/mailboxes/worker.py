"""The duty of the mail worker: deliver messages as runs, and settle them when the runs have ended."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

import structlog

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, DatabaseUnavailable, UnderstudyError
from understudy.core.principal import DAEMON
from understudy.mailboxes.delivery import MailDelivery
from understudy.mailboxes.model import Message
from understudy.work.worker import Claim, Sleep

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

TOPIC: Final = "mail"
EVENTS: Final = "events"
SETTLED_AT_ONCE: Final = 100
# With no message in a run: another daemon may have died before it delivered a message.
IDLE: Final = Sleep(topics=(TOPIC,), longest_s=5.0, shortest_s=0.2)
# While a run has a message, each event may be the end of that run.
DELIVERING: Final = Sleep(topics=(TOPIC, EVENTS), longest_s=1.0, pause_s=0.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailDuty:
    """Submits a run for each due message, and settles the message when its run has ended."""

    at_once: ClassVar[int] = 1
    sleep: ClassVar[Sleep] = DELIVERING

    units: "Units"
    clock: Clock
    delivery: MailDelivery

    def claim(self, _: int) -> Claim[NoReturn]:
        """Settle messages whose runs have ended, deliver due ones, each in one transaction."""
        is_delivering, due = self._look()
        if is_delivering and self._settle_all():
            is_delivering, due = self._look()
        while self._is_due(due) and self._deliver_one():
            is_delivering, due = self._look()
        return Claim(sleep=DELIVERING) if is_delivering else Claim(due_at_ms=due, sleep=IDLE)

    async def do(self, item: NoReturn) -> None:
        """Never called: `claim` leaves no item."""

    def _look(self) -> tuple[bool, int | None]:
        """Whether a run has a message, and when the next message is due."""
        with self.units.read() as unit:
            return unit.messages.any_delivering(), unit.messages.next_due_ms()

    def _is_due(self, due_at_ms: int | None) -> bool:
        return due_at_ms is not None and due_at_ms <= self.clock.now_ms()

    def _settle_all(self) -> bool:
        with self.units.read() as unit:
            message_ids = unit.messages.read_by_ended_runs(limit=SETTLED_AT_ONCE)
        for message_id in message_ids:
            self._with_message(message_id, self.delivery.settle)
        return bool(message_ids)

    def _deliver_one(self) -> bool:
        """Claim a message, submit its run and mark it as delivered, in one transaction."""
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
