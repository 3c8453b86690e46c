"""Sessions on the wire."""

from typing import Annotated

from pydantic import Field

from understudy.core.errors import FieldError
from understudy.core.records import OMIT_EMPTY
from understudy.runs.model import RunStatus
from understudy.sessions import model
from understudy.sessions.journal import JournalEvent
from understudy.wire.base import Id, JsonObject, Omitted, RequestBody, ScopeLists, View
from understudy.wire.events import RunEventView
from understudy.wire.generation import Generation
from understudy.wire.replies import OutputView, ReplyTargetBody


class CreateSession(RequestBody):
    """A new session, or the existing one of that id if the request does not differ."""

    session_id: str | None = None
    """The id; by default a new one."""
    agent_id: str | None = None
    """The agent of the session."""
    parent_session_id: str | None = None
    """The session whose scopes bound this one."""
    thread_id: Id | None = None
    """The caller's id of the conversation."""
    persona_id: str | None = None
    """The persona to bind."""
    capability_scope: JsonObject | None = None
    """What the session may use."""
    credential_scope: JsonObject | None = None
    """The credentials that the session may use."""


class BindPersona(RequestBody):
    """The persona to bind to the session."""

    persona_id: str
    """The persona."""


class SetCapabilityScope(RequestBody):
    """The capability scope of the session."""

    capability_scope: JsonObject
    """Allowed and denied names by kind."""


class SetCredentialScope(RequestBody):
    """The credential scope of the session."""

    credential_scope: JsonObject
    """Allowed and denied names by kind."""


class RoutePolicyBody(RequestBody):
    """Route and generation settings of future runs."""

    provider: str | None = None
    """The route of future runs."""
    generation: Generation | None = None
    """Settings of their model calls."""


class SetRoutePolicy(RequestBody):
    """The route policy to set."""

    route_policy: RoutePolicyBody
    """Route and generation settings."""


class ActivateSkill(RequestBody):
    """A skill to activate in the session, by its slug, id or name."""

    name: str = Field(min_length=1, max_length=200)
    """The slug, id or name of the skill."""
    args: str | None = Field(default=None, max_length=4096)
    """The arguments that it is activated with."""


class SetReplyTargets(RequestBody):
    """The reply targets of future runs."""

    reply_targets: list[ReplyTargetBody] = Field(max_length=32)
    """Where the outputs of future runs are delivered."""


class EndSession(RequestBody):
    """The reason for ending the session."""

    reason: str | None = Field(default=None, max_length=2000)
    """The reason for ending it."""


class ReplyTargetsView(View):
    """The reply targets of a session."""

    session_id: str
    reply_targets: list[model.ReplyTarget]


class SessionPersonaView(View):
    """The persona snapshot of a session, in full; absent where none is bound."""

    session_id: str
    persona: Omitted[model.PersonaSnapshot] = None


class BoundPersona(View):
    """The persona snapshot of a session, in short."""

    persona_id: str
    persona_version: int
    display_name: str
    bound_at_ms: int


class LastRun(View):
    """The status of the newest run, or of that of an inline submit."""

    run_id: str
    status: RunStatus
    error: Omitted[str] = None
    finished_at_ms: Omitted[int] = None


class SessionSnapshot(View):
    """The current activity of the session."""

    status: model.SessionStatus
    journal_length: int
    queued_runs: int
    active_run_id: Omitted[str] = None
    # Such as `waiting_for_approval`.
    active_run_status: Omitted[RunStatus] = None
    last_run: Omitted[LastRun] = None


class SessionView(View):
    """A session; parts that are not set are left out."""

    session_id: str
    # The beginning of its first input.
    title: Omitted[str] = None
    agent_id: str
    snapshot: SessionSnapshot
    created_at_ms: int
    updated_at_ms: int
    version: int
    thread_id: Omitted[str] = None
    parent_session_id: Omitted[str] = None
    ended_reason: Omitted[str] = None
    # Working directory of its tools within the workspace; omitted for the whole workspace.
    workdir: Omitted[str] = None
    # The trial or replay that it belongs to, itself or through a parent.
    trial_id: Omitted[str] = None
    route_policy: Omitted[model.RoutePolicy] = None
    capability_scope: Omitted[ScopeLists] = None
    effective_capability_scope: Omitted[ScopeLists] = None
    credential_scope: Omitted[ScopeLists] = None
    effective_credential_scope: Omitted[ScopeLists] = None
    persona: Omitted[BoundPersona] = None
    # The active skills; `active-skills` says which of them are usable.
    active_skills: Omitted[list[model.ActiveSkill]] = None
    reply_targets: Omitted[list[model.ReplyTarget]] = None
    # The newest outputs of its runs, newest last; lists of sessions leave them out.
    outputs: list[OutputView] = Field(default_factory=list)
    actions: list[str] = Field(default_factory=list)
    # After a change of its scope: the skills in it that are not there yet.
    warnings: Annotated[tuple[FieldError, ...], OMIT_EMPTY] = ()


class InterruptView(View):
    """Whether a run was interrupted, and the state of the session."""

    interrupted: bool
    snapshot: SessionSnapshot


class SessionEventsView(View):
    """A page of the journal; outputs and run events are those of the page."""

    session: SessionView
    daemon_outputs: list[OutputView]
    run_events: list[RunEventView]
    items: list[JournalEvent]
    next_cursor: str | None = None
