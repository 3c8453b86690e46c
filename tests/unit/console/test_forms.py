"""Bodies of operations from the fields of a form."""

from typing import Any

import pytest

from understudy.console.forms import MAX_DEPTH, FormField, body_of

FIELDS = [
    FormField(name="text", kind="text", is_required=True),
    FormField(name="limit", kind="number"),
    FormField(name="answer", kind="json"),
    FormField(name="list", kind="json"),
]


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ({"text": "", "limit": "", "other": "x"}, {"text": ""}),
        ({"limit": "3", "answer": '{"a": true}'}, {"limit": 3, "answer": {"a": True}}),
        ({"answer.kind": "x", "answer.id": "y"}, {"answer": {"kind": "x", "id": "y"}}),
        ({"answer.kind": "", "answer.id": "y"}, {"answer": {"id": "y"}}),
        (
            {"list.0.id": "a", "list.0.reason": "b", "list.10.id": "d", "list.2.id": "c"},
            {"list": [{"id": "a", "reason": "b"}, {"id": "c"}, {"id": "d"}]},
        ),
        (
            {"answer.of.0.chosen.1": "o2", "answer.of.0.chosen.0": "o1"},
            {"answer": {"of": [{"chosen": ["o1", "o2"]}]}},
        ),
        ({"answer": "{}", "answer.id": "y"}, {"answer": {"id": "y"}}),
        ({"answer.id": "y", "answer.id.x": "z"}, {"answer": {"id": {"x": "z"}}}),
        ({"answer.id.x": "z", "answer.id": "y"}, {"answer": {"id": {"x": "z"}}}),
    ],
)
def test_a_body_has_the_fields_of_a_form(form: dict[str, str], body: dict[str, Any]) -> None:
    assert body_of(form, FIELDS) == body


def test_a_name_leads_only_so_far_down() -> None:
    body = body_of({"answer" + ".a" * 5000: "x"}, FIELDS)

    depth = 0
    while isinstance(body, dict):
        body, depth = next(iter(body.values())), depth + 1
    assert depth == MAX_DEPTH + 1
