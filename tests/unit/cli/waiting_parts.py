"""Approvals, questions, and somebody who answers from a list."""

from collections.abc import Iterable
from typing import Any

from understudy.cli.person import Left
from understudy.wire.approvals import ApprovalView, QuestionView

WRITE = {"path": "notes.txt", "content": "buy milk"}
DRINK = {
    "id": "q1",
    "header": "Drinks",
    "question": "Tea or coffee?",
    "options": [
        {"id": "o1", "label": "Tea", "description": "green"},
        {"id": "o2", "label": "Coffee"},
        {"id": "o3", "label": "Water"},
    ],
}
FREE = {"id": "q2", "header": "", "question": "How much?", "options": []}


def approval_document(**more: Any) -> dict[str, Any]:
    """An approval as the API answers it."""
    return {
        "id": "apr_1",
        "run_id": "run_1",
        "session_id": "s1",
        "tool_call_id": "call_1",
        "tool_name": "write_file",
        "input": WRITE,
        "scope": "session",
        "reason": "rule 1 of the session (ask write_file): we look first",
        "state": "pending",
        "created_at_ms": 1,
        "actions": ["allow", "deny"],
        **more,
    }


def question_document(*questions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request with questions as the API answers it."""
    return {
        "id": "qst_1",
        "run_id": "run_1",
        "session_id": "s1",
        "tool_call_id": "call_1",
        "audience": "user",
        "questions": [*questions] or [DRINK],
        "state": "pending",
        "created_at_ms": 1,
        "actions": ["answer", "decline", "cancel"],
        **more,
    }


def approval(**more: Any) -> ApprovalView:
    return ApprovalView.model_validate(approval_document(**more))


def question(*questions: dict[str, Any], **more: Any) -> QuestionView:
    return QuestionView.model_validate(question_document(*questions, **more))


class FakePerson:
    """Somebody who types these lines, then leaves, and edits by these texts."""

    def __init__(self, *lines: str, edits: Iterable[str | None] = ()) -> None:
        self._lines = [*lines]
        self._edits = [*edits]
        self.given: list[str] = []  # the texts that were opened in the editor
        self.prompts: list[str] = []
        self.heard: list[str] = []

    @property
    def screen(self) -> str:
        return "\n".join(self.heard)

    def ask(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if not self._lines:
            raise Left
        return self._lines.pop(0)

    def key(self, prompt: str) -> str:
        return self.ask(prompt)

    def say(self, lines: Iterable[str]) -> None:
        self.heard += lines

    def edit(self, text: str, *, name: str = "arguments.json") -> str | None:
        self.given.append(text)
        return self._edits.pop(0) if self._edits else None

    def forget_typed(self) -> None:
        self.heard.append("(what was typed before is dropped)")
