"""Sidechains on the wire."""

from understudy.sessions.model import SessionStatus
from understudy.wire.base import Omitted, View
from understudy.wire.sessions import LastRun


class SidechainView(View):
    """A child session, and the status of its newest run."""

    session_id: str
    agent_id: str
    status: SessionStatus
    # Whether a run of it is unfinished.
    is_live: bool
    label: Omitted[str] = None
    # The run of the parent that spawned it, if a run did.
    spawned_by_run_id: Omitted[str] = None
    last_run: Omitted[LastRun] = None
    created_at_ms: int
    updated_at_ms: int
