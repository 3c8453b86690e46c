"""A run harness whose agents have the tools for skills, and a queue that the test works off."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from tests.support.factories import NOW, make_agent, make_session
from tests.support.model_scripts import Line, play
from tests.support.run_harness import RunHarness, restarted
from understudy.agents.model import AgentType
from understudy.core.audit import AuditEntry
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.rollout.worktrees import Worktrees
from understudy.runs.model import require_run
from understudy.runs.sidechain_tools import AnswerSidechain, WaitSidechain
from understudy.runs.submission import Submission
from understudy.runs.taint import untrusted_path
from understudy.settings import Settings
from understudy.skills.access import Author
from understudy.skills.bundles.store import BundleChecks
from understudy.skills.catalogue import Catalogue
from understudy.skills.content_guard import ContentGuard, scan_skill
from understudy.skills.dependencies.availability import LocalMachine
from understudy.skills.events import SkillEvents
from understudy.skills.local.roots import Root
from understudy.skills.local.skills import LocalSkills
from understudy.skills.model import Skill
from understudy.skills.service import SkillService
from understudy.skills.tools.catalogue import ListSkills, SkillSearch
from understudy.skills.tools.fork import Forks
from understudy.skills.tools.manage import PublishSkill, SkillManage, ToolChangeMaker
from understudy.skills.tools.use import UseSkill
from understudy.storage.schema import runs, skill_uses
from understudy.storage.unit import Units
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import ToolContext

ANN = Principal(user_id="ann", role=Role.OPERATOR)
BOB = Principal(user_id="bob", role=Role.OPERATOR)
ROOT = Principal(user_id="root", role=Role.ADMIN)
# Its session is `learner`; the built-in agent, with every switch off, has s1.
LEARNER = "learner"
OK_MD = "---\nname: Weekly report\ndescription: Writes the report\n---\nCollect and write.\n"


@dataclass
class SkillRuns:
    """Runs what the fake model says, for whoever asks."""

    units: Units
    queued: list[tuple[str, str]]
    harness: RunHarness
    fake: FakeModel
    service: SkillService
    catalogue: Catalogue
    roles: dict[str, Role] = field(default_factory=dict)

    async def run(
        self,
        *lines: Line,
        who: Principal = ANN,
        session_id: str = LEARNER,
        child: Sequence[Line] = (),
        words: str = "go",
        **fields: Any,
    ) -> str:
        """The id of a run in which the model says these lines, one after each result.

        `child` says what it says where it carries out a skill.
        """
        self.fake.rule = play({words: lines, "Carry out": child})
        self.roles.setdefault(who.user_id, who.role)
        self.harness.clock.advance()
        submission = Submission(content=words, **fields)
        run_id = self.harness.runs.submit(who, session_id, submission).run.run_id
        while self.queued:
            await self.harness.executor.execute(self.queued.pop(0)[0])
        return run_id

    async def told(self, *lines: Line, **more: Any) -> list[str]:
        """What the tools of such a run answered."""
        run_id = await self.run(*lines, **more)
        return [result["content"] for result in self.harness.results(run_id)]

    def skill(self, slug: str = "weekly-report") -> Skill | None:
        """The row of a skill."""
        with self.units.read() as unit:
            return unit.skills.by_slug(slug)

    def content(
        self, slug: str = "weekly-report", number: int = 1, path: str = "SKILL.md"
    ) -> bytes:
        """A file of a version."""
        with self.units.read() as unit:
            return unit.skill_bundles.read(slug, number, path) or b""

    def uses(self, slug: str = "weekly-report") -> int:
        """How often any version of a skill was used in earnest."""
        noted = (
            sa.select(sa.func.count())
            .select_from(skill_uses.outerjoin(runs, runs.c.run_id == skill_uses.c.run_id))
            .where(runs.c.trial_id.is_(None))
        )
        with self.units.read() as unit:
            skill = unit.skills.by_slug(slug)
            if skill is None:
                return 0
            of_it = noted.where(skill_uses.c.skill_id == skill.skill_id)
            return unit.connection.execute(of_it).scalar_one()

    def audited(self, action: str) -> list[AuditEntry]:
        """What the audit says of an action, oldest first."""
        with self.units.read() as unit:
            items = unit.audit.page(PageRequest(limit=200), resource=None, actor=None).items
        return [entry for entry in reversed(items) if entry.action == action]

    def tools_offered(self, number: int = -1) -> list[str]:
        """The tools that a request told the model of."""
        return [each["function"]["name"] for each in self.fake.requests[number].body["tools"]]


def author(principal: Principal = ANN) -> Author:
    """Somebody who changes skills without a run."""
    return Author(principal=principal)


def read_until_now(units: Units, context: ToolContext) -> tuple[str, ...]:
    """The untrusted sources that a run has read."""
    with units.read() as unit:
        return untrusted_path(unit, require_run(unit, context.run_id))


def make_skill_runs(
    units: Units,
    queued: list[tuple[str, str]],
    settings: Settings,
    fake: FakeModel,
    roots: tuple[Root, ...] = (),
    *,
    make_catalogue: type[Catalogue] = Catalogue,
    worktrees: Worktrees | None = None,
) -> SkillRuns:
    """A run harness with the built-in agent, and with one that learns skills."""
    switches = {"skill_evolve": True}
    with units.write() as unit:
        unit.agents.add(make_agent(LEARNER, other_config=switches, owner_id="ann"))
        unit.agents.add(
            make_agent("open", agent_type=AgentType.OPEN, other_config=switches, updated_at_ms=NOW)
        )
        unit.sessions.add(make_session(LEARNER, agent_id=LEARNER))
        unit.sessions.add(make_session("open", agent_id="open"))
        unit.sessions.add(make_session("fresh", agent_id=LEARNER))
    plain = RunHarness(units, settings)
    service = SkillService(
        units,
        plain.clock,
        guard=ContentGuard(),
        machine_for=lambda _: LocalMachine(),
        listener=SkillEvents(),
    )
    local = LocalSkills(roots=roots, guard=scan_skill, clock=plain.clock, patience_s=60)
    catalogue = make_catalogue(units, local, BundleChecks())
    roles: dict[str, Role] = {}
    changes = ToolChangeMaker(
        service=service,
        units=units,
        clock=plain.clock,
        role_of=lambda context: roles[context.user_id],
        untrusted_of=lambda context: read_until_now(units, context),
    )
    names = ("read_file", "write_file", "list_files", "use_skill", "skill_manage")
    forks = Forks(sidechains=plain.sidechains, tool_names=lambda: names, worktrees=worktrees)
    tools = (
        ListSkills(catalogue),
        SkillSearch(catalogue),
        UseSkill(catalogue, units, plain.clock, forks),
        SkillManage(changes),
        PublishSkill(changes),
        WaitSidechain(plain.sidechains),
        AnswerSidechain(plain.sidechains),
    )
    harness = restarted(plain, tools=tools)
    return SkillRuns(units, queued, harness, fake, service, catalogue, roles)
