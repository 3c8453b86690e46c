"""What a model that nobody scripted is sent, and what becomes of what it makes up."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import DaemonProcess, wait_for
from tests.support.small_model import CONTEXT_TOKENS, small_model

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

KEY = "sk-" + "proj-" + "Qx7Lm2Vb9Rt4Zp8Kd3Wn6Yc1"
SHORT = {"max_tokens": 12, "temperature": 0}


def test_the_second_request_to_a_real_model_holds_the_first_run_and_not_its_key(
    tmp_path: Path,
) -> None:
    with (
        small_model() as base_url,
        DaemonProcess(tmp_path / "home", config=routed_to(base_url)) as daemon,
    ):
        daemon.post("/v1/sessions", {"session_id": "s1"})
        first = daemon.run(
            "s1", f"Deploy the gateway with {KEY} now.", timeout=120, generation=SHORT
        )
        second = daemon.run(
            "s1",
            "What about the gateway?",
            timeout=120,
            generation=SHORT,
            debug_level="requests",
        )
        sent = daemon.get(f"/v1/runs/{second['run_id']}/debug")["items"]

    assert [first["status"], second["status"]] == ["completed", "completed"]
    assert first["outputs"]
    recovered = sent[0]["request"]["system"].split("## recovered_memory")[1]
    assert first["run_id"] in recovered
    assert "Deploy the gateway with" in recovered
    assert KEY not in str(sent)
    assert KEY[-12:] not in str(sent)


def test_what_a_real_model_makes_up_is_never_in_force_and_a_label_is_not_lost(
    tmp_path: Path,
) -> None:
    asked = "I always drink tea. Preference: Answer in short sentences. Now say hello."
    with (
        small_model() as base_url,
        DaemonProcess(tmp_path / "home", config=routed_to(base_url)) as daemon,
    ):
        rule = {"name": "said", "kind": "preference", "action": "publish_active"}
        policy = {"mode": "enabled", "publication": {"rules": [rule]}}
        daemon.post("/v1/runtime/learning-policy", policy)
        daemon.post("/v1/sessions", {"session_id": "s1"})
        run = daemon.run("s1", asked, timeout=120, generation=SHORT)
        capture = wait_for(lambda: settled(daemon, run["run_id"]), what="the capture", timeout=120)
        candidates = wait_for(lambda: decided(daemon), what="every decision", timeout=60)
        learnings = daemon.get("/v1/learnings")["items"]

    assert capture["state"] in {"completed", "failed"}
    assert capture["state"] == "completed" or capture["reason"]
    labels = [it for it in candidates if it["capture_path"] == "labels"]
    assert [it["content"] for it in labels] == ["Answer in short sentences"]
    active = {it["source_candidate_id"] for it in learnings if it["status"] == "active"}
    assert labels[0]["candidate_id"] in active
    for made in candidates:
        assert made["candidate_id"] not in active or made.get("quote", made["content"]) in asked


def routed_to(base_url: str) -> str:
    return (
        'default_route = "small"\n[routes.small]\nprovider = "openai"\nmodel = "smollm2"\n'
        f'base_url = "{base_url}"\ncontext_window = {CONTEXT_TOKENS}\n'
    )


def settled(daemon: DaemonProcess, run_id: str) -> Any:
    """The capture of a run, once it is over."""
    capture = daemon.get(f"/v1/run-memories/{run_id}").get("capture")
    return capture if capture and capture["state"] != "pending" else None


def decided(daemon: DaemonProcess) -> Any:
    """The candidates, once automation has decided on each."""
    found = daemon.get("/v1/learning-candidates")["items"]
    return found if all(it["state"] != "pending" for it in found) else None
