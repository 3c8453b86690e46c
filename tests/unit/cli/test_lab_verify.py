"""`lab verify` verifies statements as production does."""

import json
from typing import Any

from tests.support.command_line_in_process import typed


def verified(*lines: Any) -> tuple[int, list[Any]]:
    given = "".join(f"{json.dumps(line)}\n" for line in lines)
    result = typed("lab", "verify", stdin=given)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


def test_each_statement_is_supported_by_the_request_or_not() -> None:
    said = {"request": "I prefer window seats.", "outcome": "The train leaves at nine."}

    code, answers = verified(
        {"id": "1", **said, "statement": "The user prefers window seats", "kind": "preference"},
        {"id": "2", **said, "statement": "The train leaves at nine", "kind": "fact"},
    )

    assert code == 0
    assert answers == [{"id": "1", "supported": True}, {"id": "2", "supported": False}]


def test_a_line_without_a_request_or_a_statement_is_refused() -> None:
    assert verified({"id": "1", "request": "x"}) == (2, [])
    assert verified({"id": "1", "statement": "x"}) == (2, [])
