"""The API on PostgreSQL, where it may behave no other way."""

import json
from pathlib import Path

import psycopg
import pytest

from tests.api.live import Live, joined, live_daemon
from tests.api.skill_users import packed
from tests.support.postgres import MakeDatabase
from tests.support.skill_service_harness import OK_MD, SLUG
from understudy.engine.heartbeat import lock_number
from understudy.testing.answers import Answer

pytestmark = pytest.mark.postgres
LONG = "".join(f"word{number} " for number in range(30))


def test_runs_streams_lists_and_refusals_work_on_postgresql(
    tmp_path: Path, make_database: MakeDatabase
) -> None:
    url = make_database()
    with live_daemon(tmp_path / "home", UNDERSTUDY_DATABASE_URL=url) as live:
        live.session("s1")
        live.model.queue(Answer(text=LONG, pause_s=0.01))
        run_id = live.submit("s1", "speak")
        events = live.told(run_id)
        assert joined(events) == LONG == joined(live.told(run_id))
        assert live.finished(run_id)["status"] == "completed"
        _refuse_odd_things(live)
        _repeat_under_one_key(live, url)
        _learn_and_take_back(live)
        _keep_skills(live)


def _refuse_odd_things(live: Live) -> None:
    for path in ("/v1/sessions/%00", "/v1/sessions?cursor=WzFd", "/v1/audit?actor=%00"):
        assert live.client.get(path).status_code == 400
    for body in ({"soul": "\0"}, {"metadata": {"n": 2**70}}, {"display_name": "\ud800"}):
        headers = {"Content-Type": "application/json"}
        answer = live.client.post("/v1/personas", content=json.dumps(body), headers=headers)
        assert answer.status_code == 400
    newest = live.ok("GET", "/v1/audit?limit=1")["items"][0]
    assert (newest["outcome"], newest["reason"]) == ("refused", "api/invalid_text")


def _repeat_under_one_key(live: Live, url: str) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = live.ok("POST", "/v1/personas", {"soul": "A"}, headers=headers)
    assert live.ok("POST", "/v1/personas", {"soul": "A"}, headers=headers) == first
    # Two daemons on one database: what a living one carries out is left to it.
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (lock_number("other"),))
        other.execute("UPDATE responses SET status = NULL, holder = 'other'")
        assert live.client.post("/v1/personas", json={"soul": "A"}, headers=headers).is_error
    assert live.ok("POST", "/v1/personas", {"soul": "A"}, headers=headers) != first


def _learn_and_take_back(live: Live) -> None:
    scope = {"kind": "workspace", "id": "default"}
    said = {"scope": scope, "kind": "fact", "content": "Straße is 100% closed."}
    candidate = live.ok("POST", "/v1/learning-candidates", said)["candidate_id"]
    path = f"/v1/learning-candidates/{candidate}"
    tried = {"action": "publish", "candidate_ids": [candidate], "dry_run": True}
    assert live.ok("POST", "/v1/learning-candidates/bulk", tried)["done_count"] == 1
    learning = live.ok("POST", f"{path}/publish", {})["learning_id"]
    found = live.ok("GET", "/v1/learnings?query=100%25&matched_rule_name=")["items"]
    assert [it["learning_id"] for it in found] == [learning]
    assert live.ok("GET", f"/v1/learnings/{learning}/lineage")["use_count"] == 0
    policy = {"policy": {"mode": "enabled"}}
    assert live.ok("POST", "/v1/runtime/learning-policy/dry-run", policy)["decided_count"] == 1
    entries = live.ok("GET", "/v1/sessions/s1/memory-explain?query=closed")["entries"]
    assert entries[0]["learning_id"] == learning
    which = {"query": "straße"}
    assert live.ok("POST", "/v1/learnings/revoke-matching", which)["count"] == 1
    assert live.ok("GET", "/v1/status")["learning"]["learnings"]["revoked"] == 1
    for wrong in ("/v1/learnings?cursor=WzFd", "/v1/learning-candidates?query=%00"):
        assert live.client.get(wrong).status_code == 400


def _keep_skills(live: Live) -> None:
    archive = packed({"SKILL.md": OK_MD, "scripts/a.py": "print(1)\n"})
    uploaded = live.client.post("/v1/skills/upload", files={"file": ("a.zip", archive)})
    assert uploaded.status_code == 201, uploaded.text
    path = f"/v1/skills/{SLUG}"
    live.ok("POST", f"{path}/grants/agent", {"agent_id": "default"})
    live.ok("POST", f"{path}/patch", {"find": "numbers", "replace": "figures"})
    assert live.ok("GET", f"{path}/versions")["current"] == 2
    assert live.ok("GET", f"{path}/files/scripts/a.py?version=2")["content"] == "print(1)\n"
    assert len(live.ok("GET", f"{path}/diff?from=1&to=2")["files"]) == 1
    offered = live.ok("GET", "/v1/sessions/s1/skills")["items"]
    assert SLUG in [skill["slug"] for skill in offered]
    trash_name = live.ok("DELETE", path)["trash_name"]
    assert live.client.get(path).status_code == 404
    assert live.ok("POST", f"/v1/skills/trash/{trash_name}/restore")["visibility"] == "private"
    for wrong in ("/v1/skills?cursor=WzFd", "/v1/skills?query=%00", f"{path}/files?version=0"):
        assert live.client.get(wrong).status_code == 400


def test_the_status_counts_the_daemons_that_live_and_their_connections(
    tmp_path: Path, make_database: MakeDatabase
) -> None:
    url = make_database()
    with (
        live_daemon(tmp_path / "home", UNDERSTUDY_DATABASE_URL=url) as live,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        connection.execute("INSERT INTO daemons (executor_id) VALUES ('dead'), ('alive')")
        connection.execute("SELECT pg_advisory_lock(%s)", (lock_number("alive"),))
        found = live.client.get("/v1/status").json()["storage"]["connections"]

    assert (found["daemons"], found["of_each"]) == (2, 16 + 16 + 3)
    assert 0 < found["room"] < found["max_connections"]
