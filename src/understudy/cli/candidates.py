"""`understudy candidates`: list, propose, publish, reject."""

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import inputs, learning_records, screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.learning_options import (
    PROPOSED_KINDS,
    STATES,
    AnotherKind,
    Beside,
    CandidateId,
    CandidateOptions,
    Content,
    ContentOptions,
    DryRun,
    Evidence,
    ReviewOptions,
    Supersedes,
    TierOption,
    Yes,
    ending,
    evidence_of,
    scope_of,
    tomorrow_ms,
)
from understudy.cli.learning_records import tell_published
from understudy.cli.options import Key, PageOptions, TextFile
from understudy.cli.output import ExitCode, note, understudy
from understudy.cli.person import confirm, require_somebody, somebody
from understudy.cli.review import publish_or_ask
from understudy.cli.screen import count
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.learnings.bulk import BulkOutcome, BulkResult
    from understudy.learnings.model import Candidate
    from understudy.wire.policies import CandidateExplainView

bulk = Commands("Decide about many candidates at once; --dry-run shows what would be refused.")

Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CANDIDATE]...", help="Candidates; or choose them by options."),
]
Reason = Annotated[str | None, typer.Option(help="Why not; for whoever looks later.")]
DONE = {"publish": "published", "reject": "rejected"}
NONE_LISTED = "No candidates; `--state all` lists those that are decided, too."


@bulk("publish")
def publish_many(
    daemon: DaemonConnection,
    which: CandidateOptions,
    ids: Ids = None,
    tier: TierOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    key: Key = None,
) -> None:
    """Publish many candidates, each for the scope that review suggests."""
    wanted = {"action": "publish", "publish_tier": tier, **_chosen(ids, which)}
    _decide(daemon, wanted, dry_run=dry_run, yes=yes, key=key)


@bulk("reject")
def reject_many(
    daemon: DaemonConnection,
    which: CandidateOptions,
    ids: Ids = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    key: Key = None,
) -> None:
    """Reject many candidates; one that is refused stops no other."""
    wanted = {"action": "reject", "reason": reason, **_chosen(ids, which)}
    _decide(daemon, wanted, dry_run=dry_run, yes=yes, key=key)


def _chosen(ids: list[str] | None, which: CandidateOptions) -> dict[str, Any]:
    """The chosen candidates: by id or by a filter; an empty filter is refused."""
    narrowed = which.fields()
    if bool(ids) == bool(narrowed):
        raise typer.BadParameter("name candidates, or choose them with --query, --scope, …")
    return {"candidate_ids": ids} if ids else {"filter": narrowed}


def _decide(
    daemon: DaemonConnection, wanted: dict[str, Any], *, dry_run: bool, yes: bool, key: str | None
) -> None:
    from understudy.wire.learnings import BulkDecision

    if not dry_run and not yes:
        wanted = _confirmed(daemon, wanted)
    view = daemon.client.candidates.bulk(
        inputs.request(BulkDecision, **wanted, dry_run=dry_run), key=key
    )
    daemon.show_answer(view, _show_bulk)
    if view.refused_count and not dry_run:
        raise typer.Exit(ExitCode.REFUSED)


def _confirmed(daemon: DaemonConnection, wanted: dict[str, Any]) -> dict[str, Any]:
    """Show a dry run and ask for confirmation; only the candidates shown are decided."""
    from understudy.wire.learnings import BulkDecision

    require_somebody(as_json=daemon.as_json)
    seen = daemon.client.candidates.bulk(inputs.request(BulkDecision, **wanted, dry_run=True))
    _show_bulk(seen)
    shown = [_as_shown(item) for item in seen.items if item.done]
    if not shown:
        raise typer.Exit(ExitCode.REFUSED if seen.items else ExitCode.DONE)
    confirm(f"{wanted['action'].capitalize()} {count(len(shown), 'candidate')}?")
    return {**wanted, "filter": None, "candidate_ids": None, "candidates": shown}


def _as_shown(item: "BulkOutcome") -> dict[str, Any]:
    """A candidate with the version and scope that the preview showed."""
    scope = asdict(item.reach.scope) if item.reach else None
    return {"candidate_id": item.candidate_id, "version": item.version, "scope": scope}


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
    words = [f"is known already as {item.learning_id}" if already else item.learning_id]
    if item.reach is not None:
        words += [f"for {item.reach.scope.key}: {item.reach.words}", item.reach.unused]
    return item.candidate_id, f"{would}{DONE[view.action]}", "; ".join(filter(None, words))


commands = Commands("Candidates: what might be worth knowing, and waits for a decision.")
commands.app.add_typer(bulk.app, name="bulk")


@commands("list", show=learning_records.CANDIDATE_COLUMNS, empty=NONE_LISTED)
def list_candidates(
    daemon: DaemonConnection,
    page: PageOptions,
    which: ReviewOptions,
    state: Annotated[
        str, typer.Option("--state", help=f"Only in a state: `open`, {STATES}; or `all`.")
    ] = "open",
) -> object:
    """List candidates that wait, in the order of review; others by --state, oldest first."""
    states = {"open": {"waiting": True}, "all": {}}
    chosen = states.get(state, {"state": state})
    return daemon.client.candidates.page(**which.fields(), **chosen, **page)


def _show_proposed(view: "Candidate") -> None:
    screen.fields(learning_records.candidate_pairs(view))
    note(f"it waits; `{understudy()} candidates publish {view.candidate_id}` publishes it")


@commands("create", "propose", show=_show_proposed)
def create(
    daemon: DaemonConnection,
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="Who it is for: `session:ID`, `persona:ID`, `project:ID` or `workspace`.",
        ),
    ],
    kind: Annotated[str, typer.Option("--kind", help=f"What it is: {PROPOSED_KINDS}.")],
    *,
    text: Content = None,
    file: TextFile = None,
    about: ContentOptions,
    evidence: Evidence = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="The run it was said in.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="SESSION", help="The session it was said in.")
    ] = None,
    key: Key = None,
) -> object:
    """Propose something worth knowing; nothing takes effect before it is published."""
    from understudy.wire.learnings import CreateCandidate

    source = {"run_id": run, "session_id": session}
    wanted = inputs.request(
        CreateCandidate,
        scope=scope_of(scope),
        kind=kind,
        content=inputs.content(text, file),
        source={name: value for name, value in source.items() if value is not None} or None,
        evidence_refs=evidence_of(evidence),
        **about.fields(),
    )
    return daemon.client.candidates.create(wanted, key=key)


@commands("publish", show=tell_published)
def publish(
    daemon: DaemonConnection,
    candidate_id: CandidateId,
    *,
    tier: TierOption = None,
    supersedes: Supersedes = None,
    beside: Beside = False,
    content: Annotated[
        str | None, typer.Option("--content", metavar="TEXT", help="Other words; `-` reads stdin.")
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option("--scope", metavar="SCOPE", help="Another scope, such as `project:ID`."),
    ] = None,
    kind: AnotherKind = None,
    about: ContentOptions,
    evidence: Evidence = None,
    key: Key = None,
) -> object:
    """Make a learning of a candidate; what is not given stays as it was proposed."""
    from understudy.wire.learnings import PublishCandidate

    wanted = inputs.request(
        PublishCandidate,
        content=None if content is None else inputs.content(content, None),
        publish_tier=tier,
        supersedes=supersedes,
        beside=beside or None,
        scope=scope_of(scope),
        kind=kind,
        evidence_refs=evidence_of(evidence),
        **about.fields(),
    )
    send = partial(daemon.client.candidates.publish, candidate_id, key=key)
    return publish_or_ask(wanted, send, None if daemon.as_json or key else somebody())


def _tell_snoozed(view: "Candidate") -> None:
    until = screen.ahead(view.snoozed_until_ms)
    note(f"candidate {view.candidate_id} is put off: it returns to the queue {until}")


@commands("snooze", show=_tell_snoozed)
def snooze(
    daemon: DaemonConnection,
    candidate_id: CandidateId,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="WHEN", help="In 12h or 30d, or at 2030-01-31T09:00; else tomorrow."
        ),
    ] = None,
    key: Key = None,
) -> object:
    """Leave a candidate out of the queue of review for a time; lists still show it."""
    until_ms = ending(until, option="--until")
    return daemon.client.candidates.snooze(
        candidate_id, tomorrow_ms() if until_ms is None else until_ms, key=key
    )


def _show_explained(view: "CandidateExplainView") -> None:
    screen.fields(learning_records.explained_pairs(view))
    print()
    columns = ("rule", "name", "action", "fits", "why not")
    screen.table(columns, learning_records.rule_rows(view.rules), empty="The policy has no rules.")


declare(
    commands,
    Verb(names="show get", call="candidates.get", show=learning_records.shown_pairs),
    Verb(
        names="reject",
        call="candidates.reject",
        show="candidate {view.candidate_id} is {view.state}",
    ),
    Verb(
        names="reopen",
        call="candidates.reopen",
        show="candidate {view.candidate_id} is {view.state} again",
    ),
    Verb(names="explain", call="candidates.explain", show=_show_explained),
)
