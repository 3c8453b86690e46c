"""Taint: whether a run read untrusted text from tools, files, strangers or other agents."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from understudy.core.errors import DamagedRecord
from understudy.learnings.assertion import is_typed_by_user
from understudy.learnings.quotations import is_in_own_words
from understudy.runs.model import Run, RunKind, RunRequest
from understudy.schedules.requests import SOURCE_KIND, SOURCE_PLUGIN

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Kinds of runs whose input a person typed, now or for a schedule; others are untrusted.
TYPED: Final = frozenset(
    {
        RunKind.INPUT,
        RunKind.SCHEDULED_INPUT,
        RunKind.GOAL_CONTINUATION,
        RunKind.APPROVAL_RESUME,
        RunKind.USER_QUESTION_RESUME,
    }
)
_OURS: Final = RunRequest()
# Source plugins and kinds of typed input; every other one is an intermediary.
OWN_SOURCES: Final = frozenset(
    {(_OURS.source_plugin, _OURS.source_kind), (SOURCE_PLUGIN, SOURCE_KIND)}
)
OTHER_AGENT: Final = "other_agent"
TOOL_RESULT: Final = "tool_result"
EARLIER_RUNS: Final = "earlier_runs"


def is_passed_on(run: Run) -> bool:
    """Whether somebody other than the user of a run, or a program, sent its input."""
    request = run.request
    if (request.source_plugin, request.source_kind) not in OWN_SOURCES:
        return True
    return request.actor_id not in (_OURS.actor_id, run.user_id)


# Why the input of a run may not be typed by its user.
INPUT_SOURCES: Final[tuple[tuple[str, Callable[[Run], bool]], ...]] = (
    ("file", lambda run: any(item.type != "text" for item in run.input.items)),
    ("not_typed", lambda run: run.kind not in TYPED),
    ("passed_on", is_passed_on),
)
# Why the output of a run may repeat untrusted text.
SOURCES: Final[tuple[tuple[str, Callable[[Run], bool]], ...]] = (
    (TOOL_RESULT, lambda run: run.usage.tool_calls > 0),
    *INPUT_SOURCES,
)


def untrusted_sources(unit: "Unit", run: Run) -> tuple[str, ...]:
    """The codes of the untrusted sources that a run read."""
    # The input of a sidechain is written by its parent agent.
    above = unit.sidechains.parent_of(run.session_id)
    own = (code for code, is_there in SOURCES if is_there(run))
    return (*own, *(() if above is None else (OTHER_AGENT,)))


def untrusted_path(unit: "Unit", run: Run) -> tuple[str, ...]:
    """The same, and whether earlier runs of the session had read some."""
    earlier = (EARLIER_RUNS,) if has_heard_untrusted(unit, run) else ()
    return (*untrusted_sources(unit, run), *earlier)


def has_heard_untrusted(unit: "Unit", run: Run) -> bool:
    """Whether the session had untrusted input before this run, which the run may repeat."""
    return unit.runs.has_heard_others(run)


def is_typed_in(run: Run, sources: Iterable[str], *, statement: str, request: str) -> bool:
    """Whether the user typed a statement in the request of a run; what tools answered is no matter.

    A file, a text that was passed on and the task of a sidechain are not typed by the user, and
    neither is a text that the request hands over.
    """
    is_typed = run.kind is RunKind.INPUT and set(sources) <= {TOOL_RESULT}
    return is_typed and is_typed_by_user(statement, request)


def model_may_repeat_untrusted(
    run: Run, sources: Sequence[str], *, has_heard: bool, statement: str, request: str
) -> bool:
    """Whether a statement that a model made of a run may repeat untrusted text.

    `has_heard` tells whether its session had read untrusted text before.
    """
    if is_typed_in(run, sources, statement=statement, request=request):
        return False
    return bool(sources) or has_heard or not is_in_own_words(statement, request)


def may_repeat_untrusted(unit: "Unit", run_id: str, statement: str) -> bool:
    """Whether a statement from a run may repeat untrusted text; False for a deleted run."""
    try:
        run = unit.runs.get(run_id)
    except DamagedRecord:
        return True
    if run is None:
        return False
    sources = untrusted_sources(unit, run)
    if not sources and not has_heard_untrusted(unit, run):
        return False
    evidence = unit.run_memory_index.evidence(run_id)
    request = evidence.request if evidence else ""
    return not is_typed_in(run, sources, statement=statement, request=request)


def brings_others_in(run: Run) -> bool:
    """Whether the input of a run has untrusted parts."""
    return any(is_there(run) for _, is_there in INPUT_SOURCES)
