"""The run-memory policy over HTTP: both shapes, revisions, rollback, and what is refused."""

from typing import Any

from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.test_resources import ok, refused
from tests.support.factories import NOW, make_session
from tests.support.run_memory_harness import RunMemoryHarness, safe_file
from understudy.daemon.wiring import Daemon
from understudy.testing.clock import FrozenClock

PATH = "/v1/runtime/run-memory-policy"
DEFAULT = {
    "enabled": True,
    "retention_ms": 2_592_000_000,
    "max_tracked_per_session": 32,
    "max_prompt_entries": 3,
    "redact_pii": True,
    "search_visibility": "session_only",
    "relevance_floor": 0,
    "recover_conversation": True,
}


def pointers(api: TestClient, body: Any) -> set[str]:
    answer = api.post(PATH, json=body)
    problem = answer.json()
    told = (answer.status_code, problem["domain"], problem["code"])
    assert told == (400, "runtime", "invalid_run_memory_policy"), (body, problem)
    return {error["pointer"] for error in problem["errors"]}


def test_the_policy_is_shown_and_replaced_in_both_shapes(api: TestClient) -> None:
    assert ok(api, "GET", PATH) == {"policy": DEFAULT, "revision": 1, "updated_at_ms": 0}

    wrapped = ok(api, "POST", PATH, {"policy": {"max_prompt_entries": 2}, "expected_revision": 1})
    flat = ok(api, "POST", PATH, {"retention_ms": 1000, "expected_revision": 2})

    assert (wrapped["policy"], wrapped["revision"]) == ({**DEFAULT, "max_prompt_entries": 2}, 2)
    assert (flat["policy"], flat["revision"]) == ({**DEFAULT, "retention_ms": 1000}, 3)
    assert flat["updated_at_ms"] > 0
    assert ok(api, "GET", PATH) == flat
    assert ok(api, "POST", PATH, flat["policy"])["revision"] == 3
    assert ok(api, "GET", "/v1/runtime")["setting"] == "run_memory_policy"
    actions = [item["action"] for item in ok(api, "GET", "/v1/audit")["items"]]
    assert actions[:2] == ["runtime.change", "runtime.change"]


# What is sent, and where the answer says that it is wrong.
WRONG: list[tuple[Any, set[str]]] = [
    ({}, {""}),
    ([], {""}),
    (None, {""}),
    ("policy", {""}),
    ({"foo": 1}, {"/foo"}),
    ({"expected_revision": 3}, {""}),
    ({"policy": {}}, {"/policy"}),
    ({"policy": []}, {"/policy"}),
    ({"policy": None, "expected_revision": 1}, {"/policy"}),
    ({"policy": {"enabled": True}, "enabled": True}, {"/enabled"}),
    ({"policy": {"foo": 1, "enabled": True}}, {"/policy/foo"}),
    ({"policy": {"a/b~c": 1}}, {"/policy/a~1b~0c"}),
    ({"enabled": "yes"}, {"/enabled"}),
    ({"enabled": None}, {"/enabled"}),
    ({"redact_pii": 1}, {"/redact_pii"}),
    ({"retention_ms": 0}, {"/retention_ms"}),
    ({"retention_ms": -1}, {"/retention_ms"}),
    ({"retention_ms": True}, {"/retention_ms"}),
    ({"retention_ms": 1.5}, {"/retention_ms"}),
    ({"retention_ms": "1000"}, {"/retention_ms"}),
    ({"retention_ms": 2**60}, {"/retention_ms"}),
    ({"policy": {"max_tracked_per_session": 0}}, {"/policy/max_tracked_per_session"}),
    ({"max_prompt_entries": 0}, {"/max_prompt_entries"}),
    ({"max_prompt_entries": 5, "max_tracked_per_session": 4}, {"/max_prompt_entries"}),
    ({"max_tracked_per_session": 10_001}, {"/max_tracked_per_session"}),
    ({"search_visibility": "everybody"}, {"/search_visibility"}),
    ({"search_visibility": []}, {"/search_visibility"}),
    ({"search_visibility": {"a": 1}}, {"/search_visibility"}),
    ({"relevance_floor": 1.5}, {"/relevance_floor"}),
    ({"relevance_floor": True}, {"/relevance_floor"}),
    ({"enabled": True, "expected_revision": "1"}, {"/expected_revision"}),
    ({"enabled": True, "expected_revision": 1.0}, {"/expected_revision"}),
    ({"enabled": True, "expected_revision": 2**40}, {"/expected_revision"}),
    ({f"f{n}": n for n in range(51)}, {""}),
    ({"policy": {"x" * 101: 1}}, {"/policy"}),
    ({"enabled": 1, "relevance_floor": "x"}, {"/enabled", "/relevance_floor"}),
]


def test_a_wrong_policy_is_refused_at_its_place(api: TestClient) -> None:
    for body, expected in WRONG:
        assert expected <= pointers(api, body), body

    assert ok(api, "GET", PATH) == {"policy": DEFAULT, "revision": 1, "updated_at_ms": 0}


def test_a_body_that_is_no_json_is_refused(api: TestClient) -> None:
    for content in (b"{", b"nul", b"\xff", b'{"retention_ms": NaN}'):
        answer = api.post(PATH, content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400, content
    assert api.post(PATH).status_code == 400


def test_nothing_is_kept_while_it_is_switched_off(api: TestClient) -> None:
    zeros = dict.fromkeys(("retention_ms", "max_tracked_per_session", "max_prompt_entries"), 0)

    changed = ok(api, "POST", PATH, {"policy": {"enabled": False, **zeros}})

    assert changed["policy"] == {**DEFAULT, "enabled": False, **zeros}


def test_whoever_was_slower_is_told(api: TestClient) -> None:
    ok(api, "POST", PATH, {"max_prompt_entries": 2})

    stale = {"policy": {"max_prompt_entries": 1}, "expected_revision": 1}

    assert refused(api, "POST", PATH, stale) == (409, "runtime/runtime_revision_conflict")
    assert ok(api, "GET", PATH)["policy"]["max_prompt_entries"] == 2


def test_an_earlier_policy_is_brought_back_and_other_settings_stay(api: TestClient) -> None:
    ok(api, "POST", PATH, {"max_prompt_entries": 2})
    ok(api, "POST", "/v1/runtime", {"debug_level": "full"})
    ok(api, "POST", PATH, {"max_prompt_entries": 1})

    back = ok(api, "POST", f"{PATH}/rollback", {"target_revision": 2, "expected_revision": 4})

    assert (back["policy"]["max_prompt_entries"], back["revision"]) == (2, 5)
    assert ok(api, "GET", "/v1/runtime")["debug_level"] == "full"
    listed = ok(api, "GET", f"{PATH}/revisions")["items"]
    assert [(item["revision"], item["policy"]["max_prompt_entries"]) for item in listed] == [
        (5, 2),
        (4, 1),
        (2, 2),
        (1, 3),
    ]
    assert listed[0]["rollback_of_revision"] == 2
    assert listed[0]["actor"] == "local"
    first = ok(api, "GET", f"{PATH}/revisions?limit=1")
    assert [item["revision"] for item in first["items"]] == [5]
    assert first["next_cursor"]


def test_a_rollback_without_a_target_looks_past_other_changes(api: TestClient) -> None:
    path = f"{PATH}/rollback"
    assert refused(api, "POST", path, {}) == (404, "runtime/runtime_revision_not_found")
    ok(api, "POST", PATH, {"max_prompt_entries": 2})
    ok(api, "POST", PATH, {"max_prompt_entries": 1})
    ok(api, "POST", "/v1/runtime", {"debug_level": "full"})

    back = ok(api, "POST", path, {})

    assert (back["policy"]["max_prompt_entries"], back["revision"]) == (2, 5)
    assert ok(api, "GET", "/v1/runtime")["debug_level"] == "full"


def test_a_wrong_rollback_is_refused(api: TestClient) -> None:
    ok(api, "POST", PATH, {"max_prompt_entries": 2})

    path = f"{PATH}/rollback"
    assert refused(api, "POST", path, {"target_revision": 99}) == (
        404,
        "runtime/runtime_revision_not_found",
    )
    assert refused(api, "POST", path, {"expected_revision": 1})[0] == 409
    assert refused(api, "POST", path, {"target_revision": "x"})[0] == 400
    assert refused(api, "POST", path, {"target": 1})[0] == 400
    assert refused(api, "POST", path, [])[0] == 400
    assert ok(api, "POST", path)["policy"] == DEFAULT


def test_a_repeat_under_the_same_key_changes_nothing_more(api: TestClient) -> None:
    headers = {"Idempotency-Key": "once"}
    body = {"policy": {"max_prompt_entries": 2}}

    first = api.post(PATH, json=body, headers=headers)
    ok(api, "POST", PATH, {"max_prompt_entries": 1})
    again = api.post(PATH, json=body, headers=headers)

    assert again.json() == first.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert ok(api, "GET", PATH)["policy"]["max_prompt_entries"] == 1
    other = api.post(PATH, json={"enabled": False}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


def test_only_an_admin_decides_and_only_an_operator_forgets(guarded: TestClient) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    tokens = {
        role: guarded.post(
            "/v1/tokens", json={"user_id": role, "role": role}, headers=admin
        ).json()["token"]
        for role in ("viewer", "operator")
    }

    def status(role: str, method: str, path: str, body: object = None) -> int:
        headers = {"Authorization": f"Bearer {tokens[role]}"}
        return guarded.request(method, path, json=body, headers=headers).status_code

    assert guarded.get(PATH).status_code == 401
    assert status("viewer", "GET", PATH) == status("viewer", "GET", f"{PATH}/revisions") == 200
    assert status("operator", "POST", PATH, {"enabled": False}) == 403
    assert status("operator", "POST", f"{PATH}/rollback", {}) == 403
    assert status("viewer", "GET", "/v1/run-memories") == 200
    assert status("viewer", "GET", "/v1/run-memories/x") == 404
    assert status("viewer", "DELETE", "/v1/run-memories/x") == 403
    assert status("operator", "DELETE", "/v1/run-memories/x") == 404
    for kind in ("memory-context", "memory-search", "memory-explain"):
        assert guarded.get(f"/v1/sessions/x/{kind}").status_code == 401
        assert status("viewer", "GET", f"/v1/sessions/x/{kind}") == 404
    assert status("viewer", "GET", "/v1/runs/x/memory-report") == 404


def test_a_policy_that_cannot_take_hold_is_not_in_place(daemon: Daemon, api: TestClient) -> None:
    broken = daemon.settings.home / "run-memories"
    broken.mkdir()
    (broken / "__safe").write_text("not a directory")

    status, code = refused(api, "POST", PATH, {"policy": {"max_prompt_entries": 1}})

    assert (status, code) == (503, "runtime/run_memory_maintenance_failed")
    assert ok(api, "GET", PATH)["policy"] == DEFAULT
    told = ok(api, "GET", "/v1/status")
    assert told["run_memory"]["maintenance"]["scan_error_count"] == 1
    (warning,) = [
        each
        for each in told["health"]["warnings"]
        if each["code"] == "run_memory_maintenance_failed"
    ]
    assert (warning["severity"], told["health"]["ok"]) == ("warning", True)


def test_what_is_past_its_time_and_not_yet_met_is_told(daemon: Daemon, api: TestClient) -> None:
    archive = RunMemoryHarness(daemon.resources.units, FrozenClock(NOW))
    with daemon.resources.units.write() as unit:
        unit.sessions.add(make_session("s1"))
    archive.keep("old")

    status = ok(api, "GET", "/v1/status")

    assert status["run_memory"]["stale_indexed_record_count"] == 1
    codes = {warning["code"]: warning["severity"] for warning in status["health"]["warnings"]}
    assert codes["run_memory_stale_indexed_records"] == "warning"
    assert refused(api, "GET", "/v1/run-memories/old")[0] == 404
    assert ok(api, "GET", "/v1/sessions/s1/memory-search")["results"] == []
    again = ok(api, "GET", "/v1/status")["run_memory"]
    assert again["stale_indexed_record_count"] == again["indexed_record_count"] == 0
    assert again["metrics"]["pruned_ttl_total"] == 1


def test_a_refused_policy_loses_nothing_and_is_tried_again_once_mended(
    daemon: Daemon, api: TestClient
) -> None:
    archive = RunMemoryHarness(daemon.resources.units)
    with daemon.resources.units.write() as unit:
        unit.sessions.add(make_session("s1"))
    now = daemon.resources.clock.now_ms()
    for number in (1, 2, 3):
        archive.keep(f"run-{number}", recorded_at_ms=now - 1000 + number)
    stray = daemon.settings.home / "run-memories" / "lost+found"
    stray.mkdir()
    stuck = safe_file(daemon.settings.home, "run-1")
    stuck.unlink()
    (stuck / "inside").mkdir(parents=True)

    refusal = refused(api, "POST", PATH, {"policy": {"enabled": False}})

    assert refusal == (503, "runtime/run_memory_maintenance_failed")
    assert ok(api, "GET", PATH)["policy"] == DEFAULT
    assert {"run-2", "run-3"} <= set(archive.stored())
    report = ok(api, "GET", "/v1/status")["run_memory"]["maintenance"]
    assert (report["index_rebuilt"], report["pruned_ttl_count"]) == (False, 0)
    assert {each["reason"] for each in report["diagnostics"]} == {"delete_failed"}

    (stuck / "inside").rmdir()
    stuck.rmdir()
    changed = ok(api, "POST", PATH, {"policy": {"enabled": False}})
    assert archive.stored() == ["None"]
    assert _is_warned(api)
    stray.rmdir()
    assert ok(api, "POST", PATH, {"policy": {"enabled": False}}) == changed
    assert not _is_warned(api)


def _is_warned(api: TestClient) -> bool:
    warnings = ok(api, "GET", "/v1/status")["health"]["warnings"]
    return "run_memory_maintenance_failed" in {each["code"] for each in warnings}


def test_a_dry_run_names_what_a_policy_would_delete_and_deletes_nothing(
    daemon: Daemon, api: TestClient
) -> None:
    archive = RunMemoryHarness(daemon.resources.units)
    with daemon.resources.units.write() as unit:
        unit.sessions.add(make_session("s1"))
    now = daemon.resources.clock.now_ms()
    for number in (1, 2, 3):
        archive.keep(f"run-{number}", recorded_at_ms=now - 1000 + number)
    one = {"max_tracked_per_session": 1, "max_prompt_entries": 1}

    some = ok(api, "POST", f"{PATH}/dry-run", {"policy": one})
    everything = ok(api, "POST", f"{PATH}/dry-run", {"policy": {"enabled": False}})

    assert some == {
        "kept_count": 1,
        "expired_count": 0,
        "overflow_count": 2,
        "run_ids": ["run-2", "run-1"],
    }
    assert (everything["kept_count"], everything["expired_count"]) == (0, 3)
    assert len(archive.stored()) == 3
    assert refused(api, "POST", f"{PATH}/dry-run", {"policy": {"foo": 1}})[0] == 400
