"""The lineage of a learning as a tree: where it came from above it, where it went below."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from understudy.cli import screen
from understudy.cli.candidates_shown import FOUND, listed, review_words, scope_words, source_words
from understudy.cli.screen import count, one_line, visible

if TYPE_CHECKING:
    from understudy.wire.learnings import (
        AutomationReviewView,
        CandidateView,
        LearningView,
        LineageView,
        RelatedLearningView,
    )

Related: TypeAlias = "RelatedLearningView"
HERE = "◀ this one"


@dataclass(frozen=True, slots=True)
class Node:
    """A line of the tree, and what hangs on it."""

    words: str
    below: "tuple[Node, ...]" = ()


def lineage_lines(view: "LineageView") -> list[str]:
    """The tree, from the run that something was said in to the runs that were told."""
    since, before = _parted(view)
    chain = _this(view, before if not since else ())
    for at, older in enumerate(since, start=1):
        chain = Node(_related(older), (*_before(before if at == len(since) else ()), chain))
    if view.candidate is not None:
        reviews = (_review(each) for each in view.reviews)
        chain = Node(_candidate(view.candidate), (*reviews, chain))
    return [*_drawn(Node(_origin(view), (chain,)))]


def _parted(view: "LineageView") -> tuple[list[Related], list[Related]]:
    """What was replaced since the candidate was published, and what that one replaced itself."""
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


def _origin(view: "LineageView") -> str:
    run = view.source_run
    if run is None:
        named = source_words(view.learning.source)
        return f"{named} (no longer there)" if named else "no run: somebody wrote it"
    when = screen.ago(run.submitted_at_ms)
    return f"run {run.run_id} ({run.status}), session {run.session_id}, {when}"


def _candidate(view: "CandidateView") -> str:
    found = FOUND.get(view.capture_path, view.capture_path)
    by = f" by {view.decided_by} {screen.ago(view.decided_at_ms)}" if view.decided_by else ""
    untrusted = ", derived from untrusted" if view.derived_from_untrusted else ""
    return f"candidate {view.candidate_id}: {view.kind}, {found}{untrusted}, {view.state}{by}"


def _review(view: "AutomationReviewView") -> Node:
    rule = f", rule {one_line(visible(view.matched_rule_name))}" if view.matched_rule_name else ""
    judge = view.judge
    said = (Node(f"judge: {judge.action}, {one_line(visible(judge.reason))}"),) if judge else ()
    return Node(f"review: {review_words(view)}{rule}", said)


def _this(view: "LineageView", before: Sequence[Related]) -> Node:
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


def _learning(view: "LearningView") -> str:
    reason = f" ({one_line(visible(view.revoked_reason))})" if view.revoked_reason else ""
    where = scope_words(view.scope)
    return f"learning {view.learning_id}: {view.status}{reason}, {where}: {listed(view.content)}"


def _before(replaced: Sequence[Related]) -> tuple[Node, ...]:
    """What it took the place of, nearest first."""
    return tuple(Node(f"in the place of {_related(each)}") for each in replaced)


def _later(replaced_by: Sequence[Related]) -> tuple[Node, ...]:
    """What took its place, each hanging on the one before."""
    chain: tuple[Node, ...] = ()
    for newer in reversed(replaced_by):
        chain = (Node(f"replaced by {_related(newer)}", chain),)
    return chain


def _related(view: Related) -> str:
    where = scope_words(view.scope)
    return f"learning {view.learning_id}: {view.status}, {where}: {listed(view.content)}"
