"""Runs: the timeline, steps and prompt of each, and the candidates captured from it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from understudy.console.conversation import ChildLane, RunTurn, steps_of, timeline_of, turns_of
from understudy.console.page import ConsolePage
from understudy.console.pages.sessions import agents, candidates_of, waiting_in
from understudy.console.visits import Visit

# The most journal events that a page reads of a run, and how many at once.
MAX_EVENTS: Final = 1_000
AT_ONCE: Final = 200
# The filters that the list's counts take, too.
COUNTED: Final = ("session_id", "agent_id")
Record = Mapping[str, Any]


async def _runs(visit: Visit) -> dict[str, Any]:
    """The list, and the number of runs per status."""
    page = await visit.call("runs.list", **{"limit": 50, **visit.query})
    narrowed = {name: visit.query[name] for name in COUNTED if name in visit.query}
    return {
        "items": page["items"],
        "next": page["next_cursor"],
        "counts": await visit.call("runs.counts", **narrowed),
        "agents": await agents(visit),
    }


async def _run(visit: Visit) -> dict[str, Any]:
    """A run, with the data of the chosen tab."""
    ids = {"run_id": visit.request.path_params["id"]}
    record = await visit.call("runs.get", **ids)
    events, is_cut = await _journal_of(visit, record)
    turn = next(iter(turns_of(events)), None)
    chosen = visit.query.get("tab", "")
    tab = chosen if chosen in TABS else "timeline"
    names = tuple(TABS)
    return {
        "record": record,
        "turn": turn,
        "events": events,
        "is_cut": is_cut,
        "tabs": names,
        "tab": tab,
        "next_tab": names[(names.index(tab) + 1) % len(names)],
        "waiting": await waiting_in(visit, is_live="finished_at_ms" not in record, **ids),
        "candidates": await candidates_of(visit, [turn.candidate_ids if turn else ()]),
        "twin": ids,
        **await TABS[tab](visit, record, turn),
    }


async def _journal_of(visit: Visit, record: Record) -> tuple[list[Any], bool]:
    """The journal events of a run from its beginning, and whether there are more."""
    events: list[Any] = []
    cursor = None
    while len(events) < MAX_EVENTS:
        page = await visit.call(
            "sessions.events",
            session_id=record["session_id"],
            run_id=record["run_id"],
            limit=AT_ONCE,
            cursor=cursor,
        )
        events += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return events, False
    return events, True


async def _timeline(visit: Visit, record: Record, turn: RunTurn | None) -> dict[str, Any]:
    if turn is None:
        return {"bars": ()}
    until = record.get("finished_at_ms") or record["updated_at_ms"]
    # Only a tool begins a sidechain.
    has_tools = any(step.calls for step in turn.steps)
    lanes = [each async for each in _lanes(visit, record)] if has_tools else []
    ends = [lane.ended_at_ms or lane.at_ms for lane in lanes]
    events_end = turn.waits[-1].at_ms if turn.waits else turn.since_ms
    return {"bars": timeline_of(turn, until_ms=max(until, events_end, *ends), children=lanes)}


async def _lanes(visit: Visit, record: Record) -> Any:
    """The sidechains that a run made."""
    found = await visit.call("sessions.sidechains", session_id=record["session_id"], limit=AT_ONCE)
    for each in found["items"]:
        if each.get("spawned_by_run_id") == record["run_id"]:
            yield ChildLane(
                label=each.get("label") or each["agent_id"],
                href=f"/sessions/{each['session_id']}",
                at_ms=each["created_at_ms"],
                ended_at_ms=each.get("last_run", {}).get("finished_at_ms"),
            )


async def _steps(visit: Visit, record: Record, turn: RunTurn | None) -> dict[str, Any]:
    """The steps; with `only=failures` those that failed."""
    rows = steps_of(turn) if turn else []
    only = visit.query.get("only") == "failures"
    return {"steps": [row for row in rows if row.is_failed or not only], "only_failures": only}


async def _prompt(visit: Visit, record: Record, turn: RunTurn | None) -> dict[str, Any]:
    """The recorded model requests; only admins may read them."""
    may_read = visit.may("runs.debug")
    wanted = {"run_id": record["run_id"], "limit": 50, "cursor": visit.query.get("cursor")}
    found = await visit.call("runs.debug", **wanted) if may_read else {"items": ()}
    return {
        "captures": found["items"],
        "next": found.get("next_cursor"),
        "may_read": may_read,
        "may_switch": visit.may("runtime.change"),
    }


async def _memory(visit: Visit, record: Record, turn: RunTurn | None) -> dict[str, Any]:
    return {"memory": await visit.call("runs.memory_report", run_id=record["run_id"])}


async def _nothing(visit: Visit, record: Record, turn: RunTurn | None) -> dict[str, Any]:
    return {}


Load = Callable[[Visit, Record, RunTurn | None], Awaitable[dict[str, Any]]]
# The tabs in their order, each with the function that loads its data.
TABS: Final[Mapping[str, Load]] = {
    "timeline": _timeline,
    "steps": _steps,
    "prompt": _prompt,
    "memory": _memory,
    "learned": _nothing,
    "journal": _nothing,
    "details": _nothing,
}


PAGES: Final[Sequence[ConsolePage]] = (
    ConsolePage(path="/runs", name="runs", template="runs.html", twin="runs.list", load=_runs),
    ConsolePage(path="/runs/{id}", name="runs", template="run.html", twin="runs.get", load=_run),
)
