"""`lab capture` finds labelled statements as production does."""

import json
from typing import Any

from tests.support.command_line_in_process import typed


def captured(line: Any) -> tuple[int, list[Any]]:
    result = typed("lab", "capture", stdin=f"{json.dumps(line)}\n")
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


def test_statements_of_the_request_are_answered_and_none_of_the_reply() -> None:
    request = "Fact: the bakery opens at six. Draft a sign."
    assert captured({"id": "1", "request": request, "reply": "Decision: it is drafted"}) == (
        0,
        [{"id": "1", "candidates": [{"kind": "fact", "content": "the bakery opens at six"}]}],
    )


def test_a_line_without_a_request_is_refused() -> None:
    assert captured({"id": "1", "request": 7}) == (2, [])
