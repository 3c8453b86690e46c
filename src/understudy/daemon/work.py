"""What executes runs: the agent loop, its tools, and what happens when a run ends."""

from functools import partial

from understudy.agent.admission import Doorkeeper
from understudy.agent.compaction import Compactor
from understudy.agent.debug_log import DebugLog
from understudy.agent.gate import Gatekeeper
from understudy.agent.loop import AgentLoop
from understudy.agent.offers import tools_of
from understudy.agent.skill_prompt import CatalogueSkills
from understudy.agent.toolbox import Toolbox
from understudy.daemon.ground import Ground
from understudy.daemon.services import Services
from understudy.evolution.coach import EvolutionCoach
from understudy.evolution.consent import ConsentRecords, SkillOwnership
from understudy.evolution.names import SkillPlaces
from understudy.evolution.offer_book import OfferBook
from understudy.mcp_client.source import McpToolSource
from understudy.memory.policy import policy_in
from understudy.redaction.scrub import Json, scrub_json
from understudy.retrieval.recollect import Recollector
from understudy.rollout.replay.stand_ins import RecordedTools
from understudy.runs.execute import RunExecutor


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
        clock, offers, SkillOwnership(units), is_local_skill=places.has, scrub=ground.scrub
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
