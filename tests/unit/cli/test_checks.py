"""What doctor makes of what it finds."""

from dataclasses import replace
from typing import Any

import pytest

from understudy.cli.checks import Check, Findings, Home, examine, is_ok

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


def test_a_check_without_a_fix_has_none_in_json() -> None:
    assert Check(code="c", severity="info", message="m").to_json() == {
        "code": "c",
        "severity": "info",
        "message": "m",
    }
