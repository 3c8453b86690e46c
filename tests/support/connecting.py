"""A person with coding agents, who connects them to a daemon by the command line."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line_process import Cli
from tests.support.daemon import DaemonProcess
from understudy.cli.connect import ADMIN_TOKEN

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the hooks call curl")


class Person:
    """A home with settings of Claude Code and Codex, and a project."""

    def __init__(self, home: Path, daemon: DaemonProcess) -> None:
        self.home = home
        self.daemon = daemon
        self.project = home / "project"
        self.project.mkdir(parents=True)
        self.understudy = Cli(daemon)
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
            self.understudy.environment.pop(name, None)
        self.understudy.environment["HOME"] = str(home)

    def connect(self, tool: str, *more: str) -> str:
        """Connect a tool, and become the admin whom the first connection made."""
        told = self.understudy("connect", tool, "--write", *more).stderr
        token = (self.daemon.home / ADMIN_TOKEN).read_text().strip()
        self.daemon.token = self.understudy.environment["UNDERSTUDY_TOKEN"] = token
        return told

    def hook_commands(self, tool: str) -> dict[str, str]:
        """The command of each event, as the tool would run it."""
        path = {
            "claude-code": ".claude/skills/understudy/hooks/hooks.json",
            "codex": ".codex/hooks.json",
        }[tool]
        groups = json.loads((self.home / path).read_text())["hooks"]
        return {event: found[-1]["hooks"][0]["command"] for event, found in groups.items()}

    def report(self, tool: str, event: str, **fields: Any) -> Any:
        """What a tool is answered to an event: JSON, or nothing."""
        command = self.hook_commands(tool)[event]
        sent = json.dumps({"hook_event_name": event, "session_id": "talk", **fields})
        done = subprocess.run(
            ["/bin/sh", "-c", command], input=sent, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        return json.loads(done.stdout) if done.stdout else None

    def files(self) -> dict[str, tuple[int, bytes | None]]:
        """Each file and folder of the home: its mode, and what a file holds."""
        return {
            str(each.relative_to(self.home)): (
                each.stat().st_mode & 0o777,
                each.read_bytes() if each.is_file() else None,
            )
            for each in self.home.rglob("*")
        }
