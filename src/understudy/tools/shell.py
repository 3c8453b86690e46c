"""The tool that runs a shell command in the workspace."""

import asyncio
import json
import shutil
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from understudy.tools import shell_supervisor
from understudy.tools.base import Approval, Effect, Parameters, ToolContext, ToolError
from understudy.tools.processes import ChildProcesses, StartedProcess, own_program

T = TypeVar("T")

DEFAULT_TIMEOUT_S: Final = 60
MAX_TIMEOUT_S: Final = 600
# In the background; the settings may allow less.
MAX_BACKGROUND_S: Final = 7 * 24 * 3600
# Linux limits one argument of a program to 128 KiB.
MAX_COMMAND_CHARS: Final = 32_000
MAX_OUTPUT_BYTES: Final = 1024 * 1024
MAX_FLOOD_BYTES: Final = 64 * 1024 * 1024
MAX_MEMORY_BYTES: Final = 4 * 1024**3
MAX_PROCESSES: Final = 256
MAX_STOPPED_CHARS: Final = 16 * 1024
# Time for the supervisor to end everything and exit.
LEAVE_WITHIN_S: Final = 15.0
# Time for the answer after the command's timeout; the command may have tampered with the
# supervisor.
ANSWER_WITHIN_S: Final = 8.0
LOOK_EVERY_S: Final = 0.5
# Timeout for reading the rest of the pipe after the process has ended.
REST_WITHIN_S: Final = 1.0

LIMITS: Final = {
    "RLIMIT_CORE": 0,
    # Resident memory; a limit on the address space would kill programs that only reserve it.
    "RLIMIT_DATA": 2 * 1024**3,
    "RLIMIT_FSIZE": 1024**3,
    "RLIMIT_NPROC": 2 * MAX_PROCESSES,
}

# The daemon's environment variables that a command gets; none of them holds a secret.
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
    # Omitted from an approval unless it is set.
    background: bool = Field(
        default=False,
        exclude_if=lambda is_on: not is_on,
        description="Answer at once with a task id, and let the command run on after this run. "
        "Read it with task_output, end it with task_stop; its end is told to you in a letter.",
    )
    timeout_s: int | None = Field(
        default_factory=lambda said: None if said.get("background") else DEFAULT_TIMEOUT_S,
        ge=1,
        le=MAX_BACKGROUND_S,
        description=f"After how many seconds the command is stopped: {DEFAULT_TIMEOUT_S} by "
        f"default and {MAX_TIMEOUT_S} at most; in the background hours.",
    )

    @field_validator("command")
    @classmethod
    def _can_be_passed(cls, command: str) -> str:
        if "\0" in command:
            raise ValueError("must not have a NUL character")
        return command

    @model_validator(mode="after")
    def _is_waited_for(self) -> "ShellParameters":
        if not self.background and self.seconds > MAX_TIMEOUT_S:
            raise ValueError(
                f"timeout_s is {self.seconds}; at most {MAX_TIMEOUT_S} unless background is true"
            )
        return self

    @property
    def seconds(self) -> int:
        """The timeout of a command in the foreground."""
        return self.timeout_s or DEFAULT_TIMEOUT_S


class CommandEnd(BaseModel):
    """How a command ended, as its supervisor reports; the command could forge it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reason: str
    code: int | None = Field(default=None, ge=-255, le=255)
    left: int = Field(default=0, ge=0, le=2**32)
    output: str = ""


class ShellProgram:
    """Starts the supervisor of a command, with the limits of every command."""

    def __init__(self, environment: Mapping[str, str], children: ChildProcesses) -> None:
        self.children = children
        self._passed_on = {"PATH": DEFAULT_PATH, "LANG": "C.UTF-8", "TERM": "dumb"} | {
            name: value for name, value in environment.items() if name in PASSED_ON
        }

    async def start(self, workspace: Path) -> StartedProcess:
        """Start a supervisor that waits for its plan; `ToolError` on failure."""
        try:
            return await self.children.start(
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

    def plan(self, command: str, timeout_s: int) -> dict[str, object]:
        """The plan for the supervisor."""
        shell = shutil.which("bash", path=self._passed_on["PATH"]) or "/bin/sh"
        return {
            "argv": [shell, "-c", command],
            "timeout_s": timeout_s,
            "max_output_bytes": MAX_OUTPUT_BYTES,
            "max_flood_bytes": MAX_FLOOD_BYTES,
            "max_memory_bytes": MAX_MEMORY_BYTES,
            "max_processes": MAX_PROCESSES,
            "limits": LIMITS,
        }

    async def leave(self, started: StartedProcess) -> bool:
        """End a command with all its descendants; False when one may still run."""
        leaving = self.children.leave(started, within_s=LEAVE_WITHIN_S)
        return await _undisturbed(leaving)


# Starts a command in the background; returns the text for the model.
StartInBackground = Callable[[ShellParameters, ToolContext], Awaitable[str]]


class Shell:
    """Runs a command line; returns its exit code and output."""

    name = "shell"
    description = (
        "Run a command line in the workspace, without input. Answers with the exit code and what "
        "it printed, errors included. What it leaves running is ended with it; only with background "
        "does it run on."
    )
    effect = Effect.ONCE
    approval = Approval.ALWAYS
    parameters: type[BaseModel] = ShellParameters
    timeout_s = MAX_TIMEOUT_S + 10.0

    def __init__(
        self,
        environment: Mapping[str, str],
        children: ChildProcesses | None = None,
        in_background: StartInBackground | None = None,
    ) -> None:
        self._program = ShellProgram(environment, children or ChildProcesses())
        self._in_background = in_background

    async def call(self, arguments: ShellParameters, context: ToolContext) -> str:
        """The exit code on the first line, then the output; `ToolError` when it was stopped."""
        if arguments.background:
            if self._in_background is None:
                raise ToolError("nothing runs in the background here")
            return await self._in_background(arguments, context)
        started = await self._program.start(context.workspace)
        is_gone = False
        try:
            plan = self._program.plan(arguments.command, arguments.seconds)
            ended = await _converse(started, plan, arguments.seconds)
        finally:
            is_gone = await self._program.leave(started)
        if not is_gone:
            raise ToolError(
                "the command's supervisor was ended; some of what it started may run on"
            )
        if ended is None:
            raise ToolError("the command's supervisor was ended; its outcome is unknown")
        if ended.reason != "exit":
            raise _stopped(ended, arguments.seconds)
        return _answer(ended)


async def _converse(
    started: StartedProcess, plan: Mapping[str, object], timeout_s: int
) -> CommandEnd | None:
    """Send the plan to the supervisor, and read its report; None without one."""
    try:
        async with asyncio.timeout(timeout_s + ANSWER_WITHIN_S):
            reply = await _ask(started, plan, timeout_s)
    except TimeoutError:
        # Something blocks the supervisor: kill it from here.
        started.signal(signal.SIGKILL)
        return CommandEnd(reason="timeout")
    account, _, output = reply.partition(b"\n")
    text = output.decode(errors="replace").replace("\0", "\ufffd")
    try:
        return CommandEnd.model_validate_json(account).model_copy(update={"output": text})
    except ValidationError:
        return None


async def tell(started: StartedProcess, plan: Mapping[str, object]) -> None:
    """Send the supervisor its plan; it may be gone already."""
    stdin = started.process.stdin
    assert stdin is not None  # noqa: S101 - asked for as a pipe
    with suppress(ConnectionError):
        stdin.write(json.dumps(plan).encode() + b"\n")
        await stdin.drain()


async def _ask(started: StartedProcess, plan: Mapping[str, object], timeout_s: int) -> bytes:
    """The output of the supervisor until it has ended; descendants may hold the pipe open."""
    process, loop = started.process, asyncio.get_running_loop()
    assert process.stdout is not None  # noqa: S101 - asked for as a pipe
    await tell(started, plan)
    reply = bytearray()
    reading = asyncio.create_task(_read(process.stdout, reply))
    time_is_up = loop.time() + timeout_s
    try:
        while not reading.done() and process.returncode is None:
            await asyncio.wait({reading}, timeout=LOOK_EVERY_S)
            if loop.time() > time_is_up:
                # The command may have stopped the supervisor to get more time.
                started.signal(signal.SIGCONT)
        await asyncio.wait({reading}, timeout=REST_WITHIN_S)
    finally:
        reading.cancel()
    return bytes(reply)


async def _read(stdout: asyncio.StreamReader, reply: bytearray) -> None:
    # The command could write here too, so the reply is bounded like its output.
    while len(reply) < 2 * MAX_OUTPUT_BYTES and (chunk := await stdout.read(1024**2)):
        reply += chunk


async def _undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Await the work to its end; a cancellation is raised afterwards."""
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


def _answer(ended: CommandEnd) -> str:
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


def _stopped(ended: CommandEnd, timeout_s: int) -> ToolError:
    why = STOPPED.get(ended.reason, f"it did not end within {timeout_s} s")
    output = ended.output
    if len(output) > MAX_STOPPED_CHARS:
        half = MAX_STOPPED_CHARS // 2
        output = f"{output[:half]}\n[cut]\n{output[-half:]}"
    return ToolError(
        f"stopped, with all it had started: {why}\n{output}".rstrip(), code="command_stopped"
    )
