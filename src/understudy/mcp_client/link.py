"""An open connection to a server: its list of tools, and calls of them.

Loads the MCP library, which takes a while; import this module only when a server is needed.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final

import anyio
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    PaginatedRequestParams,
    Tool,
)
from pydantic import TypeAdapter, ValidationError

from understudy import __version__
from understudy.mcp_client.endpoint import call_endpoint
from understudy.mcp_client.errors import CallFailed, CallTimedOut, ServerDown, describe, one_line
from understudy.mcp_client.helpers import HELPERS, helpers_of
from understudy.mcp_client.model import HttpServer, McpServer, Program
from understudy.mcp_client.program import run_program
from understudy.mcp_client.tool_list import MAX_TOOLS, RawTool
from understudy.tools.destinations import Destinations
from understudy.tools.processes import ChildProcesses

MAX_PAGES: Final = 50
DISCOVER_S: Final = 4.0
MAX_ERROR_CHARS: Final = 2000
WHO_CALLS: Final = Implementation(name="understudy", version=__version__)
# The library's error when a server has dropped the session.
FORGOTTEN: Final = "Session terminated"
_RESULT: Final[TypeAdapter[CallToolResult | InputRequiredResult]] = TypeAdapter(
    CallToolResult | InputRequiredResult
)


class Link:
    """An open connection to a server."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self._helpers: frozenset[str] = frozenset()

    async def tools(self) -> list[RawTool]:
        """The server's tools, page by page up to about the limit, after our helper tools.

        A tool of the server takes precedence over a helper with the same name.
        """
        found: list[RawTool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            found += map(_raw, page.tools)
            cursor = page.next_cursor
            if cursor is None or len(found) > MAX_TOOLS:
                break
        own = {tool.name for tool in found}
        helpers = [each for each in await helpers_of(self._session) if each.name not in own]
        self._helpers = frozenset(each.name for each in helpers)
        return [*helpers, *found]

    async def call(
        self, tool: str, arguments: dict[str, Any], *, timeout_s: float
    ) -> CallToolResult:
        """Call a tool. Raises `ServerDown`, `CallTimedOut` or `CallFailed`."""
        try:
            # The library's timeout starts when the request is written, which may never happen.
            with anyio.fail_after(timeout_s):
                result = await self._ask(tool, arguments)
        except RuntimeError as problem:
            raise CallFailed(one_line(str(problem), MAX_ERROR_CHARS)) from None
        except TimeoutError:
            raise CallTimedOut(f"no answer after {timeout_s:g} s") from None
        except MCPError as problem:
            raise _failure(problem) from None
        except ValidationError:
            raise CallFailed("the server answered with something that is no result") from None
        if isinstance(result, InputRequiredResult):
            raise CallFailed("the server wants to ask a person first, which it cannot do here")
        return result

    async def _ask(
        self, tool: str, arguments: dict[str, Any]
    ) -> CallToolResult | InputRequiredResult:
        if tool in self._helpers:
            return await HELPERS[tool](self._session, arguments)
        params = CallToolRequestParams(name=tool, arguments=arguments)
        # Not `call_tool`: it validates the answer against the server's own schema, which can be
        # crafted to take exponential time.
        return await self._session.send_request(CallToolRequest(params=params), _RESULT)


@asynccontextmanager
async def open_link(
    server: McpServer,
    on_gone: Callable[[str], None],
    *,
    destinations: Destinations,
    children: ChildProcesses,
) -> AsyncIterator[Link]:
    """Connect and negotiate the protocol version; `on_gone` is called when it breaks later."""
    reach = partial(_transport, server, destinations=destinations, children=children)
    async with AsyncExitStack() as stack:
        yield Link(await _first_answer(stack, server, on_gone, reach))


async def _first_answer(
    stack: AsyncExitStack,
    server: McpServer,
    on_gone: Callable[[str], None],
    reach: Callable[[Callable[[str], None]], AbstractAsyncContextManager[Any]],
) -> ClientSession:
    """Open a session with the newest protocol, else with the old one.

    Some older programs exit when the first request is not `initialize`.
    """
    greetings = (True, False) if isinstance(server.target, Program) else (True,)
    failure = ServerDown("it did not answer")
    for is_new in greetings:
        ends = _Ends(on_gone)
        try:
            session = await stack.enter_async_context(_connected(reach(ends.note), is_new=is_new))
        except ServerDown:
            raise
        except Exception as problem:  # noqa: BLE001 - told as what came of the start
            failure = ServerDown(ends.reasons[0] if ends.reasons else describe(problem))
        else:
            ends.become_news()
            return session
    raise failure


class _Ends:
    """Collects reasons of disconnects, and forwards them once a session is established."""

    def __init__(self, on_gone: Callable[[str], None]) -> None:
        self._on_gone = on_gone
        self._are_news = False
        self.reasons: list[str] = []

    def note(self, reason: str) -> None:
        self.reasons.append(reason)
        if self._are_news:
            self._on_gone(reason)

    def become_news(self) -> None:
        self._are_news = True
        for reason in self.reasons:
            self._on_gone(reason)


def _transport(
    server: McpServer,
    on_gone: Callable[[str], None],
    *,
    destinations: Destinations,
    children: ChildProcesses,
) -> AbstractAsyncContextManager[Any]:
    match server.target:
        case Program() as program:
            return run_program(program, on_gone, children)
        case HttpServer() as endpoint:
            return call_endpoint(
                endpoint, timeout_s=server.timeout_s, on_gone=on_gone, destinations=destinations
            )


@asynccontextmanager
async def _connected(
    transport: AbstractAsyncContextManager[Any], *, is_new: bool
) -> AsyncIterator[ClientSession]:
    async with (
        transport as (read, write),
        ClientSession(read, write, client_info=WHO_CALLS) as session,
    ):
        await _agree(session, is_new=is_new)
        yield session


async def _agree(session: ClientSession, *, is_new: bool) -> None:
    if is_new and await _discover(session):
        return
    try:
        await session.initialize()
    except MCPError as problem:
        # A slow server that supports the newest protocol after all.
        if problem.code != UNSUPPORTED_PROTOCOL_VERSION:
            raise
        await session.discover()


async def _discover(session: ClientSession) -> bool:
    """Whether the server supports the newest protocol."""
    try:
        with anyio.fail_after(DISCOVER_S):
            await session.discover()
    except MCPError as problem:
        if problem.code == CONNECTION_CLOSED:
            raise
        return False
    except (RuntimeError, TimeoutError, ValidationError):
        return False
    return True


def _raw(tool: Tool) -> RawTool:
    hints = tool.annotations
    return RawTool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        reads_only=bool(hints and hints.read_only_hint),
        is_idempotent=bool(hints and hints.idempotent_hint),
    )


def _failure(problem: MCPError) -> ServerDown | CallFailed:
    if problem.code == CONNECTION_CLOSED:
        return ServerDown("the connection ended")
    if problem.code == INVALID_REQUEST and problem.message == FORGOTTEN:
        return ServerDown("the server has forgotten us")
    return CallFailed(one_line(problem.message, MAX_ERROR_CHARS))
