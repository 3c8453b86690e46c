"""`understudy memory`: what sessions know and remember, and why."""

import sys
from typing import Annotated

import typer

from understudy.cli import memory_shown, screen
from understudy.cli.arguments import Cursor, InSession, Limit, RunId, SessionId
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.output import note

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
        daemon.show(lambda: memory_shown.context(view))


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
        daemon.show(lambda: memory_shown.results(view))


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
            daemon.show(lambda: memory_shown.report(report))
        elif session_id is not None:
            view = daemon.client.memory.explain(session_id, query=query)
            daemon.show(lambda: memory_shown.explained(view))


@commands("list")
def list_memories(
    ctx: typer.Context, session_id: InSession = None, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the memories that are kept, newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.run_memories.page(session_id=session_id, limit=limit, cursor=cursor)
        rows = [
            (
                item.run_id,
                item.session_id,
                item.status or "unreadable",
                screen.ago(item.recorded_at_ms),
                item.summary,
            )
            for item in page.items
        ]
        columns = ("run", "session", "status", "recorded", "summary")
        daemon.show(lambda: screen.table(columns, rows, empty="No run memories."))
        daemon.more(page.next_cursor)


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
        daemon.show(lambda: memory_shown.record(view))


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
