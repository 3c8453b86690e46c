"""Documents in a form: fields by the schema, and the text with what a form changed."""

from typing import Any

import pytest

from understudy.console.documents import (
    merged,
    moved,
    part_of,
    toggled,
    with_item,
    without,
)
from understudy.review.policy import LEARNING_POLICY
from understudy.wire.policies import policy_schema

SCHEMA: Any = policy_schema(LEARNING_POLICY)["anyOf"][0]["properties"]["policy"]
RULES = "/publication/rules"
FACTS = {"action": "publish_active", "name": "facts", "kind": "fact"}
REST = {"action": "reject"}


def policy(**publication: Any) -> dict[str, Any]:
    return {"mode": "shadow", "publication": publication}


def test_every_value_of_a_policy_has_a_field() -> None:
    whole = LEARNING_POLICY.to_json(LEARNING_POLICY.default)

    fields = {field.pointer: field for field in part_of(SCHEMA, whole).every_field()}

    assert set(fields["/mode"].choices) == {"enabled", "manual_only", "shadow"}
    assert fields["/mode"].value == "shadow"
    assert fields["/judge/enabled"].kind == "flag"
    assert fields["/retrieval/relevance_floor"].value == "0.38"
    assert fields["/publication/quarantined_rule_names"].kind == "lines"
    assert "publish_active" not in fields["/publication/default_action"].choices


@pytest.mark.parametrize(
    ("pointer", "text", "path", "value"),
    [
        ("/mode", "enabled", ("mode",), "enabled"),
        ("/judge/enabled", "true", ("judge", "enabled"), True),
        ("/retrieval/relevance_floor", "0.5", ("retrieval", "relevance_floor"), 0.5),
        ("/retrieval/max_standing_entries", "x", ("retrieval", "max_standing_entries"), "x"),
        (f"{RULES}/0/min_confidence", "90", ("publication", "rules", 0, "min_confidence"), 90),
        (
            "/publication/quarantined_rule_names",
            "a\n\n b ",
            ("publication", "quarantined_rule_names"),
            ["a", "b"],
        ),
    ],
)
def test_a_changed_field_is_set_in_the_text(
    pointer: str, text: str, path: tuple[str | int, ...], value: object
) -> None:
    base = policy(rules=[FACTS])

    made: Any = merged(base, base, {pointer: text}, SCHEMA)

    for name in path:
        made = made[name]
    assert made == value


def test_the_text_counts_where_no_field_was_changed() -> None:
    base = policy(rules=[FACTS])
    text = {**base, "mode": "enabled"}

    made = merged(text, base, {"/mode": "shadow", f"{RULES}/0/name": "sure"}, SCHEMA)

    assert made == {"mode": "enabled", "publication": {"rules": [{**FACTS, "name": "sure"}]}}


def test_an_emptied_field_is_taken_out() -> None:
    base = policy(rules=[FACTS])

    made: Any = merged(base, base, {f"{RULES}/0/kind": ""}, SCHEMA)

    assert made["publication"]["rules"] == [{"action": "publish_active", "name": "facts"}]


def test_a_field_of_a_rule_that_is_gone_changes_nothing() -> None:
    base = policy(rules=[FACTS])

    made = merged(policy(rules=[]), base, {f"{RULES}/0/name": "sure"}, SCHEMA)

    assert made == policy(rules=[])


@pytest.mark.parametrize(
    ("at", "by", "names"),
    [("1", -1, ["b", "a"]), ("0", 1, ["b", "a"]), ("0", -1, ["a", "b"]), ("9", 1, ["a", "b"])],
)
def test_rules_are_moved(at: str, by: int, names: list[str]) -> None:
    base = policy(rules=[{"name": "a"}, {"name": "b"}])

    made: Any = moved(base, f"{RULES}/{at}", by)

    assert [rule["name"] for rule in made["publication"]["rules"]] == names


def test_a_rule_is_added_and_removed() -> None:
    more: Any = with_item({"mode": "shadow"}, RULES, SCHEMA)

    assert list(more["publication"]["rules"][0]) == ["action"]
    assert without(more, f"{RULES}/0") == policy(rules=[])


def test_a_name_is_put_on_a_list_and_taken_off() -> None:
    pointer = "/publication/quarantined_rule_names"
    once: Any = toggled(policy(), pointer, "facts")

    assert once["publication"]["quarantined_rule_names"] == ["facts"]
    assert toggled(once, pointer, "facts") == policy(quarantined_rule_names=[])


@pytest.mark.parametrize(
    "document", [[], None, 3, {"publication": 1}, {"publication": {"rules": 2}}]
)
def test_a_document_of_another_shape_is_no_failure(document: object) -> None:
    assert part_of(SCHEMA, document).name == ""
    assert moved(document, f"{RULES}/0", 1) == document
    assert without(document, f"{RULES}/0") == document
    merged(document, document, {"/mode": "enabled"}, SCHEMA)
    with_item(document, RULES, SCHEMA)


@pytest.mark.parametrize("pointer", ["", "/x/y", f"{RULES}/0/name/x", f"{RULES}/{'9' * 5_000}/x"])
def test_a_pointer_that_leads_nowhere_is_no_failure(pointer: str) -> None:
    document = policy(rules=[{"name": "a"}])

    with_item(document, pointer, SCHEMA)
    assert moved(document, pointer, 1) == document
    assert without(document, pointer) == document
