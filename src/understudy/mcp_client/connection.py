"""The connection to one server: started on first use, closed when idle, restarted after a crash.

The task that opens a connection must also close it (cancel scopes), so each connection has its
own task; all others only signal it.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
import structlog

from understudy.mcp_client.errors import CallTimedOut, ServerDown, describe
from understudy.mcp_client.model import CONNECTION, ListedTool, McpServer, ServerState, ServerStatus
from understudy.mcp_client.tool_list import RawTool, read_listing

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from understudy.mcp_client.link import Link

log = structlog.get_logger()

START_S: Final = 10.0
IDLE_S: Final = 300.0
CLOSE_S: Final = 5.0
# The timeout of the health check after a call that timed out.
PROOF_S: Final = 5.0
# The longest back-off that a caller waits for instead of failing.
PATIENCE_S: Final = 2.0
# The longest wait for a server to be ready or down.
MAX_WAIT_S: Final = START_S + PATIENCE_S + CLOSE_S
MAX_LOGGED_REFUSALS: Final = 5


# Opens a link to a server; calls back when the connection breaks.
OpenLink = Callable[[McpServer, Callable[[str], None]], AbstractAsyncContextManager["Link"]]
# Imports the above lazily, which is slow the first time.
LoadLink = Callable[[], OpenLink]
FIRST_S: Final = 1.0
LONGEST_S: Final = 60.0
# After an uptime this long, the next failure counts as the first.
STEADY_S: Final = 60.0


class McpConnection:
    """The connection to one MCP server, with its lifecycle."""

    def __init__(
        self,
        server: McpServer,
        load_link: LoadLink,
        *,
        scrub: Callable[[str], str] = str,
        start_s: float = START_S,
        idle_s: float = IDLE_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server = server
        self.state = ServerState.STOPPED
        self.reason: str | None = None
        self.tools: tuple[ListedTool, ...] = ()
        self._load_link = load_link
        self._scrub = scrub
        self._start_s = start_s
        self._idle_s = idle_s
        self._now = now
        self._backoff = Backoff(now)
        self._task: asyncio.Task[None] | None = None
        self._link: Link | None = None
        self._settled = asyncio.Event()
        self._over = asyncio.Event()
        self._scope: anyio.CancelScope | None = None
        self._death: str | None = None
        self._calls = 0
        self._last_used = 0.0
        self._checks: set[asyncio.Task[None]] = set()
        self._is_shut = False

    @property
    def is_open(self) -> bool:
        """Whether a connection is open or opening."""
        return self._task is not None

    @property
    def is_forgettable(self) -> bool:
        """Whether it can be dropped: neither open nor in back-off."""
        return not self.is_open and self._backoff.wait_s() <= 0

    def status(self, now_ms: int) -> ServerStatus:
        """The status of the server."""
        wait_s = self._backoff.wait_s() if self.state is ServerState.FAILED else 0.0
        return ServerStatus(
            name=self.server.name,
            transport=self.server.transport,
            state=self.state,
            tools=len(self.tools) if self.state is ServerState.READY else 0,
            reason=self.reason,
            next_try_at_ms=now_ms + math.ceil(wait_s * 1000) if wait_s > 0 else None,
        )

    async def ready(self) -> tuple[ListedTool, ...]:
        """The server's tools; starts it if needed. Raises `ServerDown`, within a time limit."""
        while self._task is None or self._over.is_set():
            await self._make_way()
        self._last_used = self._now()
        await self._settled.wait()
        if self.state is not ServerState.READY:
            raise ServerDown(self.reason or "it was stopped")
        return self.tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> "CallToolResult":
        """Call a tool. Raises `ServerDown` or `CallFailed`; a later call starts the server again."""
        await self.ready()
        link = self._link
        if link is None:
            raise ServerDown(self.reason or "it was stopped")
        try:
            async with self._in_use():
                return await link.call(tool, arguments, timeout_s=self.server.timeout_s)
        except CallTimedOut:
            self._demand_proof(link)
            raise
        except ServerDown as problem:
            reason = problem.detail
            # A connection that was started meanwhile must not be closed for this.
            if self._link in (link, None):
                self._gone(reason)
                reason = self._death or reason
            raise ServerDown(f"the server died during the call: {reason}") from None

    async def shut(self) -> None:
        """Stop the server for good."""
        self._is_shut = True
        await self.close()

    async def close(self) -> None:
        """Stop the server and wait until it has ended."""
        for check in self._checks:
            check.cancel()
        task = self._task
        if task is None:
            return
        self._over.set()
        if self._scope is not None and not self._settled.is_set():
            self._scope.cancel()
        await asyncio.wait({task}, timeout=CLOSE_S * 2)

    async def restart(self) -> None:
        """Stop and start the server at once, without back-off."""
        await self.close()
        self._backoff.forget()
        with suppress(ServerDown):
            await self.ready()

    async def _make_way(self) -> None:
        """One step towards a start: wait for the old task, wait for the back-off, or begin."""
        if self._is_shut:
            raise ServerDown("the daemon is stopping")
        wait_s = self._backoff.wait_s()
        if self._task is not None:
            await asyncio.wait({self._task})
        elif wait_s > PATIENCE_S:
            raise ServerDown(f"{self.reason}; next try in {math.ceil(wait_s)} s")
        elif wait_s > 0:
            await asyncio.sleep(wait_s)
        else:
            self._begin()

    def _begin(self) -> None:
        self._settled.clear()
        self._over.clear()
        self._death = self._scope = None
        self._become(ServerState.STARTING, None)
        self._task = asyncio.create_task(self._live(), name=f"mcp {self.server.name}")

    async def _live(self) -> None:
        began = self._now()
        failure: str | None = None
        try:
            await self._connect_and_stay()
        except Exception as problem:  # noqa: BLE001 - whatever a server does to us ends here
            failure = self._death or describe(problem)
        finally:
            self._link = None
            self._task = None
            if failure is None:
                self._become(ServerState.STOPPED, None)
            else:
                self._backoff.failed(lived_s=self._now() - began)
                self._become(ServerState.FAILED, self._scrub(failure))
            self._settled.set()

    async def _connect_and_stay(self) -> None:
        if self.server.unusable is not None:
            raise ServerDown(self.server.unusable)
        open_link = await asyncio.to_thread(self._load_link)
        if self._over.is_set():
            return
        with anyio.CancelScope(deadline=anyio.current_time() + self._start_s) as self._scope:
            async with open_link(self.server, self._gone) as link:
                await self._take(await link.tools())
                self._scope.deadline = math.inf
                self._link = link
                # A slow start is no idle time: else its caller would find the server stopped again.
                self._last_used = self._now()
                self._become(ServerState.READY, None)
                self._settled.set()
                await self._until_over()
                self._scope.deadline = anyio.current_time() + CLOSE_S
        if self._death is not None:
            raise ServerDown(self._death)
        if not self._settled.is_set() and not self._over.is_set():
            raise ServerDown(f"it did not answer within {self._start_s:g} s of its start")

    async def _take(self, raw: list[RawTool]) -> None:
        listing = await asyncio.to_thread(read_listing, self.server.name, raw)
        self.tools = listing.tools
        if listing.refused:
            shown = listing.refused[:MAX_LOGGED_REFUSALS]
            log.warning("mcp.tools_refused", server=self.server.name, tools=shown)

    async def _until_over(self) -> None:
        """Wait until the connection is closed, breaks, or is idle for too long."""
        while not self._over.is_set():
            unused_s = 0.0 if self._calls else self._now() - self._last_used
            if unused_s >= self._idle_s:
                return
            with anyio.move_on_after(self._idle_s - unused_s):
                await self._over.wait()

    def _gone(self, reason: str) -> None:
        """Mark the connection as broken; the first reason is kept."""
        if self._death is None:
            self._death = reason
            self._over.set()

    @asynccontextmanager
    async def _in_use(self) -> AsyncIterator[None]:
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            self._last_used = self._now()

    def _demand_proof(self, link: "Link") -> None:
        """Health check after a timeout: close a server that no longer answers."""

        async def check() -> None:
            try:
                async with asyncio.timeout(PROOF_S):
                    await link.tools()
            except Exception:  # noqa: BLE001 - no answer, whatever the reason
                if self._link is link:
                    self._gone("it no longer answers")

        task = asyncio.create_task(check())
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)

    def _become(self, state: ServerState, reason: str | None) -> None:
        CONNECTION.check(self.state, state)
        if state is not self.state:
            tell = log.warning if state is ServerState.FAILED else log.info
            tell(f"mcp.{state}", server=self.server.name, reason=reason)
        self.state, self.reason = state, reason


class Backoff:
    """Exponential back-off by consecutive failures."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failures = 0
        self._until = -1.0

    def failed(self, *, lived_s: float) -> None:
        """Count a failure after an uptime."""
        if lived_s >= STEADY_S:
            self._failures = 0
        self._failures += 1
        # More doublings exceed the longest wait anyway.
        doublings = min(self._failures - 1, 16)
        self._until = self._now() + min(FIRST_S * 2**doublings, LONGEST_S)

    def wait_s(self) -> float:
        """Seconds until the next attempt; zero or less means now."""
        return self._until - self._now() if self._failures else 0.0

    def forget(self) -> None:
        """Reset the count of failures."""
        self._failures = 0
