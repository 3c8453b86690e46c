"""A server as a child process: supervised, with bounded output, killed with its whole tree."""

import os
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from errno import ENOENT
from pathlib import Path
from typing import Final

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from understudy.mcp_client.errors import ServerDown, one_line
from understudy.mcp_client.model import Program
from understudy.mcp_client.rate_limits import MAX_MESSAGE_BYTES, FloodError, IntakeLimit
from understudy.tools import program_guard
from understudy.tools.processes import ChildProcesses, StartedProcess, own_program

log = structlog.get_logger()

# The grace period for the program to exit by itself.
GRACE_S: Final = 1.0
# The time its supervisor has to stop the program, then to kill the process tree.
LEAVE_WITHIN_S: Final = 6.0
TAIL_BYTES: Final = 4096
MAX_REASON_CHARS: Final = 300

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


@dataclass(slots=True)
class _Running:
    """A started program, and the tail of its stderr."""

    started: StartedProcess
    # The supervisor kills everything when this pipe closes.
    lifeline: int
    tail: bytearray = field(default_factory=bytearray)

    @property
    def process(self) -> Process:
        """The supervisor, which owns the pipes and exits with the program."""
        return self.started.process

    def describe_end(self) -> str:
        """The exit code and the last line of stderr, as the reason of the end."""
        code = self.process.returncode
        ended = "it closed its output" if code is None else f"it ended with code {code}"
        lines = self.tail.decode(errors="replace").strip().splitlines()
        return f"{ended}: {one_line(lines[-1], MAX_REASON_CHARS)}" if lines else ended


@asynccontextmanager
async def run_program(
    program: Program, on_gone: Callable[[str], None], children: ChildProcesses
) -> AsyncIterator[Streams]:
    """Run the program; on exit it is killed with all its processes.

    `on_gone` is called with the reason if the program ends before that.
    """
    running = await _start(program, children)
    to_session, from_server = anyio.create_memory_object_stream[Incoming](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    with to_session, from_server, to_server, from_session:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_listen, running, to_session, on_gone)
                tasks.start_soon(_speak, running, from_session)
                tasks.start_soon(_keep_tail, running, on_gone)
                yield from_server, to_server
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await _end(running, children)


async def _start(program: Program, children: ChildProcesses) -> _Running:
    held, lifeline = os.pipe()
    try:
        _require_command(program)
        started = await children.start(
            *own_program(program_guard, str(held), program.command, *program.args),
            limit=MAX_MESSAGE_BYTES,
            stderr=PIPE,
            env=dict(program.environment),
            cwd=program.cwd,
            pass_fds=(held,),
        )
    except (OSError, ValueError) as problem:
        os.close(lifeline)
        reason = getattr(problem, "strerror", None) or str(problem)
        raise ServerDown(
            f"{one_line(program.command, MAX_REASON_CHARS)} cannot be started: {reason}"
        ) from None
    except BaseException:
        os.close(lifeline)
        raise
    finally:
        os.close(held)
    return _Running(started=started, lifeline=lifeline)


def _require_command(program: Program) -> None:
    """Check that the command exists, on the program's own `PATH` and directory."""
    command = program.command
    if os.sep in command:
        command = str((program.cwd or Path()) / command)
    if shutil.which(command, path=program.environment.get("PATH", os.defpath)) is None:
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT))


async def _listen(
    running: _Running, to_session: MemoryObjectSendStream[Incoming], on_gone: Callable[[str], None]
) -> None:
    """Forward every message from stdout; skip lines that are no JSON-RPC."""
    intake = IntakeLimit()
    reason: str | None = None
    with to_session:
        try:
            while line := await _line(running, intake):
                message = _message(line)
                if message is not None:
                    await to_session.send(message)
        except FloodError as flood:
            reason = str(flood)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            reason = "the connection was closed"
        if reason is None:
            await running.started.has_ended(GRACE_S)
            reason = running.describe_end()
        # Before the stream closes, so that a waiting call has the reason for its error.
        on_gone(reason)


async def _line(running: _Running, intake: IntakeLimit) -> bytes:
    stdout = running.process.stdout
    if stdout is None:
        return b""
    try:
        line = await stdout.readline()
    except ValueError:  # over the line limit
        raise FloodError from None
    intake.take(line)
    return line


def _message(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def _speak(
    running: _Running, from_session: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    stdin = running.process.stdin
    if stdin is None:
        return
    with from_session, suppress(OSError):
        async for each in from_session:
            text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(text.encode() + b"\n")
            await stdin.drain()


async def _keep_tail(running: _Running, on_gone: Callable[[str], None]) -> None:
    """Drain stderr and keep its tail: a full pipe would block the program."""
    stderr, intake = running.process.stderr, IntakeLimit()
    try:
        while stderr is not None and (piece := await stderr.read(TAIL_BYTES)):
            intake.take(piece)
            running.tail += piece
            del running.tail[:-TAIL_BYTES]
    except FloodError as flood:
        on_gone(str(flood))


async def _end(running: _Running, children: ChildProcesses) -> None:
    """Close stdin, then have the supervisor kill the rest; both within a time limit."""
    if running.process.stdin is not None:
        running.process.stdin.close()
    await running.started.has_ended(GRACE_S)
    os.close(running.lifeline)
    if not await children.leave(running.started, within_s=LEAVE_WITHIN_S):
        log.warning("mcp.not_all_ended", pid=running.process.pid)
