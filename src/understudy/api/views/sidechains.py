"""Sidechains as the wire shows them."""

from understudy.runs.sidechains import Standing
from understudy.wire.sessions import LastRun
from understudy.wire.sidechains import SidechainView


def sidechain_view(standing: Standing) -> SidechainView:
    """A child session with its newest run."""
    session, spawn, run = standing.sidechain.session, standing.sidechain.spawn, standing.run
    return SidechainView(
        session_id=session.session_id,
        agent_id=session.agent_id,
        status=session.status.value,
        is_live=standing.is_live,
        label=spawn.label if spawn else None,
        spawned_by_run_id=spawn.run_id if spawn else None,
        last_run=(LastRun(run_id=run.run_id, status=run.status, error=run.error) if run else None),
        created_at_ms=session.created_at_ms,
        updated_at_ms=session.updated_at_ms,
    )
