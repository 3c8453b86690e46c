"""The store of channel leases and stimuli."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from understudy.channels.model import TurnLease, TurnOutput
from understudy.channels.stimulus_model import Stimulus, StimulusStatus
from understudy.core.page import Page, PageRequest
from understudy.runs.model import RunKind
from understudy.storage.schema import channel_leases, channel_stimuli, runs
from understudy.storage.table import Table


class ChannelTurnStore(Table[TurnLease]):
    """Leases by their turn. An update leaves the output to the run, which may set it meanwhile."""

    table = channel_leases
    kind = TurnLease
    fixed = frozenset({"output"})

    def of_run(self, run_id: str) -> TurnLease | None:
        """The lease that a run holds."""
        return self._one(self._select(active_run_id=run_id))

    def of_channel(self, channel_id: str) -> tuple[TurnLease, ...]:
        """The leases of a channel, oldest first."""
        return self._leases(channel_id=channel_id)

    def of_thread(self, root_id: str) -> tuple[TurnLease, ...]:
        """The leases of a thread, oldest first."""
        return self._leases(thread_root_message_id=root_id)

    def set_output(self, run_id: str, output: TurnOutput) -> bool:
        """Set the output of a run's lease; False when it has no lease any more."""
        statement = (
            sa.update(channel_leases)
            .where(channel_leases.c.active_run_id == run_id)
            .values(output=asdict(output))
        )
        return self._connection.execute(statement).rowcount == 1

    def due(self, now_ms: int, *, limit: int) -> tuple[tuple[str, str], ...]:
        """Leases whose run has ended or that expired, as channel and turn."""
        found = self._connection.execute(_DUE, {"now": now_ms, "at_most": limit})
        return tuple((row.channel_id, row.turn_id) for row in found)

    def next_expiry_ms(self) -> int | None:
        """When the first lease runs out; None without leases."""
        return self._connection.execute(_NEXT_EXPIRY).scalar()

    def active_runs(self, session_ids: Collection[str]) -> Mapping[str, int]:
        """How many runs of each session have not ended."""
        query = (
            sa.select(runs.c.session_id, sa.func.count().label("unfinished"))
            .where(runs.c.session_id.in_(session_ids), runs.c.finished_at_ms.is_(None))
            .group_by(runs.c.session_id)
        )
        return {row.session_id: row.unfinished for row in self._connection.execute(query)}

    def threads_under_way(self, session_ids: Collection[str]) -> frozenset[tuple[str, str]]:
        """The sessions with an unfinished channel run, each with its thread."""
        query = (
            sa.select(runs.c.session_id, runs.c.wanted)
            .where(runs.c.session_id.in_(session_ids), runs.c.finished_at_ms.is_(None))
            .where(runs.c.kind == RunKind.CHANNEL_DELIVERY)
        )
        found = self._connection.execute(query)
        return frozenset((row.session_id, _thread_of(row.wanted)) for row in found)

    def _leases(self, **equal: str) -> tuple[TurnLease, ...]:
        found = self._connection.execute(self._select(**equal).order_by(channel_leases.c.turn_id))
        return tuple(map(self._read, found))


class StimulusStore(Table[Stimulus]):
    """Stimuli of channels."""

    table = channel_stimuli
    kind = Stimulus
    order = ("created_at_ms", "stimulus_id")
    newest_first = True

    def of_call(self, call_digest: str) -> Stimulus | None:
        """The stimulus that a tool call requested."""
        return self._one(self._select(call_digest=call_digest))

    def pending(self, channel_id: str) -> tuple[Stimulus, ...]:
        """The pending stimuli of a channel, oldest first."""
        query = self._select(channel_id=channel_id, status=StimulusStatus.PENDING)
        query = query.order_by(channel_stimuli.c.created_at_ms, channel_stimuli.c.stimulus_id)
        return tuple(map(self._read, self._connection.execute(query)))

    def page(
        self, channel_id: str, request: PageRequest, *, status: StimulusStatus | None = None
    ) -> Page[Stimulus]:
        """The stimuli of a channel, newest first."""
        return self._page(request, self._select(channel_id=channel_id, status=status))

    def due(self, now_ms: int, *, limit: int) -> tuple[tuple[str, str], ...]:
        """Due stimuli, as channel and stimulus."""
        query = (
            sa.select(channel_stimuli.c.channel_id, channel_stimuli.c.stimulus_id)
            .where(channel_stimuli.c.due_at_ms.is_not(None))
            .where(channel_stimuli.c.due_at_ms <= now_ms)
            .order_by(channel_stimuli.c.due_at_ms, channel_stimuli.c.stimulus_id)
            .limit(limit)
        )
        found = self._connection.execute(query)
        return tuple((row.channel_id, row.stimulus_id) for row in found)

    def next_due_ms(self) -> int | None:
        """When the next stimulus is due."""
        query = sa.select(sa.func.min(channel_stimuli.c.due_at_ms)).where(
            channel_stimuli.c.due_at_ms.is_not(None)
        )
        return self._connection.execute(query).scalar()


def _thread_of(wanted: Any) -> str:
    """The thread that a run was submitted for; empty where its record does not say."""
    stored = wanted if isinstance(wanted, dict) else {}
    metadata = (stored.get("input") or {}).get("metadata") or {}
    return str(metadata.get("thread_root_message_id", ""))


# A lease whose run was deleted is over as well.
_GOES_ON = sa.exists().where(
    runs.c.run_id == channel_leases.c.active_run_id, runs.c.finished_at_ms.is_(None)
)
_DUE = (
    sa.select(channel_leases.c.channel_id, channel_leases.c.turn_id)
    .where(sa.or_(channel_leases.c.expires_at_ms <= sa.bindparam("now"), ~_GOES_ON))
    .order_by(channel_leases.c.expires_at_ms)
    .limit(sa.bindparam("at_most"))
)
_NEXT_EXPIRY = sa.select(sa.func.min(channel_leases.c.expires_at_ms))
