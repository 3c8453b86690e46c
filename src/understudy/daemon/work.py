"""What executes runs: the agent loop, its tools, and what happens when a run ends."""

from functools import partial

from understudy.agent.admission import Doorkeeper
from understudy.agent.capture import Captures
from understudy.agent.compaction import Compactor
from understudy.agent.gate import Gatekeeper
from understudy.agent.loop import AgentLoop
from understudy.agent.toolbox import Toolbox
from understudy.daemon.ground import Ground
from understudy.daemon.services import Services
from understudy.mcp_client.source import McpToolSource
from understudy.memory.policy import policy_in
from understudy.redaction.scrub import Json, scrub_json
from understudy.retrieval.recollect import Recollector
from understudy.runs.execute import RunExecutor
from understudy.runs.ports import RunUnit
from understudy.tools.registry import ToolRegistry


def run_executor(ground: Ground, services: Services) -> RunExecutor:
    """Takes runs from the queue to their end."""
    return RunExecutor(
        ground.units,
        ground.clock,
        _loop(ground, services),
        ground.signals,
        services.metrics,
        ground.slots.enter_unless_draining,
        services.runs.ending_hooks,
        asking_hooks=(services.family.asked,),
        foresee=services.capture.foresee,
    )


def _loop(ground: Ground, services: Services) -> AgentLoop:
    settings, units, clock = ground.settings, ground.units, ground.clock
    doorkeeper = Doorkeeper(units, clock, Gatekeeper(), settings.approval_expires_s)
    mcp = McpToolSource(services.mcp, services.session_mcp, services.offers.disabled)
    return AgentLoop(
        units=units,
        providers=ground.providers.get,
        routes=ground.routes,
        toolbox=Toolbox(doorkeeper, settings.workspace, ground.slots, services.metrics),
        registry=services.tools,
        enabled_tools=partial(_enabled, services.tools),
        captures=Captures(units, clock, partial(_scrub_captured, ground)),
        deltas=ground.deltas,
        slots=ground.slots,
        observer=services.metrics,
        compactor=Compactor(scrub=ground.scrub),
        sources=(mcp,),
        memories=Recollector(clock, services.keeper, services.learning.prompts),
    )


def _scrub_captured(ground: Ground, captured: Json) -> Json:
    """What was sent to a provider, as it may be kept: personal data goes where the policy says so."""
    with ground.units.read() as unit:
        pii = policy_in(unit).redact_pii
    return scrub_json(captured, literals=ground.settings.secrets, pii=pii)


def _enabled(tools: ToolRegistry, unit: RunUnit) -> tuple[str, ...]:
    disabled = unit.tool_switches.disabled()
    return tuple(name for name in tools.names() if name not in disabled)
