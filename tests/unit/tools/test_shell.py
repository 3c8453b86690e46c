"""Running commands, and ending all of what they start."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pydantic import ValidationError

from tests.support.tool_calls import call, context_in, refusal
from understudy.tools import shell
from understudy.tools.base import Approval, Effect, ToolError
from understudy.tools.process_tree import PR_SET_CHILD_SUBREAPER, prctl
from understudy.tools.processes import ChildProcesses
from understudy.tools.shell import Shell, ShellParameters

KEY = "sk-" + "proj-" + "0123456789"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "TZ": "Asia/Ho_Chi_Minh",
    "OPENAI_API_KEY": KEY,
    "UNDERSTUDY_ADMIN_TOKEN": KEY,
    "DATABASE_PASSWORD": KEY,
    "LD_PRELOAD": "/nowhere/evil.so",
    "BASH_ENV": "/nowhere/evil.sh",
}
CHILDREN = ChildProcesses()
TOOL = Shell(ENVIRONMENT, CHILDREN)


@pytest.fixture(autouse=True)
def _adopts() -> Iterator[None]:
    """As a daemon does; tests of other things do not expect it."""
    CHILDREN.adopt()
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 0)


def run(workspace: Path, command: str, timeout_s: int = 20) -> str:
    return call(TOOL, workspace, command=command, timeout_s=timeout_s)


def stopped(workspace: Path, command: str, timeout_s: int = 20) -> str:
    refused = refusal(TOOL, workspace, command=command, timeout_s=timeout_s)
    assert refused.code == "command_stopped"
    return refused.detail


def count_of(argument: str) -> int:
    """How many processes run with this argument."""
    found = 0
    for process in psutil.process_iter(["cmdline", "status"]):
        is_gone = process.info["status"] == psutil.STATUS_ZOMBIE
        found += argument in (process.info["cmdline"] or []) and not is_gone
    return found


@pytest.fixture
def seconds() -> Iterator[str]:
    """How long to sleep: an argument that no other process has. Nothing sleeps so long after."""
    mark = f"98{time.monotonic_ns() % 10**9}"
    yield mark
    assert count_of(mark) == 0


def test_it_asks_a_person_and_never_repeats() -> None:
    assert TOOL.effect is Effect.ONCE
    assert TOOL.approval is Approval.ALWAYS
    assert TOOL.timeout_s == 610


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("echo out; echo err >&2; echo again", "[exit code 0]\nout\nerr\nagain\n"),
        ("exit 3", "[exit code 3]\n[no output]"),
        ("kill -9 $$", "[ended by signal 9, SIGKILL]\n[no output]"),
        ("kill -SEGV $$", "[ended by signal 11, SIGSEGV]\n[no output]"),
        ("no-such-command-here 2>/dev/null", "[exit code 127]\n[no output]"),
        ("cat", "[exit code 0]\n[no output]"),
        ("read x; echo $?", "[exit code 0]\n1\n"),
        ("yes | head -2", "[exit code 0]\ny\ny\n"),
        ("printf 'a\\0b\\377'", "[exit code 0]\na\ufffdb\ufffd"),
        ("exec >&- 2>&-; sleep 0.1", "[exit code 0]\n[no output]"),
        ("sleep 0.1 & wait; echo done", "[exit code 0]\ndone\n"),
    ],
)
def test_the_answer_has_the_exit_code_and_what_was_printed(
    tmp_path: Path, command: str, answer: str
) -> None:
    assert run(tmp_path, command) == answer


def test_it_runs_in_the_workspace_without_a_terminal(tmp_path: Path) -> None:
    answer = run(tmp_path, "pwd; echo $HOME; touch made; tty || true")
    assert answer.splitlines()[1:] == [str(tmp_path), str(tmp_path), "not a tty"]
    assert (tmp_path / "made").exists()


def test_the_environment_has_no_secret_and_nothing_unasked(tmp_path: Path) -> None:
    answer = run(tmp_path, "env; tr '\\0' '\\n' < /proc/$PPID/environ")
    assert KEY not in answer
    names = {line.partition("=")[0] for line in answer.splitlines()[1:]}
    own = {"PWD", "SHLVL", "_", "OLDPWD"}
    assert names - own == {"PATH", "TZ", "LANG", "TERM", "HOME"}


def test_descriptors_of_the_daemon_are_not_passed_on(tmp_path: Path) -> None:
    with (tmp_path / "held").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        answer = run(tmp_path, "ls -l /proc/$$/fd /proc/$PPID/fd")
    assert "held" not in answer


@pytest.mark.parametrize(
    "bad",
    [
        {"command": ""},
        {"command": "a\0b"},
        {"command": "x" * 32_001},
        {"command": "x", "timeout_s": 0},
        {"command": "x", "timeout_s": 601},
        {"command": "x", "cwd": "/"},
    ],
)
def test_arguments_are_bounded(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ShellParameters.model_validate(bad)


def test_the_longest_command_still_runs(tmp_path: Path) -> None:
    command = "echo ok #" + "𝄞" * (shell.MAX_COMMAND_CHARS - 9)
    assert run(tmp_path, command) == "[exit code 0]\nok\n"


def test_a_missing_workspace_is_said_without_naming_it(tmp_path: Path) -> None:
    refused = refusal(TOOL, tmp_path / "gone", command="true")
    assert refused.code == "workspace_missing"
    assert str(tmp_path) not in refused.detail


def test_long_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    answer = run(tmp_path, "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert answer.startswith("[exit code 0]\nfirst\nxxx")
    assert answer.endswith("xxx\nlast\n")
    assert "bytes left out here]" in answer
    assert len(answer) < shell.MAX_OUTPUT_BYTES + 200


def test_a_flood_is_stopped(tmp_path: Path, seconds: str) -> None:
    began = time.monotonic()
    detail = stopped(tmp_path, f"sleep {seconds} & yes")
    assert "printed more than 64 MiB" in detail
    assert len(detail) < shell.MAX_STOPPED_CHARS + 200
    assert time.monotonic() - began < 15


def test_a_command_that_hangs_is_stopped_and_what_it_printed_is_kept(
    tmp_path: Path, seconds: str
) -> None:
    began = time.monotonic()
    detail = stopped(tmp_path, f"echo begun; trap '' TERM INT HUP; sleep {seconds}", timeout_s=1)
    assert "did not end within 1 s" in detail
    assert detail.endswith("begun")
    assert 1 <= time.monotonic() - began < 10


# Ways to slip away from whoever started one.
ESCAPES = {
    "child": "sleep {0} &",
    "new session": "setsid sleep {0} &",
    "orphan in a new session": "(setsid sleep {0} &);",
    "no hangup": "nohup sleep {0} >/dev/null 2>&1 &",
    "forked twice": (
        "python3 -c 'import os,time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        'if os.fork(): os._exit(0)\nos.execvp("sleep", ["sleep", "{0}"])\' &'
    ),
    "deaf": "(trap '' TERM INT HUP; setsid sleep {0}) &",
    "a clean environment": "env -i /bin/sh -c 'exec setsid sleep {0}' &",
    "output closed": "setsid sleep {0} >&- 2>&- &",
}


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_nothing_is_left_after_the_time_is_over(tmp_path: Path, seconds: str, escape: str) -> None:
    stopped(tmp_path, f"{escape.format(seconds)} sleep 30", timeout_s=1)
    assert count_of(seconds) == 0


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_what_is_left_in_the_background_is_ended_and_told(
    tmp_path: Path, seconds: str, escape: str
) -> None:
    answer = run(tmp_path, f"{escape.format(seconds)} sleep 0.3; echo over")
    assert answer.startswith("[exit code 0]\n[1 processes it left running were ended]")
    assert answer.endswith("over\n")


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_cancelling_ends_the_whole_tree_before_it_returns(
    tmp_path: Path, seconds: str, escape: str
) -> None:
    async def cancel_it() -> None:
        arguments = ShellParameters(command=f"{escape.format(seconds)} sleep 30")
        task = asyncio.create_task(TOOL.call(arguments, context_in(tmp_path)))
        await asyncio.to_thread(eventually, lambda: count_of(seconds) >= 1)
        task.cancel()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_it())
    assert count_of(seconds) == 0


def test_cancelling_does_not_wait_for_output_that_nobody_reads(tmp_path: Path) -> None:
    async def cancel_it() -> float:
        command = "head -c 900000 /dev/zero; touch printed; sleep 30"
        task = asyncio.create_task(
            TOOL.call(ShellParameters(command=command), context_in(tmp_path))
        )
        await asyncio.to_thread(eventually, (tmp_path / "printed").exists)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(cancel_it()) < 5


def test_nothing_outlives_a_daemon_that_is_killed(tmp_path: Path, seconds: str) -> None:
    program = textwrap.dedent(
        f"""
        import asyncio, pathlib
        from tests.support.tool_calls import context_in
        from understudy.tools.shell import Shell, ShellParameters
        command = "setsid sleep {seconds} & touch begun; sleep {seconds}"
        context = context_in(pathlib.Path({str(tmp_path)!r}))
        asyncio.run(Shell({{}}).call(ShellParameters(command=command), context))
        """
    )
    daemon = subprocess.Popen([sys.executable, "-c", program], cwd=Path.cwd())
    eventually(lambda: (tmp_path / "begun").exists() and count_of(seconds) == 2)
    daemon.send_signal(signal.SIGKILL)
    daemon.wait()
    eventually(lambda: count_of(seconds) == 0)


def eventually(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_a_command_that_kills_its_supervisor_leaves_nothing(
    tmp_path: Path, seconds: str, escape: str
) -> None:
    command = f"{escape.format(seconds)} sleep {seconds} & sleep 0.3; kill -9 $PPID; sleep 30"
    refused = refusal(TOOL, tmp_path, command=command)
    assert "outcome is unknown" in refused.detail
    assert count_of(seconds) == 0


def test_one_that_goes_on_forking_after_its_supervisor_is_dead_is_ended(
    tmp_path: Path, seconds: str
) -> None:
    # Two hundred generations, each the orphan of the one before.
    (tmp_path / "run.sh").write_text(
        f'[ $1 = 0 ] && exec sleep {seconds}; env -i setsid sh "$0" $(($1-1)) & exit'
    )
    refusal(TOOL, tmp_path, command="sh run.sh 200 & kill -9 $PPID")
    assert count_of("run.sh") == 0


def test_a_killed_supervisor_costs_no_other_command(tmp_path: Path, seconds: str) -> None:
    async def both() -> str:
        async def killed() -> None:
            command = f"env -i setsid sleep {seconds} & sleep 0.2; kill -9 $PPID"
            with pytest.raises(ToolError):
                await TOOL.call(ShellParameters(command=command), context_in(tmp_path))

        arguments = ShellParameters(command="sleep 1 & wait; echo well")
        answer, *_ = await asyncio.gather(
            TOOL.call(arguments, context_in(tmp_path)), killed(), killed()
        )
        return answer

    assert asyncio.run(both()) == "[exit code 0]\nwell\n"


def test_without_adoption_it_is_said_that_something_may_run_on(tmp_path: Path) -> None:
    refused = refusal(Shell(ENVIRONMENT), tmp_path, command="kill -9 $PPID")
    assert "may run on" in refused.detail


def test_a_command_cannot_stop_the_clock(tmp_path: Path, seconds: str) -> None:
    began = time.monotonic()
    command = f"echo begun; kill -STOP $PPID; sleep {seconds}"
    detail = stopped(tmp_path, command, timeout_s=1)
    assert "did not end within 1 s" in detail
    assert detail.endswith("begun")
    assert time.monotonic() - began < 6


def test_a_command_that_stops_its_supervisor_again_and_again_is_ended_too(
    tmp_path: Path, seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "ANSWER_WITHIN_S", 1.0)
    stop = "for n in $(seq 300000); do kill -STOP $PPID || exit; done"
    began = time.monotonic()
    detail = stopped(tmp_path, f"env -i setsid sleep {seconds} & {stop}", timeout_s=1)
    assert "did not end within 1 s" in detail
    assert time.monotonic() - began < 8


def test_who_holds_the_pipe_open_does_not_keep_the_call(tmp_path: Path, seconds: str) -> None:
    began = time.monotonic()
    hold = f"exec 9>/proc/$PPID/fd/1; env -i setsid sleep {seconds} &"
    refused = refusal(TOOL, tmp_path, command=f"{hold} sleep 0.2; kill -9 $PPID")
    assert "outcome is unknown" in refused.detail
    assert time.monotonic() - began < 6


@pytest.mark.parametrize(
    "forged",
    ['{"reason":"exit","code":"x","left":0}', '{"reason":"exit","left":-1}', "[]", '{"a":1}'],
)
def test_a_forged_account_is_no_account(tmp_path: Path, forged: str) -> None:
    command = f"echo '{forged}' >/proc/$PPID/fd/1; kill -9 $PPID"
    assert "outcome is unknown" in refusal(TOOL, tmp_path, command=command).detail


# At most 1,023 processes, so that a failing test does not take the machine with it.
BOMBS = {
    "in one group": "sh bomb.sh {0} & sh bomb.sh {0} & wait",
    "each in a session of its own": "setsid sh bomb.sh {0} & setsid sh bomb.sh {0} & wait",
    "without parents": "setsid sh bomb.sh {0} & setsid sh bomb.sh {0} & exit",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_command_that_forks_and_forks_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: str, bomb: str
) -> None:
    monkeypatch.setattr(shell, "MAX_PROCESSES", 40)
    (tmp_path / "bomb.sh").write_text(
        f"[ $1 = 0 ] && exec sleep {seconds}; {bomb.format('$(($1-1))')}"
    )
    for command in ("sh bomb.sh 9 & sleep 20", "sh bomb.sh 9 & sleep 0.3"):
        assert "processes" in stopped(tmp_path, command)
        assert count_of(seconds) == 0


def test_memory_of_one_process_is_bounded(tmp_path: Path) -> None:
    answer = run(tmp_path, "python3 -c 'bytearray(3 * 1024**3)' 2>&1 | tail -1")
    assert answer.endswith("MemoryError\n")


def test_memory_of_all_processes_together_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "MAX_MEMORY_BYTES", 100 * 1024**2)
    eater = "import time; kept = b'x' * (40 * 1024**2); time.sleep(60)"
    detail = stopped(tmp_path, f'for n in 1 2 3; do python3 -c "{eater}" & done; wait')
    assert "of memory" in detail


SHARER = """
import mmap, os, time
for n in range({parts}):
    kept = mmap.mmap(-1, 40 * 1024**2)
    kept.write(b"x" * len(kept))
    globals()[f"kept{{n}}"] = kept
for n in range({forks}):
    if not os.fork():
        {touch}
        time.sleep({seconds})
        os._exit(0)
time.sleep({seconds})
"""


def test_memory_that_is_shared_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "MAX_MEMORY_BYTES", 100 * 1024**2)
    program = SHARER.format(parts=3, forks=0, touch="pass", seconds=30)
    (tmp_path / "share.py").write_text(program)
    assert "of memory" in stopped(tmp_path, "python3 share.py")


def test_memory_that_is_shared_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "MAX_MEMORY_BYTES", 100 * 1024**2)
    program = SHARER.format(parts=1, forks=4, touch="sum(kept[::4096])", seconds=1)
    (tmp_path / "share.py").write_text(program)
    assert run(tmp_path, "python3 share.py; echo well").endswith("well\n")


def test_a_file_cannot_fill_the_disk_and_no_core_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(shell.LIMITS, "RLIMIT_FSIZE", 100_000)
    answer = run(tmp_path, "head -c 1000000 /dev/zero > big; ulimit -c; kill -ABRT $$")
    assert answer.startswith("[ended by signal 6, SIGABRT]\n")
    assert answer.endswith("\n0\n")
    assert (tmp_path / "big").stat().st_size == 100_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big"]


def test_commands_run_side_by_side(tmp_path: Path) -> None:
    async def all_at_once() -> list[str]:
        calls = (
            TOOL.call(ShellParameters(command=f"sleep 0.3; echo {n}"), context_in(tmp_path))
            for n in range(5)
        )
        return await asyncio.gather(*calls)

    began = time.monotonic()
    assert asyncio.run(all_at_once()) == [f"[exit code 0]\n{n}\n" for n in range(5)]
    assert time.monotonic() - began < 5
