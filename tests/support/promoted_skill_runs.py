"""A run harness whose runs meet promoted skills, and carry them out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol, cast

from tests.support.skill_runs import SkillRuns, make_skill_runs
from understudy.agents.service import AgentService
from understudy.rollout.worktrees import Worktrees
from understudy.settings import Settings
from understudy.skills.catalogue import Catalogue
from understudy.storage.unit import Units
from understudy.testing.fake_model import FakeModel


class Queueing(Protocol):
    """A database, and what is to run on it."""

    units: Units
    queued: list[tuple[str, str]]


@asynccontextmanager
async def skilled_with(
    database: Queueing, settings: Settings, fake: FakeModel, catalogue: Catalogue
) -> AsyncIterator[SkillRuns]:
    """Agents that are told of what stands in a catalogue; each skill has a folder of its own."""
    skilled = make_skill_runs(
        database.units,
        database.queued,
        settings,
        fake,
        make_catalogue=cast("Any", lambda *_: catalogue),
        worktrees=Worktrees(settings.workspace),
    )
    AgentService(database.units, skilled.harness.clock).ensure_built_in()
    yield skilled
    await skilled.harness.providers.close()
