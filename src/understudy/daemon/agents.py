"""The parts of agents and of what becomes of them, given what they work with."""

from functools import partial

from understudy.agents.service import AgentService
from understudy.agents.user_files import UserFileService
from understudy.daemon.ground import Ground
from understudy.daemon.learning import LearningPlane
from understudy.daemon.skills import SkillPlane
from understudy.evolution.context_files import AgentContextFiles
from understudy.evolution.file_checks import FileChecks
from understudy.evolution.proposals import ProposalService
from understudy.evolution.record import EvolutionRecord
from understudy.evolution.soul import SoulLimits
from understudy.evolution.usage_review import TOPIC as SUGGESTIONS
from understudy.evolution.usage_review import Suggester
from understudy.storage.postgres import SUGGESTIONS_LOCK


class AgentPlane:
    """One of each."""

    def __init__(self, ground: Ground, learning: LearningPlane, skills: SkillPlane) -> None:
        units, clock = ground.units, ground.clock
        limits = SoulLimits(max_change=ground.settings.soul_change_percent / 100)
        checks = FileChecks(learning.guard, limits)
        self.service = AgentService(
            units,
            clock,
            route_exists=ground.route_exists,
            deleted=(skills.service.agent_deleted,),
            check_content=checks.by_person,
        )
        self.user_files = UserFileService(units, clock, checks.by_person)
        self.context_files = AgentContextFiles(units, clock, checks)
        self.proposals = ProposalService(units, clock)
        self.evolution = EvolutionRecord(units)
        self.suggester = Suggester(
            units=units,
            clock=clock,
            if_free=partial(units.if_free, SUGGESTIONS_LOCK),
            listeners=learning.listeners,
            guard=learning.guard,
            local_skill=skills.local_record,
            wake=partial(ground.bell.ring, SUGGESTIONS),
        )
