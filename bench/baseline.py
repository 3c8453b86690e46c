"""The same agent loop without the engine and without a database: what everything else adds to."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from understudy.agent.admission import Doorkeeper
from understudy.agent.gate import Gatekeeper
from understudy.agent.loop import AgentLoop
from understudy.agent.model_call import DebugLog, DeltaHub, ModelCaller, Slots
from understudy.agent.offers import CatalogueSkills
from understudy.agent.prompt import PromptBuilder
from understudy.agent.toolbox import Toolbox
from understudy.core.bell import Bell
from understudy.core.clock import SystemClock
from understudy.daemon.wiring import Daemon
from understudy.evolution.coach import EvolutionCoach
from understudy.evolution.consent import ConsentRecords, SkillOwnership
from understudy.evolution.offer_book import OfferBook
from understudy.memory.report import Counters
from understudy.memory.retention import Keeper
from understudy.permissions.model import CallVerdict, Level, PermissionDecision
from understudy.providers.registry import Routes
from understudy.retrieval.recollect import Recollector
from understudy.rollout.replay.stand_ins import RecordedTools
from understudy.rollout.worktrees import Worktrees
from understudy.runs.execute import RunExecution, Steps
from understudy.runs.model import (
    InputItem,
    Route,
    Run,
    RunInput,
    RunKind,
    RunRequest,
    RunSnapshot,
    RunStatus,
)
from understudy.runs.stops import StopSignal
from understudy.sessions.journal import JournalEvent, NewEvent
from understudy.settings import Flags, Settings, load_settings
from understudy.storage.unit import Unit
from understudy.telemetry.metrics import Metrics
from understudy.tools.base import Tool
from understudy.tools.registry import ToolRegistry


class NoUnits:
    """Units of work that find nothing."""

    @contextmanager
    def read(self) -> Iterator[Any]:
        """An empty journal."""
        yield SimpleNamespace(journal=SimpleNamespace(read=lambda **_: ()))

    write = read


class NoRules(Gatekeeper):
    """Lets every call pass without a look at the database."""

    def judge(
        self, unit: Unit, run: Run, calls: Sequence[tuple[Tool, Mapping[str, Any]]]
    ) -> tuple[CallVerdict, ...]:
        """Yes to all."""
        return tuple(
            CallVerdict(decision=PermissionDecision.ALLOW, level=Level.TOOL, reason="no rules")
            for _ in calls
        )


class MemorySteps(Steps):
    """Steps that are remembered and written nowhere."""

    async def write(self, events: Sequence[NewEvent], **_: Any) -> tuple[JournalEvent, ...]:
        """Remember the events."""
        written = tuple(
            JournalEvent(
                sequence=0, offset=0, session_id="", kind=e.kind, at_ms=0, key=e.key, data=e.data
            )
            for e in events
        )
        self.remember(written)
        return written


def loop_cpu_seconds(home: Path, model_url: str, text: str, *, runs: int) -> tuple[float, float]:
    """CPU and wall seconds per run of the bare loop."""
    workspace = home / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "note.txt").write_text("hello\n")
    (home / "config.toml").write_text(route_config(model_url))
    return asyncio.run(_measure(load_settings(Flags(home=home), {}), text, runs))


async def _measure(settings: Settings, text: str, runs: int) -> tuple[float, float]:
    providers = Routes(settings)
    # The tools of a daemon, so that the model gets the same requests; nothing else of it is used.
    registry = Daemon(settings).services.tools
    loop = _loop(providers, settings.workspace, registry)
    await loop.work(_execution(text, registry))
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(runs):
        ending = await loop.work(_execution(text, registry))
        assert ending.status is RunStatus.COMPLETED, ending
    spent = time.process_time() - cpu, time.perf_counter() - wall
    await providers.close()
    return spent[0] / runs, spent[1] / runs


def route_config(model_url: str) -> str:
    """A config file with one route to the fake model."""
    return f'[routes.fake]\nprovider = "openai"\nmodel = "fake"\nbase_url = "{model_url}"\n'


def _loop(providers: Routes, workspace: Path, registry: ToolRegistry) -> AgentLoop:
    slots, clock, units = Slots(32), SystemClock(), NoUnits()
    metrics = Metrics(registry.names())
    offers = OfferBook(clock)
    coach = EvolutionCoach(units, offers)
    consent = ConsentRecords(clock, offers, SkillOwnership(units))
    return AgentLoop(
        units=units,
        routes=providers,
        toolbox=Toolbox(
            Doorkeeper(units, clock, NoRules(), consent),
            workspace,
            slots,
            metrics,
            Worktrees(workspace),
        ),
        registry=registry,
        prompts=PromptBuilder(
            routes=providers,
            registry=registry,
            enabled_tools=lambda *_: tuple(registry.names()),
            memories=Recollector(clock, Keeper(clock, Counters())),
            skills=CatalogueSkills(None),
            coach=coach,
        ),
        model=ModelCaller(
            routes=providers,
            debug_log=DebugLog(units, clock, lambda value: value),
            deltas=DeltaHub(Bell()),
            slots=slots,
            observer=metrics,
        ),
        coach=coach,
        consent=consent,
        stand_ins=RecordedTools(units),
    )


def _execution(text: str, registry: ToolRegistry) -> RunExecution:
    run = Run(
        run_id="run",
        session_id="session",
        agent_id="default",
        user_id="bench",
        kind=RunKind.INPUT,
        status=RunStatus.RUNNING,
        submitted_at_ms=0,
        updated_at_ms=0,
        request=RunRequest(),
        input=RunInput(items=(InputItem(type="text", text=text),)),
        route=Route(route_id="fake", model="fake"),
    )
    steps = MemorySteps(units=NoUnits(), clock=SystemClock(), run=run)
    snapshot = RunSnapshot(
        system="You are measured.",
        tools=tuple(registry.names()),
        max_steps=20,
        history_from=1,
        input_offset=1,
    )
    return RunExecution(run=run, steps=steps, stop=StopSignal(), snapshot=snapshot)
