"""Puts the parts of a daemon together, starts them in order, and stops them in reverse."""

import asyncio
import threading
from functools import partial
from typing import Final

import structlog

from understudy.agent.admission import Doorkeeper
from understudy.agent.compaction import Compactor
from understudy.agent.gate import Gatekeeper
from understudy.agent.loop import AgentLoop
from understudy.agent.model_call import DebugLog
from understudy.agent.offers import tools_of
from understudy.agent.skill_prompt import CatalogueSkills
from understudy.agent.toolbox import Toolbox
from understudy.daemon.background import Background
from understudy.daemon.ground import Ground
from understudy.daemon.services import Services
from understudy.evolution.coach import EvolutionCoach
from understudy.evolution.consent import ConsentRecords, SkillBelongings
from understudy.evolution.names import SkillPlaces
from understudy.evolution.offer_book import OfferBook
from understudy.mcp_client.source import McpToolSource
from understudy.memory.policy import policy_in
from understudy.redaction.scrub import Json, scrub_counted, scrub_json
from understudy.retrieval.documents import Document, Field
from understudy.retrieval.recollect import Recollector
from understudy.retrieval.score import rank
from understudy.rollout.replay.stand_ins import RecordedTools
from understudy.runs.execute import RunExecutor
from understudy.settings import Settings
from understudy.storage.migrate import migrate

log = structlog.get_logger()

DRAIN_S: Final = 5.0
# Has a bit of everything that is looked at more closely: words, and what may be a phone.
SAMPLE: Final = "Deployed the gateways; call +1 415 555 2671."


class Daemon:
    """All parts of one daemon process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ground = Ground(settings)
        self.services = Services(self.ground)
        self._background = Background(self.services)
        self._listeners = self.ground.listeners()

    def migrate(self) -> None:
        """Bring the database up to date."""
        migrate(self.ground.database)

    async def start(self) -> None:
        """Begin to work: what was left under way goes on."""
        ground, services = self.ground, self.services
        ground.bell.attach(asyncio.get_running_loop())
        for listener in self._listeners:
            await asyncio.to_thread(listener.start)
        await asyncio.to_thread(services.agents.service.ensure_built_in)
        # Before any run goes on: what it is told of others must be in order.
        await asyncio.to_thread(services.run_memories.startup)
        await asyncio.to_thread(services.skills.startup)
        await asyncio.to_thread(services.rollout.startup)
        await ground.engine.start(run_executor(ground, services).execute)
        await asyncio.to_thread(services.runs.upkeep.requeue_lost)
        self._background.start()
        # Some providers take seconds to load; not at the cost of the first run.
        threading.Thread(target=warm_up, args=[ground], name="warm-up", daemon=True).start()
        self.ground.state = "ready"

    async def drain(self) -> None:
        """Begin no new step, let those under way finish, and note that the rest is to go on."""
        self.ground.state = "draining"
        signals = self.ground.signals
        log.info("daemon.draining", runs=len(signals.active()))
        if not await self.ground.slots.drain(timeout_s=DRAIN_S):
            log.warning("drain.incomplete", runs=len(signals.active()))
        await asyncio.to_thread(self.services.runs.upkeep.park)
        self.ground.shutting_down.set()

    async def stop(self) -> None:
        """Stop everything; the database keeps what is needed to go on."""
        self.ground.state = "stopped"
        self.ground.shutting_down.set()
        self.services.skills.stop()
        await self._background.stop()
        await self.ground.engine.stop()
        await self.ground.routes.close()
        await self.services.mcp.close()
        # The engine took the thread pool with it; these only wait for their own threads.
        for listener in reversed(self._listeners):
            listener.stop()
        self.ground.database.dispose()


def run_executor(ground: Ground, services: Services) -> RunExecutor:
    """Takes runs from the queue to their end."""
    return RunExecutor(
        units=ground.units,
        clock=ground.clock,
        worker=_loop(ground, services),
        signals=ground.signals,
        observer=services.metrics,
        admit=ground.slots.enter_unless_draining,
        run_ended=services.run_ended,
        run_asked=services.runs.sidechain_links.asked,
        ready=services.skills.catalogue.refresh,
        prescrub=services.capture.prescrub,
    )


def _loop(ground: Ground, services: Services) -> AgentLoop:
    settings, units, clock = ground.settings, ground.units, ground.clock
    offers = OfferBook(clock)
    places = SkillPlaces(settings.workspace, services.skills.roots)
    consent = ConsentRecords(
        clock, offers, SkillBelongings(units), is_local_skill=places.has, scrub=ground.scrub
    )
    doorkeeper = Doorkeeper(units, clock, Gatekeeper(), consent, settings.approval_expires_s)
    mcp = McpToolSource(services.mcp, services.session_mcp, services.offers.disabled)
    return AgentLoop(
        units=units,
        routes=ground.routes,
        toolbox=Toolbox(
            doorkeeper, settings.workspace, ground.slots, services.metrics, services.worktrees
        ),
        registry=services.tools,
        enabled_tools=partial(tools_of, services.tools),
        captures=DebugLog(units, clock, partial(_scrub_captured, ground)),
        deltas=ground.deltas,
        slots=ground.slots,
        observer=services.metrics,
        compactor=Compactor(scrub=ground.scrub),
        sources=(mcp,),
        skills=CatalogueSkills(services.skills.catalogue),
        memories=Recollector(clock, services.keeper, services.learning.prompts),
        coach=EvolutionCoach(units, offers),
        consent=consent,
        stand_ins=RecordedTools(units),
    )


def _scrub_captured(ground: Ground, captured: Json) -> Json:
    """What was sent to a provider, as it may be kept: personal data goes where the policy says so."""
    with ground.units.read() as unit:
        pii = policy_in(unit).redact_pii
    return scrub_json(captured, literals=ground.settings.secrets, pii=pii)


def warm_up(ground: Ground) -> None:
    """Let the providers, the scrubber and the scorer make what they need."""
    ground.routes.warm()
    make_tables()


def make_tables() -> None:
    """Let the scrubber and the scorer make their tables."""
    scrub_counted(SAMPLE, pii=True)
    rank("deploy", [Document(id="", fields=(Field(name="", text=SAMPLE),))])
