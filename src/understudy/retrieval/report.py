"""The injection report of a run: which memories its prompt was told of, which not, and why."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from understudy.core.errors import UnderstudyError
from understudy.memory.policy import RunMemoryPolicy
from understudy.retrieval.choice import MAX_ENTRIES, Learned
from understudy.retrieval.choice import ConsideredLearning as ConsideredLearning
from understudy.retrieval.choice import LearningReason as LearnedReason
from understudy.retrieval.pack import Packed, PromptBudget
from understudy.retrieval.recovered import ConsideredRun, Recovered, RunReason
from understudy.retrieval.score import Scored
from understudy.runs.model import require_run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# The rest is only counted; it is kept with every run.
MAX_LISTED: Final = 50


def injection_report(unit: "Unit", run_id: str) -> Mapping[str, Any] | None:
    """The report of a run, or `NotFound`; None where it has not begun, or began before there was any."""
    if require_run(unit, run_id).started_at_ms is None:
        return None
    return unit.runs.reports(run_id).memory


def injection_json(
    recovered: Mapping[str, Any], learned: Mapping[str, Any], budget: PromptBudget
) -> dict[str, Any]:
    """What was considered for one prompt, as it is stored and shown."""
    used = recovered["used_tokens"] + learned["used_tokens"]
    return {**recovered, "budget": _budget(budget, used=used), "learned": learned}


def recovered_json(found: Recovered, packed: Packed, policy: RunMemoryPolicy) -> dict[str, Any]:
    """What was considered of earlier runs."""
    return {
        "problem": None,
        "is_ranked": found.is_ranked,
        "max_prompt_entries": policy.max_prompt_entries,
        "relevance_floor": policy.relevance_floor,
        "used_tokens": packed.tokens,
        "counts": _counts(found),
        "entries": [_entry(it) for it in found.considered[:MAX_LISTED]],
        "unlisted": max(0, len(found.considered) - MAX_LISTED),
    }


def learned_json(found: Learned, packed: Packed) -> dict[str, Any]:
    """What was considered of what was learned."""
    return {
        "problem": None,
        "is_ranked": found.is_ranked,
        "is_browsed": found.is_browsed,
        "max_prompt_entries": MAX_ENTRIES,
        "used_tokens": packed.tokens,
        "counts": {**dict.fromkeys(map(str, LearnedReason), 0), **found.counts},
        "entries": [_learning(it) for it in found.considered[:MAX_LISTED]],
        "unlisted": max(0, len(found.considered) - MAX_LISTED),
    }


def failed_json(problem: UnderstudyError) -> dict[str, Any]:
    """What is said where nothing could be recalled."""
    return {
        "problem": {"code": problem.code, "detail": problem.detail},
        "is_ranked": False,
        "max_prompt_entries": None,
        "relevance_floor": None,
        "used_tokens": 0,
        "counts": _counts(Recovered()),
        "entries": [],
        "unlisted": 0,
    }


def _budget(budget: PromptBudget, *, used: int) -> dict[str, int]:
    return {
        "limit_tokens": budget.limit,
        "base_tokens": budget.base,
        "memory_tokens": budget.tokens,
        "used_tokens": used,
    }


def _counts(found: Recovered) -> dict[str, int]:
    """How many were ranked, and what became of how many."""
    ranked = found.readable if found.is_ranked else 0
    return {"ranked": ranked, **{str(reason): found.count(reason) for reason in RunReason}}


def _entry(it: ConsideredRun) -> dict[str, Any]:
    return {
        "run_id": it.run_id,
        "recorded_at_ms": it.recorded_at_ms,
        "reason": str(it.reason),
        **(_score(it.scored) if it.scored else {}),
    }


def _learning(it: ConsideredLearning) -> dict[str, Any]:
    learning = it.learning
    return {
        "learning_id": learning.learning_id,
        "version": learning.version,
        "kind": str(learning.kind),
        "scope": learning.scope.key,
        "published_at_ms": learning.published_at_ms,
        "reasons": [str(each) for each in it.reasons],
        **(_score(it.scored) if it.scored else {}),
    }


def _score(scored: Scored) -> dict[str, Any]:
    return {
        "score": scored.score,
        "coverage": round(scored.coverage, 4),
        "matched": {match.field: list(match.terms) for match in scored.matches},
    }
