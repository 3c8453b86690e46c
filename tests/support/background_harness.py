"""Background tasks with real commands on a database, looked after when the test says so."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.support.daemon import PATIENCE_S
from tests.support.factories import NOW, make_run
from understudy.background_tasks.model import BackgroundTask, BackgroundTaskDetail
from understudy.background_tasks.runner import BackgroundRunner
from understudy.background_tasks.service import BackgroundTaskService
from understudy.background_tasks.tools import InBackground, TaskOutput, TaskStop
from understudy.background_tasks.worker import BackgroundTaskDuty
from understudy.core.bell import Bell
from understudy.mailboxes.service import MailboxService
from understudy.redaction.scrub import scrub
from understudy.runs.model import Run, RunStatus
from understudy.settings import BackgroundConfig
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock
from understudy.tools.base import Tool, ToolContext
from understudy.tools.processes import ChildProcesses
from understudy.tools.shell import Shell, ShellProgram


@dataclass
class BackgroundHarness:
    """One daemon's worth of background tasks; others may share its database."""

    units: Units
    workspace: Path
    limits: BackgroundConfig = field(default_factory=BackgroundConfig)
    holder: str = "here"
    clock: FrozenClock = field(default_factory=lambda: FrozenClock(NOW))
    bell: Bell = field(default_factory=Bell)

    def __post_init__(self) -> None:
        environment, children = {"PATH": os.environ["PATH"]}, ChildProcesses()
        self.service = BackgroundTaskService(
            units=self.units,
            clock=self.clock,
            limits=self.limits,
            holder=self.holder,
            scrub=scrub,
            ring=self.bell.ring,
        )
        self.runner = BackgroundRunner(
            service=self.service, program=ShellProgram(environment, children)
        )
        self.shell = Shell(environment, children, InBackground(self.runner))
        self.output_tool = TaskOutput(self.service, self.bell)
        self.stop_tool = TaskStop(self.service)
        self.mail = MailboxService(units=self.units, clock=self.clock)

    def run(self, session_id: str = "s1", **fields: Any) -> Run:
        """A run at work, whose agent can start commands."""
        run = make_run(session_id, **({"status": RunStatus.RUNNING, "started_at_ms": NOW} | fields))
        with self.units.write() as unit:
            unit.runs.add(run)
        return run

    def end_run(self, run: Run) -> None:
        """The run has ended."""
        ended = replace(run, status=RunStatus.COMPLETED, finished_at_ms=NOW)
        with self.units.write() as unit:
            unit.runs.update(ended)

    def context(self, run: Run, **fields: Any) -> ToolContext:
        """The context of a tool call of a run."""
        values: dict[str, Any] = {
            "session_id": run.session_id,
            "run_id": run.run_id,
            "agent_id": run.agent_id,
            "user_id": run.user_id,
            "call_id": "c",
            "call_key": "call-key",
            "workspace": self.workspace,
        }
        return ToolContext(**(values | fields))

    async def start(self, command: str, run: Run | None = None, **arguments: Any) -> BackgroundTask:
        """The task of a command that a run, or one made for it, starts in the background."""
        answer = await self.call(
            self.shell, run or self.run(), command=command, background=True, **arguments
        )
        return self.get(answer.split()[3].rstrip(","))

    async def call(self, tool: Tool, run: Run, depth: int = 0, **arguments: Any) -> str:
        """What a tool answers a run."""
        return await tool.call(tool.parameters(**arguments), self.context(run, depth=depth))

    def get(self, task_id: str) -> BackgroundTaskDetail:
        """A task as it is recorded."""
        return self.service.get(task_id)

    def look(self) -> tuple[BackgroundTask, ...]:
        """What the duty does at each look; the tasks whose processes it found orphaned."""
        duty = BackgroundTaskDuty(
            runner=self.runner, mail=self.mail, loop=asyncio.get_running_loop()
        )
        return duty.claim(16).items

    async def ended(self, task_id: str) -> BackgroundTaskDetail:
        """A task, once it has ended."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                task = self.get(task_id)
                if task.has_ended and task_id not in self.runner.live:
                    return task
                await asyncio.sleep(0.02)

    async def printed(self, task_id: str, text: str) -> None:
        """Wait until a task has printed something and it is stored."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                if text in self.service.output(task_id).text:
                    return
                await asyncio.sleep(0.02)


@asynccontextmanager
async def background(
    units: Units, workspace: Path, **parts: Any
) -> AsyncIterator[BackgroundHarness]:
    """Background tasks that end with the test."""
    harness = BackgroundHarness(units, workspace, **parts)
    harness.bell.attach(asyncio.get_running_loop())
    try:
        yield harness
    finally:
        await harness.runner.close()
