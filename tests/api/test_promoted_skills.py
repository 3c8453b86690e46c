"""Promoted skills over HTTP: in lists of skills, in sessions, in searches, and in the status."""

import io
import zipfile
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.test_resources import ok, refused
from tests.api.test_rollouts import (
    NAME,
    ONE,
    bring_into_force,
    learned,
    promote,
    ran,
    shown,
)
from tests.support.daemon import wait_for
from understudy.daemon.wiring import Daemon

SKILL = f"/v1/skills/{NAME}"


@pytest.fixture
def sessions(api: TestClient) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    denied = {"session_id": "denied", "capability_scope": {"skill_deny": [NAME]}}
    ok(api, "POST", "/v1/sessions", denied)


def seen(api: TestClient, session: str = "s1") -> list[bool]:
    """In which of the lists it is: of all skills, of a session, of what a session finds."""
    everywhere = ok(api, "GET", "/v1/skills?origin=promoted")["items"]
    here = ok(api, "GET", f"/v1/sessions/{session}/skills")["items"]
    found = ok(api, "GET", f"/v1/sessions/{session}/memory-search?query=procedure")["results"]
    return [
        NAME in {it["slug"] for it in everywhere},
        NAME in {it["slug"] for it in here},
        f"promoted:{NAME}" in {it["source_id"] for it in found},
    ]


@pytest.mark.usefixtures("sessions")
def test_only_an_active_skill_is_seen(daemon: Daemon, api: TestClient) -> None:
    learning_id = learned(api)
    promote(api, learning_id)
    assert seen(api) == [False, False, False]
    assert refused(api, "GET", SKILL) == (404, "skills/skill_not_found")

    record = bring_into_force(daemon, api, learning_id)
    assert seen(api) == [True, True, True]
    assert seen(api, "denied") == [True, False, False]
    found = ok(api, "GET", SKILL)
    assert found["instructions"].strip() == record["instructions"]
    assert (found["origin"], found["actions"]) == ("promoted", [])
    assert (found["digest"], found["runtime"]) == (record["digest"], record["runtime"])
    assert found["path"] == record["skill_path"].removesuffix("/SKILL.md")
    assert {name: found[name] for name in ("skill_path", "skill_root")} == {
        name: record[name] for name in ("skill_path", "skill_root")
    }

    ok(api, "POST", f"{ONE}/revoke", {"reason": "enough"})
    assert seen(api) == [False, False, False]
    assert refused(api, "GET", SKILL) == (404, "skills/skill_not_found")


def test_it_is_changed_through_its_rollout_alone(daemon: Daemon, api: TestClient) -> None:
    bring_into_force(daemon, api, learned(api))
    skill_id = ok(api, "GET", SKILL)["id"]

    answer = refused(api, "DELETE", f"/v1/skills/{skill_id}")

    assert answer == (403, "skills/skill_is_promoted")


def test_what_the_guard_finds_is_told_by_field(api: TestClient) -> None:
    harmful = "rm -" + "rf /"
    path = f"/v1/learnings/{learned(api)}/promote-skill"
    body = {"skill_name": NAME, "instructions": f"```\n{harmful}\n```"}

    assert refused(api, "POST", path, body) == (422, "rollout/unsafe_definition")
    errors = api.post(path, json=body).json()["errors"]
    assert {it["pointer"] for it in errors} == {"/instructions"}
    assert refused(api, "GET", ONE) == (404, "rollout/rollout_not_found")


@pytest.mark.usefixtures("sessions")
def test_the_status_tells_of_files_that_somebody_changed(daemon: Daemon, api: TestClient) -> None:
    record = bring_into_force(daemon, api, learned(api))
    manifest = daemon.settings.home / "skills/procedural" / record["source_learning_id"]
    whole = ok(api, "GET", "/v1/status")
    assert (whole["rollouts"]["mounted"], whole["rollouts"]["troubles"]) == (1, [])
    assert whole["rollouts"]["stages"]["active"] == 1

    (manifest / "SKILL.md").write_text("edited")

    # Nobody has used it since, and nothing has looked by itself.
    health = ok(api, "GET", "/v1/status")["health"]
    [found] = [it for it in health["warnings"] if it["code"].startswith("rollout_")]
    assert (found["code"], found["related_id"]) == ("rollout_drifted", NAME)
    assert health["ok"] is False

    # In lists it is still there, and cannot be used.
    [listed] = ok(api, "GET", "/v1/skills?origin=promoted")["items"]
    assert (listed["enabled"], ok(api, "GET", SKILL)["enabled"]) == (False, False)
    here = ok(api, "GET", "/v1/sessions/s1/skills")["items"]
    assert [it["unusable"] for it in here if it["slug"] == NAME] == ["rollout_drifted"]

    daemon.services.rollout.startup()
    assert ok(api, "GET", "/v1/status")["rollouts"]["troubles"] == []
    [listed] = ok(api, "GET", "/v1/skills?origin=promoted")["items"]
    assert listed["enabled"] is True


@pytest.fixture
def named_root(tmp_path: Path) -> Path:
    """A root of the config file of the daemon that starts next."""
    root = tmp_path / "named"
    root.mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(f'[skills]\nroots = ["{root}"]\n')
    return root


@pytest.mark.usefixtures("named_root", "sessions")
def test_a_skill_of_somebody_with_its_name_is_never_taken_for_it(
    named_root: Path, daemon: Daemon, api: TestClient
) -> None:
    record = bring_into_force(daemon, api, learned(api))
    folder = named_root / "mine"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {NAME}\ndescription: Mine\n---\nMine.\n")

    local = daemon.services.skills.local
    wait_for(lambda: local.catalogue().skills, 30, what="the folder to be looked into")

    daemon.services.rollout.startup()

    found = {it["name"]: it["origin"] for it in ok(api, "GET", "/v1/sessions/s1/skills")["items"]}
    assert found[NAME] == "local"
    codes = {it["code"] for it in ok(api, "GET", "/v1/status")["health"]["warnings"]}
    assert "rollout_shadowed" in codes
    assert ok(api, "GET", ONE)["definition_fingerprint"] == record["definition_fingerprint"]
    assert api.get("/readyz").is_success


@pytest.mark.parametrize("label", ["2024-b", None])
def test_its_version_is_the_one_that_it_says(
    daemon: Daemon, api: TestClient, label: str | None
) -> None:
    more = {} if label is None else {"version": label}
    learning_id = learned(api)
    promote(api, learning_id, **more)
    shown(api, ran(daemon))
    promote(api, learning_id, **more, status="verified")
    promote(api, learning_id, **more, status="canary")
    shown(api, ran(daemon), "canary")
    promote(api, learning_id, **more, status="active")

    [listed] = ok(api, "GET", "/v1/skills?origin=promoted")["items"]
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    offered = ok(api, "GET", "/v1/sessions/s1/skills")["items"]
    [one] = [it for it in offered if it["origin"] == "promoted"]
    assert [it["version"] for it in (listed, ok(api, "GET", SKILL), one)] == [label] * 3


def test_no_skill_is_kept_under_the_name_of_a_promoted_one(api: TestClient) -> None:
    promote(api, learned(api), skill_name="tides")
    text = "---\nname: {}\ndescription: Somebody's own\n---\nDo as I say.\n"
    taken = (409, "skills/skill_name_promoted")

    for body in ({"content": text.format("Tides")}, {"content": text.format("X"), "slug": "tides"}):
        assert refused(api, "POST", "/v1/skills", body) == taken
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("SKILL.md", text.format("TIDES"))
    uploaded = api.post("/v1/skills/upload", files={"file": ("a.zip", packed.getvalue())})
    assert (uploaded.status_code, uploaded.json()["code"]) == (409, "skill_name_promoted")

    ok(api, "POST", "/v1/learning-skills/tides/revoke")
    ok(api, "POST", "/v1/skills", {"content": text.format("Tides")})


def test_what_will_not_work_here_is_told_and_not_refused(api: TestClient) -> None:
    learning_id = learned(api)
    odd = {"allowed_tools": ["shell", "gone", "srv/x"], "blocked_tools": ["sh*"], "provider": "no"}

    made = promote(api, learning_id, **odd)

    assert [(it["code"], it["pointer"]) for it in made["warnings"]] == [
        ("unknown_tool", "/allowed_tools/1"),
        ("tool_allowed_and_blocked", "/allowed_tools/0"),
        ("unknown_route", "/provider"),
    ]
    assert ok(api, "GET", ONE)["warnings"] == made["warnings"]
    assert promote(api, learning_id)["warnings"] == []
