"""What a model that nobody scripted is sent: the memory of the run before, without its secrets."""

from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.small_model import CONTEXT_TOKENS, small_model

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

KEY = "sk-" + "proj-" + "Qx7Lm2Vb9Rt4Zp8Kd3Wn6Yc1"
SHORT = {"max_tokens": 12, "temperature": 0}


def test_the_second_request_to_a_real_model_holds_the_first_run_and_not_its_key(
    tmp_path: Path,
) -> None:
    with small_model() as base_url:
        config = (
            'default_route = "small"\n[routes.small]\nprovider = "openai"\nmodel = "smollm2"\n'
            f'base_url = "{base_url}"\ncontext_window = {CONTEXT_TOKENS}\n'
        )
        with DaemonProcess(tmp_path / "home", config=config) as daemon:
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
