"""Tools of MCP servers, from the config file to the model and back."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.conftest import DaemonWithModel, routes_to
from tests.support.command_line_process import Cli
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.mcp_servers import RUDE
from tests.support.planned_runs import journal_of
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e
# How long the process sleeps that one of them sends away.
AWAY = "9821"
# A server that somebody else wrote, one of ours that cannot start, one that must be asked for, and
# one that sends a process away, into a session of its own.
SERVERS = f"""
[mcp.servers.time]
command = {sys.executable!r}
args = ["-m", "mcp_server_time", "--local-timezone", "Europe/Paris"]
approval = "never"

[mcp.servers.broken]
command = {sys.executable!r}
args = [{str(RUDE)!r}, "broken"]

[mcp.servers.careful]
command = {sys.executable!r}
args = [{str(RUDE)!r}, "plain"]

[mcp.servers.scattered]
command = {sys.executable!r}
args = [{str(RUDE)!r}, "scatters", "{AWAY}"]
"""
NOW = ["time__get_current_time", {"timezone": "Asia/Tokyo"}]


@pytest.fixture
def clock_live(tmp_path: Path, model: FakeModel) -> Iterator[DaemonWithModel]:
    config = routes_to(model) + SERVERS
    with DaemonProcess(tmp_path / "home", config=config) as daemon:
        yield DaemonWithModel(daemon, model)


def plan(*tools: Any, final: str = "done") -> str:
    return f"plan: {json.dumps({'tools': list(tools), 'final': final})}"


def start(daemon: DaemonProcess, name: str) -> dict[str, Any]:
    """Start a server; on a busy machine that may take more than one try."""

    def ready() -> dict[str, Any] | None:
        status: dict[str, Any] = daemon.post(f"/v1/mcp-servers/{name}/restart", timeout=60)
        return status if status["state"] == "ready" else None

    return wait_for(ready, 60, what=f"{name} to be ready")


def children(daemon: DaemonProcess) -> list[psutil.Process]:
    return psutil.Process(daemon.pid).children(recursive=True)


def results(daemon: DaemonProcess, session: str) -> list[dict[str, Any]]:
    return [
        event["data"] for event in journal_of(daemon, session) if event["kind"] == "tool_result"
    ]


def tools_told(model: FakeModel) -> set[str]:
    """The tools that the model was told of last."""
    return {tool["function"]["name"] for tool in model.requests[-1].body["tools"]}


def test_a_server_from_elsewhere_is_driven_from_end_to_end(clock_live: DaemonWithModel) -> None:
    daemon = clock_live.daemon
    assert start(daemon, "time")["tools"] == 2
    daemon.post("/v1/sessions", {"session_id": "s"})

    run = daemon.run("s", plan(NOW, final="It is late in Tokyo."))

    assert run["status"] == "completed", run
    (result,) = results(daemon, "s")
    assert (result["status"], result["executed"]) == ("ok", True)
    assert json.loads(result["content"])["timezone"] == "Asia/Tokyo"
    told = tools_told(clock_live.model)
    assert {"time__get_current_time", "time__convert_time", "careful__act"} <= told
    assert not any(name.startswith("broken") for name in told)


def test_a_server_starts_by_itself_for_the_first_run(clock_live: DaemonWithModel) -> None:
    daemon = clock_live.daemon
    daemon.post("/v1/sessions", {"session_id": "s"})
    assert children(daemon) == []

    # The plain server is there at once; the other may not be, on a busy machine.
    assert daemon.run("s", plan(), timeout=60)["status"] == "completed"

    assert "careful__act" in tools_told(clock_live.model)
    states = {item["name"]: item["state"] for item in daemon.get("/v1/mcp-servers")["items"]}
    assert (states["careful"], states["broken"]) == ("ready", "failed")


def test_a_call_waits_for_a_person_unless_the_config_says_otherwise(
    clock_live: DaemonWithModel,
) -> None:
    daemon = clock_live.daemon
    daemon.post("/v1/sessions", {"session_id": "s"})
    run_id = daemon.submit("s", plan(["careful__act", {"x": 1}]))

    (approval,) = wait_for(lambda: daemon.get("/v1/approvals")["items"], 30)
    assert approval["tool_name"] == "careful/act"
    assert results(daemon, "s") == []
    decision = {"request_id": approval["id"], "behavior": "allow"}
    daemon.post(f"/v1/runs/{run_id}/approvals", {"resolutions": [decision]})

    assert daemon.wait_for_run(run_id)["status"] == "completed"
    (result,) = results(daemon, "s")
    assert json.loads(result["content"]) == {"x": 1}


def test_a_scope_hides_a_server_and_a_call_of_it_does_nothing(clock_live: DaemonWithModel) -> None:
    daemon = clock_live.daemon
    start(daemon, "time")
    scope = {"mcp_server_deny": ["time"]}
    daemon.post("/v1/sessions", {"session_id": "s", "capability_scope": scope})

    assert daemon.run("s", plan(NOW))["status"] == "completed"
    (result,) = results(daemon, "s")
    assert (result["status"], result["executed"]) == ("error", False)
    assert "there is no tool" in result["content"]


def test_the_command_line_shows_and_starts_servers(clock_live: DaemonWithModel) -> None:
    cli = Cli(clock_live.daemon)
    start(clock_live.daemon, "time")

    assert "time is ready with 2 tools" in cli("mcp", "restart", "time").stderr
    assert "broken is failed" in cli("mcp", "restart", "broken", code=1).stderr
    assert cli.json("mcp", "restart", "broken", code=1)["state"] == "failed"
    listed = cli("mcp", "list").stdout
    assert "no such module" in listed
    assert "time/convert_time" in cli("mcp", "tools").stdout
    assert cli("mcp", "tools", "broken").stdout.startswith("No tools")
    tools = cli.json("mcp", "tools", "time")
    assert {item["name"] for item in tools["items"]} == {
        "time/get_current_time",
        "time/convert_time",
    }
    assert tools["next_cursor"] is None
    assert not any(item["accepted"] for item in tools["items"])
    assert "time/convert_time" in cli("mcp", "accept", "time").stdout
    tools = cli.json("mcp", "tools", "time")
    assert all(item["accepted"] for item in tools["items"])
    cli("mcp", "accept", "nowhere", code=3)
    cli("mcp", "restart", "nowhere", code=3)
    checks = cli.json("doctor")["checks"]
    assert "mcp_server_failed" in {check["code"] for check in checks}


def test_a_daemon_that_stops_leaves_no_server_behind(clock_live: DaemonWithModel) -> None:
    daemon = clock_live.daemon
    start(daemon, "time")
    start(daemon, "careful")
    left = children(daemon)
    # Each with its guard.
    assert len(left) == 4

    assert daemon.stop() == 0

    assert not any(map(is_alive, left))


def test_a_daemon_that_is_killed_takes_its_servers_with_it(clock_live: DaemonWithModel) -> None:
    daemon = clock_live.daemon
    start(daemon, "careful")
    start(daemon, "scattered")
    # The server is ready before what it sent away has become a sleep.
    wait_for(lambda: is_asleep(children(daemon)), 30, what="a process to be sent away")
    left = children(daemon)
    os.kill(daemon.pid, signal.SIGKILL)
    daemon.wait_for_exit()

    wait_for(lambda: not any(map(is_alive, left)), 10, what="the servers to end")


def is_asleep(processes: list[psutil.Process]) -> bool:
    try:
        return ["sleep", AWAY] in [process.cmdline() for process in processes]
    except psutil.NoSuchProcess:
        return False


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
