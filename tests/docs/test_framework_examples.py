"""Agents of other frameworks keep their loop, are given reviewed memory, and propose what to keep.

pydantic-ai is installed with the daemon. The other examples run where their package is installed.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.environment import without_settings
from understudy.client import Client
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
EXAMPLES = Path(__file__).parents[2] / "examples"
KEEP = "The office closes at six."


def example(package: str) -> object:
    absent = find_spec(package) is None
    return pytest.param(
        package, marks=pytest.mark.skipif(absent, reason=f"{package} is not installed")
    )


NAMES = {"agents": "openai_agents", "langgraph": "langgraph", "pydantic_ai": "pydantic_ai"}


@pytest.mark.parametrize("package", [example(package) for package in NAMES])
def test_an_example_is_given_what_was_reviewed_and_proposes_the_rest(
    package: str, tmp_path: Path
) -> None:
    script = EXAMPLES / f"{NAMES[package]}_memory.py"
    with (
        FakeModel() as model,
        DaemonProcess(tmp_path / "home") as daemon,
        Client(daemon.url) as client,
    ):
        client.learn("We deploy on Fridays.")
        question = "When do we deploy?"
        if package == "langgraph":
            question += f" Remember: {KEEP}"
        else:
            model.queue(call("remember", {"statement": KEEP}))
        model.queue(Answer(text="On Fridays."))
        environment = {
            **without_settings(os.environ),
            "UNDERSTUDY_URL": daemon.url,
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "none",
        }
        done = subprocess.run(
            [sys.executable, str(script), question],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == "On Fridays.\n"
        assert "We deploy on Fridays." in str(model.requests[0].turns)
        (proposed,) = client.candidates.page(state="pending").items
        assert proposed.content == KEEP
