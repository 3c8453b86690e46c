"""Rollouts over HTTP: promoted, shown to work, taken further, compared, and taken back."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.test_learning_candidates import KEY, learn, pointers, propose, publish
from tests.api.test_resources import ok, refused
from tests.support.factories import NOW, make_run, make_session
from understudy.daemon.wiring import Daemon
from understudy.runs.model import RunStatus
from understudy.sessions.journal import EventKind, NewEvent

PATH = "/v1/learning-skills"
NAME = "team:release_notes-1"
ONE = f"{PATH}/{NAME}"
MARKER = "NOTES_OK"
ASKED = {"skill_name": NAME, "instructions": " Read the log.\nThen write the notes. \n"}


def learned(api: TestClient, content: str = "Write notes before each release.", **more: Any) -> str:
    learning_id: str = learn(api, content, kind="procedure", **more)["learning_id"]
    return learning_id


def promote(api: TestClient, learning_id: str, **more: Any) -> Any:
    return ok(api, "POST", f"/v1/learnings/{learning_id}/promote-skill", {**ASKED, **more})


def ran(daemon: Daemon, output: str = MARKER, *, status: RunStatus = RunStatus.COMPLETED) -> str:
    """A run of a session of its own that has ended."""
    run = make_run("", status=status)
    session_id = f"of-{run.run_id}"
    run = make_run(session_id, run_id=run.run_id, status=status)
    said = NewEvent(kind=EventKind.OUTPUT, run_id=run.run_id, data={"text": output})
    with daemon.resources.units.write() as unit:
        unit.sessions.add(make_session(session_id))
        unit.runs.add(run)
        unit.journal.append(session_id, [said], at_ms=NOW)
    return run.run_id


def shown(api: TestClient, run_id: str, kind: str = "verification", **more: Any) -> Any:
    body = {"kind": kind, "run_id": run_id, "expected_output_contains": MARKER, **more}
    return ok(api, "POST", f"{ONE}/rollout-result", body)


def bring_into_force(daemon: Daemon, api: TestClient, learning_id: str, **fields: Any) -> Any:
    promote(api, learning_id, **fields)
    shown(api, ran(daemon))
    promote(api, learning_id, **fields, status="verified")
    promote(api, learning_id, **fields, status="canary")
    shown(api, ran(daemon), "canary")
    return promote(api, learning_id, **fields, status="active")


def test_a_draft_shows_what_it_is_and_what_is_missing(daemon: Daemon, api: TestClient) -> None:
    learning_id = learned(api)

    made = promote(api, learning_id, allowed_tools=["read_file"], model="small", version=" 2 ")

    root = daemon.settings.home / "skills" / "procedural"
    fingerprint = made["definition_fingerprint"]
    assert made == {
        "skill_name": NAME,
        "source_learning_id": learning_id,
        "source_scope": {"kind": "workspace", "id": "default"},
        "status": "draft",
        "description": made["description"],
        "version": "2",
        "instructions": "Read the log.\nThen write the notes.",
        "runtime": {
            "context": "fork",
            "agent_profile": "verification",
            "allowed_tools": ["read_file"],
            "blocked_tools": [],
            "model": "small",
        },
        "definition_fingerprint": fingerprint,
        "digest": made["digest"],
        "skill_root": str(root),
        "skill_path": str(root / learning_id / "SKILL.md"),
        "verification_status": "unverified",
        "successful_run_count": 0,
        "distinct_session_count": 0,
        "verifier_run_ids": [],
        "real_daemon_verified": False,
        "last_verified_workspace_digest": None,
        "executed_run_count": 0,
        "canary_success_count": 0,
        "canary_failure_count": 0,
        "evidence_refs": [],
        "lifecycle_events": [
            {
                "event": "promote",
                "recorded_at_ms": made["promoted_at_ms"],
                "to_status": "draft",
                "definition_fingerprint": fingerprint,
                "actor": "local",
            }
        ],
        "next": {
            "status": "verified",
            "missing": [
                {
                    "code": "needs_verification",
                    "detail": made["next"]["missing"][0]["detail"],
                }
            ],
        },
        "uses": {
            "offered_percent": 0,
            "canary": {"succeeded": 0, "failed": 0, "abandoned": 0},
            "active": {"succeeded": 0, "failed": 0, "abandoned": 0},
            "baseline": {"successes": 0, "tries": 0},
            "recent": {"successes": 0, "tries": 0},
        },
        "warnings": [],
        "attempt": 1,
        "revision": 1,
        "promoted_at_ms": made["promoted_at_ms"],
        "promoted_by": "local",
        "updated_at_ms": made["updated_at_ms"],
        "is_demoted": False,
        "derived_from_untrusted": False,
        "actions": ["promote", "result", "trial", "hold", "revoke"],
    }
    assert len(fingerprint) == 64
    assert fingerprint[:12] in made["next"]["missing"][0]["detail"]
    assert "notes before" not in made["description"]
    assert ok(api, "GET", ONE) == made


def test_a_skill_comes_into_force_and_is_taken_back_and_brought_back(
    daemon: Daemon, api: TestClient
) -> None:
    learning_id = learned(api)

    active = bring_into_force(daemon, api, learning_id)
    revoked = ok(api, "POST", f"{ONE}/revoke", {"reason": " wrong "})
    restored = ok(api, "POST", f"{ONE}/rollback")

    assert (active["status"], active["actions"]) == ("active", ["result", "revoke", "rollback"])
    assert "next" not in active
    assert [each["kind"] for each in active["evidence_refs"]] == ["verification", "canary"]
    assert {each["proof"] for each in active["evidence_refs"]} == {"attested"}
    assert active["definition_fingerprint"] in active["evidence_refs"][0]["note"]
    assert (revoked["status"], revoked["revoked_reason"]) == ("revoked", "wrong")
    assert revoked["actions"] == ["promote", "rollback"]
    assert restored["status"] == "active"
    assert "revoked_at_ms" not in restored
    events = ok(api, "GET", f"{ONE}/events")["items"]
    assert events == restored["lifecycle_events"]
    assert [each["event"] for each in events] == [
        "promote",
        "rollout_result",
        "promote",
        "promote",
        "rollout_result",
        "promote",
        "revoke",
        "rollback",
    ]
    assert events[4] == {
        "event": "rollout_result",
        "recorded_at_ms": events[4]["recorded_at_ms"],
        "from_status": "canary",
        "to_status": "canary",
        "rollout_kind": "canary",
        "run_id": active["evidence_refs"][1]["run_id"],
        "session_id": active["evidence_refs"][1]["session_id"],
        "success": True,
        "definition_fingerprint": active["definition_fingerprint"],
        "actor": "local",
    }
    audit = ok(api, "GET", "/v1/audit?resource=rollouts")["items"]
    assert [entry["action"] for entry in audit][:2] == ["rollouts.rollback", "rollouts.revoke"]
    assert {entry["resource_id"] for entry in audit} == {NAME}


def test_an_active_skill_is_rolled_back_to_a_version_by_number_or_label(
    daemon: Daemon, api: TestClient
) -> None:
    learning_id = learned(api)
    first = bring_into_force(daemon, api, learning_id, version="1.0")
    ok(api, "POST", f"{ONE}/revoke")
    bring_into_force(daemon, api, learning_id, version="2.0")

    restored = ok(
        api, "POST", f"{ONE}/rollback", {"reason": "slow", "to_version": first["revision"]}
    )

    assert (restored["status"], restored["version"]) == ("active", "1.0")
    assert restored["lifecycle_events"][-1]["reason"] == "slow"
    assert ok(api, "POST", f"{ONE}/rollback", {"to_version": "2.0"})["version"] == "2.0"
    missing = api.post(f"{ONE}/rollback", json={"to_version": "7"})
    assert (missing.status_code, missing.json()["code"]) == (409, "rollback_version_not_found")
    assert "(1.0)" in missing.json()["params"]["versions"]
    wrongs: tuple[Any, ...] = (0, -1, True, 1.5, [], "x" * 501)
    for wrong in wrongs:
        assert api.post(f"{ONE}/rollback", json={"to_version": wrong}).status_code == 400


def test_a_learning_that_is_revoked_takes_its_skill_along(daemon: Daemon, api: TestClient) -> None:
    learning_id = learned(api)
    bring_into_force(daemon, api, learning_id)

    ok(api, "POST", f"/v1/learnings/{learning_id}/revoke")

    assert ok(api, "GET", ONE)["status"] == "revoked"
    assert refused(api, "POST", f"{ONE}/rollback") == (409, "rollout/rollback_refused")


def test_a_held_rollout_goes_no_further_until_it_is_released(
    daemon: Daemon, api: TestClient
) -> None:
    learning_id = learned(api)
    promote(api, learning_id)
    shown(api, ran(daemon))

    held = ok(api, "POST", f"{ONE}/hold", {"reason": "wait for the audit"})
    path = f"/v1/learnings/{learning_id}/promote-skill"
    stuck = api.post(path, json={**ASKED, "status": "verified"})
    released = ok(api, "POST", f"{ONE}/release")

    assert held["held_reason"] == "wait for the audit"
    assert "release" in held["actions"]
    assert "hold" not in held["actions"]
    assert (stuck.status_code, stuck.json()["code"]) == (400, "rollout_not_ready")
    assert [error["code"] for error in stuck.json()["errors"]] == ["rollout_held"]
    assert "held_reason" not in released
    assert promote(api, learning_id, status="verified")["status"] == "verified"


def test_what_was_revoked_while_held_cannot_be_rolled_back_and_says_so(
    daemon: Daemon, api: TestClient
) -> None:
    bring_into_force(daemon, api, learned(api))
    ok(api, "POST", f"{ONE}/revoke")
    promote(api, ok(api, "GET", ONE)["source_learning_id"])
    ok(api, "POST", f"{ONE}/hold")

    revoked = ok(api, "POST", f"{ONE}/revoke")

    assert revoked["actions"] == ["promote", "release"]
    assert refused(api, "POST", f"{ONE}/rollback") == (409, "rollout/rollback_refused")
    assert "rollback" in ok(api, "POST", f"{ONE}/release")["actions"]


def test_history_and_diff_tell_what_changed(daemon: Daemon, api: TestClient) -> None:
    learning_id = learned(api)
    first = promote(api, learning_id)
    assert ok(api, "GET", f"{ONE}/diff")["files"] == []
    second = promote(api, learning_id, instructions="Read the log.\nAsk, then write the notes.")
    shown(api, ran(daemon))
    verified = promote(
        api, learning_id, instructions=second["instructions"], model=None, status="verified"
    )

    history = ok(api, "GET", f"{ONE}/history")["items"]
    whole = ok(api, "GET", f"{ONE}/diff")
    none = ok(api, "GET", f"{ONE}/diff?from={history[0]['number']}&to={verified['revision']}")

    assert [each["number"] for each in history] == [3, 2, first["revision"]]
    assert ok(api, "GET", f"{ONE}/diff?from=1&to=1")["files"] == []
    assert ok(api, "GET", f"{ONE}/diff?from=2&to=3")["files"] == []
    assert history[2]["instructions"] == first["instructions"]
    assert history[2]["definition_fingerprint"] == first["definition_fingerprint"]
    assert (whole["from_number"], whole["to_number"]) == (1, verified["revision"])
    assert (whole["from_status"], whole["to_status"]) == ("draft", "verified")
    [file] = whole["files"]
    assert file["path"] == "SKILL.md"
    assert "-Then write the notes." in file["diff"]
    assert "+Ask, then write the notes." in file["diff"]
    assert none["files"] == []
    assert refused(api, "GET", f"{ONE}/diff?from=99") == (404, "rollout/rollout_snapshot_not_found")
    page = ok(api, "GET", f"{ONE}/history?limit=1")
    assert ok(api, "GET", f"{ONE}/history?cursor={page['next_cursor']}")["items"] == history[1:]


def test_rollouts_are_listed_and_narrowed(api: TestClient) -> None:
    first, second = learned(api), learned(api, "Water the plants on Mondays.")
    promote(api, first, skill_name="b-one")
    promote(api, second, skill_name="a-one")
    ok(api, "POST", f"{PATH}/a-one/revoke")

    def names(query: str = "") -> list[str]:
        return [each["skill_name"] for each in ok(api, "GET", f"{PATH}?{query}")["items"]]

    assert names() == ["a-one", "b-one"]
    assert names("status=revoked") == ["a-one"]
    assert names(f"source_learning_id={first}") == ["b-one"]
    assert names(f"source_learning_id={first}&status=active") == []
    page = ok(api, "GET", f"{PATH}?limit=1")
    assert names(f"cursor={page['next_cursor']}") == ["b-one"]
    # An item is the record as it is by itself, but for how it fares.
    (item,) = page["items"]
    record = ok(api, "GET", f"{PATH}/a-one")
    assert item == {name: record[name] for name in item}
    assert record.keys() - item.keys() == {"uses", "warnings"}
    assert [each["event"] for each in item["lifecycle_events"]] == ["promote", "revoke"]


def test_a_list_says_what_each_rollout_lacks_for_its_next_stage(
    daemon: Daemon, api: TestClient
) -> None:
    promote(api, learned(api))
    [draft] = ok(api, "GET", PATH)["items"]
    shown(api, ran(daemon))
    [ready] = ok(api, "GET", PATH)["items"]

    assert draft["next"] == ok(api, "GET", ONE)["next"] | draft["next"]
    assert [each["code"] for each in draft["next"]["missing"]] == ["needs_verification"]
    assert ready["next"] == {"status": "verified", "missing": []}


def test_a_rollout_advances_with_the_definition_that_it_has(
    daemon: Daemon, api: TestClient
) -> None:
    made = promote(api, learned(api), when_to_use="Before a release")
    seen = {"definition_fingerprint": made["definition_fingerprint"]}
    assert refused(api, "POST", f"{ONE}/advance") == (400, "rollout/rollout_not_ready")
    shown(api, ran(daemon))

    assert refused(api, "POST", f"{ONE}/advance", {"definition_fingerprint": "0" * 64}) == (
        400,
        "rollout/fingerprint_mismatch",
    )
    stages = [ok(api, "POST", f"{ONE}/advance", seen)["status"] for _ in range(2)]
    shown(api, ran(daemon), "canary")
    active = ok(api, "POST", f"{ONE}/advance", seen)

    assert [*stages, active["status"]] == ["verified", "canary", "active"]
    assert active["definition_fingerprint"] == made["definition_fingerprint"]
    assert active["when_to_use"] == "Before a release"
    assert refused(api, "POST", f"{ONE}/advance") == (409, "rollout/no_next_stage")
    ok(api, "POST", f"{ONE}/revoke")
    assert refused(api, "POST", f"{ONE}/advance") == (409, "rollout/no_next_stage")
    assert ok(api, "POST", f"{ONE}/advance", {"to": "draft"})["status"] == "draft"


def test_only_an_admin_is_told_where_the_files_lie(guarded: TestClient) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}

    def token(role: str) -> dict[str, str]:
        body = {"user_id": role, "role": role}
        made = guarded.post("/v1/tokens", json=body, headers=admin).json()
        return {"Authorization": f"Bearer {made['token']}"}

    operator, viewer = token("operator"), token("viewer")
    guarded.headers.update(operator)
    learning_id = learned(guarded)
    made = promote(guarded, learning_id)

    assert not {"skill_root", "skill_path"} & set(made)
    assert made["promoted_by"] == "operator"
    assert "skill_path" in guarded.get(ONE, headers=admin).json()
    assert "skill_path" not in guarded.get(ONE, headers=viewer).json()
    for verb in ("rollout-result", "trial", "hold", "release", "revoke", "rollback"):
        assert guarded.post(f"{ONE}/{verb}", headers=viewer).status_code == 403, verb
    path = f"/v1/learnings/{learning_id}/promote-skill"
    assert guarded.post(path, json=ASKED, headers=viewer).status_code == 403
    for part in ("events", "history", "diff", "trials"):
        assert guarded.get(f"{ONE}/{part}", headers=viewer).status_code == 200, part


def test_a_key_makes_a_repeat_harmless(daemon: Daemon, api: TestClient) -> None:
    learning_id = learned(api)
    path = f"/v1/learnings/{learning_id}/promote-skill"
    first = api.post(path, json=ASKED, headers={"Idempotency-Key": "k"})
    ok(api, "POST", f"{ONE}/revoke")

    again = api.post(path, json=ASKED, headers={"Idempotency-Key": "k"})
    other = api.post(path, json={**ASKED, "model": "x"}, headers={"Idempotency-Key": "k"})

    assert again.json() == first.json()
    assert ok(api, "GET", ONE)["status"] == "revoked"
    assert other.status_code == 409


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"skill_name": None}, "/skill_name"),
    ({"skill_name": ""}, "/skill_name"),
    ({"skill_name": "a b"}, "/skill_name"),
    ({"skill_name": "ä"}, "/skill_name"),
    ({"skill_name": "../x"}, "/skill_name"),
    ({"skill_name": "x" * 129}, "/skill_name"),
    ({"skill_name": "x" * 501}, "/skill_name"),
    ({"skill_name": 1}, "/skill_name"),
    ({"instructions": None}, "/instructions"),
    ({"instructions": " \n"}, "/instructions"),
    ({"instructions": "x" * 32_001}, "/instructions"),
    ({"instructions": KEY}, "/instructions"),
    ({"description": KEY}, "/description"),
    ({"when_to_use": KEY}, "/when_to_use"),
    ({"model": KEY}, "/model"),
    ({"description": "x" * 1001}, "/description"),
    ({"description": []}, "/description"),
    ({"allowed_tools": ["a b c!"]}, "/allowed_tools"),
    ({"allowed_tools": ["x"] * 201}, "/allowed_tools"),
    ({"allowed_tools": "read_file"}, "/allowed_tools"),
    ({"allowed_tools": [1]}, "/allowed_tools/0"),
    ({"blocked_tools": {}}, "/blocked_tools"),
    ({"context": "inline"}, "/context"),
    ({"context": "space"}, "/context"),
    ({"agent_profile": "default"}, "/agent_profile"),
    ({"status": "verified"}, "/status"),
    ({"status": "famous"}, "/status"),
    ({"digest": "x"}, "/digest"),
]


def test_a_wrong_definition_is_refused_where_it_is_wrong(api: TestClient) -> None:
    path = f"/v1/learnings/{learned(api)}/promote-skill"

    for wrong, place in WRONG:
        assert pointers(api, path, {**ASKED, **wrong}) == [place], wrong
    for nothing in ("null", "[]", '"x"', "{}", "", "{"):
        answer = api.post(path, content=nothing, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400, nothing
    assert ok(api, "GET", PATH)["items"] == []


def test_what_cannot_be_promoted_is_refused(daemon: Daemon, api: TestClient) -> None:
    session = {"kind": "session", "id": "s1"}
    with daemon.resources.units.write() as unit:
        unit.sessions.add(make_session("s1"))
    fact = learn(api, "The sky is blue.")["learning_id"]
    own = learn(api, "Fold the map.", kind="procedure", scope=session)["learning_id"]
    candidate_id = propose(api, "Oil the door.", kind="procedure")
    provisional = publish(api, candidate_id, publish_tier="provisional")["learning_id"]

    for learning_id in (fact, own, provisional):
        path = f"/v1/learnings/{learning_id}/promote-skill"
        assert refused(api, "POST", path, ASKED) == (400, "rollout/source_not_promotable")
    path = "/v1/learnings/lrn_none/promote-skill"
    assert refused(api, "POST", path, ASKED) == (404, "learnings/learning_not_found")
    first, second = learned(api), learned(api, "Water the plants on Mondays.")
    promote(api, first)
    path = f"/v1/learnings/{first}/promote-skill"
    assert refused(api, "POST", path, {**ASKED, "skill_name": "other"}) == (
        409,
        "rollout/already_promoted",
    )
    path = f"/v1/learnings/{second}/promote-skill"
    assert refused(api, "POST", path, ASKED)[0] == 409
    [entry, *_] = ok(api, "GET", "/v1/audit?resource=rollouts")["items"]
    assert (entry["action"], entry["resource_id"]) == ("rollouts.promote", NAME)
    assert entry["outcome"] == "refused"


def test_a_wrong_result_is_refused_and_changes_nothing(daemon: Daemon, api: TestClient) -> None:
    promote(api, learned(api))
    before = ok(api, "GET", ONE)
    run_id, failed = ran(daemon), ran(daemon, status=RunStatus.FAILED)
    path = f"{ONE}/rollout-result"
    right = {"kind": "verification", "run_id": run_id, "expected_output_contains": MARKER}

    for wrong, expected in [
        ({"kind": "canary"}, (400, "rollout/rollout_not_in_canary")),
        ({"run_id": "run_none"}, (404, "runs/run_not_found")),
        ({"run_id": failed}, (400, "rollout/verification_failed")),
        ({"expected_output_contains": "something else"}, (400, "rollout/verification_failed")),
        ({"expected_output_contains": "  "}, (400, "rollout/invalid_marker")),
        ({"definition_fingerprint": "0" * 64}, (400, "rollout/fingerprint_mismatch")),
    ]:
        assert refused(api, "POST", path, {**right, **wrong}) == expected, wrong
    for place, value in {
        "kind": "rumour",
        "run_id": 7,
        "expected_output_contains": None,
        "success": True,
    }.items():
        assert pointers(api, path, {**right, place: value}) == [f"/{place}"]
    assert ok(api, "GET", ONE) == before
    assert shown(api, run_id)["verifier_run_ids"] == [run_id]
    assert shown(api, run_id) == ok(api, "GET", ONE)


@pytest.mark.parametrize("verb", ["hold", "release", "revoke", "rollback"])
def test_a_reason_is_text_that_tells_no_secret(api: TestClient, verb: str) -> None:
    promote(api, learned(api))

    for reason in (KEY, "see AKIA" + "IOSFODNN7EXAMPLE", "x" * 5000, 7):
        assert pointers(api, f"{ONE}/{verb}", {"reason": reason}) == ["/reason"]
    assert pointers(api, f"{ONE}/{verb}", {"why": "x"}) == ["/why"]


ODD_NAMES = ("none", "a%20b", "%00", "%ED%A0%80", "x" * 600, "..%2f..", "%F0%9F%98%80")


def test_whatever_is_asked_for_that_is_not_there_is_a_clear_no(api: TestClient) -> None:
    result = {"kind": "canary", "run_id": "run_1", "expected_output_contains": "x"}
    calls: list[tuple[str, str, object]] = [
        ("GET", "", None),
        ("GET", "/events", None),
        ("GET", "/history", None),
        ("GET", "/diff", None),
        ("GET", "/trials", None),
        ("GET", "/trials/trl_1", None),
        ("POST", "/rollout-result", result),
        ("POST", "/trial", {"expected_output_contains": "x"}),
        ("POST", "/hold", None),
        ("POST", "/release", {}),
        ("POST", "/revoke", None),
        ("POST", "/rollback", None),
    ]
    for name in ODD_NAMES:
        for method, part, body in calls:
            answer = api.request(method, f"{PATH}/{name}{part}", json=body)
            assert answer.status_code in (400, 404), (name, method, part, answer.text)
            assert answer.json()["code"] in {
                "rollout_not_found",
                "route_not_found",
                "value_too_long",
                "invalid_text",
                "invalid_encoding",
            }, (name, answer.text)


def test_a_query_must_make_sense(api: TestClient) -> None:
    promote(api, learned(api))
    for query, status in {
        "?status=famous": 400,
        "?status=draft&status=active": 400,
        "?limit=0": 400,
        "?cursor=x": 400,
        "?source_learning_id=" + "x" * 501: 400,
        f"/{NAME}/diff?from=0": 400,
        f"/{NAME}/diff?from=x": 400,
        f"/{NAME}/diff?to=99999999999": 400,
        f"/{NAME}/diff?from=1&to=1": 200,
        f"/{NAME}/history?cursor=WzEyXQ": 200,
        f"/{NAME}/history?cursor=WyJhIl0": 400,
        f"/{NAME}/events?cursor=WyJhIl0": 400,
        f"/{NAME}/trials?cursor=WzFd": 400,
    }.items():
        assert api.get(PATH + query).status_code == status, query


def test_a_trial_that_makes_no_sense_is_refused_with_its_place(api: TestClient) -> None:
    promote(api, learned(api))
    path = f"{ONE}/trial"
    secret = "client" + "Secret: hunter2" + "hunter2"

    cases: list[tuple[dict[str, object], str]] = [
        ({"expected_output_contains": " "}, "/expected_output_contains"),
        ({"expected_output_contains": ""}, "/expected_output_contains"),
        ({"expected_output_contains": secret}, "/expected_output_contains"),
        ({"params": {"x": secret}}, "/params"),
        ({"params": f"say {MARKER}"}, "/expected_output_contains"),
        ({"cases": [{"run_id": "run_1", "marker": secret}]}, "/cases/0/marker"),
        ({"kind": "canary"}, "/kind"),
        ({"kind": "rumour"}, "/kind"),
        ({"definition_fingerprint": "0" * 64}, "/definition_fingerprint"),
        ({"marker": "x"}, "/marker"),
    ]
    for wrong, place in cases:
        assert pointers(api, path, {"expected_output_contains": MARKER, **wrong}) == [place], wrong
    for wait in ("-1", "60001", "soon"):
        answer = api.post(f"{path}?wait_ms={wait}")
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/wait_ms")
    assert ok(api, "GET", f"{ONE}/trials") == {"items": [], "next_cursor": None}
    assert refused(api, "GET", f"{ONE}/trials/trl_none") == (404, "rollout/trial_not_found")
