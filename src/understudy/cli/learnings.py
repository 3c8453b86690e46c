"""`understudy learnings`: what is known, where it came from, and how it is taken back."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import inputs, learnings_shown, screen
from understudy.cli.arguments import Cursor, Key, Limit, TextFile
from understudy.cli.asking import confirm, require_somebody
from understudy.cli.connection import Connection, connect
from understudy.cli.learning_options import (
    Actor,
    AnotherKind,
    Confidence,
    Content,
    Decision,
    DryRun,
    Expires,
    InScope,
    LearningId,
    OfKind,
    OfRule,
    OfStatus,
    Query,
    Sensitivity,
    Yes,
    overrides,
    scope_fields,
)
from understudy.cli.lineage_shown import lineage_lines
from understudy.cli.options import Commands
from understudy.cli.output import ExitCode, note
from understudy.cli.published import tell_published
from understudy.cli.screen import count

if TYPE_CHECKING:
    from understudy.wire.learnings import LearningView, RevokedMatchingView

commands = Commands("Learnings: what is known, where it came from, and how it is taken back.")

Reason = Annotated[
    str | None, typer.Option(help="Why it no longer holds; for whoever looks later.")
]


@commands("list")
def list_learnings(
    ctx: typer.Context,
    query: Query = None,
    scope: InScope = None,
    kind: OfKind = None,
    status: OfStatus = None,
    decision: Decision = None,
    actor: Actor = None,
    rule: OfRule = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List learnings, oldest first."""
    which = _which(query, scope, kind, status, decision, actor, rule)
    with connect(ctx) as daemon:
        page = daemon.client.learnings.page(limit=limit, cursor=cursor, **which)
        rows = learnings_shown.rows(page.items)
        daemon.show(lambda: screen.table(learnings_shown.COLUMNS, rows, empty="No learnings."))
        daemon.more(page.next_cursor)


@commands("show", "get")
def show(ctx: typer.Context, learning_id: LearningId) -> None:
    """Show a learning."""
    with connect(ctx) as daemon:
        _show(daemon, daemon.client.learnings.get(learning_id))


@commands("lineage")
def lineage(
    ctx: typer.Context, learning_id: LearningId, limit: Limit = 20, cursor: Cursor = None
) -> None:
    """Draw where a learning came from, what took its place, and which runs were told of it."""
    with connect(ctx) as daemon:
        view = daemon.client.learnings.lineage(learning_id, limit=limit, cursor=cursor)
        daemon.show(lambda: print(screen.printable("\n".join(lineage_lines(view)))))
        daemon.more(view.uses.next_cursor)


@commands("revoke")
def revoke(
    ctx: typer.Context, learning_id: LearningId, reason: Reason = None, key: Key = None
) -> None:
    """Take a learning back for good: no prompt and no search tells of it again."""
    with connect(ctx) as daemon:
        view = daemon.client.learnings.revoke(learning_id, reason=reason, key=key)
        daemon.show(lambda: note(f"learning {view.learning_id} is {view.status}"))


@commands("supersede", "replace")
def supersede(
    ctx: typer.Context,
    learning_id: LearningId,
    text: Content = None,
    file: TextFile = None,
    kind: AnotherKind = None,
    sensitivity: Sensitivity = None,
    confidence: Confidence = None,
    expires: Expires = None,
    key: Key = None,
) -> None:
    """Put another learning in the place of one; what is not given stays as it was."""
    from understudy.wire.learning_requests import SupersedeLearning

    fields = overrides(kind=kind, sensitivity=sensitivity, confidence=confidence, expires=expires)
    fields["content"] = inputs.content(text, file)
    with connect(ctx) as daemon:
        wanted = SupersedeLearning.model_validate(fields)
        view = daemon.client.learnings.supersede(learning_id, wanted, key=key)
        daemon.show(lambda: tell_published(view))


@commands("revoke-matching")
def revoke_matching(
    ctx: typer.Context,
    query: Query = None,
    scope: InScope = None,
    kind: OfKind = None,
    status: OfStatus = None,
    decision: Decision = None,
    actor: Actor = None,
    rule: OfRule = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every one there is; takes the role admin.")
    ] = False,
    reason: Reason = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    key: Key = None,
) -> None:
    """Take back all learnings that the options find, or none of them if that fails."""
    which = _which(query, scope, kind, status, decision, actor, rule)
    if bool(which) == everything:
        raise typer.BadParameter("choose with --query, --scope, …; or say --all for every one")
    wanted = {**which, **({"all": True} if everything else {})}
    with connect(ctx) as daemon:
        if not dry_run and not yes:
            _confirm(daemon, wanted)
        fields = {**wanted, **({"reason": reason} if reason is not None else {})}
        view = _revoke_matching(daemon, fields, dry_run=dry_run, key=key)
        daemon.show(lambda: _show_matching(view))


def _which(
    query: str | None,
    scope: str | None,
    kind: str | None,
    status: str | None,
    decision: str | None,
    actor: str | None,
    rule: str | None,
) -> Any:
    from understudy.client.calls import given

    return given(
        query=query,
        **scope_fields(scope),
        kind=kind,
        status=status,
        policy_decision=decision,
        policy_actor=actor,
        matched_rule_name=rule,
    )


def _confirm(daemon: Connection, wanted: dict[str, Any]) -> None:
    """Show what would be taken back, and ask."""
    require_somebody(as_json=daemon.as_json)
    seen = _revoke_matching(daemon, wanted, dry_run=True)
    _show_matching(seen)
    if not seen.count:
        raise typer.Exit(ExitCode.DONE)
    confirm(f"Revoke {count(seen.count, 'learning')} for good?")


def _revoke_matching(
    daemon: Connection, fields: dict[str, Any], *, dry_run: bool, key: str | None = None
) -> "RevokedMatchingView":
    from understudy.wire.learning_requests import RevokeMatching

    wanted = RevokeMatching.model_validate({**fields, "dry_run": dry_run})
    return daemon.client.learnings.revoke_matching(wanted, key=key)


def _show_matching(view: "RevokedMatchingView") -> None:
    rows = learnings_shown.rows(view.items)
    screen.table(learnings_shown.COLUMNS, rows, empty="No learning fits.")
    would = "would be" if view.dry_run else "were" if view.count != 1 else "was"
    note(f"{count(view.count, 'learning')} {would} revoked")


def _show(daemon: Connection, view: "LearningView") -> None:
    daemon.show(lambda: screen.fields(learnings_shown.learning_pairs(view)))
