"""Sidechains on the wire."""

from understudy.sessions.model import SessionStatus
from understudy.wire.base import Omitted, View
from understudy.wire.sessions import LastRun


class SidechainView(View):
    """A child session, and where its newest run stands."""

    session_id: str
    agent_id: str
    status: SessionStatus
    # Whether a run of it has not ended.
    is_live: bool
    label: Omitted[str] = None
    # The run of the parent that made it, where a run did.
    spawned_by_run_id: Omitted[str] = None
    last_run: Omitted[LastRun] = None
    created_at_ms: int
    updated_at_ms: int
