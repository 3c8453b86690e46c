"""Deny wins, then the most specific, then the nearer, the stricter, the later."""

from typing import Any

import pytest

from understudy.permissions.decide import MAX_TEXT_CHARS, argument_values, decide, spellings
from understudy.permissions.model import (
    CallRule,
    CallVerdict,
    Level,
    PermissionDecision,
    PlacedRule,
)

ALLOW, ASK, DENY = PermissionDecision.ALLOW, PermissionDecision.ASK, PermissionDecision.DENY
DAEMON, AGENT, SESSION = Level.DAEMON, Level.AGENT, Level.SESSION


def placed(
    decision: PermissionDecision,
    tool: str = "*",
    level: Level = SESSION,
    index: int = 0,
    **arguments: str,
) -> PlacedRule:
    rule = CallRule(tool=tool, decision=decision, arguments=arguments)
    return PlacedRule(rule=rule, level=level, index=index)


def judged(
    *rules: PlacedRule, tool: str = "note", default: PermissionDecision = ASK, **arguments: Any
) -> CallVerdict:
    return decide(tool, arguments, rules, default)


@pytest.mark.parametrize("default", [ALLOW, ASK])
def test_without_a_rule_the_tools_own_default_stands(default: PermissionDecision) -> None:
    verdict = judged(placed(DENY, "other"), default=default)

    assert (verdict.decision, verdict.level, verdict.rule) == (default, Level.TOOL, None)
    assert verdict.reason.startswith("no rule matches")


@pytest.mark.parametrize(
    ("winner", "loser"),
    [
        (placed(DENY, "*", DAEMON), placed(ALLOW, "note", SESSION, text="hello")),
        (placed(DENY, "note", DAEMON), placed(DENY, "*", SESSION)),
        (placed(ALLOW, "note", DAEMON), placed(ASK, "no*", SESSION, text="hello")),
        (placed(ALLOW, "not*", DAEMON), placed(ASK, "no*", SESSION)),
        (placed(ALLOW, "n*", DAEMON), placed(ASK, "*", SESSION)),
        (placed(ALLOW, "*o?e", DAEMON), placed(ASK, "*", SESSION)),
        (placed(ALLOW, "*", DAEMON, text="*"), placed(ASK, "*", SESSION)),
        (placed(ALLOW, "*", DAEMON, text="h*"), placed(ASK, "*", SESSION, text="*")),
        (placed(ALLOW, "*", DAEMON, text="*", to="*"), placed(ASK, "*", SESSION, text="hello")),
        (placed(ALLOW, "note", SESSION), placed(ASK, "note", AGENT)),
        (placed(ALLOW, "note", AGENT), placed(ASK, "note", DAEMON)),
        (placed(ASK, "note", AGENT, index=0), placed(ALLOW, "note", AGENT, index=1)),
        (placed(ALLOW, "note", AGENT, index=1), placed(ALLOW, "note", AGENT, index=0)),
    ],
)
def test_one_rule_goes_before_another_in_whatever_order_they_come(
    winner: PlacedRule, loser: PlacedRule
) -> None:
    for rules in ((winner, loser), (loser, winner)):
        verdict = judged(*rules, text="hello", to="you")

        assert verdict.applied == winner
        assert (verdict.decision, verdict.level) == (winner.rule.decision, winner.level)


def test_the_trace_tells_how_every_rule_fared() -> None:
    rules = (placed(ALLOW, "other"), placed(ASK, "note", missing="*"), placed(DENY, text="b*"))

    verdict = judged(*rules, placed(ALLOW), text="a")

    assert [(line.placed, line.matched) for line in verdict.trace] == [
        (rules[0], False),
        (rules[1], False),
        (rules[2], False),
        (placed(ALLOW), True),
    ]
    assert [line.why for line in verdict.trace] == [
        "another tool",
        "the call has no argument missing",
        "text does not match",
        "it matches the call",
    ]


def test_the_reason_names_the_rule_and_repeats_what_it_says() -> None:
    rule = CallRule(tool="sh*", decision=DENY, arguments={"a": "b*"}, reason="not on Fridays")

    verdict = judged(PlacedRule(rule=rule, level=AGENT, index=2), tool="shell", a="b")

    assert verdict.reason == "rule 3 of the agent (deny sh*(a=b*)): not on Fridays"
    assert verdict.rule is rule


@pytest.mark.parametrize(
    ("arguments", "name", "texts"),
    [
        ({"a": "x"}, "a", ["x"]),
        ({"a": ""}, "a", [""]),
        ({"a": {"b": {"c": "x"}}}, "a.b.c", ["x"]),
        ({"a": {"b": "x"}}, "a", ['{"b":"x"}']),
        ({"a": [1, "é", None]}, "a", ['[1,"é",null]']),
        ({"a": True}, "a", ["true"]),
        ({"a": None}, "a", ["null"]),
        ({"a": 1.5}, "a", ["1.5"]),
        ({"a": 1e3}, "a", ["1000.0", "1000"]),
        ({"a": [{"b": -2.0}, 3]}, "a", ['[{"b":-2.0},3]', '[{"b":-2},3]']),
        ({"a": float("inf")}, "a", ["Infinity"]),
        ({"a": "x"}, "b", []),
        ({"a": "x"}, "a.b", []),
        ({"a": ["x"]}, "a.0", []),
        ({"a.b": "x"}, "a.b", ["x"]),
        ({"a.b": "x", "a": {"b": "y"}}, "a.b", ["x", "y"]),
        ({"a": {"b.c": "x", "b": {"c": "y"}}}, "a.b.c", ["x", "y"]),
        ({}, "a", []),
    ],
)
def test_an_argument_is_read_as_text(arguments: dict, name: str, texts: list[str]) -> None:
    found = [text for value in argument_values(arguments, name) for text in spellings(value)]

    assert found == texts


def test_a_name_that_stands_for_two_values_is_allowed_by_both_and_denied_by_either() -> None:
    two = {"a.b": "x", "a": {"b": "y"}}

    def decision(rule: CallRule) -> PermissionDecision:
        placed = PlacedRule(rule=rule, level=Level.SESSION, index=0)
        return decide("note", two, [placed], ASK).decision

    assert decision(CallRule(tool="note", decision=ALLOW, arguments={"a.b": "x"})) is ASK
    assert decision(CallRule(tool="note", decision=ALLOW, arguments={"a.b": "?"})) is ALLOW
    assert decision(CallRule(tool="note", decision=DENY, arguments={"a.b": "y"})) is DENY


def test_a_whole_number_is_found_however_it_is_written() -> None:
    for value in (1000, 1000.0, 1e3):
        assert judged(placed(DENY, amount="1000"), amount=value).decision is DENY
        assert judged(placed(ALLOW, amount="1000"), amount=value).decision is ALLOW


def test_nested_arguments_do_not_exhaust_the_stack() -> None:
    deep: object = 1.0
    for _ in range(300):
        deep = [deep]

    assert judged(placed(DENY, a="[[*"), a=deep).decision is DENY


def test_an_argument_that_is_missing_never_matches() -> None:
    assert judged(placed(DENY, text="*")).decision is ASK


def test_what_is_too_long_to_search_is_never_allowed_and_always_denied() -> None:
    long = "a" * (MAX_TEXT_CHARS + 1)

    assert judged(placed(ALLOW, text="*"), text=long).level is Level.TOOL
    assert judged(placed(ASK, text="zzz"), text=long, default=ALLOW).decision is ASK
    assert judged(placed(DENY, text="zzz"), text=long).decision is DENY
