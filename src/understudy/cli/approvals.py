"""`understudy approvals`: tool calls that wait for a person, and offers that are open."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from understudy.cli import inputs, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.decisions import ANSWERED, Review, is_offer, offer_line, offer_pairs
from understudy.cli.options import InSession, Key, OfRun, PageOptions
from understudy.cli.output import note, print_json
from understudy.cli.requests import approval_pairs, inline, outlook
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.wire.approvals import ApprovalView

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


@commands("list", show=APPROVALS_COLUMNS, empty="Nothing waits for approval.")
def list_approvals(
    daemon: DaemonConnection,
    page: PageOptions,
    session: InSession = None,
    run: OfRun = None,
    everything: Everything = False,
) -> object:
    """List tool calls that wait for a person and offers that are open, oldest first."""
    return daemon.client.approvals.page(
        session_id=session, run_id=run, everything=everything, **page
    )


def _pairs(view: "ApprovalView") -> screen.Pairs:
    return offer_pairs(view) if is_offer(view) else approval_pairs(view)


@commands("allow")
def allow(
    daemon: DaemonConnection,
    request_ids: ApprovalIds,
    call_with: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="JSON|@FILE", help="Call the tool with this instead; for one ID."
        ),
    ] = None,
    justification: Annotated[str | None, typer.Option(help="Kept with the decision.")] = None,
    for_session: Annotated[
        bool,
        typer.Option(
            "--for-session",
            help="Allow the tool, or of `shell` this exact command, in this session.",
        ),
    ] = False,
    key: Key = None,
) -> None:
    """Let tool calls run, or accept offers; a run goes on when nothing else of it waits."""
    updated = inputs.json_argument(call_with, "--input")
    if updated is not None and len(request_ids) > 1:
        raise typer.BadParameter("--input is for one approval at a time")
    fields: dict[str, Any] = {"updated_input": updated, "justification": justification}
    if for_session:
        fields["for_session"] = True
    _resolve(daemon, request_ids, key, behavior="allow", **fields)


@commands("deny")
def deny(
    daemon: DaemonConnection,
    request_ids: ApprovalIds,
    reason: Annotated[
        str | None, typer.Option(help="Why not; the model is told. Offers need none.")
    ] = None,
    key: Key = None,
) -> None:
    """Do not let tool calls run, or decline offers; a run goes on, and the model is told why."""
    _resolve(daemon, request_ids, key, behavior="deny", reason=reason)


@commands("review")
def review(daemon: DaemonConnection, session: InSession = None, run: OfRun = None) -> None:
    """Go through what waits, one tool call after the other, and decide."""
    from understudy.cli.person import somebody

    person = somebody()
    if person is None or daemon.as_json:
        raise typer.BadParameter("a review needs a terminal; use `approvals list`, `allow`, `deny`")
    waiting = daemon.client.approvals.list(session_id=session, run_id=run)
    # Offers to other users have no actions for this caller.
    pending = [view for view in waiting if view.actions]
    if not pending:
        note("nothing waits for approval")
        return
    Review(daemon.client, person).approvals(pending)


def _resolve(
    daemon: DaemonConnection, request_ids: Sequence[str], key: str | None, **fields: Any
) -> None:
    """Resolve the requests of a run together; with --json one document tells of all runs."""
    from understudy.wire.approvals import ApprovalResolution

    # All are looked up before the first is resolved: a mistyped id changes nothing.
    views = [daemon.client.approvals.get(request_id) for request_id in request_ids]
    offers = {view.id for view in views if is_offer(view)}
    # A model that is denied a call learns why; who declines an offer owes nobody a reason.
    if fields["behavior"] == "deny" and fields["reason"] is None and len(offers) < len(views):
        raise typer.BadParameter("give --reason: the model is told why its call is denied")
    batches: dict[str, list[ApprovalResolution]] = {}
    for view in views:
        resolution = inputs.request(ApprovalResolution, request_id=view.id, **fields)
        batches.setdefault(view.run_id, []).append(resolution)
    if key is not None and len(batches) > 1:
        raise typer.BadParameter("--idempotency-key is for approvals of one run")
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
    """Add what already took effect to an error message."""
    from understudy.client import ClientError

    try:
        yield
    except ClientError as problem:
        if done:
            problem.add_note(f"decided before this: what {', '.join(done)} waited for")
        raise


declare(
    commands,
    Verb(names="show get", call="approvals.get", show=_pairs),
)
