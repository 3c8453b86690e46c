"""`understudy candidates`: what might be worth knowing, and what becomes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import inputs, learning_records, screen
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.learning_options import (
    PROPOSED_KINDS,
    AnotherKind,
    AnotherScope,
    CandidateId,
    Confidence,
    Content,
    DryRun,
    Evidence,
    Expires,
    InScope,
    InState,
    OfKind,
    Query,
    Sensitivity,
    TierOption,
    Yes,
    evidence_of,
    overrides,
    scope_fields,
)
from understudy.cli.learning_records import tell_published
from understudy.cli.options import Commands, Cursor, Key, Limit, TextFile
from understudy.cli.output import ExitCode, note, understudy
from understudy.cli.person import confirm, require_somebody
from understudy.cli.screen import count

if TYPE_CHECKING:
    from understudy.learnings.bulk import BulkOutcome, BulkResult
    from understudy.learnings.model import Candidate

bulk = Commands("Decide about many candidates at once; --dry-run shows what would be refused.")

Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CANDIDATE]...", help="Candidates; or choose them by options."),
]
DONE = {"publish": "published", "reject": "rejected"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which candidates were meant: by id, or by a filter."""

    ids: Sequence[str]
    narrowed: dict[str, Any]

    def fields(self) -> dict[str, Any]:
        """As the API takes it; nothing at all is not taken for everything."""
        if bool(self.ids) == bool(self.narrowed):
            raise typer.BadParameter("name candidates, or choose them with --query, --scope, …")
        return {"candidate_ids": [*self.ids]} if self.ids else {"filter": self.narrowed}


@bulk("publish")
def publish_many(
    ctx: typer.Context,
    ids: Ids = None,
    query: Query = None,
    scope: InScope = None,
    kind: OfKind = None,
    state: InState = None,
    tier: TierOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    key: Key = None,
) -> None:
    """Publish many candidates as they were proposed; one that is refused stops no other."""
    chosen = _chosen(ids, query, scope, kind, state)
    fields = {"action": "publish", "publish_tier": tier}
    _decide(ctx, chosen, fields, dry_run=dry_run, yes=yes, key=key)


@bulk("reject")
def reject_many(
    ctx: typer.Context,
    ids: Ids = None,
    query: Query = None,
    scope: InScope = None,
    kind: OfKind = None,
    state: InState = None,
    reason: Annotated[str | None, typer.Option(help="Why not; for whoever looks later.")] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    key: Key = None,
) -> None:
    """Reject many candidates; one that is refused stops no other."""
    chosen = _chosen(ids, query, scope, kind, state)
    fields = {"action": "reject", "reason": reason}
    _decide(ctx, chosen, fields, dry_run=dry_run, yes=yes, key=key)


def _chosen(
    ids: list[str] | None,
    query: str | None,
    scope: str | None,
    kind: str | None,
    state: str | None,
) -> Chosen:
    from understudy.client.calls import given

    narrowed = given(query=query, kind=kind, state=state, **scope_fields(scope))
    return Chosen(ids=ids or (), narrowed=narrowed)


def _decide(
    ctx: typer.Context,
    chosen: Chosen,
    fields: dict[str, Any],
    *,
    dry_run: bool,
    yes: bool,
    key: str | None,
) -> None:
    from understudy.client.calls import given
    from understudy.wire.learnings import BulkDecision

    wanted = given(**fields, **chosen.fields())
    with connect(ctx) as daemon:
        if not dry_run and not yes:
            wanted = _confirmed(daemon, wanted)
        decision = BulkDecision.model_validate({**wanted, "dry_run": dry_run})
        view = daemon.client.candidates.bulk(decision, key=key)
        daemon.show(lambda: _show_bulk(view))
        if view.refused_count and not dry_run:
            raise typer.Exit(ExitCode.REFUSED)


def _confirmed(daemon: DaemonConnection, wanted: dict[str, Any]) -> dict[str, Any]:
    """Show what would become of each and ask; what is agreed to are those that were shown."""
    from understudy.wire.learnings import BulkDecision

    require_somebody(as_json=daemon.as_json)
    preview = BulkDecision.model_validate({**wanted, "dry_run": True})
    seen = daemon.client.candidates.bulk(preview)
    _show_bulk(seen)
    ids = [item.candidate_id for item in seen.items if item.done]
    if not ids:
        raise typer.Exit(ExitCode.REFUSED if seen.items else ExitCode.DONE)
    confirm(f"{wanted['action'].capitalize()} {count(len(ids), 'candidate')}?")
    return {**{name: wanted[name] for name in wanted if name != "filter"}, "candidate_ids": ids}


def _show_bulk(view: "BulkResult") -> None:
    rows = [_row(view, item) for item in view.items]
    screen.table(("candidate", "outcome", "details"), rows, empty="No candidate fits.")
    would = "would be " if view.dry_run else ""
    done = f"{view.done_count} {would}{DONE[view.action]}"
    note(f"{done}, {view.refused_count} {would}refused")
    if view.has_more:
        note("there are more than are decided at once: say it again for the rest")


def _row(view: "BulkResult", item: "BulkOutcome") -> tuple[object, ...]:
    would = "would be " if view.dry_run else ""
    if not item.done:
        return item.candidate_id, f"{would}refused", f"{item.detail} ({item.code})"
    already = view.dry_run and item.learning_id
    words = f"is known already as {item.learning_id}" if already else item.learning_id
    return item.candidate_id, f"{would}{DONE[view.action]}", words


commands = Commands("Candidates: what might be worth knowing, and waits for a decision.")
commands.app.add_typer(bulk.app, name="bulk")


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
        daemon.show_page(page, learning_records.CANDIDATE_COLUMNS, empty="No candidates.")


@commands("show", "get")
def show(ctx: typer.Context, candidate_id: CandidateId) -> None:
    """Show a candidate with everything that whoever decides should know."""
    with connect(ctx) as daemon:
        view = daemon.client.candidates.get(candidate_id)
        daemon.show(lambda: screen.fields(learning_records.shown_pairs(view)))


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
    from understudy.wire.learnings import CreateCandidate

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
    from understudy.wire.learnings import PublishCandidate

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
        rows = learning_records.rule_rows(view.rules)

        def render() -> None:
            screen.fields(learning_records.explained_pairs(view))
            print()
            screen.table(columns, rows, empty="The policy has no rules.")

        daemon.show(render)


def _show(daemon: DaemonConnection, view: "Candidate") -> None:
    def render() -> None:
        screen.fields(learning_records.candidate_pairs(view))
        note(f"it waits; `{understudy()} candidates publish {view.candidate_id}` publishes it")

    daemon.show(render)
