"""What a run waits for, in words, with the commands that give it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from understudy.cli.calls_shown import inline
from understudy.cli.hints import understudy
from understudy.cli.output import ExitCode, note
from understudy.cli.screen import count, one_line, visible

if TYPE_CHECKING:
    from understudy.wire.runs import RunView

# A request as the wire shows it, in a run or in the event that says what it waits for.
Request = Mapping[str, Any]
WAITING = {
    "waiting_for_approval": "the run waits for an approval",
    "waiting_for_user_question": "the run waits for an answer to its question",
}

RESOLVED = frozenset(
    {"approval_resolved", "user_question_resolved", "parent_clarification_resolved"}
)
DECIDED = {"allow": "allowed", "deny": "denied"}


def need_lines(request: Request) -> list[str]:
    """One thing that a run waits for, and how to give it."""
    return _question_lines(request) if "questions" in request else _approval_lines(request)


def resolved_lines(event: Mapping[str, Any]) -> list[str]:
    """What was said to what a run waited for, from the event that tells it."""
    given = event.get("resolutions") or [event.get("resolution") or {}]
    return [_resolved_line(each) for each in given]


def requests_of(run: "RunView") -> list[Request]:
    """What a run waits for."""
    pending = (*run.pending_approvals, *run.pending_questions)
    return [each.model_dump(exclude_none=True) for each in pending]


def tell_waiting(run: "RunView") -> None:
    """Say that a run waits, for what, and how to give it; nothing when it does not wait."""
    if run.status in WAITING:
        note(WAITING[run.status])
        for line in (line for each in requests_of(run) for line in need_lines(each)):
            note(f"  {line}")


def tell_left(run: "RunView") -> None:
    """Say what a run that is left waiting needs, and how to find it again."""
    tell_waiting(run)
    note(f"then follow it with `{understudy()} runs watch {run.run_id}`")


def leave_waiting(run: "RunView") -> typer.Exit:
    """The end of a command that cannot go on without a person."""
    tell_left(run)
    return typer.Exit(ExitCode.REFUSED)


def outlook(run: "RunView") -> str:
    """What becomes of a run after a request of it was settled."""
    from understudy.wire.runs import TERMINAL_STATUSES

    left = len(run.pending_approvals) + len(run.pending_questions)
    if run.status in TERMINAL_STATUSES:
        return f"run {run.run_id} is {run.status}"
    if left:
        return f"run {run.run_id} still waits for {count(left, 'request')}"
    return f"run {run.run_id} goes on; follow it with `{understudy()} runs watch {run.run_id}`"


class Told:
    """Tells of a run that is looked at again and again what it waits for, once each time."""

    def __init__(self) -> None:
        self._known: frozenset[str] = frozenset()

    def look(self, run: "RunView") -> None:
        """Tell what is new."""
        waits_for = frozenset((*run.pending_approval_ids, *run.pending_question_ids))
        if waits_for - self._known:
            tell_waiting(run)
        self._known |= waits_for


def _resolved_line(resolution: Mapping[str, Any]) -> str:
    answered = "declined" if resolution.get("declined") else "answered"
    what = DECIDED.get(str(resolution.get("behavior")), answered)
    edited = " as edited" if resolution.get("updated_input") is not None else ""
    why = resolution.get("reason") or resolution.get("justification")
    return f"{what}{edited}: {resolution.get('request_id')}" + (f" ({_words(why)})" if why else "")


def _approval_lines(request: Request) -> list[str]:
    request_id = request.get("id")
    return [
        f"approval {request_id}: {_words(request.get('tool_name'))} {inline(_arguments(request))}",
        f"  {understudy()} approvals allow {request_id}",
        f'  {understudy()} approvals deny {request_id} --reason "…"',
    ]


def _question_lines(request: Request) -> list[str]:
    request_id = request.get("id")
    questions: Sequence[Mapping[str, Any]] = request.get("questions") or ({},)
    how = "" if len(questions) != 1 else _how(questions[0])
    return [
        f"question {request_id}: {_words(questions[0].get('question'))}",
        *(f"  also: {_words(question.get('question'))}" for question in questions[1:]),
        f"  {understudy()} questions answer {request_id}{how}",
    ]


def _how(question: Mapping[str, Any]) -> str:
    options = question.get("options") or ()
    if not options:
        return ' --text "…"'
    choices = ", ".join(f"{each.get('id')} = {_words(each.get('label'), 40)}" for each in options)
    return f" --option {options[0].get('id')}   ({choices})"


def _arguments(request: Request) -> Mapping[str, Any]:
    arguments = request.get("input")
    return arguments if isinstance(arguments, Mapping) else {}


def _words(value: object, limit: int = 200) -> str:
    return one_line(visible(str(value or "")), limit)
