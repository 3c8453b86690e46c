"""Sessions and their events in their wire format."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from understudy.api.views.runs import output_view, run_event_view
from understudy.core.page import encode_cursor
from understudy.core.scope import Scope
from understudy.runs.remembered import with_remembered
from understudy.runs.service import RunDetail
from understudy.sessions.journal import EventKind, JournalPage
from understudy.sessions.model import Session, SessionStanding, SessionStatus
from understudy.sessions.scopes import effective_capability_scope, effective_credential_scope
from understudy.wire.replies import OutputView
from understudy.wire.sessions import (
    LastRun,
    ReplyTargetsView,
    SessionEventsView,
    SessionSnapshot,
    SessionView,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_OUTPUTS: Final = 20
ACTIONS: Final = {
    SessionStatus.ACTIVE: ("input", "runs", "interrupt", "end"),
    SessionStatus.ENDED: (),
}


def session_view(
    unit: "Unit",
    session: Session,
    *,
    inline: RunDetail | None = None,
    outputs: Sequence[OutputView] = (),
    standing: SessionStanding | None = None,
) -> SessionView:
    """A session with its current activity; `inline` is the run just waited for.

    Lists read the standings of all their sessions in one query.
    """
    standing = standing or _standing(unit, session)
    return SessionView.of(
        session,
        title=standing.title,
        snapshot=snapshot_view(unit, session, inline=inline, standing=standing),
        route_policy=session.route_policy,
        capability_scope=_lists(session.capability_scope),
        effective_capability_scope=_scope(effective_capability_scope(session)),
        credential_scope=_lists(session.credential_scope),
        effective_credential_scope=_scope(effective_credential_scope(session)),
        reply_targets=list(session.reply_targets) or None,
        active_skills=list(session.active_skills) or None,
        outputs=[output_view(event) for event in inline.outputs] if inline else [*outputs],
        actions=list(ACTIONS[session.status]),
    )


def newest_outputs(unit: "Unit", session: Session) -> list[OutputView]:
    """The last outputs of a session, newest last."""
    newest = unit.journal.read_back(
        session.session_id,
        before_offset=session.journal_length + 1,
        kinds=(EventKind.OUTPUT,),
        limit=MAX_OUTPUTS,
    )
    return [output_view(event, run_id=event.run_id) for event in reversed(newest)]


def snapshot_view(
    unit: "Unit",
    session: Session,
    *,
    inline: RunDetail | None = None,
    standing: SessionStanding | None = None,
) -> SessionSnapshot:
    """The current activity of a session."""
    standing = standing or _standing(unit, session)
    return SessionSnapshot.of(
        session,
        queued_runs=standing.queued_runs,
        active_run_id=standing.active_run_id,
        active_run_status=standing.active_run_status,
        last_run=LastRun.of(inline.run) if inline else None,
    )


def _standing(unit: "Unit", session: Session) -> SessionStanding:
    return unit.sessions.standings([session.session_id])[session.session_id]


def reply_targets_view(session: Session) -> ReplyTargetsView:
    """The reply targets of a session."""
    return ReplyTargetsView(
        session_id=session.session_id, reply_targets=list(session.reply_targets)
    )


def session_events_view(unit: "Unit", session: Session, page: JournalPage) -> SessionEventsView:
    """A page of the journal, with the outputs and run events on it."""
    events = with_remembered(unit, page.events)
    return SessionEventsView(
        session=session_view(unit, session),
        daemon_outputs=[
            output_view(event, run_id=event.run_id)
            for event in events
            if event.kind is EventKind.OUTPUT
        ],
        run_events=[
            run_event_view(event, agent_id=session.agent_id)
            for event in events
            if event.kind in (EventKind.RUN, EventKind.OUTPUT)
        ],
        items=list(events),
        next_cursor=encode_cursor((events[-1].offset,)) if page.more else None,
    )


def _scope(scope: Scope | None) -> dict[str, list[str]] | None:
    return None if scope is None else scope.to_json() or None


def _lists(flat: object) -> dict[str, list[str]] | None:
    return dict(flat) if isinstance(flat, dict) and flat else None
