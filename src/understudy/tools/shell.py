"""The tool that runs a shell command in the workspace."""

import asyncio
import json
import shutil
import signal
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from understudy.tools import shell_supervisor
from understudy.tools.base import Approval, Effect, Parameters, ToolContext, ToolError
from understudy.tools.processes import ChildProcesses, StartedProcess, own_program

T = TypeVar("T")

DEFAULT_TIMEOUT_S: Final = 60
MAX_TIMEOUT_S: Final = 600
# One argument of a program is at most 128 KiB long on Linux, whatever the characters.
MAX_COMMAND_CHARS: Final = 32_000
MAX_OUTPUT_BYTES: Final = 1024 * 1024
MAX_FLOOD_BYTES: Final = 64 * 1024 * 1024
MAX_MEMORY_BYTES: Final = 4 * 1024**3
MAX_PROCESSES: Final = 256
MAX_STOPPED_CHARS: Final = 16 * 1024
# How long the supervisor may take to end everything, and to leave.
LEAVE_WITHIN_S: Final = 15.0
# How long after the command's time it may take to answer; the command may have tampered with it.
ANSWER_WITHIN_S: Final = 8.0
LOOK_EVERY_S: Final = 0.5
# Timeout for reading the rest of the pipe after the process has ended.
REST_WITHIN_S: Final = 1.0

LIMITS: Final = {
    "RLIMIT_CORE": 0,
    # Memory in use; a limit on the address space would kill programs that only reserve it.
    "RLIMIT_DATA": 2 * 1024**3,
    "RLIMIT_FSIZE": 1024**3,
    "RLIMIT_NPROC": 2 * MAX_PROCESSES,
}

# The variables a command sees of the daemon's own; keys and tokens are in none of them.
PASSED_ON: Final = frozenset({"PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "USER"})
DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

STOPPED: Final = {
    "flood": f"it printed more than {MAX_FLOOD_BYTES // 1024**2} MiB",
    "memory": f"it used more than {MAX_MEMORY_BYTES // 1024**3} GiB of memory",
    "processes": f"it ran more than {MAX_PROCESSES} processes",
}


class ShellParameters(Parameters):
    """The parameters of `shell`."""

    command: str = Field(
        min_length=1, max_length=MAX_COMMAND_CHARS, description="The command line to run."
    )
    timeout_s: int = Field(
        default=DEFAULT_TIMEOUT_S,
        ge=1,
        le=MAX_TIMEOUT_S,
        description="After how many seconds the command is stopped.",
    )

    @field_validator("command")
    @classmethod
    def _can_be_passed(cls, command: str) -> str:
        if "\0" in command:
            raise ValueError("must not have a NUL character")
        return command


class _Ended(BaseModel):
    """How a command ended, as its supervisor tells; the command could tell it too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reason: str
    code: int | None = Field(default=None, ge=-255, le=255)
    left: int = Field(default=0, ge=0, le=2**32)
    output: str = ""


class Shell:
    """Runs a command line and answers with its exit code and what it printed."""

    name = "shell"
    description = (
        "Run a command line in the workspace, without input. Answers with the exit code and what "
        "it printed, errors included. What it leaves running in the background is ended with it."
    )
    effect = Effect.ONCE
    approval = Approval.ALWAYS
    parameters: type[BaseModel] = ShellParameters
    timeout_s = MAX_TIMEOUT_S + 10.0

    def __init__(
        self, environment: Mapping[str, str], children: ChildProcesses | None = None
    ) -> None:
        self._children = children or ChildProcesses()
        self._passed_on = {"PATH": DEFAULT_PATH, "LANG": "C.UTF-8", "TERM": "dumb"} | {
            name: value for name, value in environment.items() if name in PASSED_ON
        }

    async def call(self, arguments: ShellParameters, context: ToolContext) -> str:
        """The exit code on the first line, then the output; `ToolError` when it was stopped."""
        started = await self._start(context.workspace)
        is_gone = False
        try:
            ended = await _converse(started, self._plan(arguments), arguments.timeout_s)
        finally:
            leaving = self._children.leave(started, within_s=LEAVE_WITHIN_S)
            is_gone = await _undisturbed(leaving)
        if not is_gone:
            raise ToolError(
                "the command's supervisor was ended; some of what it started may run on"
            )
        if ended is None:
            raise ToolError("the command's supervisor was ended; its outcome is unknown")
        if ended.reason != "exit":
            raise _stopped(ended, arguments.timeout_s)
        return _answer(ended)

    async def _start(self, workspace: Path) -> StartedProcess:
        try:
            return await self._children.start(
                *own_program(shell_supervisor),
                limit=MAX_OUTPUT_BYTES,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=workspace,
                env={**self._passed_on, "HOME": str(workspace)},
            )
        except OSError as problem:
            if str(problem.filename) == str(workspace):
                raise ToolError(
                    "the workspace cannot be opened", code="workspace_missing"
                ) from None
            reason = (problem.strerror or "no reason given").lower()
            raise ToolError(f"the command cannot be started: {reason}") from None

    def _plan(self, arguments: ShellParameters) -> dict[str, object]:
        shell = shutil.which("bash", path=self._passed_on["PATH"]) or "/bin/sh"
        return {
            "argv": [shell, "-c", arguments.command],
            "timeout_s": arguments.timeout_s,
            "max_output_bytes": MAX_OUTPUT_BYTES,
            "max_flood_bytes": MAX_FLOOD_BYTES,
            "max_memory_bytes": MAX_MEMORY_BYTES,
            "max_processes": MAX_PROCESSES,
            "limits": LIMITS,
        }


async def _converse(
    started: StartedProcess, plan: Mapping[str, object], timeout_s: int
) -> _Ended | None:
    """Tell the supervisor what to do, and read how it went; None when it does not say."""
    try:
        async with asyncio.timeout(timeout_s + ANSWER_WITHIN_S):
            reply = await _ask(started, plan, timeout_s)
    except TimeoutError:
        # Something keeps it from its work: what there is, is ended from here.
        started.signal(signal.SIGKILL)
        return _Ended(reason="timeout")
    account, _, output = reply.partition(b"\n")
    text = output.decode(errors="replace").replace("\0", "\ufffd")
    try:
        return _Ended.model_validate_json(account).model_copy(update={"output": text})
    except ValidationError:
        return None


async def _ask(started: StartedProcess, plan: Mapping[str, object], timeout_s: int) -> bytes:
    """The output of the supervisor until it has ended; descendants may hold the pipe open."""
    process, loop = started.process, asyncio.get_running_loop()
    assert process.stdin is not None  # noqa: S101 - asked for as a pipe
    assert process.stdout is not None  # noqa: S101
    with suppress(ConnectionError):
        process.stdin.write(json.dumps(plan).encode() + b"\n")
        await process.stdin.drain()
    reply = bytearray()
    reading = asyncio.create_task(_read(process.stdout, reply))
    time_is_up = loop.time() + timeout_s
    try:
        while not reading.done() and process.returncode is None:
            await asyncio.wait({reading}, timeout=LOOK_EVERY_S)
            if loop.time() > time_is_up:
                # The command may have stopped it to get more time.
                started.signal(signal.SIGCONT)
        await asyncio.wait({reading}, timeout=REST_WITHIN_S)
    finally:
        reading.cancel()
    return bytes(reply)


async def _read(stdout: asyncio.StreamReader, reply: bytearray) -> None:
    # The command could write here too, so what is read is bounded as if it were its own.
    while len(reply) < 2 * MAX_OUTPUT_BYTES and (chunk := await stdout.read(1024**2)):
        reply += chunk


async def _undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Do the work to its end; who is cancelled meanwhile leaves afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as asked:
            cancelled = asked
    done = task.result()
    if cancelled is not None:
        raise cancelled
    return done


def _answer(ended: _Ended) -> str:
    code = ended.code or 0
    lines = [f"[exit code {code}]" if code >= 0 else f"[ended by {_signal(-code)}]"]
    if ended.left:
        lines.append(f"[{ended.left} processes it left running were ended]")
    return "\n".join([*lines, ended.output or "[no output]"])


def _signal(number: int) -> str:
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def _stopped(ended: _Ended, timeout_s: int) -> ToolError:
    why = STOPPED.get(ended.reason, f"it did not end within {timeout_s} s")
    output = ended.output
    if len(output) > MAX_STOPPED_CHARS:
        half = MAX_STOPPED_CHARS // 2
        output = f"{output[:half]}\n[cut]\n{output[-half:]}"
    return ToolError(
        f"stopped, with all it had started: {why}\n{output}".rstrip(), code="command_stopped"
    )
