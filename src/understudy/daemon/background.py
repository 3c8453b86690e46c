"""Background tasks of a daemon: workers, and checks at intervals."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog

from understudy.background_tasks.worker import BackgroundTaskDuty, message_of
from understudy.channels.bridge_worker import BridgeDuty
from understudy.channels.worker import ChannelDuty, channel_topic
from understudy.core.bell import COMMITS, EVENTS, TABLE, Bell
from understudy.core.clock import DAY_MS
from understudy.daemon.services import Services
from understudy.deliveries.webhook import WebhookSender
from understudy.deliveries.worker import DeliveryDuty
from understudy.engine.takeover import Reaper
from understudy.evolution.usage_review import REST_MS
from understudy.evolution.usage_review import TOPIC as SUGGESTIONS
from understudy.mailboxes.worker import MailDelivery, MailDuty
from understudy.rollout.replay.work import ReplayDuty
from understudy.runs.expiry import expire_due
from understudy.runs.stops import watch_stop_requests
from understudy.schedules.worker import ScheduleDuty
from understudy.sessions.journal import FeedPlace
from understudy.storage.unit import Units
from understudy.work.queue_worker import LOOK_S, QueueWorker
from understudy.work.retention import RetentionDuty
from understudy.work.worker import LONGEST_DOZE_S, Duty, TimedLook, Worker, WorkerSleep

log = structlog.get_logger()

STOP_LOOK_S: Final = 0.5
STRANDED_LOOK_S: Final = 5.0
EXPIRY: Final = WorkerSleep(topics=(), longest_s=1.0, tables=("requests",))
SIGNALS: Final = WorkerSleep(topics=(), longest_s=1.0, tables=("signals",))
TELEMETRY: Final = WorkerSleep(topics=(), longest_s=1.0, tables=("otlp_signals",))
CHAINED: Final = ("audit", "skill_versions")
# One sealing serves many commits. Those of a daemon that died are found without a ring.
SEALING: Final = WorkerSleep(
    topics=tuple(map(TABLE.format, CHAINED)), longest_s=5.0, tables=CHAINED, pause_s=1.0
)
MEMORY_LOOK_S: Final = 10.0
TRIALS_LOOK_S: Final = 15.0
OUTCOMES_LOOK_S: Final = 15.0
ROLLOUTS_LOOK_S: Final = 60.0
SOURCES_LOOK_S: Final = 5.0
CANDIDATES_LOOK_S: Final = 30.0
LOCAL_SKILLS_LOOK_S: Final = 2.0
SUGGESTIONS_LOOK_S: Final = 900.0
# After a run has ended; longer than the shared review interval, or this review would be skipped.
SUGGESTIONS_SETTLE_S: Final = REST_MS / 1000 + 5.0
# Rows whose keys are made anew in one transaction: other writers wait for it.
KEYS_BATCH: Final = 200
SWEEP_EVERY_S: Final = 3600.0
RETRY_S: Final = 1.0
RESPONSES_KEPT_MS: Final = DAY_MS
TRACES_KEPT_MS: Final = 7 * DAY_MS
UNFINISHED_KEPT_MS: Final = 10 * 60 * 1000

Chore = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PeriodicCheck:
    """A check that runs at intervals."""

    name: str
    look: Callable[[], object]
    every_s: float
    # Whether the first check is at the start.
    at_once: bool = True
    # Rings after every commit that can give the check something to do; None: it depends on more.
    news: Bell | None = None
    # How long it waits for news.
    doze_s: float = LONGEST_DOZE_S

    async def keep_looking(self) -> None:
        """Run the check for ever."""
        is_due = self.at_once
        while True:
            # Counted before the check: a commit during the check must not be missed.
            seen = {COMMITS: self.news.count(COMMITS)} if self.news else {}
            if is_due:
                await asyncio.to_thread(self.look)
            await asyncio.sleep(self.every_s)
            if self.news and is_due:
                await self.news.wait(seen, timeout_s=max(self.doze_s - self.every_s, 0))
            is_due = True


@dataclass(slots=True)
class JournalWatch:
    """Rings for events and audit entries without a notification: of other daemons, or lost ones.

    One poll for all open streams, which read nothing before one of their topics rings.
    """

    units: Units
    bell: Bell
    _place: FeedPlace | None = None
    _audited: int = 0

    def look(self) -> None:
        """Ring the topics of everything added since the last poll."""
        with self.units.read() as unit:
            place, audited = unit.feed.last_place(), unit.audit.last_place()
            before = self._place or place
            grown = unit.feed.sessions_after(before) if place != before else ()
        if grown:
            self.units.ring(set(grown))
        elif self._place is not None and audited > self._audited:
            self.bell.ring(EVENTS)
        self._place, self._audited = place, audited


class Background:
    """Starts and stops the background tasks of a daemon; a failed one is restarted."""

    def __init__(self, services: Services) -> None:
        self._resources = resources = services.resources
        self._services = services
        self._is_alone = resources.settings.is_sqlite
        self._doze_s = resources.doze_s
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start all tasks."""
        self._tasks = [
            asyncio.create_task(_keep_going(name, chore)) for name, chore in self._chores().items()
        ]

    async def stop(self) -> None:
        """Cancel all tasks and wait for their end."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task

    def _chores(self) -> dict[str, Chore]:
        sealing = {"sealing": self._worker(TimedLook(self._seal, SEALING))}
        checks = self._views()
        if self._resources.settings.role == "api":
            return {look.name: look.keep_looking for look in checks} | sealing
        checks += self._checks()
        return {look.name: look.keep_looking for look in checks} | sealing | self._workers()

    def _views(self) -> tuple[PeriodicCheck, ...]:
        """What a daemon needs to answer people."""
        watch = JournalWatch(self._resources.units, self._resources.bell)
        refresh = self._services.skills.catalogue.refresh
        return (
            PeriodicCheck("journal-watch", watch.look, self._doze_s),
            PeriodicCheck("local-skills", refresh, LOCAL_SKILLS_LOOK_S),
        )

    def _checks(self) -> tuple[PeriodicCheck, ...]:
        services = self._services
        after_news = partial(PeriodicCheck, news=self._resources.bell, doze_s=self._doze_s)
        return (
            after_news("stranded-watch", self._put_back, STRANDED_LOOK_S, at_once=False),
            PeriodicCheck("sweep", self._sweep, SWEEP_EVERY_S),
            after_news("memory", services.capture.catch_up, MEMORY_LOOK_S),
            after_news("trials", services.trials.catch_up, TRIALS_LOOK_S),
            after_news("outcomes", services.outcomes.catch_up, OUTCOMES_LOOK_S),
            PeriodicCheck("rollout-sources", services.expired_sources.look, SOURCES_LOOK_S),
            PeriodicCheck("rollouts", services.rollout.repair.look, ROLLOUTS_LOOK_S),
        )

    def _workers(self) -> dict[str, Chore]:
        """The workers, each with its own sleep."""
        resources, services = self._resources, self._services
        learning, requests = services.learning, services.runs.upkeep.stop_requests
        workers: dict[str, Chore] = {
            "stop-watch": partial(
                watch_stop_requests, resources.signals, requests, every_s=STOP_LOOK_S
            ),
            "replays": self._worker(self._replays()),
            "candidates": partial(learning.keep_expiring, every_s=CANDIDATES_LOOK_S),
            "captures": learning.capture_worker(services.metrics).run,
            "reviews": learning.review_worker(services.metrics).run,
            "suggestions": self._suggesting,
            "deliveries": self._worker(self._deliveries()),
            "background-tasks": self._worker(self._background_tasks()),
            "schedules": self._worker(self._schedules()),
            "mail": self._worker(self._mail()),
            "retention": self._worker(self._retention()),
            "expiry": self._worker(TimedLook(self._expire, EXPIRY)),
            "telemetry": self._worker(TimedLook(services.telemetry.look, TELEMETRY)),
            "signals": self._worker(TimedLook(self._follow_signals, SIGNALS)),
            "channels": self._worker(self._channels()),
            "bridges": self._worker(self._bridges()),
            "unlearns": self._unlearning().run,
        }
        if not resources.settings.is_sqlite:
            workers["reaper"] = Reaper(resources.settings.direct_url, resources.engine).run
        return workers

    async def _suggesting(self) -> None:
        await when_settled(
            self._services.agents.suggester.look,
            self._resources.bell,
            SUGGESTIONS,
            settle_s=SUGGESTIONS_SETTLE_S,
            every_s=SUGGESTIONS_LOOK_S,
        )

    def _worker(self, duty: Duty[Any]) -> Chore:
        clock, bell = self._resources.clock, self._resources.bell
        return Worker(duty=duty, clock=clock, bell=bell, doze_s=self._doze_s).run

    def _unlearning(self) -> QueueWorker:
        resources = self._resources
        return QueueWorker(
            units=resources.units,
            clock=resources.clock,
            bell=resources.bell,
            duty=self._services.unlearn_duty(),
            look_s=LONGEST_DOZE_S if self._is_alone else LOOK_S,
            doze_s=self._doze_s,
        )

    def _replays(self) -> ReplayDuty:
        services = self._services
        model = services.learning.model(services.metrics)
        return services.rollout.replay_duty(services.trial_runs, model)

    def _deliveries(self) -> DeliveryDuty:
        return DeliveryDuty(
            units=self._resources.units,
            clock=self._resources.clock,
            secret=self._services.webhook_secret,
            sender=WebhookSender(),
            observer=self._services.metrics,
            task_message=message_of,
        )

    def _background_tasks(self) -> BackgroundTaskDuty:
        return BackgroundTaskDuty(
            runner=self._services.background_runner,
            mail=self._services.mailboxes,
            loop=asyncio.get_running_loop(),
        )

    def _schedules(self) -> ScheduleDuty:
        resources = self._resources
        return ScheduleDuty(
            units=resources.units, clock=resources.clock, firing=self._services.firing
        )

    def _retention(self) -> RetentionDuty:
        resources = self._resources
        days = resources.settings.retention_days
        return RetentionDuty(units=resources.units, clock=resources.clock, days=days)

    def _mail(self) -> MailDuty:
        resources = self._resources
        delivery = MailDelivery(clock=resources.clock, intake=self._services.intake)
        return MailDuty(units=resources.units, clock=resources.clock, delivery=delivery)

    def _expire(self) -> int | None:
        """Settle the requests that have expired; returns when the next one does."""
        expire_due(self._resources.units, self._resources.clock)
        with self._resources.units.read() as unit:
            return unit.requests.next_expiry_ms()

    def _follow_signals(self) -> int | None:
        """Handle the signals that are due; returns when the next one is, or the rest again."""
        if self._services.runs.sidechain_links.catch_up():
            return self._resources.clock.now_ms()
        with self._resources.units.read() as unit:
            return unit.signals.next_due_ms()

    def _seal(self) -> int | None:
        """Seal the new rows of the digest chains; returns when to go on where some may be left."""
        return None if self._resources.units.seal() else self._resources.clock.now_ms()

    def _bridges(self) -> BridgeDuty:
        return BridgeDuty(
            units=self._resources.units,
            clock=self._resources.clock,
            service=self._services.channels.bridges,
            sender=WebhookSender(),
        )

    def _channels(self) -> ChannelDuty:
        resources, services = self._resources, self._services
        return ChannelDuty(
            units=resources.units,
            clock=resources.clock,
            turns=services.channels.turns,
            stimuli=services.channels.stimuli,
            changed=lambda channel_id: resources.bell.ring(channel_topic(channel_id)),
        )

    def _put_back(self) -> None:
        # While draining, work that no execution holds is left to the next start.
        if self._resources.state != "draining":
            self._services.runs.upkeep.put_back_stranded()
            self._services.runs.upkeep.requeue_given_up()
            self._services.runs.upkeep.wake_left()

    def _sweep(self) -> None:
        resources = self._resources
        now = resources.clock.now_ms()
        keep_ms = resources.settings.history_retention_hours * 3600 * 1000
        resources.engine.sweep(finished_before_ms=now - keep_ms)
        with resources.units.write() as unit:
            unit.otlp.sweep(before_ms=now - TRACES_KEPT_MS)
            unit.responses.sweep(
                before_ms=now - RESPONSES_KEPT_MS, unfinished_before_ms=now - UNFINISHED_KEPT_MS
            )
        self._renew_keys()
        self._services.run_memories.sweep()
        self._services.skill_usage.sweep()
        with resources.units.read() as unit:
            busy = unit.sessions.workdirs_in_use()
        self._services.worktrees.sweep(busy, now_ms=now)

    def _renew_keys(self) -> None:
        """Make semantic keys anew that an older version made, a batch in a transaction."""
        looked_at = 0
        while self._resources.state != "stopped":
            with self._resources.units.write() as unit:
                some = unit.learnings.renew_keys(limit=KEYS_BATCH)
                some += unit.candidates.renew_keys(limit=KEYS_BATCH)
            looked_at += some
            if not some:
                break
        if looked_at:
            log.info("learning_keys.renewed", looked_at=looked_at)


async def when_settled(
    look: Callable[[], object], bell: Bell, topic: str, *, settle_s: float, every_s: float
) -> None:
    """Check at once, some time after each ring, and periodically without one.

    One check serves all rings until then.
    """
    while True:
        # Counted before the check: a ring during the check may come too late for it.
        seen = {topic: bell.count(topic)}
        await asyncio.to_thread(look)
        await bell.wait(seen, timeout_s=every_s - settle_s)
        await asyncio.sleep(settle_s)


async def _keep_going(name: str, chore: Chore) -> None:
    """Run a task for ever; a failure is logged, and the task restarted."""
    while True:
        try:
            await chore()
        except Exception as problem:  # noqa: BLE001 - it must outlive a database that is away
            log.warning("background.failed", work=name, reason=str(problem)[:200])
        await asyncio.sleep(RETRY_S)
