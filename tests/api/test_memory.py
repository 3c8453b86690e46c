"""What sessions remember, over HTTP: context, search, explanations, records, reports."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.live import Live
from tests.support.daemon import wait_for
from understudy.skills.shipped_skills import shipped_skills

METRICS = (
    "stored_total",
    "injected_total",
    "skipped_unreadable_total",
    "pruned_ttl_total",
    "pruned_overflow_total",
    "pruned_orphan_total",
    "redacted_fields_total",
    "ranked_candidates_total",
    "prompt_limit_omitted_total",
)
POLICY = "/v1/runtime/run-memory-policy"


def remember(live: Live, session_id: str, *texts: str) -> list[str]:
    """Runs that ended, oldest first."""
    live.session(session_id)
    return [str(live.run(session_id, text)["run_id"]) for text in texts]


def get(live: Live, path: str, **query: object) -> Any:
    return live.ok("GET", path, params={name: str(value) for name, value in query.items()})


def search(live: Live, session_id: str, **query: object) -> Any:
    return get(live, f"/v1/sessions/{session_id}/memory-search", **query)


def context(live: Live, session_id: str, **query: object) -> Any:
    return get(live, f"/v1/sessions/{session_id}/memory-context", **query)


def told(answer: Any) -> list[str]:
    entries = answer.get("recovered_memory", {"entries": []})["entries"]
    return [str(entry["run_id"]) for entry in entries]


def found(answer: Any) -> list[str]:
    return [str(result["source_id"]) for result in answer["results"]]


def metrics(live: Live) -> Any:
    return live.ok("GET", "/v1/status")["run_memory"]["metrics"]


def refused(live: Live, method: str, path: str, body: object = None) -> tuple[int, str]:
    answer = live.client.request(method, path, json=body)
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, f"{problem['domain']}/{problem['code']}"


def record_file(live: Live, run_id: str) -> Path:
    name = f"id-{run_id.encode().hex()}.json"
    return live.daemon.settings.home / "run-memories" / "__safe" / name


def test_the_context_is_what_the_prompt_would_tell(live: Live) -> None:
    old, *bananas = remember(
        live, "ctx", "remember the Atlas launch codename", *(f"banana {n}" for n in range(4))
    )

    newest = context(live, "ctx")
    asked = context(live, "ctx", query="What is the Atlas codename?")

    assert told(newest) == bananas[:0:-1]
    assert told(asked)[0] == old
    assert asked["recovered_memory"]["truncated"] is True
    assert asked["learning_scopes"] == [
        {"kind": "session", "id": "ctx"},
        {"kind": "workspace", "id": "default"},
    ]
    assert {one["slug"] for one in asked["visible_skills"]} == set(shipped_skills())
    assert {one["reason"] for one in asked["visible_skills"]} == {"system"}
    assert set(asked) == {
        "session_id",
        "learning_scopes",
        "recovered_memory",
        "visible_skills",
        "visible_skill_count",
    }
    entry = asked["recovered_memory"]["entries"][0]
    assert set(entry) == {"run_id", "recorded_at_ms", "status", "summary"}


def test_looking_touches_no_counter(live: Live) -> None:
    remember(live, "quiet", *(f"count {n}" for n in range(5)))
    before = metrics(live)

    for _ in range(10):
        context(live, "quiet", query="count the sheep")
        get(live, "/v1/sessions/quiet/memory-explain", query="count")

    assert metrics(live) == before


def test_a_session_that_remembers_nothing_has_no_recovered_memory(live: Live) -> None:
    live.session("blank")

    assert "recovered_memory" not in context(live, "blank")
    assert {it["kind"] for it in search(live, "blank")["results"]} == {"skill"}
    assert get(live, "/v1/sessions/blank/memory-explain")["entries"] == []


def test_browsing_shows_the_newest_first_without_scores(live: Live) -> None:
    runs = remember(live, "browse", *(f"errand number {n}" for n in range(14)))

    answer = search(live, "browse")
    blank = search(live, "browse", query="  ")

    assert answer == blank
    assert "query" not in answer
    kinds = [result["kind"] for result in answer["results"]]
    assert kinds == ["recovered_run"] * 10 + ["skill"] * 2
    assert found(answer)[:10] == runs[:3:-1]
    assert answer["truncated"] is True
    assert {result["score"] for result in answer["results"]} == {0}
    assert found(search(live, "browse", limit=0)) == runs[-1:]
    assert found(search(live, "browse", limit=500))[:14] == runs[::-1]
    assert found(search(live, "browse", limit=-3)) == runs[-1:]


def test_a_query_finds_what_fits_and_nothing_else(live: Live) -> None:
    atlas, tokyo, _ = remember(
        live, "find", "the codename is Atlas", "東京 office is vermilion", "peel bananas"
    )

    answer = search(live, "find", query="atlas")

    assert answer["query"] == "atlas"
    assert found(answer) == [atlas]
    (result,) = answer["results"]
    assert result["score"] > 0
    assert result["prompt_eligible"] is True
    assert result["scope"] == {"kind": "session", "id": "find"}
    assert result["matched_fields"][:2] == ["summary", "request_preview"]
    assert "codename is Atlas" in result["title"]
    assert "codename is Atlas" in result["excerpt"]
    assert result["timestamp_ms"] > 0
    assert not {"learning_status", "publish_tier", "verification_status"} & set(result)
    assert found(search(live, "find", query="東京")) == [tokyo]
    assert found(search(live, "find", query="ATL")) == [atlas]
    assert found(search(live, "find", query="zeppelin")) == []


def test_what_was_found_is_cut_to_an_excerpt(live: Live) -> None:
    remember(live, "long", "word " * 200)

    result = search(live, "long")["results"][0]

    assert len(result["excerpt"]) == 181
    assert result["excerpt"].endswith("…")


@pytest.mark.parametrize("query", ["' OR 1=1 --", '"unbalanced', "NEAR(a b", "*", "a:b", "\\", "%"])
def test_a_query_is_text_and_never_syntax(live: Live, query: str) -> None:
    live.session("syntax")

    for kind in ("memory-search", "memory-context", "memory-explain"):
        get(live, f"/v1/sessions/syntax/{kind}", query=query)


def test_wrong_questions_are_refused(live: Live) -> None:
    live.session("wrong")
    base = "/v1/sessions/wrong"
    for kind in ("memory-search", "memory-context", "memory-explain"):
        assert refused(live, "GET", f"{base}/{kind}?query={'x' * 4097}") == (
            400,
            "memory/invalid_query",
        )
        assert refused(live, "GET", f"{base}/{kind}?query=%00") == (400, "api/invalid_text")
        assert refused(live, "GET", f"/v1/sessions/nobody/{kind}") == (
            404,
            "sessions/session_not_found",
        )
        live.ok("GET", f"{base}/{kind}?query={quote('ü' * 4096)}")
    for limit in ("many", "1.5", "1e3", "NaN"):
        status, _ = refused(live, "GET", f"{base}/memory-search?limit={limit}")
        assert status == 400, limit
    assert refused(live, "GET", f"{base}/memory-search?query={'x' * 16_001}")[0] == 400


def test_the_explanation_tells_why_each_memory_is_in_or_out(live: Live) -> None:
    atlas, *others = remember(
        live, "why", "find the Atlas codename", *(f"banana {n}" for n in range(3))
    )

    answer = get(live, "/v1/sessions/why/memory-explain", query="Atlas codename")

    assert answer["max_prompt_entries"] == 3
    first, *rest = answer["entries"]
    assert (first["run_id"], first["injected"], first["reason"]) == (atlas, True, "included")
    assert first["score"] > 0
    assert first["coverage"] == 1
    assert {match["field"] for match in first["matches"]} >= {"summary", "request_preview"}
    assert all(match["points"] > 0 and match["terms"] for match in first["matches"])
    assert [entry["run_id"] for entry in rest] == others[::-1]
    assert [entry["reason"] for entry in rest] == ["included", "included", "over_entry_limit"]
    assert rest[-1]["injected"] is False
    assert "3 others" in rest[-1]["explanation"]
    assert "recent" in rest[0]["explanation"]


def test_a_run_reports_what_it_was_given(live: Live) -> None:
    given, asking = remember(live, "told", "the Atlas codename", "what about Atlas?")

    report = get(live, f"/v1/runs/{asking}/memory-report")
    first = get(live, f"/v1/runs/{given}/memory-report")

    assert (report["reason"], report["session_id"]) == ("reported", "told")
    assert (report["injected_count"], report["omitted_count"]) == (1, 0)
    (entry,) = report["entries"]
    assert (entry["run_id"], entry["injected"]) == (given, True)
    assert entry["score"] > 0
    assert entry["matched"]["request_preview"] == ["atlas"]
    assert report["budget"]["used_tokens"] > 0
    assert (first["reason"], first["entries"]) == ("reported", [])
    assert refused(live, "GET", "/v1/runs/run_unknown/memory-report") == (
        404,
        "runs/run_not_found",
    )


def test_a_run_reports_the_learnings_it_was_told_of(live: Live) -> None:
    live.session("taught")
    wanted = {
        "scope": {"kind": "session", "id": "taught"},
        "kind": "preference",
        "content": "Preferred harbour is Saint-Malo.",
    }
    candidate = live.ok("POST", "/v1/learning-candidates", wanted)["candidate_id"]
    here = {"scope": wanted["scope"]}
    learning = live.ok("POST", f"/v1/learning-candidates/{candidate}/publish", here)
    (asking,) = remember(live, "taught", "which harbour do I like?")

    report = get(live, f"/v1/runs/{asking}/memory-report")["learned"]

    assert (report["reason"], report["injected_count"], report["omitted_count"]) == (
        "reported",
        1,
        0,
    )
    assert report["used_tokens"] > 0
    (entry,) = (it for it in report["entries"] if it["scope"] == "session:taught")
    assert (entry["kind"], entry["injected"], entry["reasons"]) == ("preference", True, [])
    assert entry["matched"] == {"content": ["harbour"]}
    assert entry["explanation"] == "it matches the input"
    (told_of,) = context(live, "taught", query="harbour")["learned_context"]["entries"]
    assert told_of == {
        "learning_id": entry["learning_id"],
        "kind": "preference",
        "applies": entry["applies"],
        "published_at_ms": entry["published_at_ms"],
        "content": wanted["content"],
    }
    (found_one,) = (
        it for it in search(live, "taught", query="harbour")["results"] if it["kind"] == "learning"
    )
    assert (found_one["learning_status"], found_one["publish_tier"]) == ("active", "active")
    assert found_one["verification_status"] == "unverified"
    assert found_one["applies"] == entry["applies"] == "when_relevant"
    assert found_one["source_id"] in str(learning)


def test_a_run_that_never_began_has_an_empty_report(live: Live) -> None:
    live.session("queue")
    live.model.hold()
    first = live.submit("queue", "one")
    waiting = live.submit("queue", "two")
    try:
        report = get(live, f"/v1/runs/{waiting}/memory-report")
    finally:
        live.model.release()
    live.finished(first)
    live.finished(waiting)

    assert (report["reason"], report["entries"]) == ("not_started", [])
    assert report["explanation"]


def test_by_default_a_model_is_asked_once_about_a_run_that_may_state_something(live: Live) -> None:
    asked = len(live.model.captures)
    labelled = "Fact: our mill is old. Decision: we paint it."
    paths = [
        f"/v1/run-memories/{run_id}"
        for run_id in remember(live, "asked", "I moved to Graz.", "Hello!", labelled)
    ]
    wait_for(lambda: {get(live, path)["semantic_capture"] for path in paths} == {"completed"})
    assert [json.loads(it.last_user)["request"] for it in live.model.captures[asked:]] == [
        "I moved to Graz.",
        labelled,
    ]


def test_a_record_is_shown_and_forgotten(live: Live) -> None:
    kept, gone = remember(live, "records", "first errand", "second errand")

    path = f"/v1/run-memories/{gone}"
    wait_for(lambda: get(live, path)["semantic_capture"] != "pending", what="capture")
    record, longer = get(live, path), get(live, path, evidence="true")

    assert set(record) == {"session_id", "scope_keys", "semantic_capture", "memory", "capture"}
    assert record["capture"] == {
        "state": "completed",
        "found": 0,
        "attempts": 1,
        "reason": "nothing_found",
    }
    assert record["scope_keys"] == ["session:records", "workspace:default"]
    assert record["memory"]["request_preview"] == "second errand"
    assert longer.pop("evidence")["request"] == "second errand"
    assert longer == record
    assert record_file(live, gone).exists()
    assert live.ok("DELETE", f"/v1/run-memories/{gone}") == {"deleted": True}
    assert not record_file(live, gone).exists()
    missing = (404, "run_memories/run_memory_not_found")
    for method in ("GET", "DELETE"):
        assert refused(live, method, f"/v1/run-memories/{gone}") == missing
        assert refused(live, method, "/v1/run-memories/nothing") == missing
        assert refused(live, method, "/v1/run-memories/..%2F..%2Fetc")[0] == 404
    assert found(search(live, "records"))[0] == kept
    assert told(context(live, "records")) == [kept]
    assert gone not in found(search(live, "records"))
    audit = get(live, "/v1/audit", resource="run_memories")["items"]
    assert ("done", "run_memories.forget", gone) in [
        (entry["outcome"], entry["action"], entry["resource_id"]) for entry in audit
    ]
    assert live.ok("GET", f"/v1/runs/{gone}")["status"] == "completed"


def test_records_are_listed_page_by_page(live: Live) -> None:
    runs = remember(live, "pages", "one", "two", "three")

    first = get(live, "/v1/run-memories", session_id="pages", limit=2)
    second = get(live, "/v1/run-memories", session_id="pages", cursor=first["next_cursor"])

    assert [item["run_id"] for item in first["items"] + second["items"]] == runs[::-1]
    assert second["next_cursor"] is None
    assert first["items"][0]["status"] == "completed"
    assert "three" in first["items"][0]["summary"]
    everything = get(live, "/v1/run-memories", limit=200)["items"]
    assert {item["session_id"] for item in everything} >= {"pages"}
    assert get(live, "/v1/run-memories", session_id="nobody")["items"] == []
    for query in ("limit=0", "limit=x", "cursor=x", "cursor=WzFd"):
        assert refused(live, "GET", f"/v1/run-memories?{query}")[0] == 400, query


def test_a_record_that_cannot_be_read_is_skipped_counted_and_told(live: Live) -> None:
    broken, whole = remember(live, "broken", "one errand", "another errand")
    record_file(live, broken).write_text("{")
    before = metrics(live)["skipped_unreadable_total"]

    answer = search(live, "broken", query="errand")

    assert found(answer) == [whole]
    assert metrics(live)["skipped_unreadable_total"] == before + 1
    assert record_file(live, broken).exists()
    assert refused(live, "GET", f"/v1/run-memories/{broken}")[0] == 503
    listed = get(live, "/v1/run-memories", session_id="broken")["items"]
    assert ["status" in item for item in listed] == [True, False]
    entries = get(live, "/v1/sessions/broken/memory-explain")["entries"]
    assert [entry["reason"] for entry in entries] == ["included", "unreadable"]
    warnings = live.ok("GET", "/v1/status")["health"]["warnings"]
    assert "run_memory_unreadable_records" in {warning["code"] for warning in warnings}
    live.ok("DELETE", f"/v1/run-memories/{broken}")


def test_a_record_of_another_session_is_not_found_through_its_file(live: Live) -> None:
    (mine,) = remember(live, "mine", "my own errand")
    (theirs,) = remember(live, "theirs", "their own errand")
    stolen = json.loads(record_file(live, theirs).read_text())
    record_file(live, theirs).write_text(json.dumps({**stolen, "session_id": "mine"}))
    live.ok("POST", POLICY, {"search_visibility": "learning_scopes"})

    assert theirs not in found(search(live, "mine", query="errand", limit=50))
    assert mine in found(search(live, "mine", query="errand", limit=50))

    live.ok("POST", POLICY, {"enabled": True})


def test_other_sessions_are_found_only_when_the_policy_says_so(live: Live) -> None:
    live.session("here")
    live.session("there")
    live.ok("POST", "/v1/projects", {"project_id": "shared", "display_name": "Shared"})
    for session_id in ("here", "there"):
        member = {"member_id": session_id, "member_kind": "session", "display_name": session_id}
        live.ok("POST", "/v1/projects/shared/members", member)
    (own,) = remember(live, "here", "quixotic windmill here")
    (other,) = remember(live, "there", "quixotic windmill there")

    assert found(search(live, "here", query="quixotic")) == [own]
    live.ok("POST", POLICY, {"policy": {"search_visibility": "learning_scopes"}})
    try:
        answer = search(live, "here", query="quixotic")
        prompt = context(live, "here", query="quixotic")
    finally:
        live.ok("POST", POLICY, {"enabled": True})

    by_id = {result["source_id"]: result for result in answer["results"]}
    assert set(by_id) == {own, other}
    assert by_id[other]["prompt_eligible"] is False
    assert by_id[other]["scope"] == {"kind": "project", "id": "shared"}
    assert {"kind": "project", "id": "shared"} in answer["learning_scopes"]
    assert told(prompt) == [own]


def test_the_status_tells_of_run_memory(live: Live) -> None:
    before = live.ok("GET", "/v1/status")["session_memory"]["metrics"]
    remember(live, "status", "something to remember")

    status = live.ok("GET", "/v1/status")

    run_memory = status["run_memory"]
    assert set(run_memory) >= {
        "policy",
        "maintenance",
        "indexed_session_count",
        "indexed_record_count",
        "indexed_scope_count",
        "stale_indexed_record_count",
        "metrics",
    }
    assert set(run_memory["metrics"]) == set(METRICS)
    assert run_memory["maintenance"]["source"] in ("startup", "runtime_policy")
    assert run_memory["indexed_record_count"] >= 1
    assert set(before) == {"injected_total", "prompt_limit_omitted_total", "below_floor_total"}
    # Nothing was learned here, so no prompt was told of it.
    assert status["session_memory"]["metrics"] == before


def test_prometheus_reads_the_same_counters(live: Live) -> None:
    remember(live, "prometheus", "something to count")

    lines = live.client.get("/metrics").text.splitlines()

    counted = metrics(live)
    for name in METRICS:
        (line,) = [each for each in lines if each.startswith(f"understudy_run_memory_{name} ")]
        assert float(line.split()[1]) == counted[name]
