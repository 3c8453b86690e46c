"""Replays as a daemon puts them together, with a queue and a worker that the test drives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.model_scripts import Line, play
from tests.support.rollout_harness import MARKER, NAME
from tests.support.trial_harness import TrialHarness
from understudy.memory.texts import Cleaner
from understudy.providers.structured import StructuredModel
from understudy.review.policy import JudgeSettings
from understudy.rollout.replay.judge import ReplayJudge
from understudy.rollout.replay.report import ReplayCase
from understudy.rollout.replay.service import ReplayStarter
from understudy.rollout.replay.work import ReplayDuty
from understudy.rollout.trials.trial import CaseRequest, Trial
from understudy.runs.model import Run

TASK = "Look after the scheduler."
# What the words to the one with the skill, and to the judge, begin with.
SKILL, JUDGE = "Carry out", '{"task"'

Parts = Mapping[str, Sequence[Line]]


@dataclass
class ReplayHarness:
    """Recorded runs that are run again."""

    bench: TrialHarness
    judge: JudgeSettings = field(default_factory=JudgeSettings)

    def worker(self) -> ReplayDuty:
        """Another one each time: whoever looks goes on where another stopped."""
        trials, harness = self.bench.trials, self.bench.harness
        model = StructuredModel(harness.providers, lambda: harness.settings.default_route)
        return ReplayDuty(
            units=trials.units,
            clock=trials.transactions.clock,
            replaying=ReplayStarter(
                units=trials.units, clock=trials.transactions.clock, runs=trials.runs
            ),
            judge=ReplayJudge(model=model, cleaner=Cleaner()),
            rules_of=lambda _unit: self.judge,
        )

    async def work(self, worker: ReplayDuty | None = None) -> None:
        """Do for each pending replay what can be done now."""
        worker = worker or self.worker()
        for trials in worker.claim(1).items:
            await worker.work(trials)

    async def record(self, *lines: Line, task: str = TASK) -> str:
        """A run in which that was said, one line after each result."""
        self.bench.fake.rule = play({task: lines})
        return (await self.bench.harness.run(task)).run.run_id

    def begin(self, *run_ids: str, **wish: Any) -> Trial:
        """A replay of these, which nothing executes until the test does."""
        cases = tuple(CaseRequest(run_id=run_id) for run_id in run_ids)
        return self.bench.begin(**({"cases": cases, "marker": None} | wish))

    async def go_on(self, parts: Parts) -> None:
        """Do all there is to do, whoever says these lines."""
        self.bench.fake.rule = play(parts)
        await self.work()
        while self.bench.queued:
            await self.bench.harness.executor.execute(self.bench.queued.pop(0)[0])
            await self.work()

    async def replay(self, *run_ids: str, parts: Parts | None = None, **wish: Any) -> Trial:
        """A replay in which that is said, as it ended."""
        begun = self.begin(*run_ids, **wish)
        await self.go_on(parts or {SKILL: [MARKER], TASK: [MARKER]})
        return self.bench.trials.get(NAME, begun.trial_id)

    def cases(self, trial: Trial) -> tuple[ReplayCase, ...]:
        """How far its cases are."""
        return self.bench.trials.cases(trial)

    def sides(self, trial: Trial, number: int = 1) -> tuple[Run, Run]:
        """The runs of a case: without the skill, and with it."""
        case = self.cases(trial)[number - 1]
        assert case.without_run_id is not None
        assert case.with_run_id is not None
        stored = self.bench.harness.stored
        return stored(case.without_run_id), stored(case.with_run_id)
