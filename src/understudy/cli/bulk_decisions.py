"""`understudy candidates bulk`: one decision about many candidates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import screen
from understudy.cli.arguments import Key
from understudy.cli.asking import confirm, require_somebody
from understudy.cli.connection import Connection, connect
from understudy.cli.learning_options import (
    DryRun,
    InScope,
    InState,
    OfKind,
    Query,
    TierOption,
    Yes,
    scope_fields,
)
from understudy.cli.options import Commands
from understudy.cli.output import ExitCode, note
from understudy.cli.screen import count

if TYPE_CHECKING:
    from understudy.wire.learnings import BulkDecisionView, BulkOutcomeView

commands = Commands("Decide about many candidates at once; --dry-run shows what would be refused.")

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


@commands("publish")
def publish(
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


@commands("reject")
def reject(
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
    from understudy.wire.learning_requests import BulkDecision

    wanted = given(**fields, **chosen.fields())
    with connect(ctx) as daemon:
        if not dry_run and not yes:
            wanted = _confirmed(daemon, wanted)
        decision = BulkDecision.model_validate({**wanted, "dry_run": dry_run})
        view = daemon.client.candidates.bulk(decision, key=key)
        daemon.show(lambda: _show(view))
        if view.refused_count and not dry_run:
            raise typer.Exit(ExitCode.REFUSED)


def _confirmed(daemon: Connection, wanted: dict[str, Any]) -> dict[str, Any]:
    """Show what would become of each and ask; what is agreed to are those that were shown."""
    from understudy.wire.learning_requests import BulkDecision

    require_somebody(as_json=daemon.as_json)
    preview = BulkDecision.model_validate({**wanted, "dry_run": True})
    seen = daemon.client.candidates.bulk(preview)
    _show(seen)
    ids = [item.candidate_id for item in seen.items if item.done]
    if not ids:
        raise typer.Exit(ExitCode.REFUSED if seen.items else ExitCode.DONE)
    confirm(f"{wanted['action'].capitalize()} {count(len(ids), 'candidate')}?")
    return {**{name: wanted[name] for name in wanted if name != "filter"}, "candidate_ids": ids}


def _show(view: "BulkDecisionView") -> None:
    rows = [_row(view, item) for item in view.items]
    screen.table(("candidate", "outcome", "details"), rows, empty="No candidate fits.")
    would = "would be " if view.dry_run else ""
    done = f"{view.done_count} {would}{DONE[view.action]}"
    note(f"{done}, {view.refused_count} {would}refused")
    if view.has_more:
        note("there are more than are decided at once: say it again for the rest")


def _row(view: "BulkDecisionView", item: "BulkOutcomeView") -> tuple[object, ...]:
    would = "would be " if view.dry_run else ""
    if not item.done:
        return item.candidate_id, f"{would}refused", f"{item.detail} ({item.code})"
    already = view.dry_run and item.learning_id
    words = f"is known already as {item.learning_id}" if already else item.learning_id
    return item.candidate_id, f"{would}{DONE[view.action]}", words
