"""`understudy connect` and `disconnect`: what they write, and that nothing else is left of it."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.connecting import Person, needs_curl
from tests.support.daemon import DaemonProcess

pytestmark = pytest.mark.e2e

TOOLS = ("claude-code", "codex")
HOOKS = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
CONFIG = 'model = "o9"  # by hand\r\n[mcp_servers.other]\r\ncommand = "other"'


@pytest.fixture
def ann(tmp_path: Path) -> Iterator[Person]:
    """Somebody who has settings of Codex already."""
    with DaemonProcess(tmp_path / "home") as daemon:
        person = Person(tmp_path / "ann", daemon)
        (person.home / ".codex").mkdir()
        (person.home / ".codex/hooks.json").write_text(json.dumps(HOOKS))
        (person.home / ".codex/config.toml").write_bytes(CONFIG.encode())
        (person.home / ".codex/config.toml").chmod(0o644)
        yield person


@pytest.mark.parametrize("tool", TOOLS)
def test_without_write_it_shows_the_files_and_changes_nothing(ann: Person, tool: str) -> None:
    before = ann.files()
    shown = ann.understudy("connect", tool).stdout
    planned = ann.understudy.json("connect", tool)

    assert '+            "command": "curl' in shown
    assert f"/v1/hooks/{tool}" in shown
    assert not planned["written"]
    assert {each["action"] for each in planned["files"]} <= {"create", "change"}
    assert ann.files() == before
    assert ann.understudy.json("tokens", "list")["items"] == []
    assert "nothing is connected" in ann.understudy("connect", "status").stderr


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("in_project", [False, True], ids=["everywhere", "project"])
def test_disconnect_leaves_every_file_as_it_was(ann: Person, tool: str, in_project: bool) -> None:
    before, of_daemon = ann.files(), {each.name for each in ann.daemon.home.iterdir()}
    where = ("--project", str(ann.project)) if in_project else ()

    ann.connect(tool, *where)
    assert ann.files() != before
    ann.connect(tool, *where)
    shown = ann.understudy("disconnect", tool, *where).stdout
    assert "und_" not in shown.replace("und_…", "")
    assert ann.files() != before
    ann.understudy("disconnect", tool, *where, "--write")

    assert ann.files() == before
    assert {each.name for each in ann.daemon.home.iterdir()} - of_daemon == {"admin-token"}
    assert [it["role"] for it in ann.understudy.json("tokens", "list")["items"]] == ["admin"]


def test_settings_that_were_there_stay_beside_ours(ann: Person) -> None:
    ann.connect("codex")

    hooks = json.loads((ann.home / ".codex/hooks.json").read_text())["hooks"]
    assert hooks["Stop"][0] == HOOKS["hooks"]["Stop"][0]
    assert "PostToolUseFailure" not in hooks
    config = ann.home / ".codex/config.toml"
    servers = tomllib.loads(config.read_text())["mcp_servers"]
    assert servers["understudy"]["url"] == f"{ann.daemon.url}/mcp"
    assert servers["other"] == {"command": "other"}
    assert config.stat().st_mode & 0o777 == 0o600


def test_what_a_person_changed_since_is_kept(ann: Person) -> None:
    ann.connect("codex")
    config, hooks = (ann.home / ".codex" / name for name in ("config.toml", "hooks.json"))
    config.write_bytes(config.read_bytes() + b"[features]\nhooks = true\n")
    document = json.loads(hooks.read_text())
    document["hooks"]["PreCompact"] = []
    hooks.write_text(json.dumps(document))
    assert "have changed" not in ann.understudy("connect", "status").stdout
    ann.understudy("disconnect", "codex", "--write")

    assert config.read_bytes() == f"{CONFIG}\n[features]\nhooks = true\n".encode()
    assert json.loads(hooks.read_text()) == HOOKS


def test_the_first_connection_ends_the_mode_without_tokens(ann: Person) -> None:
    told = ann.connect("claude-code")

    assert f"{ann.daemon.url}/signin/" in told
    assert ann.daemon.request("GET", "/v1/status").status_code == 200
    header = (ann.daemon.home / "clients/claude-code").read_text().strip()
    of_tool = dict([header.split(": ", 1)])
    learning = {"content": "Deploy on Mondays", "kind": "fact"}
    ann.daemon.token = None
    for headers in ({}, of_tool):
        refused = ann.daemon.request("POST", "/v1/learnings", json=learning, headers=headers)
        assert refused.status_code == (403 if headers else 401)
    event = {"hook_event_name": "Stop", "session_id": "talk"}
    reported = ann.daemon.request("POST", "/v1/hooks/codex", json=event, headers=of_tool)
    assert reported.json() == {}


@needs_curl
@pytest.mark.parametrize("tool", TOOLS)
def test_the_hooks_bring_learnings_hold_writes_and_never_stand_in_the_way(
    ann: Person, tool: str
) -> None:
    ann.connect(tool)
    ann.understudy("learn", "Answer in short sentences", "--always")
    no_event = ann.understudy("connect", "status").stdout
    started = ann.report(tool, "SessionStart", source="startup")
    write = {"tool_name": "Write", "tool_input": {"file_path": "MEMORY.md", "content": "- tabs\n"}}
    held = ann.report(tool, "PreToolUse", cwd=str(ann.project), **write)

    assert "no event" in no_event
    assert "short sentences" in started["hookSpecificOutput"]["additionalContext"]
    assert held["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "1 conversation " in ann.understudy("connect", "status").stdout
    checks = ann.understudy.json("doctor")["checks"]
    assert [it["severity"] for it in checks if it["code"] == "client"] == ["info"]
    (item,) = ann.understudy.json("inbox", "--kind", "soul_proposal")["items"]
    ann.understudy("agents", "proposals", "approve", tool, item["id"])
    assert (ann.project / "MEMORY.md").read_text() == "- tabs\n"
    assert ann.report(tool, "PreToolUse", cwd=str(ann.project), **write) == {}
    ann.daemon.kill()
    assert ann.report(tool, "PreToolUse", cwd=str(ann.project), **write) is None
    assert "+- tabs" not in ann.understudy("connect", "status", code=5).stdout


def test_a_connection_whose_files_are_gone_is_reported(ann: Person) -> None:
    ann.connect("claude-code")
    (ann.home / ".claude/skills/understudy/hooks/hooks.json").unlink()

    assert "have changed" in ann.understudy("connect", "status").stdout
    checks = ann.understudy.json("doctor")["checks"]
    (check,) = [it for it in checks if it["code"] == "client"]
    assert "connect claude-code --write" in check["fix"]


def test_a_server_that_two_projects_share_is_brought_back(ann: Person) -> None:
    other, config = ann.home / "other", ann.home / ".codex/config.toml"
    other.mkdir()
    for project in (ann.project, other):
        ann.connect("codex", "--project", str(project))

    gone = ("disconnect", "codex", "--project", str(ann.project), "--write")
    told = ann.understudy(*gone).stderr
    assert config.read_bytes() == CONFIG.encode()
    assert f"connect codex --project {other} --write" in told
    ann.connect("codex", "--project", str(other))

    assert "understudy" in tomllib.loads(config.read_text())["mcp_servers"]


def test_a_tool_is_not_connected_twice(ann: Person) -> None:
    ann.connect("codex")

    said = ann.understudy("connect", "codex", "--project", str(ann.project), code=4).stderr
    assert "disconnect codex --write" in said
    assert "is not connected" in ann.understudy("disconnect", "claude-code", code=4).stderr
    ann.understudy("connect", "codex", "--project", str(ann.home / "nowhere"), code=2)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hooks.json", "{"),
        ("hooks.json", '{"hooks": []}'),
        ("config.toml", "["),
        ("config.toml", '[mcp_servers.understudy]\nurl = "x"\n'),
    ],
)
def test_a_file_that_cannot_be_changed_is_named_and_nothing_is_written(
    ann: Person, name: str, text: str
) -> None:
    ann.connect("claude-code")
    (ann.home / ".codex" / name).write_text(text)
    before = ann.files()

    assert name in ann.understudy("connect", "codex", "--write", code=4).stderr
    assert ann.files() == before
    assert len(ann.understudy.json("tokens", "list")["items"]) == 2


def test_without_a_daemon_nothing_is_written(ann: Person) -> None:
    ann.daemon.kill()
    before = ann.files()

    ann.understudy("connect", "claude-code", "--write", code=5)
    ann.understudy("connect", "claude-code")
    assert ann.files() == before
