"""The run service: submit, read, cancel and interrupt runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal, Role
from understudy.runs.artifacts import Artifact, artifact_text, find_artifact
from understudy.runs.intake import RunIntake
from understudy.runs.lifecycle import TERMINAL, WAITING
from understudy.runs.model import (
    DebugRequest,
    Delivery,
    EndingHook,
    Run,
    RunStatus,
    StopRequest,
    require_run,
)
from understudy.runs.remembered import Remembered, remembered_in
from understudy.runs.requests import PersonRequest
from understudy.runs.sleep import leave_line, stop
from understudy.runs.submission import (
    Submission,
    keep_receipt,
    known_run,
    receipt_for,
    request_json,
)
from understudy.sessions.journal import EventKind, JournalEvent, JournalPage
from understudy.sessions.model import require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# The events that a run is shown with.
SHOWN: Final = (EventKind.OUTPUT, EventKind.REMEMBERED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """A run with its outputs, queue position, pending requests and deliveries."""

    run: Run
    outputs: tuple[JournalEvent, ...] = ()
    # What its prompt was given, as far as the reader may see it.
    remembered: tuple[Remembered, ...] = ()
    queued_position: int | None = None
    pending: tuple[PersonRequest, ...] = ()
    # Webhook deliveries, by the position of the reply target.
    sent: Mapping[int, Delivery] = field(default_factory=dict)


def detail_of(unit: "Unit", run: Run) -> RunDetail:
    """A run with its details."""
    return details_of(unit, (run,))[0]


def details_of(unit: "Unit", runs: Sequence[Run]) -> tuple[RunDetail, ...]:
    """Some runs with their details."""
    told = unit.journal.outputs([run.run_id for run in runs], kinds=SHOWN)
    given = [it for events in told.values() for it in events if it.kind is EventKind.REMEMBERED]
    remembered = remembered_in(unit, given)
    queued = sorted({run.session_id for run in runs if run.status is RunStatus.QUEUED})
    positions: Mapping[str, Any] = unit.runs.queued_positions(queued) if queued else {}
    waiting = [run.run_id for run in runs if run.status in WAITING]
    pending = unit.requests.pending(waiting) if waiting else {}
    replying = [run.run_id for run in runs if run.reply_targets]
    sent = unit.deliveries.of_runs(replying) if replying else {}
    return tuple(
        RunDetail(
            run=run,
            outputs=tuple(it for it in told.get(run.run_id, ()) if it.kind is EventKind.OUTPUT),
            remembered=remembered.get(run.run_id, ()),
            queued_position=positions.get(run.run_id),
            pending=pending.get(run.run_id, ()),
            sent=sent.get(run.run_id, {}),
        )
        for run in runs
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunService:
    """Submit, find and stop runs."""

    units: "Units"
    clock: Clock
    intake: RunIntake
    # Signals a run of this process to stop at once; other processes poll the database.
    signal_stop: Callable[[str, StopRequest], None]
    # Called in the transaction that ends a run.
    run_ended: EndingHook

    def submit(
        self,
        principal: Principal,
        session_id: str,
        submission: Submission,
        *,
        idempotency_key: str | None = None,
        needs_idle: bool = False,
    ) -> RunDetail:
        """Store and queue a run in one transaction; a repeat under the same key finds the first."""
        asked = {"session_id": session_id, **request_json(submission)}
        receipt = receipt_for(
            principal, "runs.submit", asked, key=idempotency_key, at_ms=self.clock.now_ms()
        )
        with self.units.write() as unit:
            # Locked first, so that of two concurrent repeats the second sees the first.
            session = require_session(unit, session_id, lock=True)
            if (known := known_run(unit, receipt)) is not None:
                return detail_of(unit, known)
            run, position = self.intake.take(
                unit, principal, session, submission, needs_idle=needs_idle
            )
            keep_receipt(unit, receipt, run)
            return RunDetail(run=run, queued_position=position)

    def get(self, run_id: str) -> RunDetail:
        """One run, or `NotFound`."""
        with self.units.read() as unit:
            return detail_of(unit, require_run(unit, run_id))

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        statuses: Sequence[RunStatus] = (),
    ) -> Page[RunDetail]:
        """Runs, newest first."""
        with self.units.read() as unit:
            page = unit.runs.page(
                request, session_id=session_id, agent_id=agent_id, statuses=statuses
            )
            return Page(items=details_of(unit, page.items), next_cursor=page.next_cursor)

    def counts(
        self, *, session_id: str | None = None, agent_id: str | None = None
    ) -> dict[RunStatus, int]:
        """How many runs have each status."""
        with self.units.read() as unit:
            found = unit.runs.counts(session_id=session_id, agent_id=agent_id)
        return {status: found.get(status, 0) for status in RunStatus}

    def events(self, run_id: str, *, after_offset: int, limit: int) -> JournalPage:
        """The next events of a run, in order."""
        with self.units.read() as unit:
            require_run(unit, run_id)
            return unit.journal.page(
                run_id=run_id,
                after_offset=after_offset,
                kinds=(EventKind.RUN, EventKind.OUTPUT),
                limit=limit,
            )

    def debug(self, run_id: str) -> tuple[DebugRequest, ...]:
        """The captured provider requests, in order."""
        with self.units.read() as unit:
            require_run(unit, run_id)
            return unit.debug.list(run_id)

    def artifacts(self, run_id: str) -> tuple[Artifact, ...]:
        """The artifacts of a run, without their text."""
        with self.units.read() as unit:
            require_run(unit, run_id)
            return unit.artifacts.list(run_id)

    def artifact(self, principal: Principal, run_id: str, artifact_id: str) -> str:
        """The text of an artifact; captured requests and input files only for admins."""
        with self.units.read() as unit:
            found = find_artifact(unit, require_run(unit, run_id), artifact_id)
        if found is None:
            raise coded_error("runs/artifact_not_found", artifact_id=artifact_id)
        if not isinstance(found, Artifact):
            principal.require(Role.ADMIN)
        text = artifact_text(found)
        if text is None:
            raise coded_error("runs/artifact_not_text", artifact_id=artifact_id)
        return text

    def cancel(self, principal: Principal, run_id: str) -> RunDetail:
        """Cancel a run; one that has ended is returned unchanged."""
        return self._stop(principal, run_id, StopRequest.CANCEL, "runs.cancel")

    def interrupt(self, principal: Principal, session_id: str) -> Run | None:
        """Interrupt the current run of a session; queued runs continue. None if there is none."""
        with self.units.read() as unit:
            require_session(unit, session_id)
            current = unit.runs.current(session_id)
        if current is None:
            return None
        detail = self._stop(principal, current.run_id, StopRequest.INTERRUPT, "runs.interrupt")
        # It may have ended by itself between the two transactions.
        return None if detail.run.stop_request is None else detail.run

    def _stop(self, principal: Principal, run_id: str, how: StopRequest, action: str) -> RunDetail:
        with self.units.write() as unit:
            run = require_run(unit, run_id, lock=True)
            if run.status in TERMINAL or run.stop_request is not None:
                return detail_of(unit, run)
            now = self.clock.now_ms()
            if run.status is RunStatus.QUEUED:
                run = leave_line(unit, run, how, at_ms=now)
                self.run_ended(unit, run)
            else:
                run = stop(unit, run, how, at_ms=now)
            unit.audit.add(audit.done(principal, action, run_id, at_ms=now))
            detail = detail_of(unit, run)
        self.signal_stop(run_id, how)
        return detail
