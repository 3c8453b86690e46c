"""Real coding agents with a daemon and a fake model, in a network that is loopback alone."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Self

from tests.support import client_models
from tests.support.environment import without_settings
from tests.support.postgres_server import free_port

CLIENTS: Final = Path(__file__).parents[2] / ".clients/node_modules"
PATIENCE_S: Final = 120


def program_of(tool: str) -> Path | None:
    """The native program of a client; None where `make clients` was not run."""
    places = {
        "claude-code": "@anthropic-ai/claude-code-*/claude",
        "codex": "@openai/codex-*/vendor/*/bin/codex",
    }
    return next(iter(sorted(CLIENTS.glob(places[tool]))), None)


def has_own_network() -> bool:
    """Whether this account may make a network without the world in it."""
    try:
        return subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0
    except OSError:
        return False


class Room:
    """A person's home, a project, a daemon and a model; ends with everything in it."""

    def __init__(self, folder: Path) -> None:
        self.person = folder / "person"
        self.project = folder / "person/project"
        self.home = folder / "home"
        self.models_log = folder / "models.log"
        for each in (self.project, self.home, self.person / ".codex"):
            each.mkdir(parents=True)
        self.models_log.touch()
        # Nothing else listens in a network of its own.
        self.port, self.models_port = free_port(), free_port()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.token = ""

    def __enter__(self) -> Self:
        hold = "ip link set lo up && echo up && exec cat"
        self.holder = subprocess.Popen(
            ["unshare", "-n", "sh", "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.processes.append(self.holder)
        assert self.holder.stdout is not None
        assert self.holder.stdout.readline() == b"up\n"
        models = [sys.executable, client_models.__file__, str(self.models_port)]
        self._start([*models, str(self.models_log), str(self.project)])
        self.daemon = self._start(
            [sys.executable, "-m", "understudy.cli.main", "serve"], env=self._environment()
        )
        deadline = time.monotonic() + PATIENCE_S
        while self.understudy("doctor", "--json", check=False).returncode == 5:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    def _inside(self, words: Sequence[str]) -> list[str]:
        return ["nsenter", "-t", str(self.holder.pid), "-n", *words]

    def _start(
        self, words: Sequence[str], env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        log = (self.home.parent / "processes.log").open("ab")
        with log:
            process = subprocess.Popen(
                self._inside(words), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.processes.append(process)
        return process

    def _environment(self) -> dict[str, str]:
        ours = {
            "HOME": str(self.person),
            "UNDERSTUDY_HOME": str(self.home),
            "UNDERSTUDY_BIND": f"127.0.0.1:{self.port}",
            **({"UNDERSTUDY_TOKEN": self.token} if self.token else {}),
        }
        kept = without_settings(os.environ)
        return {
            k: v for k, v in kept.items() if k not in ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
        } | ours

    def understudy(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command of a person."""
        return self._run(
            [sys.executable, "-m", "understudy.cli.main", *words], self._environment(), check=check
        )

    def json(self, *words: str) -> Any:
        """What a command answers."""
        return json.loads(self.understudy(*words, "--json").stdout)

    def connect(self, tool: str) -> None:
        """Put a client under review, as its user does it."""
        self.understudy("connect", tool, "--write")
        self.token = (self.home / "admin-token").read_text().strip()

    def say(self, tool: str, prompt: str) -> str:
        """A turn of a client that has no memory of the one before; what it prints."""
        program = program_of(tool)
        if tool == "claude-code":
            words = [str(program), "-p", prompt, "--model", "sonnet"]
            words += ["--permission-mode", "bypassPermissions"]
            env = {
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.models_port}",
                "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1",
                "ENABLE_TOOL_SEARCH": "false",
                "IS_SANDBOX": "1",
                # Wait for servers before the first request.
                "MCP_CONNECTION_NONBLOCKING": "0",
            }
        else:
            self._configure_codex()
            words = [str(program), "exec", "--skip-git-repo-check"]
            words += ["--dangerously-bypass-hook-trust", prompt]
            env = {"FAKE_KEY": "none", "RUST_LOG": "error"}
        named = {"PATH": os.environ["PATH"], "HOME": str(self.person)}
        return self._run(words, {**named, **env}).stdout

    def _configure_codex(self) -> None:
        config = self.person / ".codex/config.toml"
        now = config.read_text() if config.exists() else ""
        if "model_providers" not in now:
            config.write_text(CODEX.format(port=self.models_port) + now)

    def _run(
        self, words: Sequence[str], env: Mapping[str, str], *, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self._inside(words),
            env=env,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done

    def candidate(self) -> dict[str, Any]:
        """The only candidate, once the turn was looked through."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := self.json("candidates", "list")["items"]):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        (only,) = found
        whole: dict[str, Any] = self.json("candidates", "show", only["candidate_id"])
        return whole

    def taint(self, run_id: str) -> str:
        """The sources of others' text that a run has read, as they are stored."""
        with closing(sqlite3.connect(f"file:{self.home}/understudy.db?mode=ro", uri=True)) as db:
            query = "SELECT taints FROM runs WHERE run_id = ?"
            (taints,) = db.execute(query, (run_id,)).fetchone()
        return str(taints)

    def last_prompt(self) -> str:
        """All that the model was sent with its last request, whatever its shape."""
        asked = [json.loads(line) for line in self.models_log.read_text().splitlines()]
        sent = [it["body"] for it in asked if it["path"].endswith(("/messages", "/responses"))]
        return json.dumps({name: sent[-1].get(name) for name in ("messages", "input", "system")})

    def kill_daemon(self) -> None:
        """End the daemon without a word."""
        self.daemon.kill()
        self.daemon.wait()


CODEX: Final = """\
model = "fake-model"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
enable_request_compression = false
[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0
"""
