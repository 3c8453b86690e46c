"""`understudy memory`: what sessions know and remember, and why."""

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import connect
from understudy.cli.options import Commands, Cursor, InSession, Limit, RunId, SessionId
from understudy.cli.output import note

if TYPE_CHECKING:
    from understudy.memory.record import RunMemoryDetail
    from understudy.retrieval.documents import Match
    from understudy.retrieval.explain import ExplainedRecord, MemoryExplanation
    from understudy.retrieval.hits import SearchResult
    from understudy.retrieval.report import MemoryReport
    from understudy.retrieval.search import SearchAnswer
    from understudy.sessions.learning_scopes import LearningScope
    from understudy.wire.memory import MemoryContextView

commands = Commands("Memory: what sessions know and remember, and why.")

Query = Annotated[
    str | None, typer.Option("--query", "-q", help="What the next input might say, or ask for.")
]
Words = Annotated[str | None, typer.Argument(metavar="[QUERY]", help="The same as --query.")]
SEARCH_LIMIT = 12


@commands("context")
def context(
    ctx: typer.Context, session_id: SessionId, words: Words = None, query: Query = None
) -> None:
    """Show what the next run of a session would be given to remember."""
    query = _one_of(words, query)
    with connect(ctx) as daemon:
        view = daemon.client.memory.context(session_id, query=query)
        daemon.show(lambda: show_context(view))


@commands("search")
def search(
    ctx: typer.Context,
    session_id: SessionId,
    words: Words = None,
    query: Query = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=50, help="How many to show.")
    ] = SEARCH_LIMIT,
) -> None:
    """Search what a session can find; without a query the newest come first."""
    query = _one_of(words, query)
    with connect(ctx) as daemon:
        view = daemon.client.memory.search(session_id, query=query, limit=limit)
        daemon.show(lambda: show_results(view))


@commands("explain")
def explain(
    ctx: typer.Context,
    session_id: Annotated[
        str | None, typer.Argument(metavar="[SESSION]", help="The session's id.")
    ] = None,
    words: Words = None,
    query: Query = None,
    run_id: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="What this run was given, instead."),
    ] = None,
) -> None:
    """Tell of each learning and run in sight whether a prompt would be told of it, and every
    reason why not; with --run, what one run was told."""
    query = _one_of(words, query)
    if (session_id is None) == (run_id is None):
        raise typer.BadParameter("name a session, or a run with --run")
    if run_id is not None and query is not None:
        raise typer.BadParameter("a run has had its input: leave --query out")
    with connect(ctx) as daemon:
        if run_id is not None:
            report = daemon.client.memory.report(run_id)
            daemon.show(lambda: show_report(report))
        elif session_id is not None:
            view = daemon.client.memory.explain(session_id, query=query)
            daemon.show(lambda: show_explained(view))


MEMORIES_COLUMNS: Final[screen.Layout] = {
    "run": "run_id",
    "session": "session_id",
    "status": lambda item: item.status or "unreadable",
    "recorded": "recorded_at_ms",
    "summary": "summary",
}


@commands("list")
def list_memories(
    ctx: typer.Context, session_id: InSession = None, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the memories that are kept, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.run_memories.page(session_id=session_id, limit=limit, cursor=cursor)
        daemon.show_page(page, MEMORIES_COLUMNS, empty="No run memories.")


@commands("show", "get")
def show(
    ctx: typer.Context,
    run_id: RunId,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Also the longer texts that it was made of.")
    ] = False,
) -> None:
    """Show what is remembered of a run."""
    with connect(ctx) as daemon:
        view = daemon.client.run_memories.get(run_id, evidence=evidence)
        daemon.show(lambda: show_record(view))


@commands("forget", "delete")
def forget(
    ctx: typer.Context,
    run_id: RunId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Forget a run: no prompt and no search tells of it again. The run itself stays."""
    if not yes:
        _confirm(run_id)
    with connect(ctx) as daemon:
        daemon.client.run_memories.forget(run_id)
        daemon.show(lambda: note(f"run {run_id} is forgotten"))


def _one_of(words: str | None, query: str | None) -> str | None:
    """The query, however it was given."""
    if None not in (words, query) and words != query:
        raise typer.BadParameter("give one query: as QUERY or with --query")
    return query if words is None else words


def _confirm(run_id: str) -> None:
    """Go on only if a person says so."""
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here: say --yes to forget it")
    typer.confirm(f"Forget run {run_id} for good?", abort=True, err=True)


def show_context(view: "MemoryContextView") -> None:
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


def show_results(view: "SearchAnswer") -> None:
    """What a search found."""
    with_query = view.query is not None
    rows = [_result(found, with_score=with_query) for found in view.results]
    score = ("score", "in") if with_query else ()
    empty = "Nothing matches." if with_query else "Nothing is remembered yet."
    columns = ("kind", "id", "when", "scope", "prompt", *score, "what")
    screen.table(columns, rows, empty=empty)
    if view.truncated:
        note("there are more; ask for them with --limit, or narrow the query")


def show_explained(view: "MemoryExplanation") -> None:
    """Every learning and run in sight, and why it would or would not reach the prompt."""
    rows = [_explained(entry) for entry in view.entries]
    columns = ("kind", "id", "prompt", "rank", "score", "covers", "tokens", "matched", "why")
    screen.table(columns, rows, empty="This session remembers nothing yet.")
    floor = f", covering at least {view.relevance_floor:.0%}" if view.relevance_floor else ""
    limits = f"{view.max_learned_entries} learnings and {view.max_prompt_entries} runs{floor}"
    note(f"a prompt tells of at most {limits}")
    if view.truncated:
        note("there are more learnings than are listed; `learnings list` shows all")


def show_report(view: "MemoryReport") -> None:
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


def show_record(view: "RunMemoryDetail") -> None:
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


def _result(found: "SearchResult", *, with_score: bool) -> tuple[object, ...]:
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


def _explained(entry: "ExplainedRecord") -> tuple[object, ...]:
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


def _reported_learnings(view: "MemoryReport") -> list[tuple[object, ...]]:
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


def _reported_runs(view: "MemoryReport") -> list[tuple[object, ...]]:
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


def _match(match: "Match") -> str:
    return f"{match.field}: {' '.join(match.terms)} ({match.points:.2f})"


def _scope(scope: "LearningScope | None") -> str | None:
    return None if scope is None else f"{scope.kind}:{scope.id}"
