"""`understudy candidates`: what might be worth knowing, and what becomes of it."""

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import bulk_decisions, candidates_shown, inputs, screen
from understudy.cli.arguments import Cursor, Key, Limit, TextFile
from understudy.cli.connection import Connection, connect
from understudy.cli.hints import understudy
from understudy.cli.learning_options import (
    PROPOSED_KINDS,
    AnotherKind,
    AnotherScope,
    CandidateId,
    Confidence,
    Content,
    Evidence,
    Expires,
    InScope,
    InState,
    OfKind,
    Query,
    Sensitivity,
    TierOption,
    evidence_of,
    overrides,
    scope_fields,
)
from understudy.cli.options import Commands
from understudy.cli.output import note
from understudy.cli.published import tell_published

if TYPE_CHECKING:
    from understudy.wire.learnings import CandidateView

commands = Commands("Candidates: what might be worth knowing, and waits for a decision.")
commands.app.add_typer(bulk_decisions.commands.app, name="bulk")


@commands("list")
def list_candidates(
    ctx: typer.Context,
    query: Query = None,
    scope: InScope = None,
    kind: OfKind = None,
    state: InState = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List candidates, oldest first."""
    where = scope_fields(scope)
    with connect(ctx) as daemon:
        page = daemon.client.candidates.page(
            query=query,
            scope_kind=where["scope_kind"],
            scope_id=where["scope_id"],
            kind=kind,
            state=state,
            limit=limit,
            cursor=cursor,
        )
        rows = candidates_shown.rows(page.items)
        daemon.show(lambda: screen.table(candidates_shown.COLUMNS, rows, empty="No candidates."))
        daemon.more(page.next_cursor)


@commands("show", "get")
def show(ctx: typer.Context, candidate_id: CandidateId) -> None:
    """Show a candidate with everything that whoever decides should know."""
    with connect(ctx) as daemon:
        view = daemon.client.candidates.get(candidate_id)
        daemon.show(lambda: screen.fields(candidates_shown.shown_pairs(view)))


@commands("create", "propose")
def create(
    ctx: typer.Context,
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="Who it is for: `session:ID`, `persona:ID`, `project:ID` or `workspace`.",
        ),
    ],
    kind: Annotated[str, typer.Option("--kind", help=f"What it is: {PROPOSED_KINDS}.")],
    text: Content = None,
    file: TextFile = None,
    sensitivity: Sensitivity = None,
    confidence: Confidence = None,
    expires: Expires = None,
    evidence: Evidence = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="The run it was said in.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="SESSION", help="The session it was said in.")
    ] = None,
    key: Key = None,
) -> None:
    """Propose something worth knowing; nothing takes effect before it is published."""
    from understudy.client.calls import given
    from understudy.wire.learning_requests import CreateCandidate

    fields = overrides(
        scope=scope, kind=kind, sensitivity=sensitivity, confidence=confidence, expires=expires
    )
    fields |= given(
        content=inputs.content(text, file),
        source=given(run_id=run, session_id=session) or None,
        evidence_refs=evidence_of(evidence),
    )
    with connect(ctx) as daemon:
        wanted = CreateCandidate.model_validate(fields)
        _show(daemon, daemon.client.candidates.create(wanted, key=key))


@commands("publish")
def publish(
    ctx: typer.Context,
    candidate_id: CandidateId,
    tier: TierOption = None,
    supersedes: Annotated[
        str | None,
        typer.Option(metavar="LEARNING", help="The learning whose place it takes."),
    ] = None,
    content: Annotated[
        str | None, typer.Option("--content", metavar="TEXT", help="Other words; `-` reads stdin.")
    ] = None,
    scope: AnotherScope = None,
    kind: AnotherKind = None,
    sensitivity: Sensitivity = None,
    confidence: Confidence = None,
    expires: Expires = None,
    evidence: Evidence = None,
    key: Key = None,
) -> None:
    """Make a learning of a candidate; what is not given stays as it was proposed."""
    from understudy.client.calls import given
    from understudy.wire.learning_requests import PublishCandidate

    fields = overrides(
        scope=scope, kind=kind, sensitivity=sensitivity, confidence=confidence, expires=expires
    )
    fields |= given(
        content=None if content is None else inputs.content(content, None),
        publish_tier=tier,
        supersedes=supersedes,
        evidence_refs=evidence_of(evidence),
    )
    with connect(ctx) as daemon:
        wanted = PublishCandidate.model_validate(fields)
        view = daemon.client.candidates.publish(candidate_id, wanted, key=key)
        daemon.show(lambda: tell_published(view))


@commands("reject")
def reject(
    ctx: typer.Context,
    candidate_id: CandidateId,
    reason: Annotated[str | None, typer.Option(help="Why not; for whoever looks later.")] = None,
    key: Key = None,
) -> None:
    """Say no to a candidate; the same is not proposed again without new evidence."""
    with connect(ctx) as daemon:
        view = daemon.client.candidates.reject(candidate_id, reason=reason, key=key)
        daemon.show(lambda: note(f"candidate {view.candidate_id} is {view.state}"))


@commands("explain")
def explain(ctx: typer.Context, candidate_id: CandidateId) -> None:
    """Tell what the learning policy in force makes of a candidate, rule by rule."""
    with connect(ctx) as daemon:
        view = daemon.client.candidates.explain(candidate_id)
        columns = ("rule", "name", "action", "fits", "why not")
        rows = candidates_shown.rule_rows(view.rules)

        def render() -> None:
            screen.fields(candidates_shown.explained_pairs(view))
            print()
            screen.table(columns, rows, empty="The policy has no rules.")

        daemon.show(render)


def _show(daemon: Connection, view: "CandidateView") -> None:
    def render() -> None:
        screen.fields(candidates_shown.candidate_pairs(view))
        note(f"it waits; `{understudy()} candidates publish {view.candidate_id}` publishes it")

    daemon.show(render)
