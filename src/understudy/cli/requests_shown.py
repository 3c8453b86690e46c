"""Approvals and questions as people read them."""

from typing import TYPE_CHECKING, Any

from understudy.cli import screen
from understudy.cli.calls_shown import call_lines, diff_lines, shortened
from understudy.cli.screen import Pairs, visible

if TYPE_CHECKING:
    from understudy.wire.runs import RunView
    from understudy.wire.waiting import ApprovalView, AskedView, QuestionView

SEE_ALL = "v shows all"


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
        *((_on_a_line(each.id), "\n".join(question_lines(each))) for each in view.questions),
        ("answered", _answers(view)),
        *_fate(view),
    ]


def question_lines(asked: "AskedView") -> list[str]:
    """A question with its options, numbered."""
    heading = f"{asked.header}: " if asked.header else ""
    lines = visible(f"{heading}{asked.question}").split("\n")
    for number, option in enumerate(asked.options, start=1):
        about = f" – {option.description}" if option.description else ""
        lines.append(f"  {number}. {_on_a_line(option.label + about)}  ({_on_a_line(option.id)})")
        lines += [f"     | {line}" for line in visible(option.preview or "").split("\n") if line]
    return lines


def _where(view: "ApprovalView | QuestionView", run: "RunView | None") -> Pairs:
    preview = run.request.text_preview if run else None
    return [
        ("session", view.session_id),
        ("run", view.run_id),
        ("for", run.user_id if run else None),
        ("input", screen.one_line(visible(preview), 200) if preview else None),
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
        f"{_on_a_line(str(answer.get('question_id')))}: "
        + ", ".join([*map(_on_a_line, answer.get("selected_option_ids", ())), *_freely(answer)])
        for answer in answers
    )


def _freely(answer: dict[str, Any]) -> list[str]:
    written = answer.get("freeform_answer")
    return [visible(str(written))] if written else []


def _on_a_line(text: str) -> str:
    return screen.one_line(visible(text))
