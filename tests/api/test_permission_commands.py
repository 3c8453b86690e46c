"""`understudy permissions`, `sessions permissions` and `tools check` against a daemon."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.live import Live
from tests.support.command_line_in_process import typed
from understudy.client import Client
from understudy.permissions.model import PermissionDecision
from understudy.wire.permissions import PermissionRule


@pytest.fixture
def configured(live: Live) -> Iterator[Live]:
    """A daemon without rules, and the session s1."""
    live.session("s1")
    live.ok("PUT", "/v1/permissions", {"rules": []})
    live.ok("DELETE", "/v1/sessions/s1/permissions")
    yield live
    live.ok("PUT", "/v1/permissions", {"rules": []})


def run(live: Live, *line: str, exit_code: int = 0) -> str:
    url = str(live.client.base_url)
    result = typed("--url", url, *line)
    assert result.exit_code == exit_code, result.output
    return result.stdout


def test_rules_of_the_daemon_are_set_and_shown(configured: Live, tmp_path: Path) -> None:
    assert "No rules" in run(configured, "permissions", "show")

    shown = run(
        configured, "permissions", "set", "--deny", "write_file path=x/*", "--ask", "read_*"
    )

    assert "path=x/*" in shown
    assert run(configured, "permissions", "show") == shown
    answer = json.loads(run(configured, "permissions", "show", "--json"))
    assert [rule["decision"] for rule in answer["rules"]] == ["ask", "deny"]
    file = tmp_path / "rules.json"
    file.write_text('{"rules": [{"tool": "*", "decision": "deny"}]}')
    stale = ("--expected-revision", str(answer["revision"] - 1))
    run(configured, "permissions", "set", "--file", str(file), *stale, exit_code=4)
    assert "deny" in run(configured, "permissions", "set", "--file", str(file))
    assert "No rules" in run(configured, "permissions", "set", "--clear")
    run(configured, "permissions", "set", exit_code=2)


def test_rules_of_a_session_are_set_shown_and_cleared(configured: Live) -> None:
    of_session = ("sessions", "permissions")
    assert "no rules" in run(configured, *of_session, "show", "s1")

    shown = run(configured, *of_session, "set", "s1", "--ask", "read_file")

    assert "read_file" in shown
    assert run(configured, *of_session, "show", "s1") == shown
    assert "no rules" in run(configured, *of_session, "clear", "s1")
    run(configured, *of_session, "show", "nobody", exit_code=3)


def test_a_check_says_what_would_happen_and_why(configured: Live) -> None:
    run(configured, "sessions", "permissions", "set", "s1", "--deny", "write_file path=x/*")
    call = ("--arguments", '{"path": "x/y", "content": ""}', "--session", "s1")

    said = run(configured, "tools", "check", "write_file", *call)

    assert "deny" in said
    assert "rule 1 of the session" in said
    assert "it matches the call" in said
    answer = json.loads(run(configured, "tools", "check", "write_file", *call, "--json"))
    assert (answer["decision"], answer["level"]) == ("deny", "session")
    run(configured, "tools", "check", "nothing", exit_code=3)
    run(configured, "tools", "check", "read_file", "--arguments", "[]", exit_code=2)


def test_the_tools_of_a_session_are_listed_with_what_gates_them(configured: Live) -> None:
    run(configured, "sessions", "permissions", "set", "s1", "--ask", "write_file path=x/*")

    listed = run(configured, "tools", "list", "--session", "s1")

    assert "allow *" in next(line for line in listed.splitlines() if "write_file" in line)
    assert "write_file" in run(configured, "tools", "list")


def test_the_client_knows_rules_and_checks(configured: Live) -> None:
    with Client(str(configured.client.base_url)) as client:
        rule = PermissionRule(tool="read_file", decision=PermissionDecision.ASK)
        assert client.permissions.set([rule]).rules[0].decision == "ask"
        assert client.permissions.get().rules[0].tool == "read_file"
        assert client.permissions.set_of_session("s1", [rule]).rules[0].arguments == {}
        assert client.permissions.of_session("s1").inherited == []
        assert client.tools.check("read_file", session_id="s1").level == "session"
        page = client.tools.in_session_page("s1", limit=200)
        assert {tool.name: tool.decision for tool in page.items}["read_file"] == "ask"
        assert client.permissions.clear_of_session("s1").rules == []


def test_rules_are_added_and_removed_and_a_replacement_says_what_it_drops(configured: Live) -> None:
    run(configured, "permissions", "add", "--deny", "shell command=rm *")
    shown = run(configured, "permissions", "add", "--allow", "read_*")
    assert "command=rm *" in shown
    assert "read_*" in shown

    removed = run(configured, "permissions", "remove", "--allow", "read_*")
    assert "read_*" not in removed
    assert "command=rm *" in removed

    url = str(configured.client.base_url)
    replaced = typed("--url", url, "permissions", "set", "--ask", "write_*")
    assert "1 rule dropped: deny shell" in replaced.stderr
    assert "No rules" in run(configured, "permissions", "remove", "1")
    run(configured, "permissions", "remove", "1", exit_code=2)


def test_a_rule_about_an_argument_that_the_tool_does_not_have_is_refused(configured: Live) -> None:
    url = str(configured.client.base_url)
    for verb in ("set", "add"):
        done = typed("--url", url, "permissions", verb, "--allow", "shell command2=ls")
        assert done.exit_code == 2
        assert "did you mean 'command'?" in done.stderr
    assert "No rules" in run(configured, "permissions", "show")
