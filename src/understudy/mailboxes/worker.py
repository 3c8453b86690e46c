"""The duty of the mail worker: deliver messages as runs, settle them when the runs have ended."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

import structlog

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, DatabaseUnavailable, UnderstudyError
from understudy.core.principal import DAEMON, Principal, Role
from understudy.core.text import preview
from understudy.mailboxes.letters import submission_of
from understudy.mailboxes.model import MAX_ATTEMPTS, MESSAGE, Message, MessageStatus
from understudy.runs.intake import RunIntake
from understudy.runs.model import Run, RunStatus
from understudy.sessions.model import require_session
from understudy.work.worker import Claim, WorkerSleep

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# The back-off after the first failure, the second, …
WAITS_MS: Final = (5_000, 60_000)
MAX_REASON_CHARS: Final = 500
TOPIC: Final = "mail"
EVENTS: Final = "events"
SETTLED_AT_ONCE: Final = 100
# No more in one claim: a stop waits for it.
DELIVERED_AT_ONCE: Final = 100
# Nothing in delivery: polling finds messages of a daemon that crashed before delivery.
IDLE: Final = WorkerSleep(topics=(TOPIC,), longest_s=5.0, tables=("messages",), shortest_s=0.2)
# While a run reads a message, any journal event may be the end of that run.
DELIVERING: Final = WorkerSleep(
    topics=(TOPIC, EVENTS), longest_s=1.0, tables=("messages", "runs"), pause_s=0.2
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailDelivery:
    """Changes the status of messages whose rows the caller's unit has locked."""

    clock: Clock
    intake: RunIntake

    def submit(self, unit: "Unit", message: Message) -> None:
        """Submit the run that reads the message; raises if no run can be created."""
        session = require_session(unit, message.session_id, lock=True)
        if unit.messages.is_delivering(session.session_id):
            return  # another daemon is delivering another message of this session
        sender = Principal(user_id=message.sender.user_id, role=Role.OPERATOR)
        run, _ = self.intake.take(unit, sender, session, submission_of(message))
        changed = replace(
            message,
            status=MessageStatus.DELIVERING,
            attempts=message.attempts + 1,
            run_ids=(*message.run_ids, run.run_id),
            due_at_ms=None,
        )
        self._move(unit, message, changed)

    def settle(self, unit: "Unit", message: Message) -> None:
        """Acknowledge or retry the message if its run has ended; else change nothing."""
        if message.status is not MessageStatus.DELIVERING:
            return  # another daemon settled it
        failure = _failure(unit, message)
        if failure is None:
            read = replace(message, status=MessageStatus.ACKED, reason=None)
            self._move(unit, message, read)
        elif failure:
            self._retry_or_bury(unit, message, failure)

    def fail(self, unit: "Unit", message: Message, reason: str) -> None:
        """Count an attempt that created no run."""
        if message.status is MessageStatus.PENDING:
            tried = replace(message, attempts=message.attempts + 1)
            self._retry_or_bury(unit, tried, reason)

    def _retry_or_bury(self, unit: "Unit", message: Message, reason: str) -> None:
        now = self.clock.now_ms()
        failed = replace(message, reason=preview(reason, MAX_REASON_CHARS))
        if message.attempts >= MAX_ATTEMPTS:
            self._move(unit, message, replace(failed, status=MessageStatus.DEAD, due_at_ms=None))
            entry = audit.done(DAEMON, "mailboxes.bury", message.message_id, at_ms=now)
            unit.audit.add(entry)
            return
        wait = WAITS_MS[max(message.attempts, 1) - 1]
        self._move(
            unit, message, replace(failed, status=MessageStatus.PENDING, due_at_ms=now + wait)
        )

    def _move(self, unit: "Unit", message: Message, changed: Message) -> None:
        MESSAGE.check(message.status, changed.status)
        unit.messages.update(replace(changed, updated_at_ms=self.clock.now_ms()))


@dataclass(frozen=True, slots=True, kw_only=True)
class MailDuty:
    """Submits a run for each due message, and settles the message when its run has ended."""

    at_once: ClassVar[int] = 1
    sleep: ClassVar[WorkerSleep] = DELIVERING

    units: "Units"
    clock: Clock
    delivery: MailDelivery

    def claim(self, _: int) -> Claim[NoReturn]:
        """Settle messages whose runs have ended, deliver due ones, each in one transaction."""
        is_delivering, due = self._look()
        if is_delivering and self._settle_all():
            is_delivering, due = self._look()
        for _ in range(DELIVERED_AT_ONCE):
            if not (self._is_due(due) and self._deliver_one()):
                break
            is_delivering, due = self._look()
        return Claim(due_at_ms=due, sleep=DELIVERING if is_delivering else IDLE)

    async def do(self, item: NoReturn) -> None:
        """Never called: `claim` returns no items."""

    def _look(self) -> tuple[bool, int | None]:
        """Whether any message is in delivery, and when the next one is due."""
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
        """Claim a message, submit its run and mark it `delivering`, in one transaction."""
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
        """Count the failed attempt, so that the message does not block the others."""
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


def _failure(unit: "Unit", message: Message) -> str | None:
    """Why the run failed to read the message; None if it read it, empty while it runs."""
    try:
        run = unit.runs.get(message.run_id or "")
    except DamagedRecord as damaged:
        return damaged.detail
    return "its run is gone" if run is None else _failure_of(run)


def _failure_of(run: Run) -> str | None:
    if run.finished_at_ms is None:
        return ""
    if run.status is RunStatus.COMPLETED:
        return None
    return f"run {run.status}: {run.error}" if run.error else f"run {run.status}"
