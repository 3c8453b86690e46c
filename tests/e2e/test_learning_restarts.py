"""Learning through kills and starts: what was under way is done once, and nothing waits for it."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.support.daemon import wait_for
from tests.support.learning_daemon import (
    CANDIDATES,
    EXTRACTION,
    JUDGE,
    LEARNINGS,
    POLICY,
    LearningDaemon,
    rule,
)
from understudy.testing.answers import Answer

pytestmark = pytest.mark.e2e

RUNS_UNDER_WAY = 20
# A start that waited for one answer would not be ready in time.
PATIENCE = {"timeout_ms": 60_000}
HANGING = Answer(delay_s=600)
VERDICT = {"action": "publish_provisional", "reason": "fine"}
OFF = {"enabled": False, "model": None, "timeout_ms": None}
DEFAULT = {
    "mode": "shadow",
    "capture": {
        "run_summary_candidates": False,
        "semantic_candidates": {**OFF, "enabled": True, "max_candidates_per_run": 2},
    },
    "publication": {
        "default_action": "manual_review",
        "allow_api_origin_active_publication": False,
        "allow_untrusted_active_publication": False,
        "quarantined_rule_names": [],
        "rules": [],
    },
    "judge": OFF,
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


def receipts(learning_daemon: LearningDaemon, run_ids: list[str]) -> set[str]:
    return {learning_daemon.get(f"/v1/run-memories/{it}")["semantic_capture"] for it in run_ids}


def make_pending(learning_daemon: LearningDaemon, run_id: str) -> None:
    """The receipt of a run as a crash before its last write leaves it."""
    name = f"id-{run_id.encode().hex()}.json"
    path = learning_daemon.daemon.home / "run-memories" / "__safe" / name
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"semantic_capture": "pending"}))
    with closing(sqlite3.connect(learning_daemon.daemon.home / "understudy.db")) as database:
        change = "UPDATE run_memories SET semantic_capture = 'pending' WHERE run_id = ?"
        assert database.execute(change, [run_id]).rowcount == 1
        database.commit()


def answers(learning_daemon: LearningDaemon) -> None:
    """Let both models answer at once."""
    learning_daemon.answer(JUDGE, lambda _: VERDICT)
    learning_daemon.answer(EXTRACTION, lambda asked: _fact(str(asked["request"])))


def _fact(request: str) -> dict[str, Any]:
    content = request.removeprefix("By the way: ")
    return {"candidate_1": {"kind": "decision", "content": content}}


@pytest.mark.timeout(180)
def test_what_was_under_way_at_a_kill_is_done_once_after_the_start(
    fresh_learning_daemon: LearningDaemon,
) -> None:
    learning_daemon = fresh_learning_daemon
    session = learning_daemon.session("s1")
    answers(learning_daemon)
    publishing = rule("publish_provisional", kind="fact")
    learning_daemon.policy("shadow", publishing, judge=PATIENCE, capture=PATIENCE)
    seen = learning_daemon.propose("The first berth is taken.")["candidate_id"]
    learning_daemon.reviewed(seen)
    learning_daemon.answer(JUDGE, lambda _: HANGING)
    learning_daemon.answer(EXTRACTION, lambda _: HANGING)
    unseen = learning_daemon.propose("The second berth is free.")["candidate_id"]
    run_ids = [
        str(
            learning_daemon.run(session, f"By the way: berth {number} goes to ship {number}.")[
                "run_id"
            ]
        )
        for number in range(RUNS_UNDER_WAY)
    ]
    assert receipts(learning_daemon, run_ids) == {"pending"}

    learning_daemon.daemon.kill()
    answers(learning_daemon)
    learning_daemon.model.hold()
    learning_daemon.daemon.start(timeout=30)
    assert receipts(learning_daemon, run_ids) == {"pending"}
    learning_daemon.model.release()

    learning_daemon.reviewed(unseen, timeout=30)
    wait_for(lambda: receipts(learning_daemon, run_ids) == {"completed"}, 30, what="all to be read")
    found = [it["source"]["run_id"] for it in learning_daemon.candidates(kind="decision")]
    assert sorted(found) == sorted(run_ids)
    assert len(learning_daemon.asked(JUDGE, seen)) == 1
    learning_daemon.reviewed(learning_daemon.propose("The third berth is free.")["candidate_id"])

    before = (learning_daemon.candidates(), len(learning_daemon.model.requests))
    learning_daemon.daemon.stop()
    make_pending(learning_daemon, run_ids[0])
    learning_daemon.daemon.start()
    settled = [run_ids[0]]
    wait_for(
        lambda: receipts(learning_daemon, settled) == {"completed"},
        what="the receipt to be settled",
    )
    assert (learning_daemon.candidates(), len(learning_daemon.model.requests)) == before


def test_all_records_outlive_a_restart_and_a_damaged_one_keeps_nobody_else_out(
    fresh_learning_daemon: LearningDaemon,
) -> None:
    learning_daemon = fresh_learning_daemon
    session = learning_daemon.session("s1")
    assert learning_daemon.get(POLICY)["policy"] == DEFAULT
    damaged, whole = make_records(learning_daemon, session)
    before = (
        learning_daemon.candidates(),
        learning_daemon.learnings(),
        learning_daemon.get(POLICY),
    )
    asked = len(learning_daemon.asked(JUDGE))

    learning_daemon.daemon.stop()
    learning_daemon.edit(damaged, body='{"content": 7}')
    learning_daemon.daemon.start()

    kept = [it for it in before[1] if it["learning_id"] != damaged]
    assert (
        learning_daemon.candidates(),
        learning_daemon.learnings(),
        learning_daemon.get(POLICY),
    ) == (
        before[0],
        kept,
        before[2],
    )
    counted = {"injected_total": 0, "prompt_limit_omitted_total": 0, "below_floor_total": 0}
    assert learning_daemon.get("/v1/status")["session_memory"]["metrics"] == counted
    assert learning_daemon.told(session, "And what is painted now?") == [whole]
    assert learning_daemon.in_context(session, "painted") == [whole]
    found = {it["source_id"] for it in learning_daemon.search(session, "painted")["results"]}
    assert (whole in found, damaged in found) == (True, False)
    assert damaged in learning_daemon.daemon.log()
    for path in (f"{LEARNINGS}/{damaged}", f"{LEARNINGS}/{damaged}/lineage"):
        assert learning_daemon.refused(path, method="GET")["code"]
    # What is new is judged, and nothing else is judged again.
    learning_daemon.reviewed(
        learning_daemon.propose("Tea at five.", kind="preference")["candidate_id"], "published"
    )
    assert len(learning_daemon.asked(JUDGE)) == asked + 1


def make_records(learning_daemon: LearningDaemon, session: str) -> list[str]:
    """Some of every kind; the ids of two learnings about what is painted."""
    summaries = {"run_summary_candidates": True, "semantic_candidates": {"enabled": False}}
    learning_daemon.post(POLICY, {"policy": {"capture": summaries}})
    learned = [
        learning_daemon.learn(f"The {name} is painted.")["learning_id"] for name in ("bow", "keel")
    ]
    learning_daemon.supersede(
        learning_daemon.learn("The mast is pine.")["learning_id"], "The mast is steel."
    )
    learning_daemon.revoke(learning_daemon.learn("The deck is wet.")["learning_id"], "it dried")
    learning_daemon.post(
        f"{CANDIDATES}/{learning_daemon.propose('The flag is torn.')['candidate_id']}/reject"
    )
    learning_daemon.propose("We sail at dawn.", kind="decision")
    assert set(learning_daemon.told(session, "What is painted?")) == set(learned)
    [summary] = learning_daemon.candidates(kind="run_summary")
    learning_daemon.reviewed(summary["candidate_id"], "pending")
    learning_daemon.answer(JUDGE, lambda _: VERDICT)
    learning_daemon.policy("enabled", rule("publish_provisional", kind="preference"), judge={})
    learning_daemon.reviewed(
        learning_daemon.propose("Tea at four.", kind="preference")["candidate_id"], "published"
    )
    wait_for(lambda: not learning_daemon.candidates(state="pending"), what="all to be reviewed")
    return learned
