"""`AsyncClient`: the same client for `async` code."""

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

import httpx2

from understudy.client.address import checked_url, http_options
from understudy.client.calls import Json, at
from understudy.client.errors import UnavailableError, UnreachableError
from understudy.client.one_line import Reply, learning_of
from understudy.client.operations import (
    DaemonCalls,
    LearningsCalls,
    Operations,
    RolloutsCalls,
    RunsCalls,
    SessionsCalls,
)
from understudy.client.poll_schedule import (
    RECONNECT_DELAYS_S,
    SETTLED_STATUSES,
    TERMINAL_STATUSES,
    PollSchedule,
)
from understudy.client.streams import StreamEvent, follow_async
from understudy.client.transport import AsyncRetries, AsyncTransport

if TYPE_CHECKING:
    from understudy.core.page import Page
    from understudy.learnings.model import LearningUse
    from understudy.learnings.publication import PublishedLearning
    from understudy.wire.rollouts import TrialView
    from understudy.wire.runs import RunView
    from understudy.wire.runtime import StatusView


class AsyncSessions(SessionsCalls[AsyncTransport]):
    """Durable conversations."""

    def stream(
        self, session_id: str, *, last_event_id: str | None = None
    ) -> AsyncIterator[StreamEvent]:
        """Stream the events of a session from now on, or after an event; endless."""
        path = at("sessions", session_id, "stream")
        return follow_async(self.transport, path, last_event_id=last_event_id)


class AsyncRuns(RunsCalls[AsyncTransport]):
    """Execution requests in sessions."""

    async def stream(
        self,
        run_id: str,
        *,
        last_event_id: str | None = None,
        on_away: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[StreamEvent]:
        """Stream the events of a run, from its start or after an event, until it has ended."""

        async def is_over() -> bool:
            return (await self.get(run_id)).status in TERMINAL_STATUSES

        async for event in follow_async(
            self.transport,
            at("runs", run_id, "stream"),
            last_event_id=last_event_id,
            is_over=is_over,
            on_away=on_away,
        ):
            yield event
            if event.ends_run:
                return

    async def wait(self, run_id: str, *, timeout_s: float | None = None) -> "RunView":
        """Wait until the run has ended; `WaitTimeout` after the timeout."""
        return await self._wait(run_id, TERMINAL_STATUSES, timeout_s)

    async def wait_settled(self, run_id: str, *, timeout_s: float | None = None) -> "RunView":
        """Wait until the run has ended or waits for a person."""
        return await self._wait(run_id, SETTLED_STATUSES, timeout_s)

    async def _wait(
        self, run_id: str, wanted: frozenset[str], timeout_s: float | None
    ) -> "RunView":
        looks = PollSchedule(f"run {run_id}", timeout_s)
        run = await self.get(run_id)
        while run.status not in wanted:
            await self.transport.retries.sleep(looks.pause(run.status))
            run = await self._look_again(run_id)
        return run

    async def _look_again(self, run_id: str) -> "RunView":
        """Poll the run; retries while a daemon that answered before is restarted."""
        for delay in RECONNECT_DELAYS_S:
            try:
                return await self.get(run_id)
            except (UnreachableError, UnavailableError):
                await self.transport.retries.sleep(delay)
        return await self.get(run_id)


class AsyncLearnings(LearningsCalls[AsyncTransport]):
    """Learnings."""

    def uses(self, learning_id: str) -> AsyncIterator["LearningUse"]:
        """All runs whose prompt had it injected, newest first."""

        async def page(cursor: str | None) -> "Page[LearningUse]":
            return (await self.lineage(learning_id, cursor=cursor)).uses

        return self.transport.every(page)


class AsyncRollouts(RolloutsCalls[AsyncTransport]):
    """Promoted skills by name."""

    async def wait_trial(
        self, skill_name: str, trial_id: str, *, timeout_s: float | None = None
    ) -> "TrialView":
        """Wait until the trial has ended; `WaitTimeout` after the timeout."""
        looks = PollSchedule(f"trial {trial_id}", timeout_s)
        while (trial := await self.get_trial(skill_name, trial_id)).state == "pending":
            await self.transport.retries.sleep(looks.pause(trial.state))
        return trial


class AsyncDaemon(DaemonCalls[AsyncTransport]):
    """The daemon itself."""

    async def is_ready(self) -> bool:
        """Whether the daemon is ready: neither starting nor draining."""
        return await self.transport.probe("/readyz")


class AsyncClient(Operations[AsyncTransport]):
    """Talks to a running daemon; use it in an `async with` block or close it."""

    sessions: AsyncSessions
    runs: AsyncRuns
    learnings: AsyncLearnings
    rollouts: AsyncRollouts
    daemon: AsyncDaemon

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        retries: AsyncRetries | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        on_answer: Callable[[Json], None] | None = None,
    ) -> None:
        self.url = checked_url(url)
        http = httpx2.AsyncClient(transport=transport, **http_options(self.url, token))
        super().__init__(
            AsyncTransport(lambda: http, retries=retries or AsyncRetries(), on_answer=on_answer)
        )
        self.sessions = AsyncSessions(self.transport)
        self.runs = AsyncRuns(self.transport)
        self.learnings = AsyncLearnings(self.transport)
        self.rollouts = AsyncRollouts(self.transport)
        self.daemon = AsyncDaemon(self.transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self.transport.http.aclose()

    async def chat(
        self,
        text: str,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """Send a message to an agent, in a new session or a known one, and wait for the reply."""
        from understudy.wire.sessions import CreateSession

        wanted = CreateSession(session_id=session_id, agent_id=agent_id)
        session = await self.sessions.create(wanted)
        run = await self.runs.submit(session.session_id, text)
        return Reply.of(await self.runs.wait_settled(run.run_id, timeout_s=timeout_s))

    async def learn(
        self, content: str, *, kind: str | None = None, always: bool = False
    ) -> "PublishedLearning":
        """Publish a statement as a learning of the workspace."""
        return await self.learnings.create(learning_of(content, kind=kind, always=always))

    async def status(self) -> "StatusView":
        """The status of the daemon."""
        return await self.daemon.status()

    def stream(self, *, last_event_id: str | None = None) -> AsyncIterator[StreamEvent]:
        """Stream the events of all sessions from now on, or after an event; endless."""
        return follow_async(self.transport, at("events", "stream"), last_event_id=last_event_id)
