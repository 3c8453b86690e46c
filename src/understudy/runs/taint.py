"""Taint: the untrusted text that a run has read, recorded when it reads it.

What a tainted run makes, such as a learning, a version of a skill or of a context file, may repeat
text that no person gave it. It is marked `derived_from_untrusted` until a person has reviewed it.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from understudy.core.principal import Role
from understudy.runs.model import (
    BRIEFING,
    OPENAI_SOURCE,
    SCHEDULE_SOURCE,
    Run,
    RunKind,
    RunRequest,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


class TaintSource(StrEnum):
    """Where untrusted text came from."""

    # From the input.
    FILE = "file"
    NOT_TYPED = "not_typed"
    PASSED_ON = "passed_on"
    PASTED = "pasted_text"
    # What the client sent along beside the words of its user.
    CLIENT_TEXT = "client_text"
    # From the prompt.
    AGENT_FILE = "agent_file"
    FOREIGN_SKILL = "foreign_skill"
    LEARNING = "untrusted_learning"
    MCP_TOOL = "mcp_tool"
    # From tool results.
    TOOL_RESULT = "tool_result"
    # From the session.
    OTHER_AGENT = "other_agent"
    EARLIER_RUNS = "earlier_runs"


# The names of what was read, by source: tools, files, skills, learnings.
Taints: TypeAlias = Mapping[str, Sequence[str]]
# As many as a reviewer would read.
MAX_NAMES: Final = 16
# Kinds of runs whose input a person typed, now or for a schedule; others are untrusted.
TYPED: Final = frozenset(
    {
        RunKind.INPUT,
        RunKind.SCHEDULED_INPUT,
        RunKind.GOAL_CONTINUATION,
        RunKind.APPROVAL_RESUME,
        RunKind.USER_QUESTION_RESUME,
        RunKind.FOREIGN_TURN,
    }
)
_OURS: Final = RunRequest()
# Source plugins and kinds of typed input; every other one is an intermediary.
OWN_SOURCES: Final = frozenset(
    {(_OURS.source_plugin, _OURS.source_kind), SCHEDULE_SOURCE, OPENAI_SOURCE}
)
# Tools whose answers are the daemon's own reports.
REPORTING_TOOLS: Final = frozenset(
    {
        "write_file",
        "edit_file",
        "remember",
        "skill_manage",
        "publish_skill",
        "send_mail",
        "spawn_sidechain",
        "answer_sidechain",
        "cancel_sidechain",
    }
)


def is_passed_on(run: Run) -> bool:
    """Whether the input of a run came from another user or a program."""
    request = run.request
    if run.kind is RunKind.FOREIGN_TURN:
        return False
    # A connected agent writes what it submits.
    if run.role is Role.CLIENT or ((request.source_plugin, request.source_kind) not in OWN_SOURCES):
        return True
    return request.actor_id not in (_OURS.actor_id, run.user_id)


def has_client_text(run: Run) -> bool:
    """Whether a client sent along more than the words of its user."""
    source = (run.request.source_plugin, run.request.source_kind)
    return source == OPENAI_SOURCE and any(it.given_as == BRIEFING for it in run.input.items)


# Reasons why the input of a run counts as not typed by its user, or not all of it.
INPUT_SOURCES: Final[tuple[tuple[TaintSource, Callable[[Run], bool]], ...]] = (
    (TaintSource.FILE, lambda run: any(item.type != "text" for item in run.input.items)),
    (TaintSource.NOT_TYPED, lambda run: run.kind not in TYPED),
    (TaintSource.PASSED_ON, is_passed_on),
    (TaintSource.CLIENT_TEXT, has_client_text),
)
# With one of these, the user of the run typed nothing of the input.
NOT_OF_USER: Final = frozenset(
    {TaintSource.FILE, TaintSource.NOT_TYPED, TaintSource.PASSED_ON, TaintSource.OTHER_AGENT}
)


def untrusted_sources(unit: "Unit", run: Run) -> tuple[str, ...]:
    """The codes of the untrusted text that a run has read so far."""
    # The input of a sidechain is written by its parent agent.
    above = unit.sidechains.parent_of(run.session_id)
    read = unit.runs.taints(run.run_id)
    return (*read, *(() if above is None else (TaintSource.OTHER_AGENT,)))


def untrusted_path(unit: "Unit", run: Run) -> tuple[str, ...]:
    """`untrusted_sources`, and whether earlier runs of the session are tainted; or empty."""
    earlier = (TaintSource.EARLIER_RUNS,) if unit.runs.follows_tainted(run) else ()
    return (*untrusted_sources(unit, run), *earlier)


def merged(taints: Taints, more: Taints) -> dict[str, list[str]]:
    """The union of two taint records, bounded."""
    both = {code: list(names) for code, names in taints.items()}
    for code, names in more.items():
        both[code] = list(dict.fromkeys((*both.get(code, ()), *names)))[:MAX_NAMES]
    return both
