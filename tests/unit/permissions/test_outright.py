"""Tools that are denied whatever they are called with."""

from understudy.permissions.model import Decision, Rule
from understudy.permissions.rules import denied_outright, is_among

RULES = (
    Rule(tool="shell", decision=Decision.DENY),
    Rule(tool="srv/*", decision=Decision.DENY),
    Rule(tool="read_file", decision=Decision.DENY, arguments={"path": "secret/*"}),
    Rule(tool="fetch_url", decision=Decision.ASK),
    Rule(tool="shell", decision=Decision.ALLOW),
    Rule(tool="shell", decision=Decision.DENY, reason="said twice"),
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
