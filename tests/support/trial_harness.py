"""Trials as a daemon puts them together, with a queue that the test works off."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.support.factories import ALICE
from tests.support.model_scripts import Line, play
from tests.support.rollout_harness import MARKER, NAME, RolloutHarness
from tests.support.run_harness import RunHarness
from understudy.agents.service import AgentService
from understudy.rollout.checkout import head_of
from understudy.rollout.trials.runs import TrialRuns
from understudy.rollout.trials.service import TrialService
from understudy.rollout.trials.trial import Trial, TrialRequest
from understudy.rollout.worktrees import Worktrees
from understudy.sessions.model import Session
from understudy.settings import Settings
from understudy.storage.unit import Units
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Tool


@dataclass
class TrialHarness:
    """Rollouts whose definitions can be executed."""

    stage: RolloutHarness
    harness: RunHarness
    trials: TrialService
    fake: FakeModel
    queued: list[tuple[str, str]]

    def begin(self, name: str = NAME, **wish: Any) -> Trial:
        """A trial that Alice starts; nothing executes it until the test does."""
        self.stage.clock.advance()
        return self.trials.begin(ALICE, name, TrialRequest(**({"marker": MARKER} | wish)))

    async def work(self, *lines: Line) -> None:
        """Work off the queue; the one who executes says these lines, one after each result."""
        self.fake.rule = play({"Carry out": lines})
        while self.queued:
            await self.harness.executor.execute(self.queued.pop(0)[0])

    async def trial(self, *lines: Line, **wish: Any) -> Trial:
        """A trial in which that is said, as it ended."""
        begun = self.begin(**wish)
        await self.work(*lines)
        return self.trials.get(begun.skill_name, begun.trial_id)

    def session(self, trial: Trial) -> Session:
        """The session that a trial works in."""
        assert trial.session_id is not None
        with self.stage.units.read() as unit:
            found = unit.sessions.get(trial.session_id)
        assert found is not None
        return found


def make_trial_harness(
    units: Units,
    queued: list[tuple[str, str]],
    settings: Settings,
    fake: FakeModel,
    tools: Sequence[Tool] = (),
) -> TrialHarness:
    """A run harness that hears of the end of trials, and a procedure to promote."""
    stage = RolloutHarness(units)
    AgentService(units, stage.clock).ensure_built_in()
    plain = RunHarness(units, settings, tools=tuple(tools), clock=stage.clock)
    trials = TrialService(
        units=units,
        transactions=stage.transactions,
        runs=TrialRuns(
            clock=stage.clock,
            intake=plain.intake,
            worktrees=Worktrees(settings.workspace),
            tool_names=plain.registry.names,
            cancel=lambda principal, run_id: harness.runs.cancel(principal, run_id),
            committed=partial(head_of, settings.workspace),
        ),
    )
    harness = RunHarness(
        units,
        settings,
        tools=tuple(tools),
        clock=stage.clock,
        ending=(trials.ended,),
    )
    harness.providers = plain.providers
    harness.executor = harness._executor()
    stage.learn()
    return TrialHarness(stage, harness, trials, fake, queued)


class Meddling(Worktrees):
    """Edits the draft while a folder is looked for."""

    # A frozen dataclass with slots lets no subclass have attributes of its own.
    __setattr__ = object.__setattr__

    def __init__(self, bench: TrialHarness) -> None:
        self.bench = bench

    def claim(self, name: str, call_id: str) -> str:
        """The folder, after the edit."""
        self.bench.stage.promote(instructions="Something else altogether.")
        return self.bench.trials.runs.worktrees.claim(name, call_id)

    def release(self, workdir: str) -> None:
        """Give the folder back."""
        self.bench.trials.runs.worktrees.release(workdir)
