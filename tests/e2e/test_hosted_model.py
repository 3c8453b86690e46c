"""A hosted provider, for whoever has a key: `UNDERSTUDY_TEST_OPENAI_API_KEY=… make test ARGS=…`."""

import os
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

MODELS = {"openai": "gpt-4o-mini", "anthropic": "claude-haiku-4-5"}
SHORT = {"max_tokens": 20}


@pytest.mark.parametrize("provider", MODELS)
def test_a_hosted_model_answers_and_is_told_of_the_run_before(
    provider: str, tmp_path: Path
) -> None:
    prefix = f"UNDERSTUDY_TEST_{provider.upper()}"
    if not os.environ.get(f"{prefix}_API_KEY"):
        pytest.skip(f"{prefix}_API_KEY is not set")
    base_url = os.environ.get(f"{prefix}_BASE_URL")
    config = (
        f'default_route = "hosted"\n[routes.hosted]\nprovider = "{provider}"\n'
        f'model = "{os.environ.get(f"{prefix}_MODEL", MODELS[provider])}"\n'
        f'api_key_env = "{prefix}_API_KEY"\n' + (f'base_url = "{base_url}"\n' if base_url else "")
    )
    with DaemonProcess(tmp_path / "home", config=config, by_command_line=True) as daemon:
        [route] = daemon.get("/v1/routes")["items"]
        daemon.post("/v1/sessions", {"session_id": "s1"})
        first = daemon.run("s1", "Say the word harbour.", timeout=120, generation=SHORT)
        second = daemon.run(
            "s1",
            "Which word about the harbour was that?",
            timeout=120,
            generation=SHORT,
            debug_level="requests",
        )
        sent = daemon.get(f"/v1/runs/{second['run_id']}/debug")["items"]

    assert (route["ready"], route["context_window_source"]) == (True, "known")
    assert [first["status"], second["status"]] == ["completed", "completed"], (first, second)
    assert all(run["outputs"] for run in (first, second))
    assert first["usage"]["input_tokens"] > 0
    system = sent[0]["request"]["system"]
    assert first["run_id"] in system.split("## recovered_memory")[1]
