"""Everything the daemon hands to the WebSocket."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.access.tokens import TokenService
from understudy.agents.service import AgentService
from understudy.core.clock import Clock
from understudy.skills.events import SkillEvents
from understudy.skills.library import SkillLibrary
from understudy.skills.service import SkillService
from understudy.ws.limits import LIMITS, Limits

if TYPE_CHECKING:
    from understudy.storage.unit import Units


@dataclass(frozen=True, slots=True, kw_only=True)
class WsParts:
    """The services and what a connection uses beside them."""

    tokens: TokenService
    agents: AgentService
    skills: SkillService
    library: SkillLibrary
    events: SkillEvents
    units: "Units"
    clock: Clock
    version: str
    is_loopback: bool
    # None when ready, else why not: `starting` or `draining`.
    readiness: Callable[[], str | None]
    shutting_down: asyncio.Event
    limits: Limits = LIMITS
