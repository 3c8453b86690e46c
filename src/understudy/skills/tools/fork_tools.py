"""Which tools the sidechain that carries out a skill has: what its skill allows, and no more."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.core.scope import Gate, Scope
from understudy.permissions.globs import WILDCARDS, matches
from understudy.permissions.model import Decision, Rule
from understudy.permissions.rules import MAX_TOOL_CHARS
from understudy.sessions.creation import SIDECHAIN_CREDENTIALS
from understudy.skills.runtime_settings import RuntimeSettings

# They only read what the sidechain has anyway: files of the skill, and long answers.
ALWAYS: Final = frozenset({"use_skill", "read_artifact"})
# Tools of servers outside are called `server/tool`; a sidechain has those that its skill names.
SLASH: Final = "/"
OUTSIDE: Final = "*/*"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkTools:
    """What a sidechain is denied, and which servers outside it may use."""

    denied: tuple[Rule, ...] = ()
    # By the keys of a capability scope: the tools of servers that are named; all others are hidden.
    capabilities: Mapping[str, list[str]] = field(default_factory=dict)
    # What it has of its parent's credentials; None for no more than any sidechain.
    credentials: Mapping[str, Any] | None = None


def tools_for(
    settings: RuntimeSettings,
    slug: str,
    tool_names: Sequence[str],
    *,
    always: frozenset[str] = ALWAYS,
) -> ForkTools:
    """The tools of a skill, of those that there are now; patterns stand for what fits them."""
    names = list(settings.blocked_tools)
    outside: frozenset[str] = frozenset()
    if settings.allowed_tools:
        allowed = (*settings.allowed_tools, *always)
        outside = frozenset(_outside(allowed, tool_names))
        others = [name for name in tool_names if not _fits(allowed, name)]
        names += others if outside else [*filter(_is_ours, others), OUTSIDE]
    denied = _rules(names, f"the skill {slug} does not use it")
    if not outside:
        return ForkTools(denied=denied)
    servers = tuple(sorted({name.partition(SLASH)[0] for name in outside}))
    given = Scope(gates={**SIDECHAIN_CREDENTIALS.gates, "mcp_server": Gate(allow=servers)})
    return ForkTools(
        denied=denied,
        # What a server has besides, or will have one day, is hidden with it.
        capabilities={"mcp_server_allow": [*servers], "mcp_tool_allow": sorted(outside)},
        credentials=given.to_json(),
    )


def tools_for_promoted(
    settings: RuntimeSettings, slug: str, tool_names: Sequence[str]
) -> ForkTools:
    """The same for a promoted skill: what its lists say and no more, so that it uses other skills only
    where `use_skill` is among them, and itself it never does, nor does anybody below it."""
    found = tools_for(settings, slug, tool_names, always=frozenset())
    return ForkTools(
        denied=found.denied,
        capabilities={**found.capabilities, "skill_deny": [slug]},
        credentials=found.credentials,
    )


def _outside(allowed: Iterable[str], tool_names: Sequence[str]) -> Iterator[str]:
    """The tools of servers that are meant; by its whole name also one that is not up yet."""
    for name in allowed:
        if any(sign in name for sign in WILDCARDS):
            yield from (each for each in tool_names if SLASH in each and matches(name, each))
        elif SLASH in name:
            yield name


def _is_ours(name: str) -> bool:
    return SLASH not in name


def _fits(allowed: Iterable[str], name: str) -> bool:
    return any(matches(each, name) for each in allowed)


def _rules(names: Iterable[str], reason: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(tool=name, decision=Decision.DENY, reason=reason)
        for name in dict.fromkeys(names)
        if name.strip() and len(name) <= MAX_TOOL_CHARS
    )
