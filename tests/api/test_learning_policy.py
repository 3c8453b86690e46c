"""The learning policy over HTTP: both shapes, defaults, revisions, rollback, dry run, refusals."""

from copy import deepcopy
from typing import Any

from starlette.testclient import TestClient

from tests.api.test_learning_candidates import learn, propose
from tests.api.test_resources import ok, refused
from understudy.daemon.wiring import Daemon
from understudy.learnings.events import LearningCounters

PATH = "/v1/runtime/learning-policy"
DEFAULT: dict[str, Any] = {
    "mode": "shadow",
    "capture": {
        "run_summary_candidates": False,
        "semantic_candidates": {
            "enabled": True,
            "model": None,
            "timeout_ms": None,
            "max_candidates_per_run": 2,
        },
    },
    "publication": {
        "default_action": "manual_review",
        "allow_api_origin_active_publication": False,
        "allow_untrusted_active_publication": False,
        "quarantined_rule_names": [],
        "rules": [],
    },
    "judge": {"enabled": False, "model": None, "timeout_ms": None},
    "promotion": {
        "require_executed_evidence": False,
        "min_successes": 1,
        "min_sessions": 1,
        "require_replay": False,
        "canary_share_percent": 0,
        "demote_when_worse": True,
    },
    "retrieval": {
        "relevance_floor": 0.38,
        "max_standing_entries": 12,
        "max_standing_tokens": 600,
    },
    "conflicts": {"model": None, "timeout_ms": 8_000},
}
RULE = {
    "require_evidence": False,
    "require_source_run": False,
    "require_source_session": False,
}


def pointers(api: TestClient, body: Any) -> set[str]:
    answer = api.post(PATH, json=body)
    problem = answer.json()
    told = (answer.status_code, problem["domain"], problem["code"])
    assert told == (400, "runtime", "invalid_learning_policy"), (body, problem)
    return {error["pointer"] for error in problem["errors"]}


def rules(*given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"publication": {"rules": [*given], **more}}


def test_the_policy_is_shown_and_replaced_in_both_shapes(api: TestClient) -> None:
    assert ok(api, "GET", PATH) == {"policy": DEFAULT, "revision": 1, "updated_at_ms": 0}

    rule = {"name": "facts", "kind": "fact", "action": "publish_active", "min_confidence": 90}
    wrapped = ok(api, "POST", PATH, {"policy": rules(rule), "expected_revision": 1})
    flat = ok(api, "POST", PATH, {"mode": "enabled", "expected_revision": 2})

    expected = deepcopy(DEFAULT)
    expected["publication"]["rules"] = [{**RULE, **rule}]
    assert (wrapped["policy"], wrapped["revision"]) == (expected, 2)
    enabled = deepcopy(DEFAULT)
    enabled["mode"] = "enabled"
    assert (flat["policy"], flat["revision"]) == (enabled, 3)
    assert ok(api, "GET", PATH) == flat
    assert ok(api, "POST", PATH, flat["policy"])["revision"] == 3
    runtime = ok(api, "GET", "/v1/runtime")
    assert (runtime["setting"], runtime["learning_policy"]) == ("learning_policy", enabled)
    assert ok(api, "GET", "/v1/status")["learning"]["mode"] == "enabled"
    actions = [item["action"] for item in ok(api, "GET", "/v1/audit")["items"]]
    assert actions[:2] == ["runtime.change", "runtime.change"]


def test_what_is_left_out_takes_its_default_and_is_not_switched_off(api: TestClient) -> None:
    partial: list[dict[str, Any]] = [
        {"publication": {}},
        {"judge": {"enabled": False}},
        {"capture": {}},
    ]
    for given in partial:
        assert ok(api, "POST", PATH, {"policy": given})["policy"] == DEFAULT
    manual = ok(api, "POST", PATH, {"policy": {"mode": "manual_only"}})
    assert manual["policy"] == {**DEFAULT, "mode": "manual_only"}


ACTIVE = {"action": "publish_active", "kind": "fact"}
SEMANTIC = "/capture/semantic_candidates"
# What is sent, and where the answer says that it is wrong.
WRONG: list[tuple[Any, str]] = [
    ({}, ""),
    ([], ""),
    (None, ""),
    ("policy", ""),
    ({"expected_revision": 3}, ""),
    ({"foo": 1}, "/foo"),
    ({"policy": {}}, "/policy"),
    ({"policy": []}, "/policy"),
    ({"policy": {"mode": "shadow"}, "mode": "shadow"}, "/mode"),
    ({"policy": {"a/b~c": 1}}, "/policy/a~1b~0c"),
    ({"policy": {"judge": {"a/b": 1}}}, "/policy/judge/a~1b"),
    ({"mode": "shadow", "expected_revision": "1"}, "/expected_revision"),
    ({"mode": "on"}, "/mode"),
    ({"mode": None}, "/mode"),
    ({"publication": []}, "/publication"),
    ({"publication": {"default_action": "publish_active"}}, "/publication/default_action"),
    ({"publication": {"default_action": "maybe"}}, "/publication/default_action"),
    (rules({"action": "publish_active"}), "/publication/rules/0/kind"),
    (rules({"action": "publish_active", "kind": "procedure"}), "/publication/rules/0/kind"),
    (rules({"kind": "fact"}), "/publication/rules/0/action"),
    (
        {"policy": rules(ACTIVE, {**ACTIVE, "min_confidence": 101})},
        "/policy/publication/rules/1/min_confidence",
    ),
    (rules({**ACTIVE, "scope_id": " "}), "/publication/rules/0/scope_id"),
    (rules({**ACTIVE, "kind": "rumour"}), "/publication/rules/0/kind"),
    (rules({**ACTIVE, "sensitivity": 1}), "/publication/rules/0/sensitivity"),
    (
        rules({**ACTIVE, "derived_from_untrusted": "no"}),
        "/publication/rules/0/derived_from_untrusted",
    ),
    (rules({**ACTIVE, "expires_after_ms": 0}), "/publication/rules/0/expires_after_ms"),
    (rules({**ACTIVE, "also": 1}), "/publication/rules/0/also"),
    (rules(quarantined_rule_names=["a", " A "]), "/publication/quarantined_rule_names/1"),
    (rules(quarantined_rule_names=[""]), "/publication/quarantined_rule_names/0"),
    (rules(quarantined_rule_names="a"), "/publication/quarantined_rule_names"),
    ({"judge": {"enabled": True, "timeout_ms": 0}}, "/judge/timeout_ms"),
    ({"judge": {"enabled": True, "model": {"provider": "nowhere"}}}, "/judge/model/provider"),
    ({"judge": {"model": {"generation": {"heat": 1}}}}, "/judge/model/generation/heat"),
    (
        {"capture": {"semantic_candidates": {"enabled": True, "timeout_ms": 0}}},
        f"{SEMANTIC}/timeout_ms",
    ),
    *(
        (
            {"capture": {"semantic_candidates": {"enabled": True, "max_candidates_per_run": n}}},
            f"{SEMANTIC}/max_candidates_per_run",
        )
        for n in (0, 9)
    ),
    ({"promotion": {"require_executed_evidence": 1}}, "/promotion/require_executed_evidence"),
]


def test_a_wrong_policy_is_refused_at_its_place(api: TestClient) -> None:
    for body, place in WRONG:
        assert place in pointers(api, body), body

    assert ok(api, "GET", PATH) == {"policy": DEFAULT, "revision": 1, "updated_at_ms": 0}


def test_a_deep_or_broken_body_is_refused(api: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    deep = b'{"policy":' * 500 + b"1" + b"}" * 500
    for content in (b"{", b"nul", b"\xff", b'{"judge": NaN}', deep):
        assert api.post(PATH, content=content, headers=headers).status_code == 400, content[:20]
    assert api.post(PATH).status_code == 400


def test_whoever_was_slower_is_told(api: TestClient) -> None:
    ok(api, "POST", PATH, {"mode": "enabled"})

    stale = {"policy": {"mode": "manual_only"}, "expected_revision": 1}

    assert refused(api, "POST", PATH, stale) == (409, "runtime/runtime_revision_conflict")
    assert ok(api, "GET", PATH)["policy"]["mode"] == "enabled"


def test_an_earlier_policy_is_brought_back_and_other_settings_stay(api: TestClient) -> None:
    path = f"{PATH}/rollback"
    assert refused(api, "POST", path, {}) == (404, "runtime/runtime_revision_not_found")
    ok(api, "POST", PATH, {"mode": "enabled"})
    ok(api, "POST", "/v1/runtime", {"debug_level": "full"})
    ok(api, "POST", "/v1/runtime/run-memory-policy", {"max_prompt_entries": 2})
    ok(api, "POST", PATH, {"mode": "manual_only"})

    back = ok(api, "POST", path, {"target_revision": 2, "expected_revision": 5})

    assert (back["policy"]["mode"], back["revision"]) == ("enabled", 6)
    assert ok(api, "GET", "/v1/runtime")["debug_level"] == "full"
    memory = ok(api, "GET", "/v1/runtime/run-memory-policy")["policy"]
    assert memory["max_prompt_entries"] == 2
    listed = ok(api, "GET", f"{PATH}/revisions")["items"]
    assert [(item["revision"], item["policy"]["mode"]) for item in listed] == [
        (6, "enabled"),
        (5, "manual_only"),
        (2, "enabled"),
        (1, "shadow"),
    ]
    assert (listed[0]["rollback_of_revision"], listed[0]["actor"]) == (2, "local")
    first = ok(api, "GET", f"{PATH}/revisions?limit=1")
    assert len(first["items"]) == 1
    assert first["next_cursor"]
    assert refused(api, "POST", path, {"target": 1})[0] == 400


def test_a_change_has_what_waits_reviewed_again(daemon: Daemon, api: TestClient) -> None:
    candidate_id = propose(api)
    with daemon.resources.units.write() as unit:
        (job,) = unit.review_queue.claim(now_ms=2**52, until_ms=2**52, limit=5)
        assert unit.review_queue.done(job)

    ok(api, "POST", PATH, rules({"kind": "fact", "action": "reject"}))

    with daemon.resources.units.write() as unit:
        (again,) = unit.review_queue.claim(now_ms=2**52, until_ms=2**52, limit=5)
    assert again.job_id == candidate_id


def test_a_policy_is_tried_on_what_waits_and_on_what_was_decided(api: TestClient) -> None:
    waiting = propose(api, "The sky is blue.")
    decided = learn(api, "Water is wet.")["source_candidate_id"]
    tried = {"mode": "enabled", **rules({"name": "no", "kind": "fact", "action": "reject"})}

    told = ok(api, "POST", f"{PATH}/dry-run", {"policy": tried, "days": 1})

    assert (told["days"], told["pending_count"], told["decided_count"]) == (1, 1, 1)
    assert told["after"]["reject"] == 2
    changes = {change["candidate_id"]: change for change in told["changes"]}
    assert set(changes) == {waiting, decided}
    assert changes[waiting]["before"]["action"] == "manual_review"
    assert changes[waiting]["after"]["matched_rule_name"] == "no"
    assert changes[waiting]["after"]["takes_effect"] is True
    assert changes[decided]["before"]["action"] == "publish_active"
    assert changes[decided]["state"] == "published"
    assert ok(api, "GET", PATH)["revision"] == 1
    assert ok(api, "GET", f"/v1/learning-candidates/{waiting}")["state"] == "pending"


def test_one_policy_is_tried_at_a_time(daemon: Daemon, api: TestClient) -> None:
    path, tried = f"{PATH}/dry-run", {"policy": {"mode": "enabled"}}
    with daemon.services.learning.policy.trying:
        assert refused(api, "POST", path, tried) == (503, "runtime/dry_run_busy")

    assert ok(api, "POST", path, tried)["changes"] == []


def test_no_name_in_a_policy_is_a_secret(api: TestClient) -> None:
    token = "sk-" + "proj-" + "k8Jq2Zx9Lm4Tv7Bd1Wc3" * 2
    no = {"action": "reject"}
    model = {"model": {"generation": {"model": token, "stop": ["###", token]}}}
    for given, places in [
        (rules(no, {**no, "name": f"uses {token}"}), {"/publication/rules/1/name"}),
        (rules({**no, "scope_id": token}), {"/publication/rules/0/scope_id"}),
        (
            rules(quarantined_rule_names=["r1", token]),
            {"/publication/quarantined_rule_names/1"},
        ),
        (
            {"judge": model},
            {"/judge/model/generation/model", "/judge/model/generation/stop/1"},
        ),
        (
            {"capture": {"semantic_candidates": model}},
            {
                "/capture/semantic_candidates/model/generation/model",
                "/capture/semantic_candidates/model/generation/stop/1",
            },
        ),
    ]:
        assert pointers(api, given) == places
        assert token not in api.post(PATH, json=given).text
    named = rules({**no, "name": "no secrets, tokens or passwords", "scope_id": "run_1"})
    assert ok(api, "POST", PATH, named)["revision"] == 2


def test_a_wrong_dry_run_is_refused_at_its_place(api: TestClient) -> None:
    path = f"{PATH}/dry-run"
    for body, place in [
        ({}, "/policy"),
        ([], ""),
        ({"policy": []}, "/policy"),
        ({"policy": {}}, "/policy"),
        ({"policy": {"mode": "on"}}, "/policy/mode"),
        ({"policy": rules({"action": "publish_active"})}, "/policy/publication/rules/0/kind"),
        ({"policy": {"mode": "shadow"}, "days": 0}, "/days"),
        ({"policy": {"mode": "shadow"}, "days": 91}, "/days"),
        ({"policy": {"mode": "shadow"}, "days": "3"}, "/days"),
        ({"policy": {"mode": "shadow"}, "more": 1}, "/more"),
    ]:
        answer = api.post(path, json=body)
        assert answer.status_code == 400, body
        found = {error["pointer"] for error in answer.json()["errors"]}
        assert place in found, (body, found)


def test_a_policy_that_cannot_be_read_closes_learning_and_is_told(
    daemon: Daemon, api: TestClient
) -> None:
    ok(api, "POST", PATH, {"mode": "enabled"})
    with daemon.resources.database.begin() as connection:
        connection.exec_driver_sql(
            'UPDATE runtime_revisions SET document = \'{"learning_policy": {"mode": 5}}\''
        )

    assert ok(api, "GET", PATH)["policy"]["mode"] == "manual_only"
    told = ok(api, "GET", "/v1/status")
    assert told["learning"]["policy_damaged"] is True
    codes = {warning["code"]: warning["severity"] for warning in told["health"]["warnings"]}
    assert codes["learning_policy_damaged"] == "error"
    assert told["health"]["ok"] is False


def test_reviews_and_failures_of_the_judge_are_counted_for_prometheus(
    daemon: Daemon, api: TestClient
) -> None:
    counters: LearningCounters = daemon.services.learning.counters
    counters.count("judge_failures_total")

    assert "understudy_learning_judge_failures_total 1.0" in api.get("/metrics").text
