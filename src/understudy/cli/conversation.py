"""A conversation in one session: say something, hear the reply, break off."""

from typing import TYPE_CHECKING

from understudy.cli.output import note
from understudy.cli.transcript import Transcript

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.wire.runs import SubmitInput
    from understudy.wire.runtime import RouteView
    from understudy.wire.sessions import SessionView

OFFLINE = "scripted"


class Conversation:
    """Talks in one session; a break ends the run that is going on, not the session."""

    def __init__(
        self, client: "Client", session: "SessionView", *, route_id: str | None = None
    ) -> None:
        self.client = client
        self.session = session
        # Where the runs go, whatever the session and its agent say.
        self.route_id = route_id

    def introduce(self) -> None:
        """Tell where this takes place and who answers."""
        session = self.session
        route = self._route()
        where = _named(route) if route else "none"
        note(f"session {session.session_id} · agent {session.agent_id} · route {where}")
        if route is not None and route.provider == OFFLINE:
            note("offline: replies come from a script; set OPENAI_API_KEY for a real model")

    def say(self, text: str) -> str:
        """Run a message, print the reply as it comes, and answer how the run ended."""
        run = self.client.runs.submit(self.session.session_id, self.input(text))
        ahead = self.client.sessions.get(self.session.session_id).snapshot.active_run_id
        if ahead not in (None, run.run_id):
            note(f"waiting for {ahead} to end")
        return self._follow(run.run_id)

    def input(self, text: str) -> "SubmitInput":
        """What is submitted to say a text."""
        from understudy.client.calls import given
        from understudy.wire.runs import SubmitInput

        return SubmitInput(**given(content=text, provider=self.route_id))

    def _follow(self, run_id: str) -> str:
        """Print a run to its end; the first break interrupts it, a second one leaves it."""
        from understudy.wire.events import RunUpdated

        last, status = None, ""
        is_stopping = False
        stream = self.client.runs.stream
        with Transcript(run_id) as transcript:
            while True:
                try:
                    for event in stream(run_id, last_event_id=last, on_away=transcript.show_away):
                        last = event.id
                        transcript.show(event)
                        if isinstance(event.data, RunUpdated):
                            status = event.data.status
                except KeyboardInterrupt:
                    transcript.end_line()
                    if is_stopping:
                        raise
                    is_stopping = True
                    self._stop(run_id)
                else:
                    return status

    def _stop(self, run_id: str) -> None:
        """Stop this run; what else the session is doing goes on."""
        if self.client.runs.get(run_id).status == "queued":
            self.client.runs.cancel(run_id)
            note("cancelled before it began; the session goes on")
        else:
            self.client.sessions.interrupt(self.session.session_id)
            note("interrupting the run; the session goes on")

    def _route(self) -> "RouteView | None":
        policy = self.session.route_policy
        wanted = self.route_id or (policy.provider if policy else None)
        wanted = wanted or self.client.agents.get(self.session.agent_id).route
        routes = list(self.client.routes.list())
        if wanted:
            return next((route for route in routes if route.route_id == wanted), None)
        return next((route for route in routes if route.default), None)


def _named(route: "RouteView") -> str:
    is_one_name = route.model == route.route_id
    return route.route_id if is_one_name else f"{route.route_id} ({route.model})"
