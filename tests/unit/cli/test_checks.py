"""What doctor makes of what it finds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from understudy.cli.doctor import Check, Findings, Home, examine, is_ok, local_home

REAL = {"route_id": "openai", "provider": "openai", "ready": True, "default": True}
OFFLINE = {"route_id": "scripted", "provider": "scripted", "ready": True, "default": True}
STATUS: dict[str, Any] = {
    "version": "1.0",
    "storage": {"kind": "sqlite"},
    "health": {"warnings": []},
}
WELL = Findings(
    url="http://127.0.0.1:4600",
    client_version="1.0",
    has_token=True,
    ready=True,
    status=STATUS,
    routes=[REAL],
    home=Home(path="/home/u", mode=0o700, free_bytes=10**12),
)


def find(found: Findings, code: str) -> Check:
    (check,) = [check for check in examine(found) if check.code == code]
    return check


def test_all_is_well() -> None:
    checks = examine(WELL)

    assert {check.severity for check in checks} == {"info"}
    assert is_ok(checks)
    assert {check.code for check in checks} == {
        "daemon", "readiness", "auth", "version", "database", "routes", "home", "disk",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("found", "code", "severity"),
    [
        (Findings(url="http://x", client_version="1", unreachable="refused"), "daemon", "error"),
        (replace(WELL, ready=False), "readiness", "error"),
        (replace(WELL, status=None, refused=(401, "a token is needed")), "auth", "error"),
        (replace(WELL, status=None, refused=(500, "oops")), "status", "error"),
        (replace(WELL, has_token=False), "no_token", "warning"),
        (replace(WELL, client_version="2.0"), "version", "warning"),
        (replace(WELL, routes=[OFFLINE]), "routes", "warning"),
        (replace(WELL, routes=[{**REAL, "ready": False, "reason": "no key"}]), "routes", "error"),
        (replace(WELL, home=Home(path="/h", mode=0o755, free_bytes=10**12)), "home", "warning"),
        (replace(WELL, home=Home(path="/h", mode=0o700, free_bytes=1)), "disk", "warning"),
    ],
)
def test_what_is_not_well_says_how_to_mend_it(found: Findings, code: str, severity: str) -> None:
    check = find(found, code)

    assert check.severity == severity
    assert check.fix
    assert is_ok(examine(found)) == (severity != "error")


def test_the_offline_route_names_the_key_to_set() -> None:
    assert "OPENAI_API_KEY" in (find(replace(WELL, routes=[OFFLINE]), "routes").fix or "")


def test_a_route_that_is_not_the_default_only_warns() -> None:
    other = {"route_id": "b", "provider": "openai", "ready": False, "default": False}
    severities = [
        check.severity
        for check in examine(replace(WELL, routes=[REAL, other]))
        if check.code == "routes"
    ]

    assert severities == ["warning", "info"]


def test_the_daemons_own_warnings_are_passed_on_with_a_fix() -> None:
    warnings = [
        {"severity": "warning", "code": "stale_records", "message": "3 are stale"},
        {"severity": "error", "code": "disk_low", "message": "low", "action": "free some space"},
        {"severity": "warning", "code": "route_not_ready", "message": "said by another rule"},
    ]
    found = replace(WELL, status={**STATUS, "health": {"warnings": warnings}})

    assert find(found, "stale_records").fix
    assert find(found, "disk_low").fix == "free some space"
    assert not is_ok(examine(found))
    assert "route_not_ready" not in {check.code for check in examine(found)}


def test_something_that_is_no_daemon_is_not_said_to_be_starting() -> None:
    found = replace(WELL, ready=False, status=None, refused=(404, "is that a daemon?"))

    assert [check.code for check in examine(found) if check.severity == "error"] == ["status"]


def test_an_open_daemon_says_how_to_make_the_first_token() -> None:
    assert "--role admin" in (find(replace(WELL, has_token=False), "no_token").fix or "")
    assert "no_token" not in {check.code for check in examine(WELL)}


def test_nothing_is_said_of_tokens_when_the_daemon_refuses() -> None:
    shut = replace(WELL, has_token=False, status=None, refused=(401, "a bearer token is needed"))

    assert "no_token" not in {check.code for check in examine(shut)}


def test_a_lost_admin_token_can_be_replaced() -> None:
    locked = replace(WELL, status=None, refused=(401, "a bearer token is needed"))

    assert "UNDERSTUDY_ADMIN_TOKEN" in (find(locked, "auth").fix or "")


@pytest.mark.parametrize(
    ("url", "is_ours"),
    [
        ("http://127.0.0.1:4711", True),
        ("http://localhost:4711", True),
        ("http://127.0.0.1:4600", False),
        ("https://daemon.test:4711", False),
        ("http://[::1", False),
        ("http://localhost:none", False),
    ],
)
def test_the_home_that_is_looked_at_is_that_of_the_daemon_asked(
    url: str, is_ours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERSTUDY_HOME", str(tmp_path))
    monkeypatch.setenv("UNDERSTUDY_BIND", "127.0.0.1:4711")

    home = local_home(url)

    assert (home is not None) == is_ours


def test_a_check_without_a_fix_has_none_in_json() -> None:
    assert Check(code="c", severity="info", message="m").to_json() == {
        "code": "c",
        "severity": "info",
        "message": "m",
    }


@pytest.mark.parametrize(("source", "is_told"), [("default", True), ("known", False)])
def test_a_window_that_is_only_assumed_is_told(source: str, is_told: bool) -> None:
    route = {**REAL, "model": "mine", "context_window": 128_000, "context_window_source": source}

    found = [it for it in examine(replace(WELL, routes=[route])) if it.code == "context_window"]

    assert bool(found) == is_told
    for check in found:
        assert check.severity == "info"
        assert "'mine'" in check.message
        assert "128,000" in check.message
        assert "context_window" in (check.fix or "")


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        ("run_memory_repaired", "info"),
        ("run_memory_maintenance_failed", "warning"),
        ("run_memory_maintenance_failed", "error"),
    ],
)
def test_the_upkeep_of_run_memories_is_one_check(code: str, severity: str) -> None:
    warning = {"code": code, "severity": severity, "message": "words", "action": "do it"}
    status = {**STATUS, "run_memory": {}, "health": {"warnings": [warning]}}

    found = replace(WELL, status=status)

    check = find(found, "run_memory_maintenance")
    fix = None if severity == "info" else "do it"
    assert (check.severity, check.message, check.fix) == (severity, "words", fix)
    assert code not in {each.code for each in examine(found)}
    assert is_ok(examine(found)) is (severity != "error")


def test_run_memories_in_good_order_are_told_of_too() -> None:
    found = replace(WELL, status={**STATUS, "run_memory": {}})

    assert find(found, "run_memory_maintenance").severity == "info"


def test_the_learning_plane_is_told_of_in_one_line() -> None:
    learning = {
        "mode": "enabled",
        "candidates": {"pending": 2, "escalated": 1, "published": 9},
        "learnings": {"active": 5, "provisional": 1},
    }
    found = replace(WELL, status={**STATUS, "learning": learning})

    check = find(found, "learning")

    assert check.severity == "info"
    assert check.message == (
        "mode enabled; 3 candidates to review (1 escalated); 5 active and 1 provisional learnings"
    )


def test_connections_are_counted_unless_the_daemon_warns_of_them() -> None:
    load = {"daemons": 2, "of_each": 35, "room": 97, "max_connections": 100}
    storage = {"kind": "postgresql", "connections": load}
    scarce = {"severity": "warning", "code": "connections_scarce", "message": "m", "action": "a"}

    well = replace(WELL, status={**STATUS, "storage": storage})
    warned = replace(WELL, status={**STATUS, "storage": storage, "health": {"warnings": [scarce]}})

    assert find(well, "connections").message == "2 daemons may open 70 of 97 connections"
    assert find(warned, "connections_scarce").fix == "a"
    assert not [check for check in examine(warned) if check.code == "connections"]
