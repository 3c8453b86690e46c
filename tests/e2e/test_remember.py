"""What a person says to be remembered, as they meet it on the command line."""

import pytest

from tests.support.command_line_process import Cli, Terminal, environment
from tests.support.learning_daemon import LearningDaemon, session_scope

pytestmark = pytest.mark.e2e

# Assembled, so that no scanner takes it for a real one.
KEY = "sk-" + "proj-" + "abc123def456ghi789"


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


def test_what_is_typed_after_remember_waits_for_a_review(learning_daemon: LearningDaemon) -> None:
    chat = Terminal(["chat", "--session", "typed"], environment(learning_daemon.daemon))
    try:
        chat.wait_for_prompt()
        chat.type("/remember")
        chat.wait_for("give a statement to remember after /remember")
        chat.wait_for_prompt()
        chat.type("/remember I prefer short emails.")
        chat.wait_for("suggested to remember: understudy")
        chat.wait_for_prompt()
        chat.type(f"/remember the key is {KEY}")
        chat.wait_for("secret_content")
        chat.wait_for_prompt()
    finally:
        chat.close()

    (found,) = learning_daemon.candidates(scope_kind="session", scope_id="typed")
    assert (found["kind"], found["content"]) == ("preference", "I prefer short emails.")
    assert (found["origin"], found["source"]["session_id"]) == ("api", "typed")
    assert found["evidence_refs"] == [{"note": "/remember I prefer short emails."}]
    assert learning_daemon.model.requests == []


def test_chat_shows_a_hint_once_in_a_session(cli: Cli) -> None:
    first = cli("chat", "--session", "hinted", "Save this as a skill.")
    again = cli("chat", "--session", "hinted", "Save this as a skill.")

    assert "`understudy agents set default --skill-evolve` switches that on" in first.stderr
    assert "--skill-evolve" not in again.stderr
