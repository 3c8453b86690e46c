"""`understudy approvals`: tool calls that wait for a person, and offers that are open."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.decisions import ANSWERED, Review, is_offer, offer_line, offer_pairs
from understudy.cli.options import Commands, Cursor, InSession, Key, Limit, OfRun, shared
from understudy.cli.output import note, print_json
from understudy.cli.requests import approval_pairs, inline, outlook

if TYPE_CHECKING:
    from understudy.wire.approvals import ApprovalResolution, ApprovalView

commands = Commands("Approvals: tool calls that wait for a person to agree, and offers.")

ApprovalId = Annotated[str, typer.Argument(metavar="ID", help="The approval's id.")]
ApprovalIds = Annotated[
    list[str],
    typer.Argument(metavar="ID…", help="Approvals; those of one run take effect together."),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Also those that were decided, expired or withdrawn.")
]


def _call(view: "ApprovalView") -> str:
    if is_offer(view):
        return offer_line(view)
    return f"{screen.visible(view.tool_name)} {inline(view.input)}"


APPROVALS_COLUMNS: Final[screen.Layout] = {
    "approval": "id",
    "state": "state",
    "asked": "created_at_ms",
    "session": "session_id",
    "call": _call,
}


@commands("list")
def list_approvals(
    ctx: typer.Context,
    session: InSession = None,
    run: OfRun = None,
    everything: Everything = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List tool calls that wait for a person and offers that are open, oldest first."""
    with connect(ctx) as daemon:
        page = daemon.client.approvals.page(
            session_id=session, run_id=run, everything=everything, limit=limit, cursor=cursor
        )
        daemon.show_page(page, APPROVALS_COLUMNS, empty="Nothing waits for approval.")


@commands("show", "get")
def show(ctx: typer.Context, request_id: ApprovalId) -> None:
    """Show a tool call that waits, or waited, with everything it is called with; or an offer."""
    with connect(ctx) as daemon:
        view = daemon.client.approvals.get(request_id)
        pairs = offer_pairs if is_offer(view) else approval_pairs
        daemon.show(lambda: screen.fields(pairs(view)))


@commands("allow")
def allow(
    ctx: typer.Context,
    request_ids: ApprovalIds,
    call_with: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="JSON|@FILE", help="Call the tool with this instead; for one ID."
        ),
    ] = None,
    justification: Annotated[str | None, typer.Option(help="Kept with the decision.")] = None,
    key: Key = None,
) -> None:
    """Let tool calls run, or accept offers; a run goes on when nothing else of it waits."""
    updated = inputs.json_argument(call_with, "--input")
    if updated is not None and len(request_ids) > 1:
        raise typer.BadParameter("--input is for one approval at a time")
    from understudy.client.calls import given

    fields = given(updated_input=updated, justification=justification)
    _resolve(ctx, request_ids, key, behavior="allow", **fields)


@commands("deny")
def deny(
    ctx: typer.Context,
    request_ids: ApprovalIds,
    reason: Annotated[
        str | None, typer.Option(help="Why not; the model is told. Offers need none.")
    ] = None,
    key: Key = None,
) -> None:
    """Do not let tool calls run, or decline offers; a run goes on, and the model is told why."""
    from understudy.client.calls import given

    _resolve(ctx, request_ids, key, behavior="deny", **given(reason=reason))


@commands("review")
def review(ctx: typer.Context, session: InSession = None, run: OfRun = None) -> None:
    """Go through what waits, one tool call after the other, and decide."""
    from understudy.cli.person import somebody

    person = somebody()
    if person is None or shared(ctx).json:
        raise typer.BadParameter("a review needs a terminal; use `approvals list`, `allow`, `deny`")
    with connect(ctx) as daemon:
        waiting = daemon.client.approvals.list(session_id=session, run_id=run)
        # What is offered to somebody else is not for this person to answer.
        pending = [view for view in waiting if view.actions]
        if not pending:
            note("nothing waits for approval")
            return
        Review(daemon.client, person).approvals(pending)


def _resolve(
    ctx: typer.Context, request_ids: Sequence[str], key: str | None, **fields: Any
) -> None:
    """One batch for each run, so that those of a run take effect together."""
    from understudy.wire.approvals import ApprovalResolution

    with connect(ctx) as daemon:
        # All are looked up before the first is resolved: a mistyped id changes nothing.
        batches: dict[str, list[ApprovalResolution]] = {}
        views = [daemon.client.approvals.get(request_id) for request_id in request_ids]
        _check_reason(views, fields)
        for view in views:
            resolution = ApprovalResolution(request_id=view.id, **fields)
            batches.setdefault(view.run_id, []).append(resolution)
        if key is not None and len(batches) > 1:
            raise typer.BadParameter("--idempotency-key is for approvals of one run")
        offers = {view.id for view in views if is_offer(view)}
        _send(daemon, batches, key, offers=offers)


def _check_reason(views: "Sequence[ApprovalView]", fields: Mapping[str, Any]) -> None:
    """A model that is denied a call learns why; who declines an offer owes nobody a reason."""
    is_bare = fields["behavior"] == "deny" and "reason" not in fields
    if is_bare and not all(map(is_offer, views)):
        raise typer.BadParameter("give --reason: the model is told why its call is denied")


def _send(
    daemon: DaemonConnection,
    batches: "Mapping[str, Sequence[ApprovalResolution]]",
    key: str | None,
    *,
    offers: Collection[str],
) -> None:
    """Resolve run by run; with --json one document tells of all: a run, or several as items."""
    answers: dict[str, Any] = {}
    for run_id, resolutions in batches.items():
        with _telling_of(answers):
            run = daemon.client.approvals.resolve(run_id, resolutions, key=key)
        answers[run_id] = daemon.answer
        if not daemon.as_json:
            are_offers = all(each.request_id in offers for each in resolutions)
            note(ANSWERED[resolutions[0].behavior] if are_offers else outlook(run))
    if daemon.as_json:
        print_json(daemon.answer if len(answers) == 1 else {"items": [*answers.values()]})


@contextmanager
def _telling_of(done: Collection[str]) -> Iterator[None]:
    """Let an error say what took effect before it."""
    from understudy.client import ClientError

    try:
        yield
    except ClientError as problem:
        if done:
            problem.add_note(f"decided before this: what {', '.join(done)} waited for")
        raise
