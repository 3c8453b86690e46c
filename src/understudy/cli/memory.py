"""`understudy memory`: injected memory of sessions and why, search, and run memories."""

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import RunId, SessionId
from understudy.cli.output import note
from understudy.cli.person import confirm
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.agent.preview import PromptPreview
    from understudy.memory.record import RunCapture
    from understudy.retrieval.documents import Match
    from understudy.retrieval.explain import ExplainedRecord, MemoryExplanation
    from understudy.retrieval.report import MemoryReport, ReportedLearning, ReportedRun
    from understudy.retrieval.search import SearchAnswer
    from understudy.wire.memory import MemoryContextView

commands = Commands("Memory: what sessions know and remember, and why.")

Query = Annotated[
    str | None, typer.Option("--query", "-q", help="What the next input might say, or ask for.")
]
Words = Annotated[str | None, typer.Argument(metavar="[QUERY]", help="The same as --query.")]
SEARCH_LIMIT = 12
# What a table of reasons shows of a text.
EXCERPT_CHARS: Final = 40


LEARNED_COLUMNS: Final[screen.Layout] = {
    "learning": "learning_id",
    "kind": "kind",
    "applies": "applies",
    "published": "published_at_ms",
    "content": "content",
}
RECOVERED_COLUMNS: Final[screen.Layout] = {
    "run": "run_id",
    "status": "status",
    "recorded": "recorded_at_ms",
    "summary": "summary",
}
FOUND_COLUMNS: Final[screen.Layout] = {
    "kind": "kind",
    "id": "source_id",
    "when": lambda found: screen.ago(found.timestamp_ms),
    "scope": lambda found: f"{found.scope.kind}:{found.scope.id}" if found.scope else None,
    "prompt": "prompt_eligible",
    "score": lambda found: f"{found.score:.2f}",
    "in": "matched_fields",
    "what": "excerpt",
}
# Columns that a search without a query leaves out.
OF_QUERY: Final = frozenset({"score", "in"})


def _excerpt(entry: "ExplainedRecord | ReportedLearning | ReportedRun") -> str | None:
    return screen.visible_line(entry.text, EXCERPT_CHARS) or None


EXPLAINED_COLUMNS: Final[screen.Layout] = {
    "kind": lambda entry: entry.label if entry.learning_id else "run",
    "id": "source_id",
    "prompt": "injected",
    "rank": "rank",
    "score": lambda entry: f"{entry.score:.2f}",
    "covers": lambda entry: f"{entry.coverage:.0%}",
    "tokens": "tokens",
    "matched": lambda entry: "; ".join(_match(match) for match in entry.matches) or None,
    "what": _excerpt,
    "why": "explanation",
}
REPORTED_COLUMNS: Final[screen.Layout] = {
    "kind": lambda entry: getattr(entry, "kind", "run"),
    "id": lambda entry: getattr(entry, "learning_id", None) or entry.run_id,
    "given": "injected",
    "score": lambda entry: f"{entry.score:.2f}",
    "covers": lambda entry: f"{entry.coverage:.0%}",
    "what": _excerpt,
    "why": "explanation",
}
# What the states of a capture and the codes of its reason mean.
CAPTURE_STATES: Final = {
    "off": "off when the run ended",
    "pending": "pending",
    "completed": "completed, {found} found",
    "skipped": "skipped",
    "failed": "failed after {attempts}, to be retried",
    "given_up": "given up after {attempts}",
}
CAPTURE_REASONS: Final = {
    "nothing_found": "no label, and no model found a statement; offline only labels count",
    "known_already": "known already",
    "declined_before": "declined before",
    "secret": "refused as a secret",
    "over_limit": "more than `max_candidates_per_run` of the learning policy",
    "suggested_by_agent": "suggested by the agent while it ran, with `remember`",
    "run_not_completed": "the run did not complete",
    "run_memory_gone": "the run memory is expired or damaged",
}


def capture_line(capture: "RunCapture") -> str:
    """The result of the capture of a run, or why it found nothing."""
    attempts = f"{capture.attempts} attempt{'' if capture.attempts == 1 else 's'}"
    state = CAPTURE_STATES[capture.state].format(found=capture.found, attempts=attempts)
    codes = capture.reason.split(",") if capture.reason else ()
    why = ", ".join(CAPTURE_REASONS.get(code, code) for code in codes)
    return f"{state}: {why}" if why else state


MEMORY: Final[screen.Layout] = {
    "run": "memory.run_id",
    "session": "session_id",
    "status": "memory.status",
    "recorded": "memory.recorded_at_ms",
    "scopes": "scope_keys",
    "request": "memory.request_preview",
    "outcome": "memory.outcome_preview",
    "failure": "memory.failure_markers",
    "artifacts": "memory.artifact_ids",
    "summary": "memory.summary",
    "capture": lambda view: capture_line(view.capture),
    "request in full": "evidence.request",
    "outcome in full": "evidence.outcome",
}


def show_context(view: "MemoryContextView") -> None:
    """The memory of the next prompt: learnings, then run memories."""
    learned, recovered = view.learned_context, view.recovered_memory
    if learned:
        screen.records(learned.entries, LEARNED_COLUMNS, empty="")
        print()
    empty = "No runs." if learned else "Nothing: the next run starts without memories."
    screen.records(recovered.entries if recovered else (), RECOVERED_COLUMNS, empty=empty)
    if any(part and part.truncated for part in (learned, recovered)):
        note("there are more than a prompt may tell of; `memory explain` lists all")


def show_results(view: "SearchAnswer") -> None:
    """The results of a search."""
    hidden = OF_QUERY if view.query is None else ()
    columns = {label: source for label, source in FOUND_COLUMNS.items() if label not in hidden}
    empty = "Nothing is remembered yet." if view.query is None else "Nothing matches."
    screen.records(view.results, columns, empty=empty)
    if view.truncated:
        note("there are more; ask for them with --limit, or narrow the query")


def show_explained(view: "MemoryExplanation") -> None:
    """Every visible learning and run, and why it would or would not be injected."""
    screen.records(view.entries, EXPLAINED_COLUMNS, empty="This session remembers nothing yet.")
    others = f"{view.max_learned_entries} others{_covering(view.learned_relevance_floor)}"
    runs = f"{view.max_prompt_entries} runs{_covering(view.relevance_floor)}"
    standing = f"{view.max_standing_entries} standing learnings"
    note(f"a prompt tells of at most {standing}, {others} and {runs}")
    if view.truncated:
        note("there are more learnings than are listed; `learnings list` shows all")


def _covering(floor: float) -> str:
    return f" covering at least {floor:.0%} of the input" if floor else ""


def show_report(view: "MemoryReport") -> None:
    """The memory that was injected into a run, and what was left out."""
    learned = view.learned.entries if view.learned else ()
    screen.records([*learned, *view.entries], REPORTED_COLUMNS, empty=view.explanation)
    if view.learned:
        counts = f"{view.learned.injected_count} given, {view.learned.omitted_count} without room"
        note(f"learnings: {counts}: {view.learned.explanation}")
    if view.entries:
        counts = f"{view.injected_count} given, {view.omitted_count} left out"
        note(f"runs: {counts}: {view.explanation}")


def _match(match: "Match") -> str:
    return f"{match.field}: {' '.join(match.terms)} ({match.points:.2f})"


@commands("context", show=show_context)
def context(
    daemon: DaemonConnection, session_id: SessionId, words: Words = None, query: Query = None
) -> object:
    """Show what the next run of a session would be given to remember."""
    query = _one_of(words, query)
    return daemon.client.memory.context(session_id, query=query)


def show_prompt(view: "PromptPreview") -> None:
    """The sections of a system prompt with their tokens, then their texts."""
    screen.records(view.sections, {"section": "name", "tokens": "tokens"}, empty="No sections.")
    note(
        f"{view.total_tokens} tokens with {view.tool_tokens} of tools and {view.message_tokens} of"
        f" messages; {view.model} may have {view.limit_tokens}"
    )
    for section in view.sections:
        print(f"\n## {section.name}\n")
        screen.document(section.text)


@commands("prompt", show=show_prompt)
def prompt(
    daemon: DaemonConnection, session_id: SessionId, words: Words = None, query: Query = None
) -> object:
    """Show the system prompt that the next run of a session would have, by section."""
    return daemon.client.sessions.prompt_preview(session_id, query=_one_of(words, query))


@commands("search", show=show_results)
def search(
    daemon: DaemonConnection,
    session_id: SessionId,
    words: Words = None,
    query: Query = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=50, help="How many to show.")
    ] = SEARCH_LIMIT,
) -> object:
    """Search what a session can find; without a query the newest come first."""
    query = _one_of(words, query)
    return daemon.client.memory.search(session_id, query=query, limit=limit)


@commands("explain")
def explain(
    daemon: DaemonConnection,
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
    """Show which visible learnings and runs a prompt would have injected, and every reason
    against the others; with --run, what was injected into one run."""
    query = _one_of(words, query)
    if (session_id is None) == (run_id is None):
        raise typer.BadParameter("name a session, or a run with --run")
    if run_id is not None and query is not None:
        raise typer.BadParameter("a run has had its input: leave --query out")
    if run_id is not None:
        daemon.show_answer(daemon.client.memory.report(run_id), show_report)
    elif session_id is not None:
        daemon.show_answer(daemon.client.memory.explain(session_id, query=query), show_explained)


MEMORIES_COLUMNS: Final[screen.Layout] = {
    "run": "run_id",
    "session": "session_id",
    "status": lambda item: item.status or "unreadable",
    "recorded": "recorded_at_ms",
    "summary": "summary",
}


@commands("show", "get", show=MEMORY)
def show(
    daemon: DaemonConnection,
    run_id: RunId,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Also the longer texts that it was made of.")
    ] = False,
) -> object:
    """Show what is remembered of a run."""
    return daemon.client.run_memories.get(run_id, evidence=evidence)


@commands("forget", "delete", show="run {run_id} is forgotten")
def forget(
    daemon: DaemonConnection,
    run_id: RunId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Forget a run: no prompt and no search tells of it again. The run itself stays."""
    if not yes:
        if not sys.stdin.isatty():
            raise typer.BadParameter("nobody can be asked here: say --yes to forget it")
        confirm(f"Forget run {run_id} for good?")
    daemon.client.run_memories.forget(run_id)


def _one_of(words: str | None, query: str | None) -> str | None:
    """The query, however it was given."""
    if None not in (words, query) and words != query:
        raise typer.BadParameter("give one query: as QUERY or with --query")
    return query if words is None else words


declare(
    commands,
    Verb(
        names="list",
        call="run_memories.page",
        show=MEMORIES_COLUMNS,
        empty="No run memories.",
    ),
)
