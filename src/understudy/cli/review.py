"""`understudy review`: interactive review of open candidates, one by one."""

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.inbox import waiting_lines
from understudy.cli.learning_options import SCOPE_KINDS, ReviewOptions, tomorrow_ms
from understudy.cli.learning_records import fate, item_pairs, published_lines, reached
from understudy.cli.output import error_lines, note
from understudy.cli.person import Left, Person, anybody, somebody
from understudy.cli.screen import field_lines, visible, visible_line
from understudy.i18n.catalogue import say

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.client.errors import ConflictError
    from understudy.learnings.candidates import NextReviewItem, ReviewItem
    from understudy.learnings.model import Candidate, Neighbour, RelatedLearning
    from understudy.learnings.publication import PublishedLearning
    from understudy.sessions.learning_scopes import LearningScope
    from understudy.wire.learnings import CreateLearning, PublishCandidate

# Keys and words of a decision; a sentence typed by mistake decides nothing.
KEYS: Final = {
    "a": "publish",
    "y": "publish",
    "yes": "publish",
    "r": "reject",
    "n": "decline",
    "no": "decline",
    "p": "provisional",
    "w": "later",
    "s": "replace",
    "b": "both",
    "t": "always",
    "e": "edit",
    "o": "open",
    "z": "undo",
    "j": "next",
    "k": "before",
    "q": "quit",
    "?": "help",
    "": "help",
}
# Keys of a terminal alone; the others do the same in the console.
TERMINAL_HELP: Final = (
    "n  reject it without a reason (so does no)",
    "q  leave it waiting, stop here (so does Ctrl-C)",
)
# What the key for it makes of `applies`, and what that means.
APPLIES: Final = {
    "when_relevant": ("always", "injected into every prompt of its scope"),
    "always": ("when_relevant", "injected when the input is about it"),
}
FILE: Final = "content.txt"
OPEN: Final = ("pending", "escalated")
# The reason of a learning that was revoked because its publication was taken back.
UNDONE: Final = "undone in review"
# The code of a publication that says otherwise than a learning.
CONFLICT: Final = "learning_conflict"
NOTHING: Final = "nothing waits for a person"
NONE_FITS: Final = "no candidate that waits fits"
NO_RIVAL: Final = "it conflicts with nothing that it could replace; a publishes it"
NOT_UNDONE: Final = "there is no decision to take back"
REPLACE_OR_BOTH: Final = "[s] replace it  [b] keep both, any other key: leave it as it is "
NONE_BEFORE: Final = "none was skipped before this one; z takes the last decision back"


W = TypeVar("W", "CreateLearning", "PublishCandidate")


def help_lines() -> list[str]:
    """The keys and what they do, in the words of the console's list."""
    keys = [*"arpwsbt", "1-4", *"eozjk"]
    return [*(f"{key}  {say(None, f'console.review_keys.{key}')}" for key in keys), *TERMINAL_HELP]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """It is worth knowing; what is to be different is named as the API does."""

    changes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """It is not."""

    reason: str | None = None


class Snooze:
    """It is put off."""


class Skip:
    """It is left waiting."""


class Undo:
    """The decision before this one is taken back."""


class Before:
    """The one that was skipped before this one is shown again."""


Verdict = Publish | Reject | Snooze | Skip | Undo | Before


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewStep:
    """What was done with one candidate, in a word."""

    candidate_id: str
    outcome: str
    # The verdict that was carried out; None if another person decided first, or it was gone.
    verdict: Verdict | None


class Weighing:
    """One conversation about one candidate; what was edited outlives a refusal."""

    def __init__(self, person: Person, item: "ReviewItem", *, url: str = "") -> None:
        self._person = person
        self._item = item
        self._url = url
        self._edited: str | None = None
        self._scope = item.suggested_scope
        self._is_scope_chosen = False
        self._applies = str(item.applies)
        self._in_the_way = item.conflicts_with
        # By the meaning of a key; one that answers None decides nothing yet.
        self._acts: dict[str, Callable[[], Verdict | None]] = {
            "publish": partial(self._publish_for_somebody, {}),
            "provisional": partial(self._publish_for_somebody, {"publish_tier": "provisional"}),
            "always": self._turn_always,
            "replace": self._supersede,
            "both": self._keep_both,
            "reject": self._reject,
            "decline": Reject,
            "edit": self._edit,
            "open": self._open,
            "later": Snooze,
            "undo": Undo,
            "next": Skip,
            "before": Before,
            "quit": self._quit,
            "help": lambda: person.say(help_lines()),
        }

    def show(
        self,
        item: "ReviewItem",
        *,
        header: str = "",
        in_the_way: "RelatedLearning | None" = None,
    ) -> None:
        """Lay a candidate before the person as it is by now, in the words that they gave it.

        `in_the_way` is what those words conflict with, where others than its own do.
        """
        self._item = item
        self._in_the_way = in_the_way or item.conflicts_with
        words = item.content if self._edited is None else self._edited
        card = replace(
            item,
            content=words,
            suggested_scope=self._scope,
            applies=type(item.applies)(self._applies),
            conflicts_with=self._in_the_way,
        )
        self._person.say(["", *([header] if header else []), *field_lines(item_pairs(card))])

    def ask(self) -> Verdict:
        """The verdict of the person. Raises `Left` to quit."""
        while True:
            key = self._key()
            act = self._acts.get(key)
            if act is not None:
                if (verdict := act()) is not None:
                    return verdict
            elif not self._choose_scope(key):
                said = f"{visible_line(key, 40)!r} is not understood"
                self._person.say([said, *help_lines()])

    def _key(self) -> str:
        whom = "" if self._scope is None else f" for {self._scope.kind}"
        edited = "" if self._edited is None else " as edited"
        scopes = len(self._item.reaches)
        rival = "[s] replace  [b]oth  " if self._rivals() else ""
        typed = self._person.key(
            f"[a] publish{edited}{whom}  {f'[1-{scopes}] scope  ' if scopes > 1 else ''}"
            f"[t] always  [p]rovisional  [e]dit  {rival}[r]eject  [w] later  [o]pen  [z] undo"
            "  [j] next  [q]uit  [?] "
        ).lower()
        return KEYS.get(typed, typed)

    def _publish(self, changes: dict[str, Any]) -> Publish:
        words = {} if self._edited is None else {"content": self._edited}
        scope = {} if self._scope is None else {"scope": _as_sent(self._scope)}
        applies = {} if self._applies == self._item.applies else {"applies": self._applies}
        return Publish(changes={**words, **scope, **applies, **changes})

    def _publish_for_somebody(self, changes: dict[str, Any]) -> Publish | None:
        """The publication; asks for a scope first where nobody would be told."""
        reaches = self._item.reaches
        own = next((it for it in reaches if it.scope == self._scope), None)
        if not self._is_scope_chosen and own is not None and own.unused:
            self._person.say([f"no prompt would have it: {visible_line(own.unused)}"])
            chosen = self._choose([reached(it) for it in reaches], "who is it for")
            if chosen is None:
                return None
            self._choose_scope(str(chosen + 1))
        return self._publish(changes)

    def _choose_scope(self, typed: str) -> bool:
        """Choose the scope with a number of the card; whether there is one."""
        reaches = self._item.reaches
        if not (typed.isdecimal() and 1 <= int(typed) <= len(reaches)):
            return False
        self._scope, self._is_scope_chosen = reaches[int(typed) - 1].scope, True
        self._person.say([f"for {reached(reaches[int(typed) - 1])}"])
        return True

    def _keep_both(self) -> Publish | None:
        """The publication beside what says otherwise."""
        return self._publish({"beside": True})

    def _open(self) -> None:
        """Say where the console shows it, and the run that it comes from."""
        run_id = self._item.source.run_id
        pages = [f"review/{self._item.candidate_id}", *([f"runs/{run_id}"] if run_id else [])]
        self._person.say([f"{self._url}/{visible_line(it)}" for it in pages])

    def _reject(self) -> Reject:
        return Reject(reason=self._person.ask("why not (may be empty): ") or None)

    def _quit(self) -> None:
        raise Left

    def _turn_always(self) -> None:
        self._applies, words = APPLIES[self._applies]
        self._person.say([words])

    def _choose(self, lines: list[str], question: str) -> int | None:
        """The index of the line that was chosen by its number; None if none was."""
        self._person.say([f"{number}  {line}" for number, line in enumerate(lines, start=1)])
        typed = self._person.key(f"{question}, 1 to {len(lines)}, or anything else to go back: ")
        if typed.isdecimal() and 1 <= int(typed) <= len(lines):
            return int(typed) - 1
        self._person.say(["nothing chosen"])
        return None

    def _rivals(self) -> "tuple[RelatedLearning | Neighbour, ...]":
        """The learnings that it could take the place of."""
        if self._in_the_way is not None:
            return (self._in_the_way,)
        return self._item.contradicts or self._item.neighbours

    def _supersede(self) -> Publish | None:
        rivals = self._rivals()
        if not rivals:
            self._person.say([NO_RIVAL])
            return None
        chosen = 0
        if len(rivals) > 1:
            lines = [f"{it.content} ({it.learning_id})" for it in rivals]
            answer = self._choose(lines, "whose place does it take")
            if answer is None:
                return None
            chosen = answer
        target = rivals[chosen]
        changes: dict[str, Any] = {"supersedes": target.learning_id}
        is_other = target != self._in_the_way
        if is_other and not self._is_scope_chosen and self._is_wider(target.scope):
            changes["scope"] = _as_sent(target.scope)
        return self._publish(changes)

    def _is_wider(self, scope: "LearningScope") -> bool:
        now = self._scope or self._item.scope
        return SCOPE_KINDS.index(scope.kind) > SCOPE_KINDS.index(now.kind)

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
        if self._edited is not None and self._applies == "always":
            # Proposed for the words before the edit.
            self._person.say(["still injected into every prompt of its scope; t changes that"])


def _as_sent(scope: "LearningScope") -> dict[str, str]:
    return {"kind": str(scope.kind), "id": scope.id}


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
    """Show what waits, and decide about each with one key: first calls and questions of runs.

    Then candidates: what prompts can be given comes first, then procedures, run summaries last.
    Filters and limits are for candidates alone. Answers about those may be piped in, one a line;
    --json prints the next one and decides nothing.
    """
    if once and limit not in (None, 1):
        raise typer.BadParameter("--once is --limit 1: give one of them")
    narrowed = which.fields()
    if daemon.as_json:
        daemon.client.candidates.next(**narrowed)
        daemon.show(lambda: None)
        return
    most = 1 if once else limit
    # A key that is piped in was meant for a candidate: it must not let a tool call run.
    person = somebody()
    if person is not None and most is None and not narrowed:
        _take_requests(daemon.client, person)
    candidates = islice(upcoming(daemon.client, narrowed), most)
    done = review(daemon.client, person or anybody(), candidates)
    others = waiting_lines(daemon.client.inbox.page(limit=1).counts)
    nothing = [] if done else [NONE_FITS if narrowed else NOTHING]
    for line in others or nothing:
        note(line)


def _take_requests(client: "Client", person: Person) -> None:
    """Ask about tool calls, offers and questions, which runs wait for."""
    from understudy.cli.decisions import Review

    requests = Review(client, person)
    if approvals := [view for view in client.approvals.list() if view.actions]:
        requests.approvals(approvals)
    if questions := [*client.questions.list()]:
        requests.questions(questions)


def upcoming(
    client: "Client", narrowed: dict[str, Any] | None = None
) -> Iterator["NextReviewItem"]:
    """What waits and fits a filter, in order; also what comes while somebody decides."""
    after: str | None = None
    while (found := client.candidates.next(after=after, **(narrowed or {}))).item is not None:
        yield found
        after = found.item.candidate_id


def review(client: "Client", person: Person, waiting: Iterable["NextReviewItem"]) -> bool:
    """Ask about each until there is none or the person has enough, then say what was done, if any."""
    from understudy.client import ClientError

    queue = QueueReview(client, person)
    try:
        for number, found in enumerate(waiting, start=1):
            if found.item is not None:
                header = f"{number} of {number + (found.following or 0)}"
                put_off = f", {found.snoozed} snoozed" if found.snoozed else ""
                queue.decide(found.item, header=header + put_off)
    except Left:
        person.say([f"{queue.counts() or 'nothing decided'}; the rest goes on waiting"])
        return True
    except ClientError as problem:
        if queue.counts():
            problem.add_note(f"before this: {queue.counts()}")
        raise
    person.say(filter(None, [queue.counts()]))
    return bool(queue.counts())


class QueueReview:
    """One person who goes through the queue, and the steps that they may take back."""

    def __init__(self, client: "Client", person: Person) -> None:
        self._client = client
        self._person = person
        self._steps: list[ReviewStep] = []

    def counts(self) -> str:
        """What was done, by numbers."""
        tally = Counter(step.outcome for step in self._steps)
        return ", ".join(f"{number} {what}" for what, number in tally.items())

    def decide(self, item: "ReviewItem", *, header: str) -> None:
        """Ask about one candidate, and about earlier ones again, until something came of it."""
        todo = [(item, header)]
        while todo:
            item, header = todo[-1]
            self._person.forget_typed()
            step = self._settle(item, header)
            if isinstance(step, ReviewStep):
                self._steps.append(step)
                todo.pop()
                continue
            before = self._taken_back(step)
            if before is not None:
                todo.append((before, "again"))

    def _settle(self, item: "ReviewItem", header: str) -> ReviewStep | Undo | Before:
        """What came of one candidate, or the wish to go back to another."""
        from understudy.client.errors import ConflictError, InvalidError, NotFoundError

        client, person = self._client, self._person
        weighing = Weighing(person, item, url=client.url)
        weighing.show(item, header=header)
        while True:
            verdict = weighing.ask()
            if isinstance(verdict, Undo | Before):
                return verdict
            try:
                outcome = _carry_out(client, person, item, verdict)
            except InvalidError as problem:
                # The edit is kept, so that it can be corrected.
                person.say(error_lines(problem))
            except NotFoundError as problem:
                person.say(error_lines(problem))
                return ReviewStep(candidate_id=item.candidate_id, outcome="gone", verdict=None)
            except ConflictError as problem:
                item = client.candidates.get(item.candidate_id)
                if item.state not in OPEN:
                    outcome = _meanwhile(person, item)
                    return ReviewStep(candidate_id=item.candidate_id, outcome=outcome, verdict=None)
                person.say(error_lines(problem))
                weighing.show(item, header=header, in_the_way=_in_the_way(client, problem))
            else:
                return ReviewStep(candidate_id=item.candidate_id, outcome=outcome, verdict=verdict)

    def _taken_back(self, wish: Undo | Before) -> "ReviewItem | None":
        """The candidate of the last decision, or of the last skip; None if there is none."""
        from understudy.client.errors import ConflictError, NotFoundError

        decided = (Publish, Reject, Snooze)
        wanted = decided if isinstance(wish, Undo) else (Skip,)
        step = next((it for it in reversed(self._steps) if isinstance(it.verdict, wanted)), None)
        if step is None:
            self._person.say([NOT_UNDONE if isinstance(wish, Undo) else NONE_BEFORE])
            return None
        try:
            match step.verdict:
                case Publish() | Reject():
                    self._client.candidates.reopen(step.candidate_id, reason=UNDONE)
                case Snooze():
                    self._client.candidates.snooze(step.candidate_id, 0)
            item = self._client.candidates.get(step.candidate_id)
        except (ConflictError, NotFoundError) as problem:
            self._person.say(error_lines(problem))
            return None
        self._steps.remove(step)
        self._person.say([f"candidate {step.candidate_id} waits again"])
        return item


def _carry_out(client: "Client", person: Person, item: "ReviewItem", verdict: Verdict) -> str:
    """Carry a verdict out; what came of it, in a word."""
    from understudy.wire.learnings import PublishCandidate

    # With the version, the decision of another is not answered as if it were this one.
    match verdict:
        case Reject():
            client.candidates.reject(item.candidate_id, reason=verdict.reason, version=item.version)
            person.say([f"candidate {item.candidate_id} is rejected"])
            return "rejected"
        case Publish():
            wanted = PublishCandidate.model_validate({**verdict.changes, "version": item.version})
            published = client.candidates.publish(item.candidate_id, wanted)
            person.say(published_lines(published))
            is_active = published.status != "provisional"
            return "published" if is_active else "published as provisional"
        case Snooze():
            until = tomorrow_ms()
            client.candidates.snooze(item.candidate_id, until)
            too_late = item.expires_at_ms is not None and item.expires_at_ms <= until
            person.say([f"put off until tomorrow{', and it expires before that' * too_late}"])
            return "put off"
    return "skipped"


def _meanwhile(person: Person, candidate: "Candidate") -> str:
    """Say what another person made of a candidate; answers that in a word."""
    person.say([f"somebody was faster: {candidate.candidate_id} is {fate(candidate)}"])
    return f"{candidate.state} meanwhile"


def publish_or_ask(
    wanted: W, send: Callable[[W], "PublishedLearning"], person: Person | None
) -> "PublishedLearning":
    """Publish; a person at the terminal replaces what is contradicted, or keeps both, by one key."""
    from understudy.client.errors import ConflictError

    try:
        return send(wanted)
    except ConflictError as problem:
        chosen = None if person is None else _replace_or_both(person, problem)
        if chosen is None:
            raise
    return send(wanted.model_copy(update=chosen))


def _replace_or_both(person: Person, problem: "ConflictError") -> Mapping[str, Any] | None:
    """What a person wants of a publication that contradicts a learning; None leaves it refused."""
    params = problem.problem.get("params")
    if problem.code != CONFLICT or not isinstance(params, dict):
        return None
    known = params.get("learning_id")
    listed = problem.problem.get("neighbours") or ()
    near = {it["learning_id"]: it["content"] for it in listed}
    person.say([f"it contradicts {known}: {visible_line(near.get(known, '-'))}"])
    try:
        key = person.key(REPLACE_OR_BOTH)
    except Left:
        return None
    choices: dict[str, Mapping[str, Any]] = {
        "replace": {"supersedes": known},
        "both": {"beside": True},
    }
    return choices.get(KEYS.get(key.lower(), ""))


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
