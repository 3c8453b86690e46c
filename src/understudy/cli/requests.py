"""Approvals, questions and tool calls as text, with the commands that answer them."""

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import typer

from understudy.cli import screen
from understudy.cli.output import ExitCode, note, understudy
from understudy.cli.screen import Pairs, count, visible, visible_line

if TYPE_CHECKING:
    from understudy.wire.approvals import ApprovalView, AskedView, QuestionView
    from understudy.wire.runs import RunView

SEE_ALL = "v shows all"
# The part of a long tool call that is shown; the rest is counted.
MAX_LINES: Final = 40
MAX_CHARS: Final = 4_000
MAX_INLINE: Final = 100
# The lines of a diff that name its two files.
DIFF_HEADING: Final = 2


def approval_pairs(view: "ApprovalView", run: "RunView | None" = None) -> Pairs:
    """Everything about an approval; `run` tells who it is for."""
    updated = (view.resolution or {}).get("updated_input")
    return [
        ("approval", view.id),
        ("tool", visible(view.tool_name)),
        ("because", visible(view.reason)),
        *_where(view, run),
        ("called with", "\n".join(call_lines(view.input))),
        ("edited", "\n".join(diff_lines(view.input, updated)) if updated is not None else None),
        *_fate(view),
    ]


def approval_lines(view: "ApprovalView", run: "RunView | None" = None) -> list[str]:
    """An approval to decide about: its call stands apart, and is cut when it is long.

    Without a run it is shown where the run is being followed, and where that is needs no saying.
    """
    known = {"called with", "state", *(() if run else ("session", "run", "asked"))}
    about = [pair for pair in approval_pairs(view, run) if pair[0] not in known]
    call = shortened(call_lines(view.input), more=SEE_ALL)
    return [*screen.field_lines(about), *(f"    {line}" for line in call)]


def question_pairs(view: "QuestionView", run: "RunView | None" = None) -> Pairs:
    """Everything about a request with its questions."""
    parent = "the parent session" if view.audience == "parent" else None
    return [
        ("question", view.id),
        ("asks", parent),
        *_where(view, run),
        *((visible_line(each.id), "\n".join(question_lines(each))) for each in view.questions),
        ("answered", _answers(view)),
        *_fate(view),
    ]


def question_lines(asked: "AskedView") -> list[str]:
    """A question with its options, numbered."""
    heading = f"{asked.header}: " if asked.header else ""
    lines = visible(f"{heading}{asked.question}").split("\n")
    for number, option in enumerate(asked.options, start=1):
        about = f" – {option.description}" if option.description else ""
        lines.append(
            f"  {number}. {visible_line(option.label + about)}  ({visible_line(option.id)})"
        )
        lines += [f"     | {line}" for line in visible(option.preview or "").split("\n") if line]
    return lines


def _where(view: "ApprovalView | QuestionView", run: "RunView | None") -> Pairs:
    preview = run.request.text_preview if run else None
    return [
        ("session", view.session_id),
        ("run", view.run_id),
        ("for", run.user_id if run else None),
        ("input", visible_line(preview, 200) if preview else None),
        ("asked", screen.ago(view.created_at_ms)),
        ("expires", screen.ahead(view.expires_at_ms) if view.state == "pending" else None),
    ]


def _fate(view: "ApprovalView | QuestionView") -> Pairs:
    told = view.resolution or {}
    by = f" by {view.resolved_by}" if view.resolved_by else ""
    when = f" {screen.ago(view.resolved_at_ms)}" if view.resolved_at_ms else ""
    return [
        ("state", f"{view.state}{by}{when}"),
        ("reason", told.get("reason")),
        ("justification", told.get("justification")),
    ]


def _answers(view: "QuestionView") -> str:
    answers: list[dict[str, Any]] = (view.resolution or {}).get("answers", [])
    return "\n".join(
        f"{visible_line(str(answer.get('question_id')))}: "
        + ", ".join([*map(visible_line, answer.get("selected_option_ids", ())), *_freely(answer)])
        for answer in answers
    )


def _freely(answer: dict[str, Any]) -> list[str]:
    written = answer.get("freeform_answer")
    return [visible(str(written))] if written else []


Arguments = Mapping[str, Any]


def call_lines(arguments: Arguments) -> list[str]:
    """Every argument by name; a long text keeps its lines."""
    shown = {visible(name): _text(arguments[name]) for name in arguments}
    shown = {name: text for name, text in shown.items() if text is not None}
    width = max((len(name) for name in shown), default=0)
    lines: list[str] = []
    for name, text in shown.items():
        first, *rest = str(text).split("\n")
        lines.append(f"{name:<{width}}  {first}")
        lines += [f"{'':<{width}}  {line}" for line in rest]
    return lines or ["(no arguments)"]


def shortened(lines: Sequence[str], *, more: str) -> list[str]:
    """The beginning of a long call, and how much of it is not shown; `more` says how to see it."""
    kept: list[str] = []
    room = MAX_CHARS
    for line in lines[:MAX_LINES]:
        if len(line) > room:
            kept.append(line[:room])
            break
        kept.append(line)
        room -= len(line)
    hidden = sum(map(len, lines)) - sum(map(len, kept))
    if len(kept) == len(lines) and not hidden:
        return kept
    return [*kept, f"[NOT SHOWN: {hidden} more characters; {more}]"]


def diff_lines(before: Arguments, after: Arguments) -> list[str]:
    """The changes of an edit of the arguments, line by line."""
    changes = difflib.unified_diff(call_lines(before), call_lines(after), n=1, lineterm="")
    return [line for line in [*changes][DIFF_HEADING:] if not line.startswith("@@")]


def inline(arguments: Arguments, limit: int = MAX_INLINE) -> str:
    """A call on one line, cut where it is long."""
    given = {name: value for name, value in arguments.items() if value is not None}
    return visible_line(json.dumps(given, ensure_ascii=False), limit)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else visible(value)
    short = json.dumps(value, ensure_ascii=False)
    long = json.dumps(value, ensure_ascii=False, indent=2)
    return visible(short if len(short) <= MAX_INLINE else long)


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
    """The resolutions in an event, one a line."""
    given = event.get("resolutions") or [event.get("resolution") or {}]
    return [_resolved_line(each) for each in given]


def requests_of(run: "RunView") -> list[Request]:
    """The approvals and questions that a run waits for."""
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
    """The state of a run after one of its requests was resolved."""
    from understudy.client.poll_schedule import TERMINAL_STATUSES

    left = len(run.pending_approvals) + len(run.pending_questions)
    if run.status in TERMINAL_STATUSES:
        return f"run {run.run_id} is {run.status}"
    if left:
        return f"run {run.run_id} still waits for {count(left, 'request')}"
    return f"run {run.run_id} goes on; follow it with `{understudy()} runs watch {run.run_id}`"


class WaitNotice:
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
    return visible_line(str(value or ""), limit)
