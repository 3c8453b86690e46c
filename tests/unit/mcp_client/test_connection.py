"""One server over its life, with a server that does as it is told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_types import CallToolResult

from tests.support.network import NetworkBlocked
from understudy.mcp_client.connection import McpConnection
from understudy.mcp_client.errors import CallFailed, ServerDown
from understudy.mcp_client.model import CONNECTION, HttpServer, McpServer, ServerState
from understudy.mcp_client.tool_list import RawTool

pytestmark = pytest.mark.anyio
SERVER = McpServer(name="far", target=HttpServer(url="http://far.example"))


class Obedient:
    """A server that starts, lists, answers and dies as the test wants."""

    def __init__(self) -> None:
        self.opened = 0
        self.closed = 0
        self.failing: BaseException | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.hang_up: Callable[[str], None] = lambda _: None
        self.call_failure: BaseException | None = None

    def load(self) -> Any:
        @asynccontextmanager
        async def open_link(
            _: McpServer, on_gone: Callable[[str], None]
        ) -> AsyncIterator["Obedient"]:
            self.opened += 1
            self.hang_up = on_gone
            if self.failing is not None:
                raise self.failing
            await self.gate.wait()
            try:
                yield self
            finally:
                self.closed += 1

        return open_link

    async def tools(self) -> list[RawTool]:
        return [RawTool(name="act", description=None, input_schema={})]

    async def call(
        self, tool: str, arguments: dict[str, Any], *, timeout_s: float
    ) -> CallToolResult:
        await asyncio.sleep(0)
        if self.call_failure is not None:
            raise self.call_failure
        return CallToolResult.model_validate({"content": [{"type": "text", "text": tool}]})


@pytest.fixture
def far() -> Obedient:
    return Obedient()


@pytest.fixture
async def connection(far: Obedient) -> AsyncIterator[McpConnection]:
    connection = McpConnection(SERVER, far.load)
    yield connection
    far.gate.set()
    await connection.shut()
    assert far.closed <= far.opened
    assert not connection.is_open


async def test_nothing_starts_before_it_is_needed(far: Obedient, connection: McpConnection) -> None:
    await asyncio.sleep(0.01)

    assert (far.opened, connection.state) == (0, ServerState.STOPPED)
    assert connection.status(0).tools == 0


async def test_many_who_need_it_start_it_once(far: Obedient, connection: McpConnection) -> None:
    found = await asyncio.gather(*(connection.ready() for _ in range(10)))

    assert far.opened == 1
    assert {tool.name for tools in found for tool in tools} == {"act"}
    assert connection.status(0).tools == 1


async def test_one_who_leaves_does_not_take_the_start_from_the_others(
    far: Obedient, connection: McpConnection
) -> None:
    far.gate.clear()
    first, second = (asyncio.create_task(connection.ready()) for _ in range(2))
    await asyncio.sleep(0.05)
    first.cancel()
    far.gate.set()

    assert len(await second) == 1
    assert far.opened == 1


async def test_a_failed_start_is_told_and_not_tried_again_at_once(
    far: Obedient, connection: McpConnection
) -> None:
    far.failing = ExceptionGroup("of tasks", [ExceptionGroup("again", [OSError("no route")])])
    with pytest.raises(ServerDown, match="no route"):
        await connection.ready()
    status = connection.status(1_000_000)
    assert (status.state, status.reason) == (ServerState.FAILED, "no route")
    assert 1_000_000 < (status.next_try_at_ms or 0) <= 1_001_000
    for _ in range(2):
        with pytest.raises(ServerDown):
            await connection.ready()
    # The fourth try would be four seconds off: too long to wait for.
    with pytest.raises(ServerDown, match=r"no route; next try in [34] s"):
        await connection.ready()

    assert far.opened == 3


async def test_a_restart_waits_for_nothing(far: Obedient, connection: McpConnection) -> None:
    far.failing = OSError("no route")
    for _ in range(3):
        await connection.restart()
    assert connection.status(0).reason == "no route"
    far.failing = None
    await connection.restart()

    status = connection.status(0)
    assert (status.state, status.reason) == (ServerState.READY, None)
    assert status.next_try_at_ms is None


async def test_a_server_that_hangs_up_is_started_again_for_the_next_call(
    far: Obedient, connection: McpConnection
) -> None:
    await connection.ready()
    far.hang_up("it left")
    far.hang_up("a later excuse")
    result = await connection.call("act", {})

    assert result.content[0].type == "text"
    assert far.opened == 2


async def test_a_death_in_a_call_is_told_with_its_reason(
    far: Obedient, connection: McpConnection
) -> None:
    await connection.ready()
    far.call_failure = ServerDown("the connection ended")
    far.hang_up("it ended with code 9")
    # The call had begun before anybody knew.
    connection._over.clear()
    with pytest.raises(ServerDown, match="died during the call: it ended with code 9"):
        await connection.call("act", {})


async def test_a_call_that_fails_leaves_the_server_as_it_is(
    far: Obedient, connection: McpConnection
) -> None:
    far.call_failure = CallFailed("no such thing")
    with pytest.raises(CallFailed):
        await connection.call("act", {})

    assert connection.state is ServerState.READY


async def test_a_server_nobody_uses_is_let_go_and_started_again(far: Obedient) -> None:
    connection = McpConnection(SERVER, far.load, idle_s=0.05)
    await connection.ready()
    async with asyncio.timeout(5):
        while connection.is_open:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    assert (connection.state, far.closed) == (ServerState.STOPPED, 1)
    assert connection.is_forgettable

    await connection.ready()
    assert far.opened == 2
    await connection.shut()


async def test_the_time_of_a_start_is_no_idle_time(far: Obedient) -> None:
    clock = [0.0]
    connection = McpConnection(SERVER, far.load, idle_s=60, now=lambda: clock[0])
    far.gate.clear()
    waiting = asyncio.create_task(connection.ready())
    while not far.opened:  # noqa: ASYNC110 - the server opens in a task of the connection
        await asyncio.sleep(0)
    clock[0] = 61.0
    far.gate.set()

    assert [tool.name for tool in await waiting] == ["act"]
    assert connection.state is ServerState.READY
    await connection.shut()


async def test_a_start_can_be_called_off(far: Obedient, connection: McpConnection) -> None:
    far.gate.clear()
    waiting = asyncio.create_task(connection.ready())
    await asyncio.sleep(0.05)
    await connection.close()

    with pytest.raises(ServerDown, match="it was stopped"):
        await waiting
    assert connection.state is ServerState.STOPPED


async def test_after_the_end_nothing_starts(far: Obedient, connection: McpConnection) -> None:
    await connection.ready()
    await connection.shut()
    with pytest.raises(ServerDown, match="stopping"):
        await connection.call("act", {})

    assert (far.opened, far.closed) == (1, 1)


async def test_a_server_that_lacks_its_credential_is_never_started(far: Obedient) -> None:
    server = McpServer(name="x", target=HttpServer(url="http://x"), unusable="X_TOKEN is not set")
    connection = McpConnection(server, far.load)
    with pytest.raises(ServerDown, match="X_TOKEN is not set"):
        await connection.ready()

    assert far.opened == 0
    assert connection.status(0).reason == "X_TOKEN is not set"


async def test_secrets_are_taken_out_of_reasons(far: Obedient) -> None:
    secret = "tok-" + "123456"
    connection = McpConnection(SERVER, far.load, scrub=lambda text: text.replace(secret, "***"))
    far.failing = NetworkBlocked(f"refused {secret}")
    with pytest.raises(ServerDown) as down:
        await connection.ready()

    assert down.value.detail == "refused ***"


def test_every_step_of_a_connection_is_in_the_table() -> None:
    steps = {(a, b) for a in ServerState for b in CONNECTION.allowed(a)}

    assert steps == {
        (ServerState.STOPPED, ServerState.STARTING),
        (ServerState.STARTING, ServerState.READY),
        (ServerState.STARTING, ServerState.FAILED),
        (ServerState.STARTING, ServerState.STOPPED),
        (ServerState.READY, ServerState.STOPPED),
        (ServerState.READY, ServerState.FAILED),
        (ServerState.FAILED, ServerState.STARTING),
    }
    assert CONNECTION.terminal == frozenset()
