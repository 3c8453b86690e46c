"""Memories in words: what a prompt would get, what a search found, and why."""

from typing import TYPE_CHECKING

from understudy.cli import screen
from understudy.cli.output import note

if TYPE_CHECKING:
    from understudy.wire.memory import (
        ExplainedEntryView,
        LearningScopeView,
        MatchView,
        MemoryContextView,
        MemoryExplainView,
        MemoryReportView,
        MemorySearchView,
        RunMemoryView,
        SearchResultView,
    )


def context(view: "MemoryContextView") -> None:
    """What the next run would be given: learnings, then runs."""
    learned, recovered = view.learned_context, view.recovered_memory
    if learned:
        rows = [
            (each.learning_id, each.kind, screen.ago(each.published_at_ms), each.content)
            for each in learned.entries
        ]
        screen.table(("learning", "kind", "published", "content"), rows, empty="")
        print()
    entries = recovered.entries if recovered else []
    told = [
        (entry.run_id, entry.status, screen.ago(entry.recorded_at_ms), entry.summary)
        for entry in entries
    ]
    empty = "No runs." if learned else "Nothing: the next run starts without memories."
    screen.table(("run", "status", "recorded", "summary"), told, empty=empty)
    if any(part and part.truncated for part in (learned, recovered)):
        note("there are more than a prompt may tell of; `memory explain` lists all")


def results(view: "MemorySearchView") -> None:
    """What a search found."""
    with_query = view.query is not None
    rows = [_result(found, with_score=with_query) for found in view.results]
    score = ("score", "in") if with_query else ()
    empty = "Nothing matches." if with_query else "Nothing is remembered yet."
    columns = ("kind", "id", "when", "scope", "prompt", *score, "what")
    screen.table(columns, rows, empty=empty)
    if view.truncated:
        note("there are more; ask for them with --limit, or narrow the query")


def explained(view: "MemoryExplainView") -> None:
    """Every learning and run in sight, and why it would or would not reach the prompt."""
    rows = [_explained(entry) for entry in view.entries]
    columns = ("kind", "id", "prompt", "rank", "score", "covers", "tokens", "matched", "why")
    screen.table(columns, rows, empty="This session remembers nothing yet.")
    floor = f", covering at least {view.relevance_floor:.0%}" if view.relevance_floor else ""
    limits = f"{view.max_learned_entries} learnings and {view.max_prompt_entries} runs{floor}"
    note(f"a prompt tells of at most {limits}")
    if view.truncated:
        note("there are more learnings than are listed; `learnings list` shows all")


def report(view: "MemoryReportView") -> None:
    """What a run was given, and what was left out."""
    rows = [*_reported_learnings(view), *_reported_runs(view)]
    columns = ("kind", "id", "given", "score", "covers", "why")
    screen.table(columns, rows, empty=view.explanation)
    if view.learned:
        counts = f"{view.learned.injected_count} given, {view.learned.omitted_count} without room"
        note(f"learnings: {counts}: {view.learned.explanation}")
    if view.entries:
        counts = f"{view.injected_count} given, {view.omitted_count} left out"
        note(f"runs: {counts}: {view.explanation}")


def record(view: "RunMemoryView") -> None:
    """What is remembered of a run."""
    memory, evidence = view.memory, view.evidence
    pairs = [
        ("run", memory.run_id),
        ("session", view.session_id),
        ("status", memory.status),
        ("recorded", screen.ago(memory.recorded_at_ms)),
        ("scopes", view.scope_keys),
        ("request", memory.request_preview),
        ("outcome", memory.outcome_preview),
        ("failure", memory.failure_markers),
        ("artifacts", memory.artifact_ids),
        ("summary", memory.summary),
        ("learning", view.semantic_capture),
        ("request in full", evidence.request if evidence else None),
        ("outcome in full", evidence.outcome if evidence else None),
    ]
    screen.fields(pairs)


def _result(found: "SearchResultView", *, with_score: bool) -> tuple[object, ...]:
    score = (f"{found.score:.2f}", found.matched_fields) if with_score else ()
    return (
        found.kind,
        found.source_id,
        screen.ago(found.timestamp_ms),
        _scope(found.scope),
        found.prompt_eligible,
        *score,
        found.excerpt,
    )


def _explained(entry: "ExplainedEntryView") -> tuple[object, ...]:
    return (
        entry.label if entry.learning_id else "run",
        entry.source_id,
        entry.injected,
        entry.rank,
        f"{entry.score:.2f}",
        f"{entry.coverage:.0%}",
        entry.tokens,
        "; ".join(_match(match) for match in entry.matches) or None,
        entry.explanation,
    )


def _reported_learnings(view: "MemoryReportView") -> list[tuple[object, ...]]:
    entries = view.learned.entries if view.learned else ()
    return [
        (
            entry.kind,
            entry.learning_id,
            entry.injected,
            f"{entry.score:.2f}",
            f"{entry.coverage:.0%}",
            entry.explanation,
        )
        for entry in entries
    ]


def _reported_runs(view: "MemoryReportView") -> list[tuple[object, ...]]:
    return [
        (
            "run",
            entry.run_id,
            entry.injected,
            f"{entry.score:.2f}",
            f"{entry.coverage:.0%}",
            entry.explanation,
        )
        for entry in view.entries
    ]


def _match(match: "MatchView") -> str:
    return f"{match.field}: {' '.join(match.terms)} ({match.points:.2f})"


def _scope(scope: "LearningScopeView | None") -> str | None:
    return None if scope is None else f"{scope.kind}:{scope.id}"
