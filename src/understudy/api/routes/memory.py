"""Memory: what is injected into prompts of a session and why, search, and run memories."""

from typing import Annotated, Final

from fastapi import APIRouter, Query

from understudy.agent.preview import PromptPreview
from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import AgentId, Caller, RunId, Services, SessionId
from understudy.core.page import Page
from understudy.core.principal import Principal, Role
from understudy.core.records import extended, reduced
from understudy.memory.record import RunMemoryDetail, RunMemoryItem
from understudy.retrieval.explain import MemoryExplanation
from understudy.retrieval.inspection import MemoryContext, Reader
from understudy.retrieval.report import MemoryReport
from understudy.retrieval.search import SearchAnswer, shown_capability_scope
from understudy.wire.base import Deleted
from understudy.wire.memory import (
    LearnedContext,
    LearnedEntry,
    MemoryContextView,
    RecoveredEntry,
    RecoveredMemory,
)
from understudy.wire.skills import OfferedSkill

router = APIRouter(tags=["memory"], route_class=GatedRoute)
Asked = Annotated[str | None, Query(description="what the next input might say, or ask for")]
Most = Annotated[int | None, Query(description="how many results; 12, brought within 1 and 50")]
Reviewed = Annotated[
    bool,
    Query(
        description="only learnings that were reviewed, and skills: no run, and nothing that"
        " automation published of an untrusted one; connected agents are told of nothing else"
    ),
]
# The most skills shown; `/v1/sessions/{id}/skills` lists them all.
MAX_SKILLS: Final = 200


@router.get("/v1/sessions/{session_id}/memory-context", operation_id="sessions.memory_context")
@viewer(by_client=True)
def memory_context(
    session_id: SessionId,
    services: Services,
    caller: Caller,
    query: Asked = None,
    reviewed: Reviewed = False,
) -> MemoryContextView:
    """Show what would be injected into the caller's next run; reading changes nothing."""
    reader = _reader(caller, reviewed=reviewed, session_id=session_id)
    return context_view(services.inspection.context(reader, query))


@router.get("/v1/agents/{agent_id}/memory-context", operation_id="agents.memory_context")
@viewer(by_client=True)
def agent_memory_context(
    agent_id: AgentId,
    services: Services,
    caller: Caller,
    query: Asked = None,
    reviewed: Reviewed = False,
) -> MemoryContextView:
    """Show what would be injected into the caller's first run in a new session of an agent."""
    reader = _reader(caller, reviewed=reviewed, agent_id=agent_id)
    return context_view(services.inspection.context(reader, query))


@router.get("/v1/sessions/{session_id}/memory-search", operation_id="sessions.memory_search")
@viewer(by_client=True)
def memory_search(
    session_id: SessionId,
    services: Services,
    caller: Caller,
    query: Asked = None,
    limit: Most = None,
    reviewed: Reviewed = False,
) -> SearchAnswer:
    """Search what the session can find, best first; newest first without a query."""
    reader = _reader(caller, reviewed=reviewed, session_id=session_id)
    return services.inspection.search(reader, query, limit)


@router.get("/v1/agents/{agent_id}/memory-search", operation_id="agents.memory_search")
@viewer(by_client=True)
def agent_memory_search(
    agent_id: AgentId,
    services: Services,
    caller: Caller,
    query: Asked = None,
    limit: Most = None,
    reviewed: Reviewed = False,
) -> SearchAnswer:
    """Search what a new session of an agent can find, best first; newest first without a query."""
    reader = _reader(caller, reviewed=reviewed, agent_id=agent_id)
    return services.inspection.search(reader, query, limit)


@router.get("/v1/sessions/{session_id}/memory-explain", operation_id="sessions.memory_explain")
@viewer(by_client=True)
def memory_explain(
    session_id: SessionId,
    services: Services,
    caller: Caller,
    query: Asked = None,
    reviewed: Reviewed = False,
) -> MemoryExplanation:
    """Explain for every visible learning and run why it would or would not be injected."""
    reader = _reader(caller, reviewed=reviewed, session_id=session_id)
    return services.inspection.explain(reader, query)


@router.get("/v1/agents/{agent_id}/memory-explain", operation_id="agents.memory_explain")
@viewer(by_client=True)
def agent_memory_explain(
    agent_id: AgentId,
    services: Services,
    caller: Caller,
    query: Asked = None,
    reviewed: Reviewed = False,
) -> MemoryExplanation:
    """Explain for every learning that a new session sees why it would or would not be injected."""
    reader = _reader(caller, reviewed=reviewed, agent_id=agent_id)
    return services.inspection.explain(reader, query)


@router.get("/v1/sessions/{session_id}/prompt-preview", operation_id="sessions.prompt_preview")
@viewer()
def prompt_preview(
    session_id: SessionId, services: Services, caller: Caller, query: Asked = None
) -> PromptPreview:
    """Show what the caller's next run would send to its model, by section, with its tokens.

    `memory` lists every visible learning and run and `skills` every skill, in or out, with each
    reason. MCP servers have the tools that they listed last. Nothing is changed.
    """
    return services.prompt_previews.of_session(caller, session_id, query)


@router.get("/v1/agents/{agent_id}/prompt-preview", operation_id="agents.prompt_preview")
@viewer()
def agent_prompt_preview(
    agent_id: AgentId, services: Services, caller: Caller, query: Asked = None
) -> PromptPreview:
    """Show what the caller's first run in a new session would send to its model."""
    return services.prompt_previews.of_agent(caller, agent_id, query)


@router.get("/v1/runs/{run_id}/memory-report", operation_id="runs.memory_report")
@viewer()
def memory_report(run_id: RunId, services: Services) -> MemoryReport:
    """Show what was injected into a run, what was left out, and why."""
    return services.inspection.report(run_id)


@router.get("/v1/run-memories", operation_id="run_memories.list")
@viewer()
def list_run_memories(
    services: Services,
    page: Paging,
    session_id: Annotated[str | None, Query(description="only of this session")] = None,
) -> Page[RunMemoryItem]:
    """List run memories, newest first."""
    return services.inspection.records(page, session_id=session_id)


@router.get("/v1/run-memories/{run_id}", operation_id="run_memories.get")
@viewer()
def get_run_memory(
    run_id: RunId,
    services: Services,
    evidence: Annotated[
        bool, Query(description="also the longer texts that learning reads")
    ] = False,
) -> RunMemoryDetail:
    """Show the memory of a run."""
    record = services.run_memories.get(run_id)
    longer = services.run_memories.evidence(run_id) if evidence else None
    capture = services.run_memories.capture(run_id)
    return extended(RunMemoryDetail, record, capture=capture, evidence=longer)


@router.delete("/v1/run-memories/{run_id}", operation_id="run_memories.forget")
@operator()
def forget_run_memory(run_id: RunId, services: Services, caller: Caller) -> Deleted:
    """Forget a run: no prompt and no search shows it again. The run itself stays."""
    services.run_memories.forget(caller, run_id)
    return Deleted()


def _reader(caller: Principal, *, reviewed: bool, **of: str) -> Reader:
    """Who asks; a connected agent reads what is reviewed and nothing else."""
    is_agent = caller.role is Role.CLIENT
    return Reader(user_id=caller.user_id, reviewed=reviewed or is_agent, **of)


def context_view(context: MemoryContext) -> MemoryContextView:
    """The memory context of the next run in its wire format."""
    learned, recovered = context.learned, context.recovered
    return MemoryContextView(
        session_id=context.session.session_id,
        effective_capability_scope=shown_capability_scope(context.session),
        learning_scopes=context.learning_scopes,
        learned_context=LearnedContext(
            entries=tuple(reduced(LearnedEntry, it) for it in learned.kept),
            truncated=learned.omitted > 0,
        )
        if learned.kept
        else None,
        recovered_memory=RecoveredMemory(
            entries=tuple(reduced(RecoveredEntry, it) for it in recovered.kept),
            truncated=recovered.omitted > 0,
        )
        if recovered.kept
        else None,
        visible_skills=tuple(OfferedSkill.from_entry(one) for one in context.skills[:MAX_SKILLS]),
        visible_skill_count=len(context.skills),
    )
