"""Rules are read strictly, and written as they were read."""

from typing import Any

import pytest

from understudy.core.errors import Invalid
from understudy.permissions.decide import why_not
from understudy.permissions.model import CallRule, PermissionDecision
from understudy.permissions.rules import (
    MAX_PATTERN_CHARS,
    MAX_RULES,
    read_document,
    read_rules,
    rule_for_session,
    write_document,
    write_rules,
)

GIT = {"tool": "shell", "arguments": {"command": "git *"}, "decision": "allow", "reason": "safe"}
DENY = {"tool": "*", "decision": "deny"}


def test_a_document_is_written_as_it_was_read() -> None:
    document = {"rules": [GIT, DENY]}

    rules = read_document(document)

    assert rules[0] == CallRule(
        tool="shell",
        decision=PermissionDecision.ALLOW,
        arguments={"command": "git *"},
        reason="safe",
    )
    assert write_document(rules) == document
    assert read_document(write_document(rules)) == rules


@pytest.mark.parametrize("empty", [{}, {"rules": []}])
def test_an_empty_document_holds_no_rules(empty: dict[str, Any]) -> None:
    assert read_document(empty) == ()


def test_what_says_nothing_is_left_out() -> None:
    [rule] = read_rules([{**DENY, "arguments": {}, "reason": "  "}])

    assert write_document([rule]) == {"rules": [DENY]}


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ([], ""),
        ("deny", ""),
        (None, ""),
        ({"rules": {}}, "/rules"),
        ({"rules": None}, "/rules"),
        ({"rules": [], "more": 1}, "/more"),
        ({"rules": ["deny"]}, "/rules/0"),
        ({"rules": [DENY, {}]}, "/rules/1/tool"),
        ({"rules": [{**DENY, "tool": ""}]}, "/rules/0/tool"),
        ({"rules": [{**DENY, "tool": 3}]}, "/rules/0/tool"),
        ({"rules": [{**DENY, "tool": "x" * 201}]}, "/rules/0/tool"),
        ({"rules": [{**DENY, "decision": "maybe"}]}, "/rules/0/decision"),
        ({"rules": [{**DENY, "decision": "DENY"}]}, "/rules/0/decision"),
        ({"rules": [{**DENY, "decision": ["deny"]}]}, "/rules/0/decision"),
        ({"rules": [{**DENY, "reason": 1}]}, "/rules/0/reason"),
        ({"rules": [{**DENY, "reason": "x" * 501}]}, "/rules/0/reason"),
        ({"rules": [{**DENY, "because": "x"}]}, "/rules/0/because"),
        ({"rules": [{**DENY, "a/b~c": "x"}]}, "/rules/0/a~1b~0c"),
        ({"rules": [{**DENY, "arguments": []}]}, "/rules/0/arguments"),
        ({"rules": [{**DENY, "arguments": {"a": 1}}]}, "/rules/0/arguments/a"),
        ({"rules": [{**DENY, "arguments": {"a": None}}]}, "/rules/0/arguments/a"),
        ({"rules": [{**DENY, "arguments": {"": "x"}}]}, "/rules/0/arguments/"),
        ({"rules": [{**DENY, "arguments": {"a..b": "x"}}]}, "/rules/0/arguments/a..b"),
        (
            {"rules": [{**DENY, "arguments": {"a": "x" * (MAX_PATTERN_CHARS + 1)}}]},
            "/rules/0/arguments/a",
        ),
        (
            {"rules": [{**DENY, "arguments": {str(n): "x" for n in range(17)}}]},
            "/rules/0/arguments",
        ),
        ({"rules": [DENY] * (MAX_RULES + 1)}, "/rules"),
    ],
)
def test_a_wrong_document_is_refused_with_the_place(document: object, pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_document(document)

    assert (refused.value.domain, refused.value.code) == ("permissions", "invalid_rule")
    assert refused.value.errors[0].pointer == pointer


def test_the_pointer_begins_where_the_document_does() -> None:
    with pytest.raises(Invalid) as refused:
        read_document({"rules": [{}]}, pointer="/permissions")

    assert {error.pointer for error in refused.value.errors} == {
        "/permissions/rules/0/tool",
        "/permissions/rules/0/decision",
    }


def test_errors_are_bounded() -> None:
    with pytest.raises(Invalid) as refused:
        read_document({"rules": [{}] * MAX_RULES})

    assert len(refused.value.errors) == 20


@pytest.mark.parametrize(
    ("tool", "arguments", "rule"),
    [
        ("write_file", {"path": "a*"}, "allow write_file"),
        ("shell", {"command": "git status | wc -l"}, "allow shell(command=git status | wc -l)"),
        ("shell", {"command": "ls *.py"}, None),
        ("shell", {"command": "ls ?"}, None),
        ("shell", {"command": "ls\nrm x"}, None),
        ("shell", {"command": "x" * 501}, None),
        ("shell", {}, None),
    ],
)
def test_a_command_is_allowed_for_a_session_exactly_or_not_at_all(
    tool: str, arguments: dict[str, str], rule: str | None
) -> None:
    made = rule_for_session(tool, arguments)
    assert (made and str(made)) == rule
    if made is not None:
        assert read_rules(write_rules((made,))) == (made,)
        assert why_not(made, tool, arguments) is None
        assert tool != "shell" or why_not(made, tool, {"command": "rm x"}) is not None
