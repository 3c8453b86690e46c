"""Learning through kills and starts: what was under way is done once, and nothing waits for it."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.support.daemon import wait_for
from tests.support.pupil import CANDIDATES, EXTRACTION, JUDGE, LEARNINGS, POLICY, Pupil, rule
from understudy.testing.answers import ModelAnswer

pytestmark = pytest.mark.e2e

RUNS_UNDER_WAY = 20
# A start that waited for one answer would not be ready in time.
PATIENCE = {"timeout_ms": 60_000}
HANGING = ModelAnswer(delay_s=600)
VERDICT = {"action": "publish_provisional", "reason": "fine"}
OFF = {"enabled": False, "model": None, "timeout_ms": None}
DEFAULT = {
    "mode": "shadow",
    "capture": {
        "run_summary_candidates": True,
        "semantic_candidates": {**OFF, "max_candidates_per_run": 2},
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
}


def receipts(pupil: Pupil, run_ids: list[str]) -> set[str]:
    return {pupil.get(f"/v1/run-memories/{it}")["semantic_capture"] for it in run_ids}


def make_pending(pupil: Pupil, run_id: str) -> None:
    """The receipt of a run as a crash before its last write leaves it."""
    name = f"id-{run_id.encode().hex()}.json"
    path = pupil.daemon.home / "run-memories" / "__safe" / name
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"semantic_capture": "pending"}))
    with closing(sqlite3.connect(pupil.daemon.home / "understudy.db")) as database:
        change = "UPDATE run_memories SET semantic_capture = 'pending' WHERE run_id = ?"
        assert database.execute(change, [run_id]).rowcount == 1
        database.commit()


def answers(pupil: Pupil) -> None:
    """Let both models answer at once."""
    pupil.answer(JUDGE, lambda _: VERDICT)
    pupil.answer(EXTRACTION, lambda asked: _fact(str(asked["request"])))


def _fact(request: str) -> dict[str, Any]:
    content = request.removeprefix("By the way: ")
    return {"candidate_1": {"kind": "decision", "content": content}}


@pytest.mark.timeout(180)
def test_what_was_under_way_at_a_kill_is_done_once_after_the_start(fresh_pupil: Pupil) -> None:
    pupil = fresh_pupil
    session = pupil.session("s1")
    answers(pupil)
    publishing = rule("publish_provisional", kind="fact")
    pupil.policy("shadow", publishing, judge=PATIENCE, capture=PATIENCE)
    seen = pupil.propose("The first berth is taken.")["candidate_id"]
    pupil.reviewed(seen)
    pupil.answer(JUDGE, lambda _: HANGING)
    pupil.answer(EXTRACTION, lambda _: HANGING)
    unseen = pupil.propose("The second berth is free.")["candidate_id"]
    run_ids = [
        str(pupil.run(session, f"By the way: berth {number} goes to ship {number}.")["run_id"])
        for number in range(RUNS_UNDER_WAY)
    ]
    assert receipts(pupil, run_ids) == {"pending"}

    pupil.daemon.kill()
    answers(pupil)
    pupil.model.hold()
    pupil.daemon.start(timeout=30)
    assert receipts(pupil, run_ids) == {"pending"}
    pupil.model.release()

    pupil.reviewed(unseen, timeout=30)
    wait_for(lambda: receipts(pupil, run_ids) == {"completed"}, 30, what="all to be read")
    found = [it["source"]["run_id"] for it in pupil.candidates(kind="decision")]
    assert sorted(found) == sorted(run_ids)
    assert len(pupil.asked(JUDGE, seen)) == 1
    pupil.reviewed(pupil.propose("The third berth is free.")["candidate_id"])

    before = (pupil.candidates(), len(pupil.model.requests))
    pupil.daemon.stop()
    make_pending(pupil, run_ids[0])
    pupil.daemon.start()
    settled = [run_ids[0]]
    wait_for(lambda: receipts(pupil, settled) == {"completed"}, what="the receipt to be settled")
    assert (pupil.candidates(), len(pupil.model.requests)) == before


def test_all_records_outlive_a_restart_and_a_damaged_one_keeps_nobody_else_out(
    fresh_pupil: Pupil,
) -> None:
    pupil = fresh_pupil
    session = pupil.session("s1")
    assert pupil.get(POLICY)["policy"] == DEFAULT
    damaged, whole = make_records(pupil, session)
    before = (pupil.candidates(), pupil.learnings(), pupil.get(POLICY))
    asked = len(pupil.asked(JUDGE))

    pupil.daemon.stop()
    pupil.edit(damaged, body='{"content": 7}')
    pupil.daemon.start()

    kept = [it for it in before[1] if it["learning_id"] != damaged]
    assert (pupil.candidates(), pupil.learnings(), pupil.get(POLICY)) == (
        before[0],
        kept,
        before[2],
    )
    counted = {"injected_total": 0, "prompt_limit_omitted_total": 0}
    assert pupil.get("/v1/status")["session_memory"]["metrics"] == counted
    assert pupil.told(session, "And what is painted now?") == [whole]
    assert pupil.in_context(session, "painted") == [whole]
    found = {it["source_id"] for it in pupil.search(session, "painted")["results"]}
    assert (whole in found, damaged in found) == (True, False)
    assert damaged in pupil.daemon.log()
    for path in (f"{LEARNINGS}/{damaged}", f"{LEARNINGS}/{damaged}/lineage"):
        assert pupil.refused(path, method="GET")["code"]
    # What is new is judged, and nothing else is judged again.
    pupil.reviewed(pupil.propose("Tea at five.", kind="preference")["candidate_id"], "published")
    assert len(pupil.asked(JUDGE)) == asked + 1


def make_records(pupil: Pupil, session: str) -> list[str]:
    """Some of every kind; the ids of two learnings about what is painted."""
    learned = [pupil.learn(f"The {name} is painted.")["learning_id"] for name in ("bow", "keel")]
    pupil.supersede(pupil.learn("The mast is pine.")["learning_id"], "The mast is steel.")
    pupil.revoke(pupil.learn("The deck is wet.")["learning_id"], "it dried")
    pupil.post(f"{CANDIDATES}/{pupil.propose('The flag is torn.')['candidate_id']}/reject")
    pupil.propose("We sail at dawn.", kind="decision")
    assert set(pupil.told(session, "What is painted?")) == set(learned)
    [summary] = pupil.candidates(kind="run_summary")
    pupil.reviewed(summary["candidate_id"], "pending")
    pupil.answer(JUDGE, lambda _: VERDICT)
    pupil.policy("enabled", rule("publish_provisional", kind="preference"), judge={})
    pupil.reviewed(pupil.propose("Tea at four.", kind="preference")["candidate_id"], "published")
    wait_for(lambda: not pupil.candidates(state="pending"), what="all to be reviewed")
    return learned
