"""Taint of statements: whether one found in a run may repeat untrusted text that the run read."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from understudy.core.errors import DamagedRecord, undamaged
from understudy.learnings.assertion import is_typed_by_user
from understudy.learnings.model import Candidate, Learning, PolicyDecision
from understudy.learnings.pastes import hands_over_paste, holds_paste
from understudy.learnings.quotations import is_in_own_words, own_words
from understudy.runs.model import Run, RunKind
from understudy.runs.taint import (
    INPUT_SOURCES,
    NOT_OF_USER,
    TaintSource,
    untrusted_path,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Kinds of runs whose input the user typed just then.
TYPED_NOW: Final = frozenset({RunKind.INPUT, RunKind.FOREIGN_TURN})


def is_unreviewed(learning: Learning) -> bool:
    """Whether automation published a statement that may repeat untrusted text."""
    by_person = learning.policy_decision is PolicyDecision.MANUAL
    return learning.derived_from_untrusted and not by_person


def taints_of_input(run: Run) -> dict[str, list[str]]:
    """The taints of a run's input, by source."""
    codes = [code for code, is_there in INPUT_SOURCES if is_there(run)]
    # Trials repeat the inputs of other runs, and nothing is learned from them.
    if run.trial_id is None and holds_paste(run.input.text):
        codes.append(TaintSource.PASTED)
    return {str(code): [] for code in codes}


def is_typed_in(run: Run, sources: Iterable[str], *, statement: str, request: str) -> bool:
    """Whether the user typed a statement in the request of a run, whatever else the run read.

    A file, a text that was passed on and the task of a sidechain are not typed by the user, and
    neither is a text that the request hands over.
    """
    is_typed = run.kind in TYPED_NOW and is_of_user(sources)
    return is_typed and is_typed_by_user(statement, request)


def model_may_repeat_untrusted(
    run: Run, path: Sequence[str], *, statement: str, request: str
) -> bool:
    """Whether a statement that a model made of a run may repeat untrusted text on its path."""
    if is_typed_in(run, path, statement=statement, request=request):
        return False
    # A quotation in the request is distinguished from the words around it.
    is_quoted = TaintSource.PASTED in path and not hands_over_paste(own_words(request))
    others = set(path) - {TaintSource.PASTED} if is_quoted else path
    return bool(others) or not is_in_own_words(statement, request)


def is_of_user(sources: Iterable[str]) -> bool:
    """Whether the user of a run wrote its input, whatever else the run read."""
    return NOT_OF_USER.isdisjoint(sources)


def may_repeat_untrusted(unit: "Unit", run_id: str, statement: str) -> bool:
    """Whether a statement from a run may repeat untrusted text; False for a deleted run."""
    try:
        run = unit.runs.get(run_id)
    except DamagedRecord:
        return True
    if run is None:
        return False
    path = untrusted_path(unit, run)
    if not path:
        return False
    evidence = unit.run_memory_index.evidence(run_id)
    request = evidence.request if evidence else ""
    return not is_typed_in(run, path, statement=statement, request=request)


def path_of_statement(unit: "Unit", statement: Candidate | Learning) -> tuple[str, ...]:
    """The untrusted sources of a marked statement's run; empty where they are unknown."""
    run_id = statement.source.run_id
    if not statement.derived_from_untrusted or run_id is None:
        return ()
    run = undamaged(unit.runs.get, run_id)
    return () if run is None else untrusted_path(unit, run)
