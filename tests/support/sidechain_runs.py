"""A run harness with sidechains, whose queue the test works off run by run."""

from dataclasses import dataclass
from typing import Any

from tests.support.factories import make_run, make_session
from tests.support.run_harness import RunHarness, restarted
from understudy.core.page import PageRequest
from understudy.runs.ask_user import AskUser
from understudy.runs.model import Run
from understudy.runs.sidechain_tools import (
    AnswerSidechain,
    CancelSidechain,
    SpawnSidechain,
    WaitSidechain,
)
from understudy.settings import Settings
from understudy.storage.unit import Units
from understudy.testing.answers import Answer, call

WAIT = call("wait_sidechain")


def spawn(task: str, **more: Any) -> Answer:
    """A call that makes a sidechain."""
    return call("spawn_sidechain", {"task": task, **more})


@dataclass
class SidechainRuns:
    """Executes what is queued only when the test says so."""

    units: Units
    # Runs handed to the engine: (run_id, session_id).
    queued: list[tuple[str, str]]
    harness: RunHarness

    async def work(self, *, only: str | None = None) -> None:
        """Execute what is queued, and what that queues, until nothing is left."""
        while True:
            mine = [each for each in self.queued if only in (None, each[1])]
            if not mine:
                return
            self.queued.remove(mine[0])
            await self.harness.executor.execute(mine[0][0])

    def runs_of(self, session_id: str) -> tuple[Run, ...]:
        """The runs of a session, newest first."""
        with self.units.read() as unit:
            return unit.runs.page(PageRequest(), session_id=session_id).items

    def run_of(self, session_id: str) -> Run:
        """The newest run of a session."""
        return self.runs_of(session_id)[0]

    def children(self, session_id: str = "s1") -> list[str]:
        """The sidechains of a session."""
        page = self.harness.sidechains.page(session_id, PageRequest())
        return [standing.sidechain.session.session_id for standing in page.items]

    def questions(self, session_id: str = "s1") -> tuple[str, ...]:
        """What the sidechains of a session ask it."""
        with self.units.read() as unit:
            return unit.sidechains.questions_for(session_id)

    def signals(self) -> int:
        """How much is still to be done."""
        with self.units.read() as unit:
            return len(unit.signals.waiting(now_ms=2**62, limit=100))

    def grow(self, parent_id: str, *, busy: bool = True) -> str:
        """One more child of a session, as a person would make it."""
        child = make_session(parent_session_id=parent_id)
        with self.units.write() as unit:
            unit.sessions.add(child)
            if busy:
                unit.runs.add(make_run(child.session_id))
        return child.session_id


def make_sidechain_runs(
    units: Units, queued: list[tuple[str, str]], settings: Settings
) -> SidechainRuns:
    """A troupe whose tools are those for sidechains, and for asking."""
    plain = RunHarness(units, settings)
    service = plain.sidechains
    tools = (
        SpawnSidechain(service),
        WaitSidechain(service),
        AnswerSidechain(service),
        CancelSidechain(service),
        AskUser(units, plain.clock),
    )
    harness = restarted(plain, tools=tools)
    harness.clock = plain.clock
    return SidechainRuns(units, queued, harness)
