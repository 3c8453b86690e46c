"""`understudy learnings`: list, lineage, changes, supersede, revoke."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from understudy.cli import inputs, learning_records, screen
from understudy.cli.connection import Commands, DaemonConnection, command
from understudy.cli.learning_options import (
    PROPOSED_KINDS,
    AnotherKind,
    Beside,
    Content,
    ContentOptions,
    DryRun,
    Expires,
    LearningId,
    LearningOptions,
    Supersedes,
    Yes,
    ending,
    scope_of,
)
from understudy.cli.learning_records import (
    FOUND,
    listed,
    review_words,
    scope_words,
    source_words,
    tell_published,
)
from understudy.cli.options import Cursor, Key, Limit, PageOptions, TextFile
from understudy.cli.output import ExitCode, note
from understudy.cli.person import confirm, require_somebody, somebody
from understudy.cli.review import publish_or_ask
from understudy.cli.screen import count, visible_line
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.learnings.lineage import Lineage
    from understudy.learnings.model import AutomationReview, Candidate, Learning, RelatedLearning
    from understudy.wire.learnings import RevokedLearnings

commands = Commands("Learnings: what is known, where it came from, and how it is taken back.")

Reason = Annotated[
    str | None, typer.Option(help="Why it no longer holds; for whoever looks later.")
]


@commands("list", show=learning_records.LEARNING_COLUMNS, empty="No learnings.")
def list_learnings(daemon: DaemonConnection, page: PageOptions, which: LearningOptions) -> object:
    """List learnings, oldest first."""
    return daemon.client.learnings.page(**page, **which.fields())


def _show_lineage(view: "Lineage") -> None:
    print(screen.printable("\n".join(lineage_lines(view))))


@commands("lineage")
def lineage(
    daemon: DaemonConnection, learning_id: LearningId, limit: Limit = 20, cursor: Cursor = None
) -> None:
    """Draw where a learning came from, what took its place, and which runs were told of it."""
    view = daemon.client.learnings.lineage(learning_id, limit=limit, cursor=cursor)
    daemon.show_answer(view, _show_lineage)
    daemon.more(view.uses.next_cursor)


@commands("set", "update", show=learning_records.learning_pairs)
def update(
    daemon: DaemonConnection,
    learning_id: LearningId,
    applies: Annotated[
        str | None,
        typer.Option(
            help="`when_relevant`, or `always`: injected into every prompt, whatever the input."
        ),
    ] = None,
    sensitivity: Annotated[
        str | None,
        typer.Option(help="`scoped`, or `sensitive`, which no prompt and no search tells of."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN|never", help="When it ends, as `30d` or a time; `never` for no end."
        ),
    ] = None,
) -> object:
    """Change when prompts are told of a learning, whether it is sensitive, or when it ends."""
    from understudy.client.calls import given
    from understudy.wire.learnings import ChangeLearning

    ends: dict[str, Any] = {}
    if expires is not None:
        ends["expires_at_ms"] = None if expires == "never" else ending(expires)
    fields = given(applies=applies, sensitivity=sensitivity)
    if not fields and not ends:
        raise typer.BadParameter("name what to change: --applies, --sensitivity or --expires")
    return daemon.client.learnings.change(
        learning_id, inputs.request(ChangeLearning, **fields, **ends)
    )


@commands("supersede", "replace", show=tell_published)
def supersede(
    daemon: DaemonConnection,
    learning_id: LearningId,
    *,
    text: Content = None,
    file: TextFile = None,
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="Another scope that reaches all sessions of the old one, such as `workspace`.",
        ),
    ] = None,
    kind: AnotherKind = None,
    about: ContentOptions,
    beside: Beside = False,
    key: Key = None,
) -> object:
    """Put another learning in the place of one; what is not given stays as it was."""
    from understudy.wire.learnings import SupersedeLearning

    wanted = inputs.request(
        SupersedeLearning,
        content=inputs.content(text, file),
        scope=scope_of(scope),
        kind=kind,
        beside=beside or None,
        **about.fields(),
    )
    return daemon.client.learnings.supersede(learning_id, wanted, key=key)


@command(show=tell_published)
def learn(
    daemon: DaemonConnection,
    text: Content = None,
    *,
    file: TextFile = None,
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="Who it is for: `workspace`, `session:ID`, `persona:ID` or `project:ID`.",
        ),
    ] = "workspace",
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            help=f"What it is: {PROPOSED_KINDS}; left out, a wish or an order is a preference,"
            " everything else a fact.",
        ),
    ] = None,
    always: Annotated[
        bool,
        typer.Option("--always", "--standing", help="Tell it on every run, whatever the input."),
    ] = False,
    expires: Expires = None,
    supersedes: Supersedes = None,
    beside: Beside = False,
    key: Key = None,
) -> object:
    """Publish a statement as a learning, in one step.

    What contradicts a learning is refused; at a terminal one key replaces that or keeps both.
    """
    from understudy.learnings.remember import kind_of
    from understudy.wire.learnings import CreateLearning

    content = inputs.content(text, file)
    wanted = inputs.request(
        CreateLearning,
        content=content,
        kind=kind or str(kind_of(content, always)),
        scope=scope_of(scope),
        applies="always" if always else None,
        expires_at_ms=ending(expires),
        supersedes=supersedes,
        beside=beside or None,
    )
    send = partial(daemon.client.learnings.create, key=key)
    return publish_or_ask(wanted, send, None if daemon.as_json or key else somebody())


def _show_matching(view: "RevokedLearnings") -> None:
    screen.records(view.items, learning_records.LEARNING_COLUMNS, empty="No learning fits.")
    would = "would be" if view.dry_run else "were" if view.count != 1 else "was"
    note(f"{count(view.count, 'learning')} {would} revoked")


@commands("revoke-matching", show=_show_matching)
def revoke_matching(
    daemon: DaemonConnection,
    which: LearningOptions,
    everything: Annotated[
        bool, typer.Option("--all", help="Every one there is; takes the role admin.")
    ] = False,
    reason: Reason = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    key: Key = None,
) -> object:
    """Take back all learnings that the options find, or none of them if that fails."""
    chosen = which.fields()
    if bool(chosen) == everything:
        raise typer.BadParameter("choose with --query, --scope, …; or say --all for every one")
    wanted = {**chosen, **({"all": True} if everything else {})}
    if not dry_run and not yes:
        require_somebody(as_json=daemon.as_json)
        seen = _revoke_matching(daemon, wanted, dry_run=True)
        _show_matching(seen)
        if not seen.count:
            raise typer.Exit(ExitCode.DONE)
        confirm(f"Revoke {count(seen.count, 'learning')} for good?")
    return _revoke_matching(daemon, {**wanted, "reason": reason}, dry_run=dry_run, key=key)


def _revoke_matching(
    daemon: DaemonConnection, fields: dict[str, Any], *, dry_run: bool, key: str | None = None
) -> "RevokedLearnings":
    from understudy.wire.learnings import RevokeMatching

    wanted = inputs.request(RevokeMatching, **fields, dry_run=dry_run)
    return daemon.client.learnings.revoke_matching(wanted, key=key)


Related: TypeAlias = "RelatedLearning"
HERE = "◀ this one"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the lineage tree with its children."""

    words: str
    below: "tuple[Node, ...]" = ()


def lineage_lines(view: "Lineage") -> list[str]:
    """The lineage tree, from the source run to the runs that had it injected."""
    since, before = _parted(view)
    chain = _this(view, before if not since else ())
    for at, older in enumerate(since, start=1):
        chain = Node(_related(older), (*_before(before if at == len(since) else ()), chain))
    if view.candidate is not None:
        reviews = (_review(each) for each in view.reviews)
        undone = (Node(f"undone: {_related(each)}") for each in view.undone)
        chain = Node(_candidate(view.candidate), (*reviews, *undone, chain))
    return [*_drawn(Node(_origin(view), (chain,)))]


def _parted(view: "Lineage") -> tuple[Sequence[Related], Sequence[Related]]:
    """The learnings replaced since the candidate was published, and those that it replaced."""
    published = view.candidate.published_learning_id if view.candidate else None
    if published in (None, view.learning.learning_id):
        return [], view.replaced
    ids = [each.learning_id for each in view.replaced]
    at = ids.index(published) + 1 if published in ids else len(ids)
    return view.replaced[:at], view.replaced[at:]


def _drawn(node: Node, before: str = "", here: str = "") -> Iterator[str]:
    yield f"{here}{node.words}"
    for at, child in enumerate(node.below, start=1):
        is_last = at == len(node.below)
        yield from _drawn(
            child,
            before=before + ("   " if is_last else "│  "),
            here=before + ("└─ " if is_last else "├─ "),
        )


def _origin(view: "Lineage") -> str:
    run = view.source_run
    if run is None:
        named = source_words(view.learning.source)
        return f"{named} (no longer there)" if named else "no run: somebody wrote it"
    when = screen.ago(run.submitted_at_ms)
    return f"run {run.run_id} ({run.status}), session {run.session_id}, {when}"


def _candidate(view: "Candidate") -> str:
    found = FOUND.get(view.capture_path, view.capture_path)
    by = f" by {view.decided_by} {screen.ago(view.decided_at_ms)}" if view.decided_by else ""
    untrusted = ", derived from untrusted" if view.derived_from_untrusted else ""
    return f"candidate {view.candidate_id}: {view.kind}, {found}{untrusted}, {view.state}{by}"


def _review(view: "AutomationReview") -> Node:
    rule = f", rule {visible_line(view.matched_rule_name)}" if view.matched_rule_name else ""
    judge = view.judge
    said = (Node(f"judge: {judge.action}, {visible_line(judge.reason)}"),) if judge else ()
    return Node(f"review: {review_words(view)}{rule}", said)


def _this(view: "Lineage", before: Sequence[Related]) -> Node:
    told = [
        Node(
            f"told to run {use.run_id}, session {use.session_id}, version {use.learning_version},"
            f" {screen.ago(use.at_ms)}"
        )
        for use in view.uses.items
    ]
    more = view.use_count - len(told)
    if more > 0:
        told.append(Node(f"told to {count(more, 'more run')}: --limit and --cursor list them"))
    nodes = (*_before(before), *(told or [Node("told to no run")]), *_later(view.replaced_by))
    return Node(f"{_learning(view.learning)}  {HERE}", nodes)


def _learning(view: "Learning") -> str:
    reason = f" ({visible_line(view.revoked_reason)})" if view.revoked_reason else ""
    where = scope_words(view.scope)
    return f"learning {view.learning_id}: {view.status}{reason}, {where}: {listed(view.content)}"


def _before(replaced: Sequence[Related]) -> tuple[Node, ...]:
    """The learnings that this one replaced, nearest first."""
    return tuple(Node(f"in the place of {_related(each)}") for each in replaced)


def _later(replaced_by: Sequence[Related]) -> tuple[Node, ...]:
    """The learnings that replaced this one, each below the one before."""
    chain: tuple[Node, ...] = ()
    for newer in reversed(replaced_by):
        chain = (Node(f"replaced by {_related(newer)}", chain),)
    return chain


def _related(view: Related) -> str:
    where = scope_words(view.scope)
    return f"learning {view.learning_id}: {view.status}, {where}: {listed(view.content)}"


declare(
    commands,
    Verb(names="show get", call="learnings.get", show=learning_records.learning_pairs),
    Verb(
        names="revoke", call="learnings.revoke", show="learning {view.learning_id} is {view.status}"
    ),
)
