"""The loop, as its user meets it: said once, reviewed at one key, told the next day, taken back.

A fresh home with its defaults, the commands that a person types, and what the model is sent.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line_process import Cli, Terminal
from tests.support.daemon import DaemonProcess, wait_for
from understudy.learnings.extraction import INSTRUCTIONS
from understudy.testing.answers import SeenRequest
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.e2e

SAID = "Please remember: I always want metric units in reports."
FOUND = "I always want metric units in reports"
OTHER_WORDS = "How tall is the Eiffel tower?"
ONE_ROUTE = '[routes.a]\nprovider = "openai"\nmodel = "m"\nbase_url = "{url}"\n'


def reply(seen: SeenRequest) -> str:
    """What a model answers: the statement, when it is asked what a run says worth knowing."""
    if seen.system != INSTRUCTIONS:
        return "Done."
    found = {"kind": "preference", "content": FOUND, "confidence": 90}
    return json.dumps({"candidate_1": found} if "metric units" in seen.last_user else {})


@pytest.fixture
def model() -> Iterator[FakeModel]:
    """A model that finds the statement and answers everything else alike."""
    with FakeModel(rule=reply) as fake:
        fake.script_captures = True
        yield fake


def fresh(home: Path, database_url: str, config: str) -> DaemonProcess:
    """A daemon with an empty home and no settings but where its model is."""
    url = None if database_url.startswith("sqlite") else database_url
    return DaemonProcess(home, database_url=url, config=config, fresh=True)


def review_with(cli: Cli, key: str) -> str:
    """What a person sees who types one key in the review, and leaves when nothing waits."""
    terminal = Terminal(["review", "next"], cli.environment)
    try:
        terminal.wait_for("1 of 1")
        terminal.press(key)
        terminal.wait_for("lrn_")
        return terminal.screen
    finally:
        terminal.close()


def waiting(cli: Cli) -> list[dict[str, Any]]:
    return list(cli.json("candidates", "list", "--state", "pending")["items"])


def is_announced(daemon: DaemonProcess, candidate: dict[str, Any]) -> bool:
    """Whether the streams of its session tell of a candidate."""
    journal = daemon.get(f"/v1/sessions/{candidate['source']['session_id']}/events")["items"]
    return any(candidate["candidate_id"] in json.dumps(event["data"]) for event in journal)


def told(cli: Cli, text: str) -> tuple[str, str]:
    """A new conversation: the id of its run, and the learnings that its prompt was told."""
    cli("chat", text)
    run = cli.json("runs", "list", "--limit", "1")["items"][0]
    report = cli.json("memory", "explain", "--run", run["run_id"])
    entries = [each for each in report["learned"]["entries"] if each["injected"]]
    return run["run_id"], json.dumps(entries)


def test_what_a_person_says_is_told_the_next_day_until_it_is_taken_back(
    tmp_path: Path, model: FakeModel, database_url: str
) -> None:
    config = 'default_route = "a"\n' + ONE_ROUTE.format(url=model.url)
    with fresh(tmp_path / "home", database_url, config) as daemon:
        cli = Cli(daemon)
        cli("chat", SAID)
        [candidate] = wait_for(lambda: waiting(cli), what="a candidate")

        assert is_announced(daemon, candidate)
        assert (candidate["content"], candidate["kind"]) == (FOUND, "preference")
        assert candidate["applies"] == "always"
        assert "metric" not in told(cli, OTHER_WORDS)[1]

        seen = review_with(cli, "a")
        assert waiting(cli) == []
        [learning] = cli.json("learnings", "list")["items"]
        assert learning["learning_id"] in seen
        assert learning["scope"] == {"kind": "workspace", "id": "default"}

        daemon.stop()
        daemon.start()
        model.requests.clear()
        run_id, entries = told(cli, OTHER_WORDS)
        [prompt] = [each for each in model.requests if "Eiffel" in each.last_user][:1]
        assert FOUND in prompt.system
        assert learning["learning_id"] in entries
        explained = cli("memory", "explain", "--run", run_id).stdout
        assert "it applies to every task" in explained

        cli("learnings", "revoke", learning["learning_id"], "--reason", "no longer wanted")
        model.requests.clear()
        assert learning["learning_id"] not in told(cli, OTHER_WORDS)[1]
        assert all(FOUND not in each.system for each in model.requests)


def test_a_label_closes_the_loop_without_a_model(tmp_path: Path, database_url: str) -> None:
    with fresh(tmp_path / "home", database_url, "") as daemon:
        cli = Cli(daemon)
        cli("chat", "Preference: always answer in German. What is the time?")
        [candidate] = wait_for(lambda: waiting(cli), what="a candidate")

        assert is_announced(daemon, candidate)
        assert candidate["content"] == "always answer in German"
        review_with(cli, "a")
        [learning] = cli.json("learnings", "list")["items"]

        daemon.stop()
        daemon.start()
        assert learning["learning_id"] in told(cli, "How do I reverse a list in Python?")[1]
        cli("learnings", "revoke", learning["learning_id"])
        assert learning["learning_id"] not in told(cli, "How do I reverse a list in Python?")[1]
