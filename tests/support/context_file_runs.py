"""A run harness whose agents have context files, and tools that would change them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.support.evolving_runs import BOTH, EVOLVING, OPEN, PLAIN
from tests.support.factories import NOW, make_agent, make_file, make_session
from tests.support.model_scripts import Line, play
from tests.support.run_harness import RunHarness
from tests.support.run_memory_reads import section_in, set_policy, system_text
from understudy.agents.model import AgentType, ContextFile
from understudy.core.audit import AuditEntry
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.evolution.coach import EvolutionCoach
from understudy.evolution.context_files import AgentContextFiles
from understudy.evolution.file_checks import FileChecks
from understudy.evolution.offer_book import OfferBook
from understudy.evolution.proposals import ProposalService
from understudy.runs.submission import Submission
from understudy.settings import Settings
from understudy.storage.unit import Units
from understudy.testing.answers import Answer, call
from understudy.testing.clock import FrozenClock
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import ToolContext
from understudy.tools.edit import EditFile
from understudy.tools.shell import Shell

ANN = Principal(user_id="ann", role=Role.OPERATOR)
BOB = Principal(user_id="bob", role=Role.OPERATOR)
ROOT = Principal(user_id="root", role=Role.ADMIN)
FILES: Final = {
    "SOUL.md": "Speak calmly.\nUse plain words.",
    "IDENTITY.md": "Name: Ada\nRole: librarian",
    "AGENTS.md": "Look twice before you answer.",
}


@dataclass
class ContextFileRuns:
    """Runs what the fake model says, for whoever asks."""

    units: Units
    harness: RunHarness
    fake: FakeModel
    keeper: AgentContextFiles

    async def run(self, *lines: Line, who: Principal = ANN, session_id: str = EVOLVING) -> str:
        """The id of a run in which the model says these lines, one after each result."""
        self.fake.rule = play({"go": lines})
        self.harness.clock.advance()
        run_id = self.harness.runs.submit(who, session_id, Submission(content="go")).run.run_id
        await self.harness.executor.execute(run_id)
        return run_id

    async def told(self, *lines: Line, **more: Any) -> list[str]:
        """What the tools of such a run answered."""
        run_id = await self.run(*lines, **more)
        return [result["content"] for result in self.harness.results(run_id)]

    async def told_at_once(self, *answers: Answer, **more: Any) -> list[str]:
        """The same for calls of one reply, in the order of the calls."""
        run_id = await self.run(at_once(*answers), **more)
        results = sorted(self.harness.results(run_id), key=lambda result: str(result["call_id"]))
        return [result["content"] for result in results]

    async def prompt(self, **more: Any) -> str:
        """The context files as the next run is shown them."""
        await self.run(**more)
        return section_in(system_text(self.fake), "Context files")

    def file(self, name: str = "SOUL.md", agent_id: str = EVOLVING) -> str | None:
        """The text of an agent's own file."""
        with self.units.read() as unit:
            found = unit.agents.file(agent_id, name)
        return None if found is None else found.content

    def copy(self, user_id: str, name: str = "SOUL.md", agent_id: str = OPEN) -> str | None:
        """The text of a user's copy."""
        with self.units.read() as unit:
            found = unit.user_files.file(agent_id, user_id, name)
        return None if found is None else found.content

    def versions(self, name: str = "SOUL.md", agent_id: str = EVOLVING) -> Sequence[ContextFile]:
        """The versions of an agent's own file, newest first."""
        with self.units.read() as unit:
            return unit.agents.file_versions(agent_id, name, PageRequest()).items

    def switch(self, agent_id: str = EVOLVING, **switches: Any) -> None:
        """Store more in an agent's `other_config`."""
        with self.units.write() as unit:
            stored = unit.agents.get(agent_id)
            assert stored is not None
            changed = replace(
                stored,
                other_config={**stored.other_config, **switches},
                version=stored.version + 1,
            )
            unit.agents.update(changed, expected_version=stored.version)

    def audited(self, action: str = "agents.write_file") -> list[AuditEntry]:
        """What the audit says of an action, oldest first."""
        with self.units.read() as unit:
            items = unit.audit.page(PageRequest(limit=200), resource=None, actor=None).items
        return [entry for entry in reversed(items) if entry.action == action]

    @property
    def proposals(self) -> ProposalService:
        """Where people decide."""
        return ProposalService(self.units, self.harness.clock)

    def context(self, **fields: Any) -> ToolContext:
        """A call of a run that is not there, for what no run can be brought to do."""
        values: dict[str, Any] = {
            "session_id": EVOLVING,
            "run_id": "run_0",
            "agent_id": EVOLVING,
            "user_id": "ann",
            "call_id": "c",
            "call_key": "k",
            "workspace": self.harness.settings.workspace,
        }
        return ToolContext(**(values | fields))


def make_context_file_runs(units: Units, settings: Settings, fake: FakeModel) -> ContextFileRuns:
    """Agents with and without switches, and an open one, each with files and a session."""
    allowed = {"rules": [{"tool": "*", "decision": "allow"}]}
    kinds: tuple[tuple[str, AgentType, dict[str, bool]], ...] = (
        (EVOLVING, AgentType.PREDEFINED, BOTH),
        (PLAIN, AgentType.PREDEFINED, {}),
        (OPEN, AgentType.OPEN, BOTH),
    )
    with units.write() as unit:
        for agent_id, kind, config in kinds:
            unit.agents.add(
                make_agent(
                    agent_id, agent_type=kind, other_config=dict(config), permissions=allowed
                )
            )
            unit.sessions.add(make_session(agent_id, agent_id=agent_id))
            for name, content in FILES.items():
                unit.agents.add_file(make_file(name, content, agent_id=agent_id, actor="root"))
    # Nothing that one run leaves behind reaches the prompt of another.
    set_policy(units, enabled=False)
    clock = FrozenClock(NOW)
    keeper = AgentContextFiles(units, clock, FileChecks())
    harness = RunHarness(
        units,
        settings,
        tools=(EditFile(keeper), Shell({})),
        coach=EvolutionCoach(units, OfferBook(clock)),
        context_files=keeper,
        clock=clock,
    )
    return ContextFileRuns(units, harness, fake, keeper)


def write(name: str, content: str, **more: object) -> Answer:
    """A call that writes a file."""
    return call("write_file", {"path": name, "content": content, **more})


def edit(name: str, old: str, new: str, **more: object) -> Answer:
    """A call that edits a file."""
    return call("edit_file", {"path": name, "old_text": old, "new_text": new, **more})


def at_once(*answers: Answer) -> Answer:
    """One reply with the calls of several."""
    calls = [each for answer in answers for each in answer.calls]
    return Answer(
        calls=tuple(replace(each, call_id=f"call_{at:03}") for at, each in enumerate(calls))
    )
