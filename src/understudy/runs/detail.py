"""A run as its readers want it: with its outputs, its place in line and what it waits for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from understudy.runs.lifecycle import WAITING
from understudy.runs.model import Delivery, Run, RunStatus
from understudy.runs.requests import PersonRequest
from understudy.sessions.journal import JournalEvent

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """A run with what the journal and the line behind it tell about it."""

    run: Run
    outputs: tuple[JournalEvent, ...] = ()
    queued_position: int | None = None
    pending: tuple[PersonRequest, ...] = ()
    # What is or was sent to webhooks, by the position of the reply target.
    sent: Mapping[int, Delivery] = field(default_factory=dict)


def detail_of(unit: "Unit", run: Run) -> RunDetail:
    """A run with what is known about it."""
    return details_of(unit, (run,))[0]


def details_of(unit: "Unit", runs: Sequence[Run]) -> tuple[RunDetail, ...]:
    """Some runs with what is known about them."""
    outputs = unit.journal.outputs([run.run_id for run in runs])
    queued = sorted({run.session_id for run in runs if run.status is RunStatus.QUEUED})
    positions: Mapping[str, Any] = unit.runs.queued_positions(queued) if queued else {}
    waiting = [run.run_id for run in runs if run.status in WAITING]
    pending = unit.requests.pending(waiting) if waiting else {}
    replying = [run.run_id for run in runs if run.reply_targets]
    sent = unit.deliveries.of_runs(replying) if replying else {}
    return tuple(
        RunDetail(
            run=run,
            outputs=outputs.get(run.run_id, ()),
            queued_position=positions.get(run.run_id),
            pending=pending.get(run.run_id, ()),
            sent=sent.get(run.run_id, {}),
        )
        for run in runs
    )
