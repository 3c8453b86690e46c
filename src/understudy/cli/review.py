"""`understudy review`: going through what waits for a person, one candidate after the other."""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.learning_options import ReviewOptions
from understudy.cli.learning_records import item_pairs, published_lines
from understudy.cli.output import error_lines
from understudy.cli.person import Left, Person, anybody
from understudy.cli.screen import field_lines, visible, visible_line

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.client.errors import ConflictError
    from understudy.learnings.candidates import ReviewItem
    from understudy.learnings.model import RelatedLearning

# Whole words or their letter, so that a sentence typed by mistake decides nothing.
KEYS: Final = {
    "p": "publish",
    "y": "publish",
    "yes": "publish",
    "v": "provisional",
    "e": "edit",
    "u": "supersede",
    "r": "reject",
    "n": "reject",
    "no": "reject",
    "s": "skip",
    "q": "quit",
    "?": "help",
    "": "help",
}
HELP: Final = (
    "p  publish it: prompts may be told of it (so does y)",
    "v  publish it as provisional: it is kept and found, but no prompt is told of it",
    "e  change its words, then decide",
    "u  publish it in the place of the learning that it conflicts with",
    "r  reject it, with a reason if you like (so does n)",
    "s  leave it waiting, show the next",
    "q  leave it waiting, stop here (so does Ctrl-C)",
)
# The fields of a publication, by the key that was typed.
TIERS: Final[dict[str, dict[str, str]]] = {
    "publish": {},
    "provisional": {"publish_tier": "provisional"},
}
FILE: Final = "content.txt"
OPEN: Final = ("pending", "escalated")
# The code of a publication that says otherwise than a learning.
CONFLICT: Final = "learning_conflict"
NOTHING: Final = "nothing waits for a person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """It is worth knowing; what is to be different is named as the API does."""

    changes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """It is not."""

    reason: str | None


Verdict = Publish | Reject


class Weighing:
    """One conversation about one candidate; what was edited outlives a refusal."""

    def __init__(self, person: Person, item: "ReviewItem") -> None:
        self._person = person
        self._item = item
        self._edited: str | None = None
        self._in_the_way = item.conflicts_with

    def show(self, item: "ReviewItem", *, in_the_way: "RelatedLearning | None" = None) -> None:
        """Lay a candidate before the person as it is by now, in the words that they gave it.

        `in_the_way` is what those words conflict with, where others than its own do.
        """
        self._item = item
        self._in_the_way = in_the_way or item.conflicts_with
        words = item.content if self._edited is None else self._edited
        card = replace(item, content=words, conflicts_with=self._in_the_way)
        self._person.say(["", *field_lines(item_pairs(card))])

    def ask(self) -> Verdict | None:
        """The verdict of the person; None to skip the candidate. Raises `Left` to quit."""
        while True:
            match self._key():
                case "publish" | "provisional" as how:
                    return self._publish(TIERS[how])
                case "supersede":
                    if (found := self._supersede()) is not None:
                        return found
                case "reject":
                    reason = self._person.ask("why not (may be empty): ")
                    return Reject(reason=reason or None)
                case "edit":
                    self._edit()
                case "skip":
                    return None
                case "quit":
                    raise Left
                case "help":
                    self._person.say(HELP)
                case other:
                    self._person.say([f"{visible_line(other, 40)!r} is not understood", *HELP])

    def _key(self) -> str:
        publish = "[p]ublish" if self._edited is None else "[p]ublish as edited"
        supersede = "s[u]persede  " if self._in_the_way else ""
        typed = self._person.ask(
            f"{publish}  pro[v]isional  [e]dit  {supersede}[r]eject  [s]kip  [q]uit  [?] "
        ).lower()
        return KEYS.get(typed, typed)

    def _publish(self, changes: dict[str, str]) -> Publish:
        words = {} if self._edited is None else {"content": self._edited}
        return Publish(changes={**words, **changes})

    def _supersede(self) -> Publish | None:
        if self._in_the_way is None:
            self._person.say(["it conflicts with nothing that it could supersede; p publishes it"])
            return None
        return self._publish({"supersedes": self._in_the_way.learning_id})

    def _edit(self) -> None:
        now = self._item.content if self._edited is None else self._edited
        edited = self._person.edit(now, name=FILE)
        if edited is None:
            edited = self._person.ask("other words, empty for no change: ")
        edited = edited.strip()
        if not edited:
            self._person.say(["nothing changed"])
            return
        if edited != now:
            # Conflicts of the new words are known only when they are published.
            self._in_the_way = self._item.conflicts_with
        self._edited = None if edited == self._item.content else edited
        self._person.say(_difference(self._item.content, edited) or ["nothing changed"])


def _difference(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(visible(before).splitlines(), visible(after).splitlines())
    return [line for line in lines if not line.startswith(("?", " "))]


commands = Commands("Review: go through what waits for a person.")


@commands("next")
def review_next(
    daemon: DaemonConnection,
    which: ReviewOptions,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Stop after so many.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Only one; the same as --limit 1.")] = False,
) -> None:
    """Show candidates that wait, the longest first, and decide about each.

    Answers may be piped in, one a line; --json prints the next one and decides nothing.
    """
    if once and limit not in (None, 1):
        raise typer.BadParameter("--once is --limit 1: give one of them")
    narrowed = which.fields()
    if daemon.as_json and narrowed:
        raise typer.BadParameter("--json prints the next one of all: leave the other options out")
    if daemon.as_json:
        daemon.client.candidates.next()
        daemon.show(lambda: None)
        return
    waiting = chosen(daemon.client, narrowed) if narrowed else upcoming(daemon.client)
    review(daemon.client, anybody(), islice(waiting, 1 if once else limit))


def review(client: "Client", person: Person, items: Iterable["ReviewItem"]) -> None:
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


def decide(client: "Client", person: Person, item: "ReviewItem") -> str:
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
            # The edit is kept, so that it can be corrected.
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


def upcoming(client: "Client") -> Iterator["ReviewItem"]:
    """What waits, the longest first; also what comes while somebody decides."""
    after: str | None = None
    while (item := client.candidates.next(after=after).item) is not None:
        yield item
        after = item.candidate_id


def chosen(client: "Client", narrowed: dict[str, Any]) -> Iterator["ReviewItem"]:
    """What waits and fits a filter, the longest first."""
    lists = (client.candidates.list(state=state, **narrowed) for state in OPEN)
    for candidate in merge(*lists, key=attrgetter("candidate_id")):
        item = client.candidates.get(candidate.candidate_id)
        if item.state in OPEN:
            yield item


def _carry_out(
    client: "Client", person: Person, candidate_id: str, verdict: Publish | Reject
) -> str:
    from understudy.wire.learnings import PublishCandidate

    if isinstance(verdict, Reject):
        client.candidates.reject(candidate_id, reason=verdict.reason)
        person.say([f"candidate {candidate_id} is rejected"])
        return "rejected"
    wanted = PublishCandidate.model_validate(verdict.changes)
    published = client.candidates.publish(candidate_id, wanted)
    person.say(published_lines(published))
    return "published as provisional" if published.status == "provisional" else "published"


def _in_the_way(client: "Client", problem: "ConflictError") -> "RelatedLearning | None":
    """The learning that a publication was refused for; None for other refusals, or if it is gone."""
    from understudy.client.errors import NotFoundError
    from understudy.core.records import reduced
    from understudy.learnings.model import RelatedLearning

    params = problem.problem.get("params")
    learning_id = params.get("learning_id") if isinstance(params, dict) else None
    if problem.code != CONFLICT or not isinstance(learning_id, str):
        return None
    try:
        found = client.learnings.get(learning_id)
    except NotFoundError:
        return None
    return reduced(RelatedLearning, found)


def _counts(tally: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in tally.items())
