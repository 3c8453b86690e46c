"""Many planned runs, and what their journals must look like whatever happened in between."""

import json
from typing import Any

from tests.support.daemon import TERMINAL, DaemonProcess

MODEL_CALLS = 4


def plan_for(label: str, *, delay_s: float = 0.0) -> str:
    """A run of four model calls and three tool calls that can be told by its label."""
    tools = [["write_file", {"path": f"{label}-{n}.txt", "content": label}] for n in range(3)]
    plan = {"tools": tools, "final": f"done {label}", "delay_s": delay_s}
    return f"[{label}] plan: {json.dumps(plan)}"


def all_pages(daemon: DaemonProcess, path: str) -> list[dict[str, Any]]:
    """Every item of a list."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        params = {"limit": 200, **({"cursor": cursor} if cursor else {})}
        page = daemon.get(path, params=params)
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items


def journal_of(daemon: DaemonProcess, session: str) -> list[dict[str, Any]]:
    """The whole journal of a session."""
    return all_pages(daemon, f"/v1/sessions/{session}/events")


def all_ended(daemon: DaemonProcess, count: int) -> dict[str, Any] | None:
    """The runs by id, once this many have ended and none is left."""
    runs = {run["run_id"]: run for run in all_pages(daemon, "/v1/runs")}
    ended = all(run["status"] in TERMINAL for run in runs.values())
    return runs if ended and len(runs) == count else None


def check_journal(events: list[dict[str, Any]], run_ids: list[str]) -> None:
    """No gap, no double, one run after the other in the order they were submitted."""
    assert [event["offset"] for event in events] == list(range(1, len(events) + 1))
    keys = [event["key"] for event in events if event.get("key")]
    assert len(keys) == len(set(keys))
    started = [e["run_id"] for e in events if e["kind"] == "run" and e["data"]["type"] == "started"]
    assert started == run_ids
    current = None
    for event in events:
        if event["kind"] != "run":
            continue
        if event["data"]["type"] == "started":
            assert current is None
            current = event["run_id"]
        elif event["data"]["type"] == "completed":
            assert current == event["run_id"]
            current = None
    for run_id in run_ids:
        kinds = [event["kind"] for event in events if event.get("run_id") == run_id]
        assert kinds.count("message") == MODEL_CALLS
        assert kinds.count("tool_call") == kinds.count("tool_result") == MODEL_CALLS - 1
        assert kinds.count("input") == 1
