"""MCP on stdin and stdout: every request is passed on to the endpoint of a daemon.

Loads the MCP library, which takes a while; import this module only to serve.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)

from understudy import __version__
from understudy.client.address import http_options
from understudy.mcp.tools import INSTRUCTIONS, NAME

# The version of the protocol between here and the daemon, whatever the client speaks.
VERSION: Final = "2026-07-28"
PATH: Final = "/mcp"
T = TypeVar("T")


class Relay:
    """Passes requests on, each over a connection of its own: the daemon may come and go."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._options = http_options(url, token)

    async def serve(self) -> None:
        """Serve until the client closes stdin."""
        server: Server[Any] = Server(
            NAME,
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    async def list_tools(self, *_: object) -> ListToolsResult:
        return await self._asked(lambda daemon: daemon.list_tools())

    async def call_tool(self, _: object, params: CallToolRequestParams) -> CallToolResult:
        try:
            return await self._asked(
                lambda daemon: daemon.call_tool(params.name, params.arguments or {})
            )
        except MCPError as error:
            # For the model to read.
            return CallToolResult(content=[TextContent(text=error.message)], is_error=True)

    async def list_resources(self, *_: object) -> ListResourcesResult:
        return await self._asked(lambda daemon: daemon.list_resources())

    async def list_templates(self, *_: object) -> ListResourceTemplatesResult:
        return await self._asked(lambda daemon: daemon.list_resource_templates())

    async def read_resource(
        self, _: object, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        return await self._asked(lambda daemon: daemon.read_resource(params.uri))

    async def _asked(self, ask: Callable[[Client], Awaitable[T]]) -> T:
        """The daemon's answer; one that does not answer is an error that says what to do."""
        refusals: list[str] = []
        try:
            async with self._daemon(refusals) as daemon:
                return await ask(daemon)
        except* MCPError as errors:
            why = f"the daemon at {self._url} refuses: {refusals[0]}" if refusals else None
            raise _first(errors) if why is None else MCPError(INTERNAL_ERROR, why) from None
        except* httpx2.HTTPError:
            why = f"no daemon answers at {self._url}: start it with `understudy serve`"
            raise MCPError(INTERNAL_ERROR, why) from None

    @asynccontextmanager
    async def _daemon(self, refusals: list[str]) -> AsyncIterator[Client]:
        async def look(response: httpx2.Response) -> None:
            if response.is_error and "problem" in response.headers.get("content-type", ""):
                await response.aread()
                refusals.append(str(response.json()["detail"]))

        async with (
            httpx2.AsyncClient(**self._options, event_hooks={"response": [look]}) as web,
            Client(
                streamable_http_client(f"{self._url}{PATH}", http_client=web), mode=VERSION
            ) as daemon,
        ):
            yield daemon


def _first(errors: BaseExceptionGroup[MCPError]) -> MCPError:
    """The first error of a group, however deep."""
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
