"""The parts that execute a run, put together without the queue, so that a test calls them itself."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tests.support.factories import ALICE
from tests.support.silent_parts import NoCoach, NoConsent, NoSkills
from understudy.agent.admission import Doorkeeper
from understudy.agent.gate import Gatekeeper
from understudy.agent.loop import AgentLoop
from understudy.agent.model_call import DebugLog, DeltaHub, ModelCaller, Slots
from understudy.agent.offers import CatalogueSkills, tools_of
from understudy.agent.prompt import PromptBuilder
from understudy.agent.toolbox import Toolbox
from understudy.core.bell import Bell
from understudy.core.clock import Clock
from understudy.evolution.coach import EvolutionCoach
from understudy.evolution.consent import ConsentRecords
from understudy.evolution.context_files import AgentContextFiles
from understudy.memory.capture import Capture
from understudy.memory.report import Counters
from understudy.memory.retention import Keeper
from understudy.providers.registry import Routes
from understudy.redaction.scrub import scrub_json
from understudy.retrieval.recollect import Recollector
from understudy.rollout.replay.stand_ins import RecordedTools
from understudy.rollout.worktrees import Worktrees
from understudy.runs.execute import RunExecutor
from understudy.runs.intake import RunIntake, RuntimeDefaults
from understudy.runs.model import DebugLevel, EndingHook, Run
from understudy.runs.service import RunDetail, RunService
from understudy.runs.sidechain_links import SidechainLinks
from understudy.runs.sidechains import SidechainService
from understudy.runs.stops import StopSignals
from understudy.runs.submission import Submission
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.settings import RouteConfig, Settings
from understudy.skills.bundles.store import BundleChecks
from understudy.skills.catalogue import Catalogue
from understudy.skills.content_guard import scan_skill
from understudy.skills.local.skills import LocalSkills
from understudy.storage.unit import Unit, Units
from understudy.telemetry.metrics import Metrics
from understudy.testing.clock import FrozenClock
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Approval, Effect, Tool, ToolContext
from understudy.tools.files import ListFiles, ReadFile, WriteFile
from understudy.tools.registry import ToolRegistry


class Label(BaseModel):
    """What a probe is called with."""

    label: str = ""


class Probe:
    """A tool that counts its calls and can be held in the middle of one."""

    description = "A tool for tests."
    approval = Approval.NEVER
    parameters: type[BaseModel] = Label

    def __init__(self, name: str = "probe", effect: Effect = Effect.READ) -> None:
        self.name = name
        self.effect = effect
        self.labels: list[str] = []
        self.ended = 0
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()
        self._held: str | None = None

    def hold(self, label: str | None = None) -> None:
        """Let the calls from now on, or those with a label, wait for `go_on`."""
        self._held = label
        self.begun.clear()
        self.go_on.clear()

    async def reached(self) -> None:
        """Wait until a held call is under way."""
        async with asyncio.timeout(10):
            await self.begun.wait()

    async def call(self, arguments: Label, context: ToolContext) -> str:
        """Note the call, wait if held, answer."""
        self.labels.append(arguments.label)
        try:
            if self._held is None or self._held == arguments.label:
                self.begun.set()
                await self.go_on.wait()
        finally:
            self.ended += 1
        return f"result of {arguments.label}"


@dataclass
class RunHarness:
    """One process's worth of executing, on a database that may be shared with others."""

    units: Units
    settings: Settings
    tools: tuple[Tool, ...] = ()
    coach: EvolutionCoach = field(default_factory=NoCoach)
    consent: ConsentRecords = field(default_factory=NoConsent)
    skills: CatalogueSkills = field(default_factory=NoSkills)
    context_files: AgentContextFiles | None = None
    clock: FrozenClock = field(default_factory=FrozenClock)
    signals: StopSignals = field(default_factory=StopSignals)
    # What else hears of the end of a run.
    ending: tuple[EndingHook, ...] = ()

    def __post_init__(self) -> None:
        self.slots = Slots(self.settings.max_active_steps)
        self.providers = Routes(self.settings)
        reader, writer = ReadFile(self.context_files), WriteFile(self.context_files)
        self.registry = ToolRegistry([reader, writer, ListFiles(), *self.tools])
        self.intake = RunIntake(
            self.clock,
            self.providers,
            lambda _: RuntimeDefaults(
                route_id=self.settings.default_route, debug_level=DebugLevel.OFF
            ),
        )
        self.keeper = Keeper(self.clock, Counters())
        self.capture = self._capture()
        self.family = SidechainLinks(
            units=self.units, clock=self.clock, intake=self.intake, run_ended=self.run_ended
        )
        self.runs = RunService(
            units=self.units,
            clock=self.clock,
            intake=self.intake,
            signal_stop=self.signals.request,
            run_ended=self.run_ended,
        )
        self.sidechains = SidechainService(
            units=self.units,
            clock=self.clock,
            intake=self.intake,
            cancel_run=self.runs.cancel,
        )
        self.executor = self._executor()

    def run_ended(self, unit: Unit, run: Run) -> None:
        """What the end of a run sets in motion."""
        for step in (self.capture.ended, *self.ending, self.family.ended):
            step(unit, run)

    def _capture(self) -> Capture:
        return Capture(self.units, self.clock, self.keeper, ("hunter22",))

    def _executor(self) -> RunExecutor:
        metrics = Metrics(self.registry.names())
        worker = AgentLoop(
            units=self.units,
            routes=self.providers,
            toolbox=Toolbox(
                Doorkeeper(self.units, self.clock, Gatekeeper(), consent=self.consent),
                self.settings.workspace,
                self.slots,
                metrics,
                Worktrees(self.settings.workspace),
            ),
            registry=self.registry,
            prompts=PromptBuilder(
                routes=self.providers,
                registry=self.registry,
                enabled_tools=partial(tools_of, self.registry),
                memories=Recollector(self.clock, self.keeper),
                skills=self.skills,
                coach=self.coach,
            ),
            model=ModelCaller(
                routes=self.providers,
                debug_log=DebugLog(
                    self.units, self.clock, partial(scrub_json, literals=("hunter22",))
                ),
                deltas=DeltaHub(Bell()),
                slots=self.slots,
                observer=metrics,
            ),
            coach=self.coach,
            consent=self.consent,
            stand_ins=RecordedTools(self.units),
        )
        return RunExecutor(
            units=self.units,
            clock=self.clock,
            worker=worker,
            signals=self.signals,
            observer=metrics,
            admit=self.slots.enter_unless_draining,
            run_ended=self.run_ended,
            run_asked=self.family.asked,
            prescrub=self.capture.prescrub,
            most_in_flight=self.settings.max_runs_in_flight_per_user,
        )

    def submit(self, content: str = "hello", session_id: str = "s1", **fields: Any) -> str:
        """Accept a run; nothing executes it until the test does."""
        self.clock.advance()
        submission = Submission(content=content, **fields)
        return self.runs.submit(ALICE, session_id, submission).run.run_id

    async def execute(self, run_id: str) -> RunDetail:
        """Execute a run to its end and look at it."""
        await self.executor.execute(run_id)
        return self.runs.get(run_id)

    async def run(self, content: str = "hello", **fields: Any) -> RunDetail:
        """Submit, execute, look."""
        return await self.execute(self.submit(content, **fields))

    def begin(self, run_id: str) -> "asyncio.Task[None]":
        """Execute a run in the background; cancelling the task is this process's death."""
        return asyncio.create_task(self.executor.execute(run_id))

    def stored(self, run_id: str) -> Run:
        """The run as it is stored now."""
        return self.runs.get(run_id).run

    def journal(self, run_id: str, *kinds: EventKind) -> tuple[JournalEvent, ...]:
        """What the journal says about a run."""
        with self.units.read() as unit:
            return unit.journal.read(run_id=run_id, kinds=kinds, limit=1000)

    def results(self, run_id: str) -> list[Mapping[str, Any]]:
        """What the tools of a run answered."""
        return [event.data for event in self.journal(run_id, EventKind.TOOL_RESULT)]


def no_skills(units: Units, clock: Clock) -> Catalogue:
    """A catalogue that looks into no folder."""
    return Catalogue(units, LocalSkills(roots=(), guard=scan_skill, clock=clock), BundleChecks())


async def die(*tasks: "asyncio.Task[None]") -> None:
    """Stop executing at once, with nothing written any more, as a killed process would."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def make_settings(home: Path, url: str = "", *routes: str, **fields: Any) -> Settings:
    """Settings with a route to the fake model for each name; the first is the default."""
    workspace = home / "workspace"
    workspace.mkdir(exist_ok=True)
    names = routes or ("a",)
    values: dict[str, Any] = {
        "home": home,
        "host": "127.0.0.1",
        "port": 0,
        "database_url": f"sqlite:///{home}/unused.db",
        "config_file": home / "config.toml",
        "workspace": workspace,
        "routes": {
            name: RouteConfig(
                provider="openai", model=f"model-{name}", base_url=url, max_attempts=1
            )
            for name in names
        },
        "default_route": names[0],
    }
    return Settings(**(values | fields))


def restarted(
    harness: RunHarness, *, settings: Settings | None = None, tools: tuple[Tool, ...] | None = None
) -> RunHarness:
    """Another process on the same database; with the same settings it shares the connections."""
    again = RunHarness(
        harness.units,
        settings or harness.settings,
        tools=harness.tools if tools is None else tools,
        coach=harness.coach,
        consent=harness.consent,
        clock=harness.clock,
    )
    if settings is None:
        again.providers = harness.providers
        again.executor = again._executor()
    return again


def texts(fake: FakeModel, number: int = -1) -> list[str]:
    return [turn.text for turn in fake.requests[number].turns if turn.role != "system"]


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not reached():  # noqa: ASYNC110 - it looks into the database
            await asyncio.sleep(0.005)


async def arrived(fake: FakeModel, count: int) -> None:
    await asyncio.to_thread(fake.wait_for_requests, count)
