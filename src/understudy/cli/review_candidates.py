"""`understudy review`: going through what waits for a person, one candidate after the other."""

from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from understudy.cli.connection import connect
from understudy.cli.learning_options import InScope, OfKind, Query, scope_fields
from understudy.cli.options import Commands, shared
from understudy.cli.output import error_lines
from understudy.cli.person import Left, Person, anybody
from understudy.cli.published import published_lines
from understudy.cli.weighing import Publish, Reject, Weighing

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.client.errors import ConflictError
    from understudy.wire.learnings import RelatedLearningView, ReviewItemView

commands = Commands("Review: go through what waits for a person.")

OPEN: Final = ("pending", "escalated")
# The code of a publication that says otherwise than a learning.
CONFLICT: Final = "learning_conflict"
NOTHING: Final = "nothing waits for a person"


@commands("next")
def review_next(
    ctx: typer.Context,
    query: Query = None,
    scope: InScope = None,
    kind: OfKind = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Stop after so many.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Only one; the same as --limit 1.")] = False,
) -> None:
    """Show candidates that wait, the longest first, and decide about each.

    Answers may be piped in, one a line; --json prints the next one and decides nothing.
    """
    if once and limit not in (None, 1):
        raise typer.BadParameter("--once is --limit 1: give one of them")
    narrowed = {"query": query, "kind": kind, **scope_fields(scope)}
    narrowed = {name: value for name, value in narrowed.items() if value is not None}
    if shared(ctx).json and narrowed:
        raise typer.BadParameter("--json prints the next one of all: leave the other options out")
    with connect(ctx) as daemon:
        if daemon.as_json:
            daemon.client.candidates.next()
            daemon.show(lambda: None)
            return
        waiting = chosen(daemon.client, narrowed) if narrowed else upcoming(daemon.client)
        review(daemon.client, anybody(), islice(waiting, 1 if once else limit))


def review(client: "Client", person: Person, items: Iterable["ReviewItemView"]) -> None:
    """Ask about each until there is none or the person has enough, then say what was done."""
    from understudy.client import ClientError

    tally: Counter[str] = Counter()
    try:
        for item in items:
            person.forget_typed()
            tally[decide(client, person, item)] += 1
    except Left:
        person.say([f"{_counts(tally) or 'nothing decided'}; the rest goes on waiting"])
    except ClientError as problem:
        if tally:
            problem.add_note(f"before this: {_counts(tally)}")
        raise
    else:
        person.say([_counts(tally) or NOTHING])


def decide(client: "Client", person: Person, item: "ReviewItemView") -> str:
    """Ask about one candidate until something came of it; what that was, in a word."""
    from understudy.client.errors import ConflictError, InvalidError, NotFoundError

    weighing = Weighing(person, item)
    weighing.show(item)
    while True:
        verdict = weighing.ask()
        if verdict is None:
            return "skipped"
        try:
            return _carry_out(client, person, item.candidate_id, verdict)
        except InvalidError as problem:
            # What was edited is kept, so that it can be mended.
            person.say(error_lines(problem))
        except NotFoundError as problem:
            person.say(error_lines(problem))
            return "gone"
        except ConflictError as problem:
            person.say(error_lines(problem))
            item = client.candidates.get(item.candidate_id)
            if item.state not in OPEN:
                return f"{item.state} meanwhile"
            weighing.show(item, in_the_way=_in_the_way(client, problem))


def upcoming(client: "Client") -> Iterator["ReviewItemView"]:
    """What waits, the longest first; also what comes while somebody decides."""
    after: str | None = None
    while (item := client.candidates.next(after=after).item) is not None:
        yield item
        after = item.candidate_id


def chosen(client: "Client", narrowed: dict[str, Any]) -> Iterator["ReviewItemView"]:
    """What waits and fits a filter, the longest first."""
    lists = (client.candidates.list(state=state, **narrowed) for state in OPEN)
    for candidate in merge(*lists, key=attrgetter("candidate_id")):
        item = client.candidates.get(candidate.candidate_id)
        if item.state in OPEN:
            yield item


def _carry_out(
    client: "Client", person: Person, candidate_id: str, verdict: Publish | Reject
) -> str:
    from understudy.wire.learning_requests import PublishCandidate

    if isinstance(verdict, Reject):
        client.candidates.reject(candidate_id, reason=verdict.reason)
        person.say([f"candidate {candidate_id} is rejected"])
        return "rejected"
    wanted = PublishCandidate.model_validate(verdict.changes)
    published = client.candidates.publish(candidate_id, wanted)
    person.say(published_lines(published))
    return "published as provisional" if published.status == "provisional" else "published"


def _in_the_way(client: "Client", problem: "ConflictError") -> "RelatedLearningView | None":
    """The learning that a publication was refused for; None for other refusals, or if it is gone."""
    from understudy.client.errors import NotFoundError
    from understudy.wire.learnings import RelatedLearningView

    params = problem.problem.get("params")
    learning_id = params.get("learning_id") if isinstance(params, dict) else None
    if problem.code != CONFLICT or not isinstance(learning_id, str):
        return None
    try:
        found = client.learnings.get(learning_id)
    except NotFoundError:
        return None
    return RelatedLearningView(
        learning_id=found.learning_id, scope=found.scope, status=found.status, content=found.content
    )


def _counts(tally: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in tally.items())
