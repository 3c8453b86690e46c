"""Going through what waits, one after the other: tool calls, or questions."""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from understudy.cli.answering import ask_questions
from understudy.cli.deciding import settle
from understudy.cli.needs import DECIDED, outlook
from understudy.cli.offers import is_offer
from understudy.cli.output import error_lines
from understudy.cli.person import Left, Person
from understudy.cli.requests_shown import question_pairs
from understudy.cli.screen import field_lines

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.wire.runs import RunView
    from understudy.wire.waiting import ApprovalView, QuestionView

SAID: Final = {"allow": "accepted", "deny": "declined"}
SKIP: Final = "/skip"
# What became of one thing and of the run that waited for it, if one did; None: left for later.
Done: TypeAlias = "tuple[str, RunView | None] | None"
Step: TypeAlias = "Callable[[], Done]"


class Review:
    """One person who goes through what waits."""

    def __init__(self, client: "Client", person: Person) -> None:
        self._client = client
        self._person = person
        self._runs: dict[str, RunView] = {}
        self._tally: Counter[str] = Counter()

    def approvals(self, pending: Iterable["ApprovalView"]) -> None:
        """Ask about each tool call and offer, until there is none or the person has enough."""
        self._go_through(partial(self._decide, view) for view in pending)

    def questions(self, pending: Iterable["QuestionView"]) -> None:
        """Ask each question, until there is none or the person has enough."""
        self._person.say([f"{SKIP} leaves a question for later, Ctrl-C all that are left"])
        self._go_through(partial(self._answer, view) for view in pending)

    def _go_through(self, steps: Iterable[Step]) -> None:
        rest = ""
        try:
            for step in steps:
                self._take(step)
        except Left:
            rest = "; the rest goes on waiting"
        counts = ", ".join(f"{number} {what}" for what, number in self._tally.items())
        self._person.say([(counts or "nothing decided") + rest])

    def _take(self, step: Step) -> None:
        from understudy.client import errors

        self._person.forget_typed()
        try:
            done = step()
        except (
            errors.ConflictError,
            errors.InvalidError,
            errors.NotFoundError,
            errors.ForbiddenError,
        ) as problem:
            self._tally["failed"] += 1
            self._person.say(error_lines(problem))
            return
        if done is None:
            self._tally["skipped"] += 1
            return
        what, run = done
        self._tally[what] += 1
        if run is not None:
            self._person.say([outlook(run)])

    def _decide(self, view: "ApprovalView") -> "Done":
        settled = settle(self._client, self._person, view, self._run(view.run_id))
        if settled is None:
            return None
        if is_offer(view):
            return SAID[settled[0].behavior], None
        return DECIDED[settled[0].behavior], settled[1]

    def _answer(self, view: "QuestionView") -> "Done":
        asked = {question.id for question in view.questions} | {"state"}
        about = [
            pair for pair in question_pairs(view, self._run(view.run_id)) if pair[0] not in asked
        ]
        self._person.say(["", *field_lines(about)])
        try:
            resolution = ask_questions(_MaySkip(self._person), view)
        except _Skipped:
            return None
        run = self._client.questions.resolve(view.run_id, resolution)
        return "declined" if resolution.declined else "answered", run

    def _run(self, run_id: str) -> "RunView":
        if run_id not in self._runs:
            self._runs[run_id] = self._client.runs.get(run_id)
        return self._runs[run_id]


class _Skipped(Exception):
    """The person leaves this one for later."""


class _MaySkip:
    """A person who may also leave a question for later."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self.say = person.say
        self.edit = person.edit
        self.forget_typed = person.forget_typed

    def ask(self, prompt: str) -> str:
        """One line, unless it skips the question."""
        typed = self._person.ask(prompt)
        if typed == SKIP:
            raise _Skipped
        return typed
