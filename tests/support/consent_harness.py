"""A run harness with skills in which users must agree, and the person who answers offers."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.model_scripts import Line
from tests.support.promoted_skill_runs import Queueing
from tests.support.skill_runs import ANN, LEARNER, SkillRuns, make_skill_runs
from understudy.agent.offers import CatalogueSkills
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.evolution.coach import EvolutionCoach
from understudy.evolution.consent import ConsentRecords, SkillOwnership
from understudy.evolution.names import SkillPlaces
from understudy.evolution.offer_book import OfferBook
from understudy.runs.approvals import ApprovalService, Resolution
from understudy.runs.open_requests import RunPlace
from understudy.runs.requests import PersonRequest, RequestState
from understudy.runs.service import RunDetail
from understudy.settings import Settings
from understudy.skills.local.roots import Root
from understudy.testing.fake_model import FakeModel

ACCEPT = "save as skill"
DECLINE = "skip"


@dataclass
class ConsentHarness:
    """Runs what the fake model says, for users who are asked."""

    skilled: SkillRuns
    approvals: ApprovalService

    async def told(self, *lines: Line, **more: Any) -> list[str]:
        """What the tools of a run answered."""
        run_id = await self.skilled.run(*lines, **more)
        return [result["content"] for result in self.skilled.harness.results(run_id)]

    async def offered(self, *lines: Line, **more: Any) -> PersonRequest:
        """The offer that a run with these calls leaves open."""
        await self.skilled.run(*lines, **more)
        [offer] = self.offers(RequestState.PENDING)
        return offer

    def offers(
        self, state: RequestState | None = None, session_id: str = LEARNER
    ) -> tuple[PersonRequest, ...]:
        """The offers of a session, oldest first."""
        page = self.approvals.reader.page(
            PageRequest(limit=200), state=state, session_id=session_id
        )
        return page.items

    def answer(
        self, offer: PersonRequest, behavior: str = "allow", who: Principal = ANN, **more: Any
    ) -> RunDetail:
        """Say yes or no where approvals are answered."""
        resolution = Resolution(request_id=offer.request_id, behavior=behavior, **more)
        return self.resolve(offer.run_id, [resolution], who)

    def resolve(
        self, run_id: str, resolutions: Sequence[Resolution], who: Principal = ANN
    ) -> RunDetail:
        """The same with several at once."""
        return self.approvals.resolve(who, RunPlace(run_id=run_id), resolutions)

    def said(self, offer: PersonRequest) -> Mapping[str, Any]:
        """What came of an offer."""
        return self.approvals.reader.get(offer.request_id).resolution or {}

    def refusals(self, action: str) -> list[str]:
        """Why the audit says that an action was refused."""
        entries = self.skilled.audited(action)
        return [str(entry.reason) for entry in entries if entry.outcome == "refused"]


@asynccontextmanager
async def consent_harness_in(
    database: Queueing, settings: Settings, fake: FakeModel, roots: tuple[Root, ...] = ()
) -> AsyncIterator[ConsentHarness]:
    """A run harness with the built-in agent and one that learns skills, as a daemon has them."""
    units = database.units
    skilled = make_skill_runs(units, database.queued, settings, fake, roots)
    harness = skilled.harness
    offers = OfferBook(harness.clock)
    places = SkillPlaces(settings.workspace, lambda: roots)
    harness.consent = ConsentRecords(
        harness.clock, offers, SkillOwnership(units), is_local_skill=places.has
    )
    harness.coach = EvolutionCoach(units, offers)
    harness.skills = CatalogueSkills(skilled.catalogue)
    harness.executor = harness._executor()

    def check(name: str, arguments: Mapping[str, Any]) -> None:
        harness.registry.check(name, arguments)

    yield ConsentHarness(skilled, ApprovalService(units, harness.clock, check))
    await harness.providers.close()
