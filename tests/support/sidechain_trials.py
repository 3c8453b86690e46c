"""Trials and replays that set more going: they use a skill that works in a sidechain of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.factories import ALICE
from tests.support.model_scripts import Line
from tests.support.once_tool import Post
from tests.support.replay_harness import TASK, ReplayHarness
from tests.support.skill_runs import SkillRuns, author, make_skill_runs
from tests.support.trial_harness import TrialHarness, make_trial_harness
from understudy.mailboxes.outgoing import RunMail, SendMail
from understudy.mailboxes.service import MailboxService
from understudy.rollout.trials.trial import Trial
from understudy.runs.ask_user import AskUser
from understudy.runs.model import Run
from understudy.runs.sidechain_tools import SpawnSidechain
from understudy.settings import Settings
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.runtime_settings import RUNTIME_FILE
from understudy.storage.unit import Units
from understudy.testing.answers import Answer, SeenRequest, call
from understudy.testing.fake_model import FakeModel

# What is said in the tasks of those who carry out the helper, and the skill that is tried.
HELPER, SKILL = "Post the news", "Reply with exactly"
MANIFEST = f"---\nname: helper\ndescription: Helps\n---\n{HELPER}.\n"

Parts = Mapping[str, Sequence[Line]]


def use(name: str = "helper", **params: Any) -> Answer:
    """A call that uses a skill."""
    return call("use_skill", {"name": name, **params})


@dataclass
class SidechainTrials:
    """Trials and replays whose runs can have a skill carried out by others."""

    bench: TrialHarness
    skilled: SkillRuns
    post: Post

    @property
    def replays(self) -> ReplayHarness:
        """What runs recorded runs again."""
        return ReplayHarness(self.bench)

    async def act(self, parts: Parts) -> None:
        """Do all there is to do; each one says the lines of the first part that its task names."""
        self.bench.fake.rule = _acting(parts)
        await self.replays.work()
        while self.bench.queued:
            await self.bench.harness.executor.execute(self.bench.queued.pop(0)[0])
            await self.replays.work()

    async def record(self, *lines: Line, helper: Sequence[Line] = ()) -> str:
        """A run that people asked for."""
        run_id = self.bench.harness.submit(TASK)
        await self.act({HELPER: helper, TASK: lines})
        return run_id

    async def trial(self, parts: Parts, **wish: Any) -> Trial:
        """A trial in which that is said, as it ended."""
        begun = self.bench.begin(**wish)
        await self.act(parts)
        return self.bench.trials.get(begun.skill_name, begun.trial_id)

    async def replay(self, recorded: str, parts: Parts) -> Trial:
        """A replay in which that is said, as it ended."""
        begun = self.replays.begin(recorded)
        await self.act(parts)
        return self.bench.trials.get(begun.skill_name, begun.trial_id)

    def below(self, run_id: str | None) -> list[Run]:
        """The first runs of the sidechains that a run made, oldest first."""
        assert run_id is not None
        with self.bench.stage.units.read() as unit:
            spawns = [unit.sidechains.spawn_of(each) for each in unit.sidechains.spawned_by(run_id)]
        # Their sessions may be of one moment, and then are in no order.
        first = sorted(spawn.first_run_id for spawn in spawns if spawn)
        return [self.bench.harness.stored(run_id) for run_id in first]

    def told(self, run_id: str | None) -> list[tuple[str, str]]:
        """What the calls of a run were told."""
        assert run_id is not None
        return [(it["status"], it["content"]) for it in self.bench.harness.results(run_id)]


def make_sidechain_trials(
    units: Units, queued: list[tuple[str, str]], settings: Settings, fake: FakeModel
) -> SidechainTrials:
    """A bench with a skill that works beside whoever uses it, and a draft to try."""
    skilled = make_skill_runs(units, queued, settings, fake)
    clock, post = skilled.harness.clock, Post()
    mail = MailboxService(units=units, clock=clock)
    tools = (
        *skilled.harness.tools,
        post,
        AskUser(units, clock),
        SpawnSidechain(skilled.harness.sidechains),
        SendMail(RunMail(mail)),
    )
    bench = make_trial_harness(units, queued, settings, fake, tools)
    files = {"SKILL.md": MANIFEST.encode(), RUNTIME_FILE: b"context: fork\n"}
    skilled.service.keep(author(ALICE), Bundle(files), action="skills.upload")
    bench.stage.promote()
    return SidechainTrials(bench, skilled, post)


def _acting(parts: Parts) -> Any:
    def rule(seen: SeenRequest) -> Answer | str | None:
        lines = next((each for name, each in parts.items() if name in seen.last_user), ())
        after = [index for index, turn in enumerate(seen.turns) if turn.role == "user"][-1]
        done = sum(turn.role == "tool" for turn in seen.turns[after:])
        if done >= len(lines):
            return None
        line = lines[done]
        return line(seen) if callable(line) else line

    return rule
