"""The duty of the channel worker: drive threads, settle and hand over turns, dispatch stimuli."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

import structlog

from understudy.channels.model import Channel
from understudy.channels.stimuli import StimulusService
from understudy.channels.turns import Turns
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, DatabaseUnavailable
from understudy.runs.model import Run, RunKind
from understudy.work.worker import Claim, WorkerSleep

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

TOPIC: Final = "channels"
AT_ONCE: Final = 50
# Delay of the first retry after a failure; doubled with each further one.
BACK_OFF_MS: Final = 500
MAX_FAILURES: Final = 8
TABLES: Final = ("channels", "channel_leases", "channel_stimuli", "channel_threads")
IDLE: Final = WorkerSleep(topics=(TOPIC,), longest_s=5.0, tables=TABLES, shortest_s=0.2)
# While a lease is open, its run may end in another daemon.
SPEAKING: Final = WorkerSleep(
    topics=(TOPIC,), longest_s=1.0, tables=(*TABLES, "runs"), shortest_s=0.1
)

# A channel id, and the id of the due thread, turn or stimulus.
Due = tuple[str, str]


def channel_topic(channel_id: str) -> str:
    """The bell topic of a channel's readers."""
    return f"channel:{channel_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelDuty:
    """Advances channels; each item in a transaction that locks its channel's row."""

    at_once: ClassVar[int] = 1
    sleep: ClassVar[WorkerSleep] = SPEAKING

    units: "Units"
    clock: Clock
    turns: Turns
    stimuli: StimulusService
    # Wakes the readers of a channel.
    changed: Callable[[str], None] = lambda _: None

    def claim(self, _: int) -> Claim[NoReturn]:
        """Do everything that is due; a failed item is retried later and blocks no other."""
        failed: set[Due] = set()
        while self._round(failed):
            pass
        with self.units.read() as unit:
            expiry = unit.channel_turns.next_expiry_ms()
            dues = (
                expiry,
                unit.threads.next_due_ms(),
                unit.stimuli.next_due_ms(),
            )
        due = min((each for each in dues if each is not None), default=None)
        if failed:
            due = self.clock.now_ms() + BACK_OFF_MS
        return Claim(due_at_ms=due, sleep=IDLE if expiry is None else SPEAKING)

    async def do(self, item: NoReturn) -> None:
        """Never called: `claim` leaves no item."""

    def _round(self, failed: set[Due]) -> bool:
        """Do what is due now; returns whether there was anything."""
        now = self.clock.now_ms()
        with self.units.read() as unit:
            over = unit.channel_turns.due(now, limit=AT_ONCE)
            waiting = unit.threads.due(now, limit=AT_ONCE)
            stimuli = unit.stimuli.due(now, limit=AT_ONCE)
        done = [
            *self._each(over, self._end_turn, failed),
            *self._each(stimuli, self.stimuli.dispatch, failed),
            *self._each(waiting, self._drive, failed),
        ]
        return any(done)

    def _each(
        self,
        items: Sequence[Due],
        act: Callable[["Unit", Channel, str], None],
        failed: set[Due],
    ) -> list[bool]:
        return [self._act(item, act, failed) for item in items if item not in failed]

    def _act(
        self, item: Due, act: Callable[["Unit", Channel, str], None], failed: set[Due]
    ) -> bool:
        channel_id, key = item
        try:
            with self.units.write() as unit:
                channel = unit.channels.get(channel_id, lock=True)
                if channel is not None:
                    act(unit, channel, key)
        except DatabaseUnavailable:
            raise
        except Exception:
            log.exception("channel.failed", channel_id=channel_id, item=key)
            failed.add(item)
            self._postpone(key)
            return False
        self.changed(channel_id)
        return True

    def _end_turn(self, unit: "Unit", channel: Channel, turn_id: str) -> None:
        lease = unit.channel_turns.get(turn_id)
        if lease is None:
            return  # another daemon was faster
        self.turns.expire(unit, channel, lease, _run_of(unit, lease.active_run_id))

    def _drive(self, unit: "Unit", channel: Channel, root_id: str) -> None:
        thread = unit.threads.get(root_id)
        if thread is not None and thread.wish_message_id is not None:
            self.turns.drive(unit, channel, thread)

    def _postpone(self, key: str) -> None:
        """Retry a thread later; give up after too many failures."""
        with self.units.write() as unit:
            thread = unit.threads.get(key)
            if thread is None or thread.due_at_ms is None:
                return
            failures = thread.failures + 1
            wait = BACK_OFF_MS * 2**failures
            later = self.clock.now_ms() + wait if failures < MAX_FAILURES else None
            unit.threads.put(replace(thread, failures=failures, due_at_ms=later))


def run_ended(ring: Callable[[], None], unit: "Unit", run: Run) -> None:
    """After the commit of a channel turn's end, wake the channel worker."""
    if run.kind is RunKind.CHANNEL_DELIVERY:
        unit.after_commit(ring)


def _run_of(unit: "Unit", run_id: str | None) -> Run | None:
    try:
        return None if run_id is None else unit.runs.get(run_id)
    except DamagedRecord:
        return None  # its output cannot be published
