"""A run harness whose agents may evolve, and a model that works for as many calls as a test wants."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.support.factories import make_agent, make_session
from tests.support.run_harness import Probe, RunHarness
from understudy.agents.model import Agent, AgentType
from understudy.evolution.coach import EvolutionCoach
from understudy.evolution.offer_book import OfferBook
from understudy.runs.service import RunDetail
from understudy.sessions.journal import EventKind
from understudy.settings import Settings
from understudy.storage.unit import Units
from understudy.testing.answers import Answer, FakeCall, SeenRequest
from understudy.testing.clock import FrozenClock
from understudy.testing.fake_model import FakeModel

# An agent with both switches, one with none, and one that is open whatever is stored of it. Each has
# a session of the same name.
EVOLVING, PLAIN, OPEN = "evolving", "plain", "open"
BOTH: Final = {"self_evolve": True, "skill_evolve": True}
DONE: Final = "All of it is done."
SYSTEM: Final = "[System]"


@dataclass
class EvolvingRuns:
    """Executes runs of those agents."""

    harness: RunHarness
    fake: FakeModel
    probe: Probe

    async def run(self, session_id: str = EVOLVING, **fields: Any) -> RunDetail:
        """Submit, execute, look."""
        return await self.harness.run(session_id=session_id, **fields)

    def change(self, agent_id: str = EVOLVING, **fields: Any) -> None:
        """Store an agent otherwise; it holds from its next run on."""
        with self.harness.units.write() as unit:
            stored = unit.agents.get(agent_id)
            assert stored is not None
            changed = replace(stored, version=stored.version + 1, **fields)
            unit.agents.update(changed, expected_version=stored.version)

    def switch(self, agent_id: str = EVOLVING, **switches: Any) -> None:
        """Store exactly these switches."""
        self.change(agent_id, other_config=switches)

    def sent(self) -> list[list[str]]:
        """What each request told the model beside the conversation."""
        return [asides(seen) for seen in self.fake.requests]

    def remarks(self, run_id: str) -> list[Mapping[str, Any]]:
        """What the journal says was told beside the work."""
        return [event.data for event in self.harness.journal(run_id, EventKind.NUDGE)]

    def reply(self, run_id: str) -> str:
        """The last words of a run, as they are stored."""
        return str(self.harness.journal(run_id, EventKind.MESSAGE)[-1].data["text"])


def make_evolving_runs(
    units: Units,
    settings: Settings,
    fake: FakeModel,
    *,
    offers: OfferBook | None = None,
    kind: type[RunHarness] = RunHarness,
    **parts: Any,
) -> EvolvingRuns:
    """A run harness with a coach, a probe, and a stand-in for the tool that makes skills."""
    probe = Probe()
    with units.write() as unit:
        for agent in (_agent(EVOLVING, BOTH), _agent(PLAIN, {}), _open()):
            unit.agents.add(agent)
            unit.sessions.add(make_session(agent.agent_id, agent_id=agent.agent_id))
    parts = {"tools": (probe, Probe("skill_manage")), **parts}
    harness = kind(
        units, settings, coach=EvolutionCoach(units, offers or OfferBook(FrozenClock())), **parts
    )
    return EvolvingRuns(harness, fake, probe)


def working(
    calls: int, *, at_once: int = 1, final: str = DONE, name: str = "probe"
) -> Callable[[SeenRequest], Answer]:
    """Call a tool so many times, some in each reply, then say the last words.

    A probe is told which call it is.
    """

    def rule(seen: SeenRequest) -> Answer:
        asked = [at for at, turn in enumerate(seen.turns) if is_typed(turn.role, turn.text)][-1]
        done = sum(turn.role == "tool" for turn in seen.turns[asked:])
        if done >= calls or not seen.body.get("tools"):
            return Answer(text=final)
        numbers = range(done + 1, min(done + at_once, calls) + 1)
        told = [{"label": str(number)} if name == "probe" else {} for number in numbers]
        return Answer(calls=tuple(FakeCall(name=name, arguments=each) for each in told))

    return rule


def is_typed(role: str, text: str) -> bool:
    """Whether a message is one that a user typed."""
    return role == "user" and not text.startswith(SYSTEM)


def asides(seen: SeenRequest) -> list[str]:
    """What a request tells the model beside the conversation."""
    return [
        turn.text for turn in seen.turns if turn.role == "user" and turn.text.startswith(SYSTEM)
    ]


def has_whole_groups(seen: SeenRequest) -> bool:
    """Whether every reply with calls is directly followed by all their results."""
    turns, at = [turn for turn in seen.turns if turn.role != "system"], 0
    while at < len(turns):
        results = turns[at + 1 : at + 1 + turns[at].calls]
        if [turn.role for turn in results] != ["tool"] * turns[at].calls:
            return False
        at += 1 + turns[at].calls
    return True


def _agent(agent_id: str, switches: Mapping[str, Any]) -> Agent:
    return make_agent(agent_id, other_config=dict(switches))


def _open() -> Agent:
    return make_agent(OPEN, agent_type=AgentType.OPEN, other_config=dict(BOTH))
