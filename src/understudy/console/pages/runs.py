"""Runs: how one went, what it was told, what was learned from it."""

from typing import Any, Final

from understudy.console.conversation import timeline_of, turns_of
from understudy.console.page import Listing
from understudy.console.pages.sessions import JOURNAL_EVENTS, waiting_in
from understudy.console.visits import Visit


async def _run(visit: Visit) -> dict[str, Any]:
    ids = {"run_id": visit.request.path_params["id"]}
    record = await visit.call("runs.get", **ids)
    journal = await visit.call(
        "sessions.events", session_id=record["session_id"], limit=JOURNAL_EVENTS, **ids
    )
    turn = next(iter(turns_of(journal["items"])), None)
    until = record.get("finished_at_ms") or record["updated_at_ms"]
    return {
        "record": record,
        "turn": turn,
        "bars": timeline_of(turn, until_ms=until) if turn else [],
        "memory": await visit.call("runs.memory_report", **ids),
        "candidates": await visit.call("learning_candidates.list", query=ids["run_id"], limit=20),
        "waiting": await waiting_in(visit, **ids),
        "twin": ids,
    }


PAGES: Final = Listing(
    name="runs",
    all="runs.list",
    one="runs.get",
    key="run_id",
    columns=("status", "run_id", "session_id", "agent_id", "kind", "submitted_at_ms"),
    title="run_id",
    template="run.html",
    load=_run,
).pages()
