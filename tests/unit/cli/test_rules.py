"""Permission rules as people type them."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from understudy.cli import permissions
from understudy.wire.permissions import PermissionRule

NONE: dict[str, Any] = {"allow": None, "ask": None, "deny": None, "file": None}


def as_json(rules: list[PermissionRule]) -> list[dict]:
    return [rule.model_dump(mode="json", exclude_unset=True) for rule in rules]


def test_a_rule_is_a_tool_and_perhaps_a_pattern_for_an_argument() -> None:
    typed = permissions.typed_rules(
        allow=["shell command=git log --format=%h *"],
        ask=["read_*"],
        deny=[" write_file  path = x "],
        file=None,
    )

    assert as_json(typed) == [
        {
            "tool": "shell",
            "decision": "allow",
            "arguments": {"command": "git log --format=%h *"},
        },
        {"tool": "read_*", "decision": "ask"},
        {"tool": "write_file", "decision": "deny", "arguments": {"path": " x"}},
    ]


@pytest.mark.parametrize("text", ["shell command", "shell =x"])
def test_a_pattern_without_an_argument_is_a_usage_error(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        permissions.typed_rules(**{**NONE, "allow": [text]})


@pytest.mark.parametrize(
    "given", [{}, {"allow": ["a"], "clear": True}, {"file": Path("x"), "clear": True}]
)
def test_rules_come_from_one_place(given: dict) -> None:
    with pytest.raises(typer.BadParameter):
        permissions.typed_rules(**{**NONE, **given})


@pytest.mark.parametrize("wrap", [False, True])
def test_rules_are_read_from_a_file(tmp_path: Path, wrap: bool) -> None:
    kept = [{"tool": "*", "decision": "ask"}]
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"rules": kept} if wrap else kept))

    assert as_json(permissions.typed_rules(**{**NONE, "file": file})) == kept


@pytest.mark.parametrize("content", ["{", '"x"', '{"rules": {}}', "3"])
def test_a_file_without_rules_is_a_usage_error(tmp_path: Path, content: str) -> None:
    file = tmp_path / "rules.json"
    file.write_text(content)

    with pytest.raises(typer.BadParameter):
        permissions.typed_rules(**{**NONE, "file": file})


def test_no_rules_are_said_so() -> None:
    assert permissions.typed_rules(**{**NONE, "clear": True}) == []
