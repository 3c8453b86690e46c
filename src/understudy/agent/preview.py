"""Previews of prompts: what the first model call of a run would send, built as a run builds it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from understudy.agent.admission import Offer
from understudy.agent.budget import specs_of
from understudy.agent.compaction import Compactor, Room, room_for, within
from understudy.agent.conversation import message_tokens
from understudy.agent.history import recall
from understudy.agent.offers import SKILL_SEARCH, USE_SKILL
from understudy.agent.prompt import BuiltPrompt, PromptBuilder, Section, render
from understudy.agents.model import require_agent
from understudy.core.clock import Clock
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.core.records import OMIT, OMIT_EMPTY, Omitted
from understudy.core.text import estimate_tokens
from understudy.memory.policy import policy_in
from understudy.providers.base import (
    AssistantMessage,
    FilePart,
    Message,
    ToolMessage,
    ToolSpec,
)
from understudy.retrieval.explain import MemoryExplanation, explain
from understudy.retrieval.frame import LEARNED_CONTEXT, RECOVERED_MEMORY
from understudy.retrieval.recollect import query_of
from understudy.retrieval.search import checked_query
from understudy.runs.intake import RunIntake
from understudy.runs.model import Run
from understudy.sessions.model import Session, require_session, unsaved_session
from understudy.skills.access import access
from understudy.skills.catalogue import Catalogue
from understudy.skills.catalogue_entry import CatalogueEntry, permits, skill_gate
from understudy.skills.model import Skill, SkillFilter, SkillOrigin

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# Maximum number of skills shown, listed or not.
MOST_SKILLS: Final = 200
# Maximum number of learnings shown; `memory-explain` shows more.
MOST_LEARNINGS: Final = 100
# A redaction marker, plain and as the memory sections quote it.
_REDACTED: Final = re.compile(r"(?:<|\\u003c)redacted:([a-z-]{1,32})(?:>|\\u003e)")


class SkillReason(StrEnum):
    """Why a prompt does not list a skill."""

    NO_TOOL = "no_use_skill_tool"
    SEARCHED = "found_by_search"
    OVER_LIST_LIMIT = "over_list_limit"
    OUT_OF_SCOPE = "out_of_session_scope"
    SHADOWED = "shadowed"
    INACTIVE = "inactive"
    DISABLED = "disabled"
    NOT_GRANTED = "none"


LISTED: Final = "the agent may use it, and the prompt lists it"
SKILL_WORDS: Final[Mapping[str, str]] = {
    SkillReason.NO_TOOL: "the agent does not have the tool `use_skill`",
    SkillReason.SEARCHED: "there are too many skills to list, so the agent finds it with"
    " `skill_search`",
    SkillReason.OVER_LIST_LIMIT: "the list has no room for it",
    SkillReason.OUT_OF_SCOPE: "the scope of the session does not permit it",
    SkillReason.SHADOWED: "another skill with the same name comes before it",
    SkillReason.INACTIVE: "it is not active",
    SkillReason.DISABLED: "it is switched off",
    SkillReason.NOT_GRANTED: "neither the agent nor the user may use it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedSection:
    """A section of a system prompt, and the tokens that it takes."""

    name: str
    tokens: int
    text: str
    # The number of learnings or runs in a memory section.
    entries: Omitted[int] = None
    # Secrets that were redacted before its texts were stored, by kind.
    redactions: Annotated[Mapping[str, int], OMIT_EMPTY] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedMessage:
    """A message of the conversation; the last one is the input."""

    # `user`, `assistant` or `tool`.
    role: str
    # The text, then a line for each call or file.
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedTool:
    """A tool specification as sent to the model."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedSkill:
    """A skill, and whether the prompt lists it."""

    ref: str
    slug: str
    name: str
    description: str
    origin: SkillOrigin
    version: Omitted[int | str] = None
    listed: bool
    # The codes that keep it out of the list; empty if it is listed.
    reasons: tuple[str, ...] = ()
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPreview:
    """The prompt that the next run would send, section by section; nothing is stored."""

    agent_id: str
    # The session of the run; absent where it would be a new one.
    session_id: Annotated[str | None, OMIT] = None
    # The user whose copies of files and skills it has.
    user_id: str
    route_id: str
    model: str
    context_window: int
    # The tokens that a prompt may have before its older part is summarised; the rest of the window
    # is reserved for the answer.
    limit_tokens: int
    reserved_tokens: int
    # All parts together: sections, descriptions of tools, and messages with the input.
    total_tokens: int
    tool_tokens: int
    message_tokens: int
    # The token budget of the memory sections together.
    memory_tokens: int
    # In order: each with its heading, joined by blank lines, they are the system text.
    sections: tuple[PreviewedSection, ...]
    # The tools that the model is told of, without those of MCP servers.
    tools: tuple[str, ...]
    # Their specifications as sent to the model.
    tool_specs: tuple[PreviewedTool, ...]
    # Without an input there is no message for it.
    messages: tuple[PreviewedMessage, ...]
    # Whether the older part of the conversation would be summarised first; then the messages are
    # those that fit.
    summarised_first: bool
    max_tool_iterations: int
    memory: MemoryExplanation
    skills: tuple[PreviewedSkill, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPreviews:
    """Previews the prompt of a run that was not submitted."""

    units: "Units"
    clock: Clock
    prompts: PromptBuilder
    intake: RunIntake
    catalogue: Catalogue

    def of_session(self, principal: Principal, session_id: str, query: str | None) -> PromptPreview:
        """The prompt of the caller's next run in a session."""
        asked = checked_query(query) or ""
        self.catalogue.refresh()
        with self.units.read() as unit:
            return self._preview(unit, principal, require_session(unit, session_id), asked)

    def of_agent(self, principal: Principal, agent_id: str, query: str | None) -> PromptPreview:
        """The prompt of the caller's first run in a new session of an agent."""
        asked, now = checked_query(query) or "", self.clock.now_ms()
        self.catalogue.refresh()
        with self.units.read() as unit:
            agent = require_agent(unit, agent_id)
            session = unsaved_session(agent.agent_id, principal.user_id, now_ms=now)
            return self._preview(unit, principal, session, asked)

    def _preview(
        self, unit: "Unit", principal: Principal, session: Session, asked: str
    ) -> PromptPreview:
        run = self.intake.draft(unit, principal, session, asked)
        built = self.prompts.build(
            unit, run, session, input_offset=session.journal_length + 1, is_recorded=False
        )
        sections = tuple(
            _section(section, built) for section in built.sections if section.body.strip()
        )
        window = self.prompts.routes.window(run.route.route_id, run.route.model).tokens
        described = sum(section.tokens for section in sections)
        tools = self._tools(unit, session, built)
        messages, is_summarised = self._messages(unit, run, built, tools, window)
        return PromptPreview(
            agent_id=session.agent_id,
            session_id=session.session_id or None,
            user_id=principal.user_id,
            route_id=run.route.route_id,
            model=run.route.model,
            context_window=window,
            limit_tokens=built.limit,
            reserved_tokens=window - built.limit,
            total_tokens=described + built.tool_tokens + built.message_tokens,
            tool_tokens=built.tool_tokens,
            message_tokens=built.message_tokens,
            memory_tokens=built.budget.tokens,
            sections=sections,
            tools=built.told,
            tool_specs=tuple(map(_tool, tools)),
            messages=messages if asked else messages[:-1],
            summarised_first=is_summarised,
            max_tool_iterations=built.max_steps,
            memory=explain(
                unit,
                session,
                query=query_of(run),
                policy=policy_in(unit),
                now_ms=self.clock.now_ms(),
                chosen=built.recalled.learned,
                recovered=built.recalled.recovered,
                most=MOST_LEARNINGS,
            ),
            skills=tuple(self._skills(unit, principal, session, built))[:MOST_SKILLS],
        )

    def _tools(self, unit: "Unit", session: Session, built: BuiltPrompt) -> tuple[ToolSpec, ...]:
        """The tool specifications of the first call; none where it is also the last."""
        listed = self.prompts.listed_by_servers(unit, session)
        offer = Offer(
            registry=self.prompts.registry.extended(listed),
            names=(*built.enabled, *(tool.name for tool in listed)),
            withheld=built.withheld,
        )
        return specs_of(offer) if built.max_steps > 1 else ()

    def _messages(
        self,
        unit: "Unit",
        run: Run,
        built: BuiltPrompt,
        tools: Sequence[ToolSpec],
        window: int,
    ) -> tuple[tuple[PreviewedMessage, ...], bool]:
        """The messages of the first call, and whether a compaction would come first."""
        snapshot = built.snapshot()
        accepts = self.prompts.routes.accepts(run.route.route_id)
        conversation = recall(unit, run, snapshot, accepts=accepts)
        room: Room = room_for(context_window=window, system=snapshot.system, tools=tools)
        shown = within(conversation, room).messages
        return tuple(map(_message, shown)), Compactor().is_due(conversation, room)

    def _skills(
        self, unit: "Unit", principal: Principal, session: Session, built: BuiltPrompt
    ) -> Iterator[PreviewedSkill]:
        """The skills that the agent may use, listed ones first, then all others."""
        who = {"agent_id": session.agent_id, "user_id": principal.user_id}
        offered = built.skills.offered or self.catalogue.offered(unit, **who, session=session)
        listed = {one.ref for one in built.skills.listed}
        left_out = _left_out(built.told)
        for one in sorted(offered, key=lambda one: one.ref not in listed):
            yield _offered(one, () if one.ref in listed else (one.unusable or left_out,))
        seen_by = None if principal.role.includes(Role.ADMIN) else principal.user_id
        known = {one.ref for one in offered}
        page = unit.skills.page(
            PageRequest(limit=MOST_SKILLS), narrowed=SkillFilter(seen_by=seen_by)
        )
        granted = unit.skill_grants.of_agent(session.agent_id).keys()
        for skill in page.items:
            if skill.skill_id not in known:
                yield _other(skill, session, principal, is_granted=skill.skill_id in granted)


def _section(section: Section, built: BuiltPrompt) -> PreviewedSection:
    recalled = built.recalled
    entries = {
        LEARNED_CONTEXT.name: len(recalled.learned.kept),
        RECOVERED_MEMORY.name: len(recalled.recovered.kept),
    }
    return PreviewedSection(
        name=section.name,
        tokens=estimate_tokens(render([section])),
        text=section.body,
        entries=entries.get(section.name),
        redactions=Counter(_REDACTED.findall(section.body)),
    )


def _tool(tool: ToolSpec) -> PreviewedTool:
    return PreviewedTool(
        name=tool.name, description=tool.description, parameters=dict(tool.parameters)
    )


def _message(message: Message) -> PreviewedMessage:
    match message:
        case ToolMessage():
            role, said = "tool", [message.content]
        case AssistantMessage():
            calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
            role, said = "assistant", [message.text, *calls]
        case _:
            files = [part for part in message.parts if isinstance(part, FilePart)]
            named = [f"{it.file_name} ({it.media_type}, {len(it.data)} bytes)" for it in files]
            role, said = "user", [message.text, *named]
    text = "\n".join(filter(None, said))
    return PreviewedMessage(role=role, text=text, tokens=message_tokens(message))


def _left_out(tools: Sequence[str]) -> SkillReason:
    """Why a usable skill is not listed."""
    if USE_SKILL not in tools:
        return SkillReason.NO_TOOL
    return SkillReason.SEARCHED if SKILL_SEARCH in tools else SkillReason.OVER_LIST_LIMIT


def _offered(one: CatalogueEntry, reasons: Sequence[str]) -> PreviewedSkill:
    """A skill that the agent may use."""
    return PreviewedSkill(
        ref=one.ref,
        slug=one.slug,
        name=one.name,
        description=one.description,
        origin=one.origin,
        version=one.shown_version,
        listed=not reasons,
        reasons=tuple(map(str, reasons)),
        explanation=_words(reasons),
    )


def _other(
    skill: Skill, session: Session, principal: Principal, *, is_granted: bool
) -> PreviewedSkill:
    """A stored skill that the agent is not offered."""
    decision = access(
        skill, agent_granted=is_granted, user_granted=False, user_id=principal.user_id
    )
    gate = skill_gate(session)
    is_permitted = gate is not None and permits(gate, slug=skill.slug, name=skill.name)
    reasons = (
        *(() if decision.allowed else (str(decision.reason),)),
        *(() if is_permitted else (SkillReason.OUT_OF_SCOPE,)),
    ) or (SkillReason.SHADOWED,)
    return PreviewedSkill(
        ref=skill.skill_id,
        slug=skill.slug,
        name=skill.name,
        description=skill.description,
        origin=skill.origin,
        version=skill.version,
        listed=False,
        reasons=tuple(map(str, reasons)),
        explanation=_words(reasons),
    )


def _words(reasons: Sequence[str]) -> str:
    return "; ".join(SKILL_WORDS.get(reason, reason) for reason in reasons) or LISTED
