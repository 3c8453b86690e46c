"""What a person says to be remembered, as they meet it on the command line."""

import pytest

from tests.support.command_line_process import Cli
from tests.support.learning_daemon import LearningDaemon, session_scope

pytestmark = pytest.mark.e2e


@pytest.fixture
def cli(learning_daemon: LearningDaemon) -> Cli:
    return Cli(learning_daemon.daemon)


def test_chat_says_which_suggestions_a_message_left(
    cli: Cli, learning_daemon: LearningDaemon
) -> None:
    learning_daemon.policy("shadow", capture={})

    labelled = cli("chat", "--session", "units", "Preference: I want metric units.")
    nothing = cli("chat", "--session", "units", "hello")

    (found,) = learning_daemon.candidates(scope_kind="session", scope_id="units")
    assert found["scope"] == session_scope("units")
    assert "1 suggestion to remember: " in labelled.stderr
    assert labelled.stderr.rstrip().endswith("review next")
    assert "to remember" not in nothing.stderr
    journal = learning_daemon.get("/v1/sessions/units/events", limit=200)["items"]
    (added,) = [event for event in journal if event["kind"] == "candidates_added"]
    assert added["data"] == {"candidate_ids": [found["candidate_id"]]}
    assert added["run_id"] == found["source"]["run_id"]
