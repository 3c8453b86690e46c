"""Calls about runs."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from understudy.client.calls import at, get, given, post
from understudy.client.errors import UnavailableError, UnreachableError, WaitTimeout
from understudy.client.groups.resource import Resource, body, every
from understudy.client.groups.sessions import submission
from understudy.client.streams import RECONNECT_DELAYS_S, StreamEvent, follow
from understudy.wire.base import Items
from understudy.wire.events import RunEventView
from understudy.wire.runs import (
    TERMINAL_STATUSES,
    WAITING_STATUSES,
    DebugRequestView,
    RunView,
    SubmitInput,
)
from understudy.wire.waiting import ArtifactView

_view = RunView.model_validate
FIRST_LOOK_S: Final = 0.05
LAST_LOOK_S: Final = 1.0


class Runs(Resource):
    """Execution requests in sessions."""

    def submit(
        self, session_id: str, wanted: str | SubmitInput, *, key: str | None = None
    ) -> RunView:
        """Queue a run in a session."""
        fields = body(submission(wanted))
        return self.transport.send(post(at("sessions", session_id, "runs"), _view, fields, key=key))

    def get(self, run_id: str) -> RunView:
        """One run."""
        return self.transport.send(get(at("runs", run_id), _view))

    def page(
        self,
        *,
        session_id: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[RunView]:
        """Some runs, newest first."""
        query = given(session_id=session_id, status=status, limit=limit, cursor=cursor)
        return self.transport.send(get(at("runs"), Items[RunView].model_validate, **query))

    def list(
        self, *, session_id: str | None = None, status: str | None = None
    ) -> Iterator[RunView]:
        """All runs, newest first."""
        return every(lambda cursor: self.page(session_id=session_id, status=status, cursor=cursor))

    def cancel(self, run_id: str) -> RunView:
        """Stop a run; one that has ended stays as it is."""
        return self.transport.send(post(at("runs", run_id, "cancel"), _view))

    def events_page(
        self, run_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[RunEventView]:
        """Some events in the life of a run, oldest first."""
        read = Items[RunEventView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(at("runs", run_id, "events"), read, **query))

    def events(self, run_id: str) -> Iterator[RunEventView]:
        """All events in the life of a run, oldest first."""
        return every(lambda cursor: self.events_page(run_id, cursor=cursor))

    def debug_page(
        self, run_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[DebugRequestView]:
        """Some of the provider requests of a run, if its debug level kept them."""
        read = Items[DebugRequestView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(at("runs", run_id, "debug"), read, **query))

    def debug(self, run_id: str) -> Iterator[DebugRequestView]:
        """All provider requests of a run, if its debug level kept them."""
        return every(lambda cursor: self.debug_page(run_id, cursor=cursor))

    def artifacts_page(
        self, run_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[ArtifactView]:
        """Some of what the tools of a run answered in full, in order."""
        read = Items[ArtifactView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(at("runs", run_id, "artifacts"), read, **query))

    def artifacts(self, run_id: str) -> Iterator[ArtifactView]:
        """All that the tools of a run answered in full, in order."""
        return every(lambda cursor: self.artifacts_page(run_id, cursor=cursor))

    def artifact(self, run_id: str, artifact_id: str) -> str:
        """The text of an artifact."""
        content = self.transport.fetch(at("runs", run_id, "artifacts", artifact_id))
        return content.decode("utf-8", errors="replace")

    def stream(
        self,
        run_id: str,
        *,
        last_event_id: str | None = None,
        on_away: Callable[[], None] = lambda: None,
    ) -> Iterator[StreamEvent]:
        """What happens in a run, from its start or from after an event, until it has ended.

        `on_away` is called when the daemon cannot be reached and will be asked again.
        """
        path = at("runs", run_id, "stream")
        for event in follow(
            lambda last: self.transport.open_stream(path, last_event_id=last),
            last_event_id=last_event_id,
            sleep=self.transport.retries.sleep,
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
        on_look: Callable[[RunView], None] = lambda run: None,
    ) -> RunView:
        """The run once it has ended; `WaitTimeout` when that takes too long.

        `on_look` is shown the run each time it is looked at before.
        """
        return self._wait(run_id, TERMINAL_STATUSES, timeout_s, on_look)

    def wait_settled(self, run_id: str, *, timeout_s: float | None = None) -> RunView:
        """The run once it has ended or waits for a person."""
        settled = TERMINAL_STATUSES | WAITING_STATUSES
        return self._wait(run_id, settled, timeout_s, lambda run: None)

    def _wait(
        self,
        run_id: str,
        wanted: frozenset[str],
        timeout_s: float | None,
        on_look: Callable[[RunView], None],
    ) -> RunView:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        pause = FIRST_LOOK_S
        run = self.get(run_id)
        while run.status not in wanted:
            on_look(run)
            if deadline is not None and time.monotonic() + pause > deadline:
                raise WaitTimeout(f"run {run_id} is still {run.status} after {timeout_s:g} s")
            self.transport.retries.sleep(pause)
            pause = min(pause * 1.5, LAST_LOOK_S)
            run = self._look_again(run_id)
        return run

    def _look_again(self, run_id: str) -> RunView:
        """The run; a daemon that answered before is given the time to be restarted."""
        for delay in RECONNECT_DELAYS_S:
            try:
                return self.get(run_id)
            except (UnreachableError, UnavailableError):
                self.transport.retries.sleep(delay)
        return self.get(run_id)
