"""A running daemon takes promoted skills back whose learnings are past their time."""

import time
from typing import Any

import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support.daemon import wait_for
from understudy.rollout.source_learnings import EXPIRED

pytestmark = pytest.mark.e2e

NAME = "learning:sched"
ENDS_IN_MS = 3_000


def test_the_daemon_looks_for_learnings_that_have_ended(live: DaemonWithModel) -> None:
    daemon = live.daemon
    proposed = {
        "scope": {"kind": "workspace", "id": "default"},
        "kind": "procedure",
        "content": "Check the scheduler.",
        "expires_at_ms": int(time.time() * 1000) + ENDS_IN_MS,
    }
    made = daemon.post("/v1/learning-candidates", proposed)
    path = f"/v1/learning-candidates/{made['candidate_id']}/publish"
    learned = daemon.post(path, {"publish_tier": "active"})
    asked = {"skill_name": NAME, "instructions": "Look at the scheduler."}
    daemon.post(f"/v1/learnings/{learned['learning_id']}/promote-skill", asked)

    def revoked() -> Any:
        record = daemon.get(f"/v1/learning-skills/{NAME}")
        return record if record["status"] == "revoked" else None

    record = wait_for(revoked, 30, what="the daemon to look")
    last = record["lifecycle_events"][-1]
    assert (last["event"], last["actor"], last["reason"]) == ("revoke", "daemon", EXPIRED)
    items = daemon.get("/v1/learning-candidates?state=pending")["items"]
    assert [it["capture_path"] for it in items] == ["rollout"]
