"""One delivery, within one transaction: the run that reads a message, and what came of it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord
from understudy.core.principal import DAEMON, Principal, Role
from understudy.core.text import preview
from understudy.mailboxes.letters import submission_of
from understudy.mailboxes.lifecycle import MESSAGE
from understudy.mailboxes.model import MAX_ATTEMPTS, Message, MessageStatus
from understudy.runs.intake import RunIntake
from understudy.runs.model import Run, RunStatus
from understudy.sessions.model import require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# How long to wait after the first failure, the second, …
WAITS_MS: Final = (5_000, 60_000)
MAX_REASON_CHARS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MailDelivery:
    """Moves messages on whose rows the caller's unit holds locked."""

    clock: Clock
    intake: RunIntake

    def submit(self, unit: "Unit", message: Message) -> None:
        """Have a run read the message; raises when no run can be made."""
        session = require_session(unit, message.session_id, lock=True)
        if unit.messages.is_delivering(session.session_id):
            return  # another daemon was faster, with another message of this session
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
        """See what became of the run that has the message; while it goes on, nothing changes."""
        if message.status is not MessageStatus.DELIVERING:
            return  # another daemon was faster
        failure = _failure(unit, message)
        if failure is None:
            read = replace(message, status=MessageStatus.ACKED, reason=None)
            self._move(unit, message, read)
        elif failure:
            self._retry_or_bury(unit, message, failure)

    def fail(self, unit: "Unit", message: Message, reason: str) -> None:
        """Count a try that made no run."""
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


def _failure(unit: "Unit", message: Message) -> str | None:
    """Why the run did not read the message; None when it did, empty while it goes on."""
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
