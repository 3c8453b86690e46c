"""The whole daemon in this process, without its web API: one at a time, for one asyncio.run."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.daemon import PATIENCE_S
from tests.support.factories import ALICE
from understudy.daemon.wiring import Daemon
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import RunStatus
from understudy.runs.service import RunDetail
from understudy.runs.submission import Submission
from understudy.sessions.creation import NewSession
from understudy.settings import Flags, Settings, load_settings
from understudy.tools.base import Tool
from understudy.tools.files import ListFiles, ReadFile, WriteFile
from understudy.tools.registry import ToolRegistry


class DaemonInProcess:
    """A running daemon, as its own API would use it."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon

    async def session(self, session_id: str = "s1", **fields: Any) -> None:
        """Create a session, or find it."""
        wanted = NewSession(session_id=session_id, **fields)
        await asyncio.to_thread(self.daemon.services.sessions.create, ALICE, wanted)

    async def submit(
        self, content: str = "hello", *, session_id: str = "s1", key: str | None = None, **more: Any
    ) -> str:
        """Queue a run."""
        submission = Submission(content=content, **more)
        detail = await asyncio.to_thread(
            self.daemon.services.runs.service.submit,
            ALICE,
            session_id,
            submission,
            idempotency_key=key,
        )
        return detail.run.run_id

    async def look(self, run_id: str) -> RunDetail:
        """A run as it is now."""
        return await asyncio.to_thread(self.daemon.services.runs.service.get, run_id)

    async def status(self, run_id: str) -> RunStatus:
        """The status of a run."""
        return (await self.look(run_id)).run.status

    async def wait(
        self, run_id: str, reached: Callable[[RunDetail], bool] | None = None
    ) -> RunDetail:
        """Wait until a run has ended, or has come to where the test wants it."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                detail = await self.look(run_id)
                if detail.run.status in TERMINAL or (reached and reached(detail)):
                    return detail
                await asyncio.sleep(0.02)


@asynccontextmanager
async def running(
    settings: Settings, *tools: Tool, in_good_order: bool = True
) -> AsyncIterator[DaemonInProcess]:
    """Run a daemon; `in_good_order=False` ends it without a drain, as a crash would.

    What it was doing ends with the event loop, so a crash needs an `asyncio.run` of its own.
    """
    daemon = Daemon(settings)
    daemon.services.tools = ToolRegistry([ReadFile(), WriteFile(), ListFiles(), *tools])
    daemon.migrate()
    await daemon.start()
    try:
        yield DaemonInProcess(daemon)
    finally:
        if in_good_order:
            await daemon.drain()
        await daemon.stop()


def start_once(home: Path) -> None:
    """Let a daemon start in a home and end again."""
    daemon = Daemon(load_settings(Flags(home=home), {}))
    home.mkdir(parents=True, exist_ok=True)
    daemon.migrate()
    asyncio.run(_start_and_stop(daemon))


async def _start_and_stop(daemon: Daemon) -> None:
    await daemon.start()
    await daemon.stop()
