"""What runs leave to be learned, as a stranger meets it: found once, in order, and never lost."""

import json
import time
from typing import Any

import pytest

from tests.support.daemon import PATIENCE_S, wait_for
from tests.support.learning_daemon import (
    CANDIDATES,
    EXTRACTION,
    POLICY,
    RUNS,
    LearningDaemon,
    rule,
    session_scope,
)
from understudy.testing.answers import Answer, call

pytestmark = pytest.mark.e2e

DAY_MS = 24 * 3600 * 1000
ATLAS = "Fact: Project codename is Atlas."
LABELLED = (
    "For future turns: Preference: Preferred editor is Helix. "
    "Fact: Project codename is Atlas. Reply exactly OK."
)
KEY = "sk-" + "proj-abc"


def receipt(learning_daemon: LearningDaemon, run_id: str) -> str:
    return str(learning_daemon.get(f"/v1/run-memories/{run_id}")["semantic_capture"])


def settled(learning_daemon: LearningDaemon, run_id: str, timeout: float = PATIENCE_S) -> None:
    """Wait until nothing more is learned from a run."""
    wait_for(
        lambda: receipt(learning_daemon, run_id) != "pending",
        timeout,
        what=f"{run_id} to be read",
    )


def found_in(learning_daemon: LearningDaemon, session: str, text: str) -> list[dict[str, Any]]:
    """What the daemon proposes of a run."""
    run_id = learning_daemon.run(learning_daemon.session(session), text)["run_id"]
    settled(learning_daemon, run_id)
    return learning_daemon.candidates(query=run_id)


def test_every_run_leaves_one_summary_that_no_prompt_tells(learning_daemon: LearningDaemon) -> None:
    session = learning_daemon.session("summaries")
    narrowed = {"scope_kind": "session", "scope_id": session, "kind": "run_summary"}
    summaries = {"run_summary_candidates": True, "semantic_candidates": {"enabled": False}}
    learning_daemon.post(POLICY, {"policy": {"capture": summaries}})
    before = int(time.time() * 1000)
    done = learning_daemon.run(session, "inspect the sextant")["run_id"]
    learning_daemon.answer(RUNS, lambda _: Answer(status=400))
    failed = learning_daemon.run(session, "inspect the compass")["run_id"]
    learning_daemon.answer(RUNS, lambda _: "ok")
    by_run = {it["source"]["run_id"]: it for it in learning_daemon.candidates(**narrowed)}

    assert set(by_run) == {done, failed}
    summary = by_run[done]
    assert (summary["origin"], summary["sensitivity"]) == ("daemon", "sensitive")
    assert (summary["confidence"], summary["scope"]) == (100, session_scope(session))
    memory = learning_daemon.get(f"/v1/run-memories/{done}")
    assert summary["content"] == memory["memory"]["summary"]
    assert before <= summary["expires_at_ms"] - 30 * DAY_MS <= int(time.time() * 1000)
    learning = learning_daemon.publish(summary["candidate_id"])
    assert learning["sensitivity"] == "sensitive"
    assert learning_daemon.told(session, "What of the sextant?") == []
    assert learning_daemon.in_context(session) == []
    learning_daemon.policy("shadow")
    learning_daemon.run(session, "and now?")
    assert len(learning_daemon.candidates(**narrowed)) == 3


def test_what_is_labelled_stands_where_a_model_says_nothing_of_it(
    learning_daemon: LearningDaemon,
) -> None:
    learning_daemon.policy("shadow", capture={})
    found = found_in(learning_daemon, "labels", LABELLED)
    run_id = found[0]["source"]["run_id"]

    assert {(it["kind"], it["content"]) for it in found} == {
        ("preference", "Preferred editor is Helix"),
        ("fact", "Project codename is Atlas"),
    }
    for it in found:
        assert (it["origin"], it["confidence"], it["sensitivity"]) == ("daemon", 98, "scoped")
        assert it["scope"] == session_scope("labels")
        assert it["evidence_refs"] == [{"run_id": run_id}]
        assert it["source"]["session_id"] == "labels"
        assert "expires_at_ms" not in it
        assert "OK" not in it["content"]
    (asked,) = learning_daemon.asked(EXTRACTION)
    assert [it["content"] for it in asked["labels"]] == [
        "Preferred editor is Helix",
        "Project codename is Atlas",
    ]
    learning_daemon.answer(EXTRACTION, lambda _: {"candidates": [], "not_meant": ["label_2"]})
    assert [it["kind"] for it in found_in(learning_daemon, "struck", LABELLED)] == ["preference"]


def test_a_model_finds_what_is_not_labelled(learning_daemon: LearningDaemon) -> None:
    editor = {"kind": "preference", "content": "  Preferred   editor is Helix. ", "confidence": 101}
    again = {"kind": "preference", "content": "preferred editor: helix"}
    steps = {"kind": "procedure", "content": "Open Helix, then type."}
    answer = {"candidate_1": editor, "candidate_2": again, "candidate_3": steps}
    learning_daemon.answer(EXTRACTION, lambda _: answer)
    learning_daemon.policy("shadow", capture={"max_candidates_per_run": 3})

    [found] = found_in(learning_daemon, "model", "I like Helix best of all editors.")
    learning_daemon.answer(EXTRACTION, lambda _: {})
    nothing = found_in(learning_daemon, "nothing", "Good morning to you.")

    assert (found["kind"], found["content"], found["confidence"]) == (
        "preference",
        "Preferred editor is Helix.",
        100,
    )
    assert nothing == []
    assert len(learning_daemon.asked(EXTRACTION)) == 2
    [asked] = learning_daemon.asked(EXTRACTION, "Good morning")
    assert "preference" in json.dumps(asked)


def test_nothing_is_learned_from_a_run_that_failed(learning_daemon: LearningDaemon) -> None:
    learning_daemon.policy("shadow", capture={})
    learning_daemon.answer(RUNS, lambda _: Answer(status=400))

    assert found_in(learning_daemon, "failed", ATLAS) == []
    assert learning_daemon.asked(EXTRACTION) == []


def test_what_ran_while_capture_was_off_is_never_read(learning_daemon: LearningDaemon) -> None:
    session = learning_daemon.session("switched")
    learning_daemon.policy("shadow")
    old = learning_daemon.run(session, ATLAS)["run_id"]
    learning_daemon.policy("shadow", capture={})
    [new] = found_in(learning_daemon, "switched", "Fact: Ship name is Argo.")

    assert receipt(learning_daemon, old) == "skipped"
    assert new["content"] == "Ship name is Argo"
    assert learning_daemon.candidates(query=old) == []


@pytest.mark.parametrize("key", [KEY, KEY + "def1234567890"], ids=["short", "long"])
def test_a_secret_is_not_learned_whoever_says_it(learning_daemon: LearningDaemon, key: str) -> None:
    told = {"candidate_1": {"kind": "fact", "content": f"The API key is {key}"}}
    learning_daemon.answer(EXTRACTION, lambda _: told)
    learning_daemon.policy("shadow", capture={})

    assert found_in(learning_daemon, f"secret-{len(key)}", f"Fact: api-key: {key}") == []
    assert key not in str(learning_daemon.candidates()) + learning_daemon.daemon.log()
    if len(key) > len(KEY):
        assert not any(key in str(asked) for asked in learning_daemon.asked(EXTRACTION))


def test_a_failure_that_passes_costs_nothing_but_time(learning_daemon: LearningDaemon) -> None:
    answers: list[Any] = [
        Answer(text="I found nothing I could put that way."),
        Answer(text="I still found nothing."),
        Answer(status=503),
        {"candidate_1": {"kind": "fact", "content": "Ship name is Argo"}},
    ]
    learning_daemon.answer(EXTRACTION, lambda _: answers.pop(0) if len(answers) > 1 else answers[0])
    learning_daemon.policy("shadow", capture={})

    [found] = found_in(learning_daemon, "flaky", "Our ship is called Argo, by the way.")

    assert found["content"] == "Ship name is Argo"
    assert len(learning_daemon.asked(EXTRACTION)) >= 3


def test_a_fact_at_the_end_of_a_long_request_is_found_and_verified(
    learning_daemon: LearningDaemon,
) -> None:
    text = "We talked at length of the weather and of the tides. " * 12 + ATLAS
    learning_daemon.policy("enabled", rule("publish_active", kind="fact"), capture={})

    [found] = found_in(learning_daemon, "late", text)

    assert found["content"] == "Project codename is Atlas"
    view = learning_daemon.reviewed(found["candidate_id"], "published")
    learning = learning_daemon.learning(view["published_learning_id"])
    assert (learning["status"], learning["verification_status"]) == ("active", "verified")


def test_what_a_run_read_elsewhere_is_marked_and_never_active_by_itself_unlike_what_was_typed(
    learning_daemon: LearningDaemon,
) -> None:
    learning_daemon.policy("enabled", rule("publish_active", kind="fact"), capture={})
    (learning_daemon.daemon.home / "workspace").mkdir(exist_ok=True)
    (learning_daemon.daemon.home / "workspace" / "note.txt").write_text("Codename is Borealis")
    learning_daemon.model.queue(call("read_file", {"path": "note.txt"}))
    read = {"candidate_1": {"kind": "fact", "content": "Codename is Borealis"}}
    learning_daemon.answer(EXTRACTION, lambda _: json.dumps(read))

    found = found_in(learning_daemon, "tainted", "Fact: Our ship is called Argo.\nRead note.txt.")

    decided = {}
    for candidate in found:
        view = learning_daemon.reviewed(candidate["candidate_id"], "published")
        learning = learning_daemon.learning(view["published_learning_id"])
        decided[candidate["content"]] = candidate["derived_from_untrusted"], learning["status"]
    assert decided == {
        "Our ship is called Argo": (False, "active"),
        "Codename is Borealis": (True, "provisional"),
    }
    assert learning_daemon.told("tainted", "What is the codename?") == []


def test_what_a_person_rejected_comes_back_only_with_new_evidence(
    learning_daemon: LearningDaemon,
) -> None:
    learning_daemon.policy("shadow", capture={})
    [first] = found_in(learning_daemon, "again", ATLAS)
    assert found_in(learning_daemon, "again", f"As I said. {ATLAS}") == []
    learning_daemon.post(f"{CANDIDATES}/{first['candidate_id']}/reject", {"reason": "only a joke"})

    repeated = found_in(learning_daemon, "again", ATLAS)
    [new] = found_in(learning_daemon, "again", f"I mean it this time, {ATLAS}")

    assert repeated == []
    assert new["reproposal_of"] == first["candidate_id"]
    item = learning_daemon.candidate(new["candidate_id"])
    assert [it["candidate_id"] for it in item["rejected_before"]] == [first["candidate_id"]]
    assert item["rejected_before"][0]["reason"] == "only a joke"
