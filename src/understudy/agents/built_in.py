"""The built-in agents of every daemon."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from understudy.agents.model import DEFAULT_AGENT_ID, Agent, AgentType, ContextFile
from understudy.core.principal import DAEMON
from understudy.permissions.model import CallRule, PermissionDecision
from understudy.permissions.rules import write_document

VERIFICATION_AGENT_ID: Final = "verification"
_TEACHES: Final = "whoever carries a promoted skill out changes none"
_REACHES_OUT: Final = "whoever carries a promoted skill out works by itself, in a folder of its own"
# Tools that are denied to the agent that executes promoted skills, with the reason; also in trials.
NOT_OF_VERIFICATION: Final[Mapping[str, str]] = {
    "skill_manage": _TEACHES,
    "publish_skill": _TEACHES,
    "remember": "whoever carries a promoted skill out has no user to remember things of",
    "spawn_sidechain": _REACHES_OUT,
    "send_mail": _REACHES_OUT,
}


INSTRUCTIONS_FILE: Final = "AGENTS.md"
VERIFICATION_INSTRUCTIONS: Final = """\
You carry out one procedure in a run of its own, and you claim nothing that you have not checked.

- Do the steps that the task gives you, in their order, in your own folder.
- Check each claim, those of the task as well as your own, against evidence: a file, the result of a \
tool, the output of a command. Say which claims you could not check.
- Answer with what the procedure asks for, in the form that it asks for. Where the question is \
whether something holds, begin with the verdict (confirmed, refuted or undecided) and name the \
evidence for it.
- When a step fails, say which and why. Never answer as if it had worked.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """The initial record of a built-in agent; operators may change it."""

    display_name: str
    denied: Mapping[str, str] = field(default_factory=dict)
    # Its first AGENTS.md; empty for none.
    instructions: str = ""

    def made(self, agent_id: str, *, at_ms: int) -> Agent:
        """The agent record."""
        rules = [
            CallRule(tool=tool, decision=PermissionDecision.DENY, reason=reason)
            for tool, reason in self.denied.items()
        ]
        return Agent(
            agent_id=agent_id,
            display_name=self.display_name,
            agent_type=AgentType.PREDEFINED,
            permissions=write_document(rules) if rules else {},
            created_at_ms=at_ms,
            updated_at_ms=at_ms,
        )

    def first_file(self, agent_id: str, *, at_ms: int) -> ContextFile:
        """The first version of its instructions."""
        return ContextFile(
            agent_id=agent_id,
            name=INSTRUCTIONS_FILE,
            version=1,
            content=self.instructions,
            actor=DAEMON.actor,
            created_at_ms=at_ms,
        )


BUILT_IN: Final[Mapping[str, BuiltIn]] = {
    DEFAULT_AGENT_ID: BuiltIn(display_name=DEFAULT_AGENT_ID),
    VERIFICATION_AGENT_ID: BuiltIn(
        display_name=VERIFICATION_AGENT_ID,
        denied=NOT_OF_VERIFICATION,
        instructions=VERIFICATION_INSTRUCTIONS,
    ),
}
