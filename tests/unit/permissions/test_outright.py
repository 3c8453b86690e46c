"""Tools that are denied whatever they are called with."""

from understudy.permissions.model import CallRule, PermissionDecision
from understudy.permissions.rules import denied_outright, is_among

RULES = (
    CallRule(tool="shell", decision=PermissionDecision.DENY),
    CallRule(tool="srv/*", decision=PermissionDecision.DENY),
    CallRule(tool="read_file", decision=PermissionDecision.DENY, arguments={"path": "secret/*"}),
    CallRule(tool="fetch_url", decision=PermissionDecision.ASK),
    CallRule(tool="shell", decision=PermissionDecision.ALLOW),
    CallRule(tool="shell", decision=PermissionDecision.DENY, reason="said twice"),
)


def test_only_what_is_denied_for_every_argument_is_denied_outright() -> None:
    assert denied_outright(RULES) == ("shell", "srv/*")
    assert denied_outright(()) == ()


def test_patterns_are_about_the_tools_that_they_match() -> None:
    tools = ("shell", "srv/write", "read_file", "fetch_url", "shellfish")
    assert [tool for tool in tools if is_among(denied_outright(RULES), tool)] == [
        "shell",
        "srv/write",
    ]
