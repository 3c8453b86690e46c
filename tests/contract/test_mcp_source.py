"""Where a run gets the tools of servers from: scopes, switches, and servers that are down."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import ADMIN, make_session
from tests.support.mcp_servers import RUDE, loader, make_context, rude
from tests.support.run_harness import RunHarness
from understudy.agent.budget import SpecCosts
from understudy.agent.loop import AgentLoop
from understudy.core.errors import NotFound
from understudy.mcp_client.acceptance import McpAcceptance
from understudy.mcp_client.connection import McpConnection
from understudy.mcp_client.model import (
    HttpServer,
    McpServer,
    Program,
    ServerState,
    ServerStatus,
    SessionServer,
)
from understudy.mcp_client.servers import McpServers
from understudy.mcp_client.session_servers import SessionServerService
from understudy.mcp_client.source import MAX_TOOLS, McpToolSource
from understudy.mcp_client.tool import McpTool
from understudy.retrieval.report import injection_report
from understudy.runs.taint import untrusted_sources
from understudy.sessions.model import Session
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock
from understudy.tools.base import Approval, Effect
from understudy.tools.destinations import Destinations
from understudy.tools.registry import ToolRegistry

pytestmark = [pytest.mark.one_database, pytest.mark.anyio, pytest.mark.slow]
MakeSource = Callable[..., McpToolSource]


def named(name: str, way: str = "plain", **fields: Any) -> McpServer:
    return replace(rude(way), name=name, **fields)


@pytest.fixture
async def make_source(units: Units) -> AsyncIterator[MakeSource]:
    made: list[McpServers] = []

    def make(*servers: McpServer, disabled: frozenset[str] = frozenset()) -> McpToolSource:
        connections = McpServers(servers, FrozenClock(), loader())
        made.append(connections)
        service = SessionServerService(
            units=units,
            clock=FrozenClock(),
            destinations=Destinations(()),
            taken={server.name for server in servers},
            environment={"PATH": "/usr/bin:/bin"},
        )
        return McpToolSource(connections, service, lambda: disabled)

    yield make
    for connections in made:
        await connections.close()


async def names(source: McpToolSource, session: Session | None = None) -> list[str]:
    return [tool.name for tool in await source.tools_for(session or make_session("s1"))]


async def test_a_run_gets_the_tools_of_all_servers_it_may_see(make_source: MakeSource) -> None:
    source = make_source(named("a"), named("b"), named("many", "many"))
    assert source.servers.known(None) == ()

    found = await names(source)

    assert found[:2] == ["a/act", "b/act"]
    assert len(found) == MAX_TOOLS
    ToolRegistry([]).extended(await source.tools_for(make_session("s1")))


async def test_scopes_and_switches_take_tools_away(make_source: MakeSource) -> None:
    source = make_source(
        named("a"), named("b"), named("c", is_credentialed=True), disabled=frozenset({"b/act"})
    )
    denied = make_session("s1", credential_scope={"mcp_server_deny": ["c"]})
    narrowed = make_session("s1", capability_scope={"mcp_server_allow": ["a"]})
    nothing = make_session("s1", capability_scope={"mcp_tool_deny": ["act"]})

    assert await names(source) == ["a/act", "c/act"]
    assert await names(source, denied) == ["a/act"]
    assert await names(source, narrowed) == ["a/act"]
    assert await names(source, nothing) == []
    assert [tool.name for tool in source.servers.known(denied)] == ["a/act", "b/act"]


async def test_a_server_that_no_run_may_see_is_not_started(make_source: MakeSource) -> None:
    source = make_source(named("a"), named("b"))
    await names(source, make_session("s1", capability_scope={"mcp_server_allow": ["a"]}))

    assert [status.state for status in source.servers.statuses()] == [
        ServerState.READY,
        ServerState.STOPPED,
    ]


async def test_a_server_that_is_down_costs_its_tools_and_not_the_run(
    make_source: MakeSource,
) -> None:
    gone = McpServer(name="gone", target=Program(command="/no/such/program"))
    nobody = McpServer(name="nobody", target=HttpServer(url="http://127.0.0.1:9/mcp"))
    source = make_source(named("broken", "broken"), named("a"), gone, nobody)

    down = ("broken", "gone", "nobody")

    states: dict[str, ServerStatus] = {}
    for _ in range(4):  # on a busy machine the first wait may be over by now; the next is longer
        assert await names(source) == ["a/act"]
        states = {status.name: status for status in source.servers.statuses()}
        if all(states[name].next_try_at_ms for name in down):
            break

    assert states["a"].state is ServerState.READY
    for name in down:
        assert states[name].state is ServerState.FAILED
        assert states[name].reason
        assert states[name].next_try_at_ms


async def test_servers_start_side_by_side(make_source: MakeSource, tmp_path: Path) -> None:
    # Each of them answers only when all are there.
    servers = [replace(rude("meets", str(tmp_path), "4"), name=f"s{at}") for at in range(4)]
    source = make_source(*servers)

    found: list[str] = []
    for _ in range(5):  # on a busy machine they may take more than one try
        found = await names(source)
        if len(found) == len(servers):
            break
        for connection in source.servers.shared():
            connection._backoff.forget()

    assert sorted(found) == ["s0/act", "s1/act", "s2/act", "s3/act"]


async def test_what_a_tool_does_is_believed_only_where_the_config_says_so(
    make_source: MakeSource,
) -> None:
    careful, trusting = named("a"), named("b", needs_approval=False, trusts_annotations=True)
    source = make_source(careful, trusting)
    first, second = await source.tools_for(make_session("s1"))

    assert (first.effect, first.approval) == (Effect.ONCE, Approval.ALWAYS)
    assert (second.effect, second.approval) == (Effect.ONCE, Approval.NEVER)
    listed = replace(second.listed, reads_only=True)  # type: ignore[attr-defined]
    for server, hints, effect in [
        (careful, {"reads_only": True}, Effect.ONCE),
        (trusting, {"reads_only": True}, Effect.READ),
        (trusting, {"is_idempotent": True}, Effect.IDEMPOTENT),
    ]:
        plain = replace(listed, reads_only=False)
        tool = McpTool(McpConnection(server, loader()), replace(plain, **hints))
        assert tool.effect is effect


@pytest.mark.every_database
async def test_a_session_has_its_own_servers_for_itself(
    make_source: MakeSource, tmp_path: Path
) -> None:
    source = make_source(named("a"))
    own = SessionServer(name="own", command=sys.executable, args=(str(RUDE), "plain"))
    await source.session_servers.set(ADMIN, "s1", [own])

    assert await names(source) == ["a/act", "own/act"]
    assert await names(source, make_session("s2")) == ["a/act"]
    assert [tool.name for tool in source.servers.known(make_session("s1"))] == ["a/act", "own/act"]
    assert [tool.name for tool in source.servers.known(None)] == ["a/act"]
    status = source.servers.own_status("s1", source.session_servers.server(own))
    assert (status.state, status.tools) == (ServerState.READY, 1)


async def test_a_changed_server_of_a_session_is_started_anew(make_source: MakeSource) -> None:
    source = make_source()
    found: list[str] = []
    for way in ("plain", "many"):
        own = SessionServer(name="own", command=sys.executable, args=(str(RUDE), way))
        await source.session_servers.set(ADMIN, "s1", [own])
        found = await names(source)

    assert len(found) == MAX_TOOLS
    assert len(source.servers._own) == 1


async def test_a_call_goes_through_the_tool(make_source: MakeSource) -> None:
    source = make_source(named("a"))
    (tool,) = await source.tools_for(make_session("s1"))

    said = await tool.call(tool.parameters.model_validate({"x": [1]}), make_context())

    assert said == '{"x": [1]}'


async def test_a_restart_starts_a_server_and_an_unknown_one_is_not_found(
    make_source: MakeSource,
) -> None:
    source = make_source(named("a"))

    assert (await source.servers.restart("a")).state is ServerState.READY
    with pytest.raises(NotFound):
        await source.servers.restart("b")
    assert [tool["name"] for tool in source.servers.describe()] == ["a/act"]


async def test_after_the_end_no_tools_are_left(make_source: MakeSource) -> None:
    source = make_source(named("a"))
    await names(source)
    await source.servers.close()

    assert await names(source) == []
    assert all(not connection.is_open for connection in source.servers.shared())
    await asyncio.sleep(0)


async def test_the_memory_budget_counts_the_tools_of_servers(
    make_source: MakeSource, harness: RunHarness
) -> None:
    source = make_source(named("many", "many"))
    worker = harness.executor.worker
    assert isinstance(worker, AgentLoop)
    harness.executor = replace(
        harness.executor, worker=replace(worker, prompts=replace(worker.prompts, mcp=source))
    )

    async def base() -> int:
        run_id = (await harness.run("Say nothing")).run.run_id
        with harness.units.read() as unit:
            report = injection_report(unit, run_id)
        assert report is not None
        return int(report["budget"]["base_tokens"])

    # The servers are started by the first run, after its prompt was fixed.
    before, after = await base(), await base()

    described = SpecCosts().listed(source.last_listed(make_session("s1"), ()))
    assert described > 100
    assert described <= after - before <= described + 100


async def test_a_run_that_is_told_of_unaccepted_tools_counts_as_having_read_others(
    make_source: MakeSource, harness: RunHarness
) -> None:
    source = make_source(named("a"))
    acceptance = McpAcceptance(
        units=harness.units,
        clock=FrozenClock(),
        servers=source.servers,
        session_servers=source.session_servers,
    )
    worker = harness.executor.worker
    assert isinstance(worker, AgentLoop)
    prompts = replace(worker.prompts, mcp=source, acceptance=acceptance)
    harness.executor = replace(harness.executor, worker=replace(worker, prompts=prompts))

    async def path() -> tuple[str, ...]:
        run = (await harness.run("Say nothing")).run
        with harness.units.read() as unit:
            assert unit.runs.taints(run.run_id).get("mcp_tool", ["a/act"]) == ["a/act"]
            return tuple(untrusted_sources(unit, run))

    assert await path() == ("mcp_tool",)
    acceptance.accept(ADMIN, "a", await acceptance.listed("a"))
    assert await path() == ()
    # The same tool with another description, as a server may list it from now on.
    (connection,) = source.servers.shared()
    connection.tools = (replace(connection.tools[0], description="[MCP server a] y"),)
    assert await path() == ("mcp_tool",)


async def test_what_servers_listed_last_is_known_without_starting_them(
    make_source: MakeSource,
) -> None:
    source = make_source(named("a"), named("b"))
    session = make_session("s1")
    assert source.last_listed(session, ()) == []

    await source.tools_for(session)

    assert [tool.name for tool in source.last_listed(session, ())] == ["a/act", "b/act"]
    assert [tool.name for tool in source.last_listed(session, {"a/act"})] == ["b/act"]
    narrow = make_session("s2", capability_scope={"mcp_server_deny": ["b"]})
    assert [tool.name for tool in source.last_listed(narrow, ())] == ["a/act"]
    await source.servers.close()
    assert len(source.last_listed(session, ())) == 2
