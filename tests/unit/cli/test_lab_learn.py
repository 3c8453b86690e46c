"""`lab learn` judges statements as production does."""

import json
from typing import Any

from tests.support.command_line_in_process import typed


def judged(*lines: Any) -> tuple[int, list[Any]]:
    given = "".join(f"{json.dumps(line)}\n" for line in lines)
    result = typed("lab", "learn", stdin=given)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


def test_each_statement_is_accepted_or_rejected_with_a_reason() -> None:
    secret = "password: " + "opense" + "same"

    code, answers = judged(
        {"id": "1", "text": "Project codename is Atlas", "kind": "fact"},
        {"id": "2", "text": secret, "kind": "procedure"},
        {"id": "3", "text": secret},
        {"id": "4", "text": "a\u200bb", "kind": "decision"},
    )

    assert code == 0
    assert [(answer["id"], answer["verdict"]) for answer in answers] == [
        ("1", "accept"),
        ("2", "reject"),
        ("3", "reject"),
        ("4", "reject"),
    ]
    assert answers[0]["reason"] is None
    assert "secret_assignment" in answers[1]["reason"]


def test_a_line_without_a_text_or_with_an_unknown_kind_is_refused() -> None:
    assert judged({"id": "1", "text": 7}) == (2, [])
    assert judged({"id": "1", "text": "x", "kind": "rumour"}) == (2, [])
