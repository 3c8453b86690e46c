"""Bodies of operations from the fields of a form."""

from typing import Any

import pytest

from understudy.console.forms import MAX_DEPTH, FormField, body_of, fields_of
from understudy.core.errors import Invalid
from understudy.wire.rollouts import StartTrial
from understudy.wire.skills import UpdateSkill

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


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("report", ["report"]),
        (" report, weekly ,", ["report", "weekly"]),
        ("report\nweekly", ["report", "weekly"]),
        ('["a, b"]', ["a, b"]),
        ("[]", []),
    ],
)
def test_a_list_of_texts_is_typed_as_words(text: str, tags: list[str]) -> None:
    assert body_of({"tags": text}, fields_of(UpdateSkill)) == {"tags": tags}


@pytest.mark.parametrize(
    ("text", "cases"),
    [
        ("run_1\nrun_2", [{"run_id": "run_1"}, {"run_id": "run_2"}]),
        ('[{"run_id": "run_1", "marker": "OK"}]', [{"run_id": "run_1", "marker": "OK"}]),
    ],
)
def test_words_stand_for_objects_that_need_one_field(text: str, cases: list[Any]) -> None:
    assert body_of({"cases": text}, fields_of(StartTrial)) == {"cases": cases}


def test_a_list_that_is_no_json_is_refused_with_its_place() -> None:
    with pytest.raises(Invalid) as refused:
        body_of({"tags": "[broken"}, fields_of(UpdateSkill))

    assert [each.pointer for each in refused.value.errors] == ["/tags"]
