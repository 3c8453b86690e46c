"""Commands that are never run: the examples of the table, and how one is opened."""

import pytest

from tests.support.tables import every_row
from understudy.permissions.decide import decide
from understudy.permissions.destructive import DestructiveRule, destruction, destructive_rules
from understudy.permissions.model import CallRule, Level, PermissionDecision, PlacedRule

RULES = destructive_rules()
REJECTED = [text for rule in RULES for text in rule.rejects]


def placed(pattern: str | None, decision: str = "allow") -> PlacedRule:
    arguments = {} if pattern is None else {"command": pattern}
    rule = CallRule(tool="shell", decision=PermissionDecision(decision), arguments=arguments)
    return PlacedRule(rule=rule, level=Level.DAEMON, index=0)


@every_row(("rule", "text"), [(rule, text) for rule in RULES for text in rule.matches])
def test_each_example_is_refused_for_its_reason(rule: DestructiveRule, text: str) -> None:
    found = destruction(text)
    assert found is not None
    assert found.reason == rule.reason


@every_row("text", REJECTED)
def test_what_only_looks_like_it_is_not_refused(text: str) -> None:
    assert destruction(text) is None


@pytest.mark.parametrize("rule", [placed(None), placed("*"), placed("rm *"), placed("rm -rf /?")])
def test_a_wildcard_does_not_open_it(rule: PlacedRule) -> None:
    verdict = decide("shell", {"command": "rm -rf /*"}, [rule], PermissionDecision.ASK)
    assert verdict.decision is PermissionDecision.DENY
    assert "remove the whole system" in verdict.reason
    assert "without wildcards" in verdict.reason


def test_a_rule_that_spells_it_out_opens_it() -> None:
    call = {"command": "mkfs.ext4 /dev/sdz1"}
    verdict = decide("shell", call, [placed("mkfs.ext4 /dev/sdz1")], PermissionDecision.ASK)
    assert verdict.decision is PermissionDecision.ALLOW
    others = decide("shell", call, [placed("mkfs.ext4 /dev/sdy1")], PermissionDecision.ASK)
    assert others.decision is PermissionDecision.DENY


def test_a_deny_rule_speaks_for_itself() -> None:
    verdict = decide(
        "shell", {"command": "rm -rf /"}, [placed("rm *", "deny")], PermissionDecision.ASK
    )
    assert verdict.applied is not None


def test_other_tools_and_commands_are_decided_as_before() -> None:
    for tool, arguments in (("shell", {"command": "ls"}), ("notes", {"command": "rm -rf /"})):
        verdict = decide(tool, arguments, [], PermissionDecision.ASK)
        assert verdict.decision is PermissionDecision.ASK
