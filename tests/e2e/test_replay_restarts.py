"""A replay through a kill: it goes on where it was, and nothing is done in the world again."""

from typing import Any

import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support.daemon import wait_for
from tests.support.model_scripts import play
from understudy.testing.answers import Answer, call

pytestmark = pytest.mark.e2e

NAME = "notes"
MARKER = "NOTES_OK"
TASK = "Correct the notes."
ONE = f"/v1/learning-skills/{NAME}"
EDIT = call("edit_file", {"path": "notes.txt", "old_text": "thy", "new_text": "the"})
# Long enough for a kill to come in between.
DONE = Answer(text=MARKER, delay_s=0.4)


def promote(live: DaemonWithModel) -> None:
    """A draft of a procedure."""
    scope = {"kind": "workspace", "id": "default"}
    proposed = {"scope": scope, "kind": "procedure", "content": "Correct notes."}
    made = live.daemon.post("/v1/learning-candidates", proposed)
    path = f"/v1/learning-candidates/{made['candidate_id']}/publish"
    learning_id = live.daemon.post(path, {"publish_tier": "active"})["learning_id"]
    asked = {"skill_name": NAME, "instructions": "Correct the words of the notes."}
    live.daemon.post(f"/v1/learnings/{learning_id}/promote-skill", asked)


def record(live: DaemonWithModel, session_id: str) -> str:
    """A run that corrects the notes, which can only be done once."""
    live.daemon.post("/v1/sessions", {"session_id": session_id})
    return str(live.daemon.run(session_id, TASK)["run_id"])


@pytest.mark.timeout(300)
def test_a_replay_outlives_a_kill_and_does_nothing_twice(live: DaemonWithModel) -> None:
    daemon = live.daemon
    notes = daemon.home / "workspace" / "notes.txt"
    notes.parent.mkdir(exist_ok=True)
    promote(live)
    live.model.rule = play({"Carry out": [EDIT, DONE], TASK: [EDIT, DONE]})
    notes.write_text("thy one")
    first = record(live, "s1")
    notes.write_text("thy other")
    second = record(live, "s2")
    assert notes.read_text() == "the other"
    notes.write_text("thy notes")

    cases = [{"run_id": run_id} for run_id in (first, second)]
    asked = {"cases": cases, "expected_output_contains": MARKER}
    trial_id = daemon.post(f"{ONE}/trial", asked)["trial_id"]

    def trial() -> Any:
        return daemon.get(f"{ONE}/trials/{trial_id}")

    daemon.kill()
    daemon.start(60)
    ended = wait_for(lambda: it if (it := trial())["state"] != "pending" else None, 60, what="it")

    assert (ended["state"], ended.get("reason")) == ("passed", None)
    report = ended["report"]
    assert (report["with_skill"]["successes"], report["without_skill"]["successes"]) == (2, 2)
    assert report["with_skill"]["unrecorded_calls"] == 0
    assert report["with_skill"]["tool_calls"] == 2
    assert notes.read_text() == "thy notes"
    runs = {case[side] for case in ended["cases"] for side in ("with_run_id", "without_run_id")}
    assert len(runs) == 4
