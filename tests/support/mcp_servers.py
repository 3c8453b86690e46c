"""MCP servers for tests, as records to connect to and as processes to call."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from tests.support.postgres_server import free_port
from understudy.mcp_client.connection import LoadLink, OpenLink
from understudy.mcp_client.model import McpServer, Program
from understudy.tools.base import ToolContext
from understudy.tools.destinations import Destinations, Resolve, system_resolve
from understudy.tools.processes import ChildProcesses

POLITE = Path(__file__).with_name("mcp_polite.py")
RUDE = Path(__file__).with_name("mcp_rude.py")
NEEDED = {"PATH": os.environ["PATH"]}


def loader(
    *allowed: str, resolve: Resolve = system_resolve, children: ChildProcesses | None = None
) -> LoadLink:
    """What a connection needs to open itself; only these private addresses may be called."""

    def load() -> OpenLink:
        from understudy.mcp_client.link import open_link

        return partial(
            open_link,
            destinations=Destinations(allowed, resolve),
            children=children or ChildProcesses(),
        )

    return load


def rude(way: str, *more: str, **fields: Any) -> McpServer:
    """A server that misbehaves in some way."""
    args = (str(RUDE), way, *more)
    program = Program(command=sys.executable, args=args, environment=NEEDED)
    return McpServer(name="rude", target=program, **fields)


def polite(environment: dict[str, str] | None = None, **fields: Any) -> McpServer:
    """A server that behaves."""
    program = Program(
        command=sys.executable,
        args=(str(POLITE),),
        environment={**NEEDED, **(environment or {})},
    )
    return McpServer(name="polite", target=program, **fields)


@contextmanager
def polite_over_http(*, key: str = "") -> Iterator[str]:
    """The address of a server that behaves; with a key, it lets nobody in without."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, str(POLITE), str(port)], env={**NEEDED, "WANTED_KEY": key}
    )
    try:
        url = f"http://127.0.0.1:{port}/mcp"
        _wait_until_up(url, process)
        yield url
    finally:
        process.kill()
        process.wait()


def _wait_until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(httpx2.TransportError):
            httpx2.get(url, trust_env=False)
            return
        time.sleep(0.05)
    raise AssertionError(f"no server at {url}")


def make_context() -> ToolContext:
    """A call of no run in particular."""
    return ToolContext(
        session_id="s",
        run_id="r",
        agent_id="a",
        user_id="u",
        call_id="c",
        call_key="k",
        workspace=Path(),
    )
