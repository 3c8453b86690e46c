"""A fake model that plays a part for each conversation, told by what its user says first."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from understudy.testing.answers import Answer, SeenRequest, call
from understudy.testing.fake_model import Rule

Line = Answer | str | Callable[[SeenRequest], Answer | str]


def play(parts: Mapping[str, Sequence[Line]]) -> Rule:
    """Answer by the part whose name the last user text begins with; one line per tool result.

    Beyond its last line, and for who has no part, a conversation gets the plain `ok`.
    """

    def rule(seen: SeenRequest) -> Answer | str | None:
        lines = next((each for name, each in parts.items() if seen.last_user.startswith(name)), ())
        after = [index for index, turn in enumerate(seen.turns) if turn.role == "user"][-1]
        done = sum(turn.role == "tool" for turn in seen.turns[after:])
        if done >= len(lines):
            return None
        line = lines[done]
        return line(seen) if callable(line) else line

    return rule


def said(seen: SeenRequest) -> Any:
    """The last tool result of a conversation, read as JSON."""
    return json.loads(seen.turns[-1].text)


def answering(text: str) -> Line:
    """Answer the first question that the last tool result shows, in words."""

    def line(seen: SeenRequest) -> Answer:
        return answer_call(said(seen)["questions"][0], text)

    return line


def answer_call(request: Mapping[str, Any], text: str) -> Answer:
    """A call that answers a request with one question."""
    answers = [{"question_id": request["questions"][0]["id"], "freeform_answer": text}]
    return call("answer_sidechain", {"request_id": request["request_id"], "answers": answers})


def ask(question: str, **more: Any) -> Answer:
    """A call that asks one question."""
    return call("ask_user", {"questions": [{"question": question}], **more})
