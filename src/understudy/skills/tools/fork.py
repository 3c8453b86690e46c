"""Skills with `context: fork`: executed in a sidechain whose answer is the tool result."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.core.principal import Principal, Role
from understudy.core.scope import Gate, Scope
from understudy.permissions.globs import WILDCARDS, matches
from understudy.permissions.model import CallRule
from understudy.permissions.rules import deny_rules
from understudy.runs.sidechain_links import question_data
from understudy.runs.sidechain_tools import REPORT_NOTE
from understudy.runs.sidechains import SidechainService, SidechainStanding, SidechainWish, child_id
from understudy.sessions.model import Spawn
from understudy.sessions.scopes import ROUTES_ONLY
from understudy.skills.catalogue import LoadedSkill
from understudy.skills.runtime_settings import RuntimeSettings
from understudy.skills.usage import RecordedUse
from understudy.tools.base import NotYet, ToolContext, WaitsFor

if TYPE_CHECKING:
    from understudy.rollout.worktrees import Worktrees
    from understudy.storage.unit import Unit


# Always allowed: they only read files of the skill and long answers.
ALWAYS: Final = frozenset({"use_skill", "read_artifact"})
# MCP tools are named `server/tool`; a sidechain has those that its skill names.
SLASH: Final = "/"
OUTSIDE: Final = "*/*"
TASK: Final = (
    "Carry out the skill below for another agent, here and by yourself: do not fork it again. "
    "When it is done, answer with the result; your last message is all that is passed on."
)
QUESTIONS: Final = (
    "It asks you something. Answer with answer_sidechain, then get its result with wait_sidechain. "
    + REPORT_NOTE
)
GOES_ON: Final = "It still works. Get its result later with wait_sidechain. " + REPORT_NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkTools:
    """The tools that a sidechain is denied, and the MCP servers that it may use."""

    denied: tuple[CallRule, ...] = ()
    # As a capability scope: the named MCP tools; all others are hidden.
    capabilities: Mapping[str, list[str]] = field(default_factory=dict)
    # The part of its parent's credential scope that it gets; None for all of it.
    credentials: Mapping[str, Any] | None = None


def tools_for(
    settings: RuntimeSettings,
    slug: str,
    tool_names: Sequence[str],
    *,
    always: frozenset[str] = ALWAYS,
) -> ForkTools:
    """The tools of a skill among those that exist now; patterns are expanded."""
    names = list(settings.blocked_tools)
    outside: frozenset[str] = frozenset()
    if settings.allowed_tools:
        allowed = (*settings.allowed_tools, *always)
        outside = frozenset(_outside(allowed, tool_names))
        others = [name for name in tool_names if not _fits(allowed, name)]
        names += others if outside else [*filter(_is_ours, others), OUTSIDE]
    denied = deny_rules(names, f"the skill {slug} does not use it")
    if not outside:
        return ForkTools(denied=denied)
    servers = tuple(sorted({name.partition(SLASH)[0] for name in outside}))
    given = Scope(gates={**ROUTES_ONLY.gates, "mcp_server": Gate(allow=servers)})
    return ForkTools(
        denied=denied,
        # All other tools of a server are hidden, also those that it adds later.
        capabilities={"mcp_server_allow": [*servers], "mcp_tool_allow": sorted(outside)},
        credentials=given.to_json(),
    )


def tools_for_promoted(
    settings: RuntimeSettings, slug: str, tool_names: Sequence[str]
) -> ForkTools:
    """The tools of a promoted skill: exactly its lists.

    It uses other skills only where `use_skill` is listed, and neither it nor its sidechains ever
    use itself.
    """
    found = tools_for(settings, slug, tool_names, always=frozenset())
    return ForkTools(
        denied=found.denied,
        capabilities={**found.capabilities, "skill_deny": [slug]},
        credentials=found.credentials,
    )


def _outside(allowed: Iterable[str], tool_names: Sequence[str]) -> Iterator[str]:
    """The MCP tools that the names select; a full name also one of a server that is down."""
    for name in allowed:
        if any(sign in name for sign in WILDCARDS):
            yield from (each for each in tool_names if SLASH in each and matches(name, each))
        elif SLASH in name:
            yield name


def _is_ours(name: str) -> bool:
    return SLASH not in name


def _fits(allowed: Iterable[str], name: str) -> bool:
    return any(matches(each, name) for each in allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forks:
    """Starts skills in sidechains, and returns their results."""

    sidechains: SidechainService
    # The names of all tools.
    tool_names: Callable[[], Sequence[str]]
    # The worktrees of promoted skills; without them they work in the folder of the run.
    worktrees: "Worktrees | None" = None

    def begun(self, unit: "Unit", context: ToolContext) -> Spawn | None:
        """The sidechain that this tool call began before; None without one."""
        return unit.sidechains.spawn_of(child_id(context.call_key))

    def begin(self, context: ToolContext, loaded: LoadedSkill, instructions: str) -> Spawn:
        """Start a sidechain for a skill; a retried call finds the one that it began."""
        settings, slug = loaded.settings, loaded.offered.slug
        wish = SidechainWish(
            task=task_of(instructions),
            agent_id=settings.agent_profile,
            label=f"skill {slug}",
            provider=settings.provider,
            model=settings.model,
            fallback_model=settings.fallback_model,
        )
        if loaded.fingerprint is None:
            return self._spawn(context, _with(wish, tools_for(settings, slug, self.tool_names())))
        tools = tools_for_promoted(settings, slug, self.tool_names())
        wish = replace(_with(wish, tools), skill_fingerprint=loaded.fingerprint)
        if self.worktrees is None:
            return self._spawn(context, wish)
        return self._spawn_apart(context, slug, wish, self.worktrees)

    def _spawn(self, context: ToolContext, wish: SidechainWish) -> Spawn:
        caller = Principal(user_id=context.user_id, role=Role.OPERATOR)
        return self.sidechains.spawn(caller, context.run_id, context.call_key, wish)

    def _spawn_apart(
        self, context: ToolContext, slug: str, wish: SidechainWish, worktrees: "Worktrees"
    ) -> Spawn:
        """Start a sidechain in its own worktree, which is removed if the start fails."""
        workdir = worktrees.claim(slug, context.call_id)
        is_taken = False
        try:
            spawn = self._spawn(context, replace(wish, workdir=workdir))
            is_taken = self.sidechains.workdir_of(spawn.session_id) == workdir
        finally:
            if not is_taken:
                worktrees.release(workdir)
        return spawn

    def outcome(
        self, context: ToolContext, spawn: Spawn, use: RecordedUse | None, *, until_ms: int | None
    ) -> str:
        """The answer or question of the sidechain; `NotYet` while it works and there is time."""
        news = self.sidechains.news(
            context.session_id, context.run_id, run_ids=(spawn.first_run_id,)
        )
        (standing,) = news.standings
        asked = [each for each in news.questions if each.session_id == spawn.session_id]
        if standing.is_live and not asked and until_ms is not None:
            raise NotYet(WaitsFor.SIDECHAIN, until_ms=until_ms)
        report: dict[str, Any] = {
            "action": "fork",
            "mode": "fork",
            **_used(use),
            "note": _note(is_asking=bool(asked), is_live=standing.is_live),
            "spawn": _shown(standing, spawn),
        }
        if asked:
            report["questions"] = [question_data(request) for request in asked]
        # JSON, so that text of the sidechain cannot pass for instructions.
        return json.dumps(report, ensure_ascii=False)


def task_of(instructions: str) -> str:
    """The task of a sidechain that carries out a skill."""
    return f"{TASK}\n\n{instructions}"


def _with(wish: SidechainWish, tools: ForkTools) -> SidechainWish:
    return replace(
        wish,
        denied=tools.denied,
        capability_scope=tools.capabilities or None,
        credential_scope=tools.credentials,
    )


def _note(*, is_asking: bool, is_live: bool) -> str:
    if is_asking:
        return QUESTIONS
    return GOES_ON if is_live else REPORT_NOTE


def _used(use: RecordedUse | None) -> dict[str, Any]:
    if use is None:
        return {}
    return {"name": use.slug, "version": use.shown_version, "digest": use.digest}


def _shown(standing: SidechainStanding, spawn: Spawn) -> dict[str, Any]:
    run = standing.run
    return _said(
        agent_id=standing.sidechain.session.agent_id,
        session_id=spawn.session_id,
        launch_run_id=spawn.first_run_id,
        status=str(run.status) if run else None,
        final_output=None if standing.is_live else standing.output,
        error=run.error if run else None,
        snapshot=_snapshot(standing),
    )


def _snapshot(standing: SidechainStanding) -> dict[str, Any]:
    """The state of the sidechain, beside its answer."""
    session, run = standing.sidechain.session, standing.run
    return _said(
        session_status=str(session.status),
        parent_session_id=session.parent_session_id,
        workdir=session.workdir,
        skill_fingerprint=run.skill_fingerprint if run else None,
        route=run.route.route_id if run else None,
        model=standing.answered_by or (run.route.model if run else None),
        started_at_ms=run.started_at_ms if run else None,
        finished_at_ms=run.finished_at_ms if run else None,
        usage=asdict(run.usage) if run else None,
    )


def _said(**parts: Any) -> dict[str, Any]:
    return {name: value for name, value in parts.items() if value is not None}
