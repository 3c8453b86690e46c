"""`lab contradict` compares statements as production does."""

import json
from typing import Any

from tests.support.command_line_in_process import typed


def related(*lines: Any) -> tuple[int, list[Any]]:
    given = "".join(f"{json.dumps(line)}\n" for line in lines)
    result = typed("lab", "contradict", stdin=given)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


def test_each_pair_is_the_same_in_conflict_or_unrelated() -> None:
    code, answers = related(
        {"id": "1", "a": "Our vet is Dr Lund.", "b": "The vet: Dr Lund", "kind": "fact"},
        {"id": "2", "a": "Our vet is Dr Lund.", "b": "The vet is Dr Moe.", "kind": "fact"},
        {"id": "3", "a": "I live in Porto.", "b": "I work in Ghent."},
    )

    assert code == 0
    assert [(it["id"], it["relation"]) for it in answers] == [
        ("1", "same"),
        ("2", "conflict"),
        ("3", "unrelated"),
    ]


def test_a_pair_without_two_texts_is_refused() -> None:
    assert related({"id": "1", "a": "x"}) == (2, [])
