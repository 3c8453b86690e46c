"""The client: one daemon, one principal."""

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from understudy.client.address import checked_url, http_options
from understudy.client.calls import HttpCall, Json, QueryValue, at, post
from understudy.client.errors import UnavailableError, UnreachableError
from understudy.client.one_line import Reply, learning_of
from understudy.client.operation import RAW
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
from understudy.client.transport import Retries, Transport

if TYPE_CHECKING:
    import httpx2

    from understudy.client.loopback import Loopback
    from understudy.client.streams import StreamEvent
    from understudy.learnings.model import LearningUse
    from understudy.learnings.publication import PublishedLearning
    from understudy.wire.rollouts import TrialView
    from understudy.wire.runs import RunView
    from understudy.wire.runtime import StatusView


class Sessions(SessionsCalls[Transport]):
    """Durable conversations."""

    def stream(
        self, session_id: str, *, last_event_id: str | None = None
    ) -> Iterator["StreamEvent"]:
        """The events of a session from now on, or after an event; never ends."""
        path = at("sessions", session_id, "stream")
        from understudy.client.streams import follow

        return follow(self.transport, path, last_event_id=last_event_id)


class Runs(RunsCalls[Transport]):
    """Execution requests in sessions."""

    def stream(
        self,
        run_id: str,
        *,
        last_event_id: str | None = None,
        on_away: Callable[[], None] = lambda: None,
    ) -> Iterator["StreamEvent"]:
        """The events of a run, from its start or after an event, until it has ended.

        `on_away` is called when the daemon is unreachable and the connection will be retried.
        """
        from understudy.client.streams import follow

        for event in follow(
            self.transport,
            at("runs", run_id, "stream"),
            last_event_id=last_event_id,
            is_over=lambda: self.get(run_id).status in TERMINAL_STATUSES,
            on_away=on_away,
        ):
            yield event
            if event.ends_run:
                return

    def wait(
        self,
        run_id: str,
        *,
        timeout_s: float | None = None,
        on_look: Callable[["RunView"], None] = lambda run: None,
    ) -> "RunView":
        """Wait until the run has ended; `WaitTimeout` after the timeout.

        `on_look` is called with the run after each poll before that.
        """
        return self._wait(run_id, TERMINAL_STATUSES, timeout_s, on_look)

    def wait_settled(self, run_id: str, *, timeout_s: float | None = None) -> "RunView":
        """Wait until the run has ended or waits for a person."""
        return self._wait(run_id, SETTLED_STATUSES, timeout_s, lambda run: None)

    def _wait(
        self,
        run_id: str,
        wanted: frozenset[str],
        timeout_s: float | None,
        on_look: Callable[["RunView"], None],
    ) -> "RunView":
        looks = PollSchedule(f"run {run_id}", timeout_s)
        run = self.get(run_id)
        while run.status not in wanted:
            on_look(run)
            self.transport.retries.sleep(looks.pause(run.status))
            run = self._look_again(run_id)
        return run

    def _look_again(self, run_id: str) -> "RunView":
        """Poll the run; retries while a daemon that answered before is restarted."""
        for delay in RECONNECT_DELAYS_S:
            try:
                return self.get(run_id)
            except (UnreachableError, UnavailableError):
                self.transport.retries.sleep(delay)
        return self.get(run_id)


class Learnings(LearningsCalls[Transport]):
    """Learnings."""

    def uses(self, learning_id: str) -> Iterator["LearningUse"]:
        """All runs whose prompt had it injected, newest first."""
        return self.transport.every(lambda cursor: self.lineage(learning_id, cursor=cursor).uses)


class Rollouts(RolloutsCalls[Transport]):
    """Promoted skills by name."""

    def wait_trial(
        self, skill_name: str, trial_id: str, *, timeout_s: float | None = None
    ) -> "TrialView":
        """Wait until the trial has ended; `WaitTimeout` after the timeout."""
        looks = PollSchedule(f"trial {trial_id}", timeout_s)
        while (trial := self.get_trial(skill_name, trial_id)).state == "pending":
            self.transport.retries.sleep(looks.pause(trial.state))
        return trial


class RunningDaemon(DaemonCalls[Transport]):
    """The daemon itself."""

    def is_ready(self) -> bool:
        """Whether the daemon is ready: neither starting nor draining."""
        return self.transport.probe("/readyz")


class Client(Operations[Transport]):
    """Talks to a running daemon; use it in a `with` block or close it."""

    sessions: Sessions
    runs: Runs
    learnings: Learnings
    rollouts: Rollouts
    daemon: RunningDaemon

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        retries: Retries | None = None,
        transport: "httpx2.BaseTransport | None" = None,
        on_answer: Callable[[Json], None] | None = None,
        is_light: bool = False,
    ) -> None:
        """`is_light` is for a process that makes a few calls: quick to load, slow for many.

        It reads answers without their models, see `LightRecord`, and a daemon of this machine is
        called with the standard library.
        """
        self.url = checked_url(url)

        def connect() -> "httpx2.Client":
            import httpx2

            return httpx2.Client(transport=transport, **http_options(self.url, token))

        super().__init__(
            Transport(
                connect,
                retries=retries or Retries(),
                on_answer=on_answer,
                loopback=_loopback(self.url, token) if is_light and transport is None else None,
                is_light=is_light,
            )
        )
        self.sessions = Sessions(self.transport)
        self.runs = Runs(self.transport)
        self.learnings = Learnings(self.transport)
        self.rollouts = Rollouts(self.transport)
        self.daemon = RunningDaemon(self.transport)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, QueryValue] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> bytes:
        """The answer of any operation as it was sent; a POST has an idempotency key."""
        call: HttpCall[bytes] = HttpCall(method=method, path=path, query=query or {}, body=body)
        if method == "POST":
            call = post(path, body, query=query, key=key)
        answer: bytes = self.transport.send(call, RAW)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the connections go."""
        if self.transport.is_open:
            self.transport.http.close()

    def chat(
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
        session = self.sessions.create(wanted)
        run = self.runs.submit(session.session_id, text)
        return Reply.of(self.runs.wait_settled(run.run_id, timeout_s=timeout_s))

    def learn(
        self, content: str, *, kind: str | None = None, always: bool = False
    ) -> "PublishedLearning":
        """Publish a statement as a learning of the workspace."""
        return self.learnings.create(learning_of(content, kind=kind, always=always))

    def status(self) -> "StatusView":
        """The status of the daemon."""
        return self.daemon.status()

    def stream(self, *, last_event_id: str | None = None) -> Iterator["StreamEvent"]:
        """The events of all sessions from now on, or after an event; never ends."""
        from understudy.client.streams import follow

        return follow(self.transport, at("events", "stream"), last_event_id=last_event_id)


def _loopback(url: str, token: str | None) -> "Loopback | None":
    from understudy.client.loopback import Loopback

    return Loopback.at(url, token)
