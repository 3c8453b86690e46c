"""The commands about what agents propose, and the client's calls about copies of users."""

from tests.api.commands import answer, invoke
from tests.api.live import Live
from tests.support.model_scripts import play
from understudy.client import Client
from understudy.testing.answers import call

WRITE = call("write_file", {"path": "SOUL.md", "content": "Be warm.\n"})


def propose(live: Live, agent_id: str, **switches: object) -> None:
    """Have a run of a new agent propose a soul."""
    config = {"self_evolve": True, "soul_review": True, **switches}
    body = {"agent_id": agent_id, "agent_type": "predefined", "other_config": config}
    live.ok("POST", "/v1/agents", body)
    live.session(agent_id, agent_id=agent_id)
    live.model.rule = play({"go": [WRITE]})
    live.finished(live.submit(agent_id, "go"))


def test_proposals_are_listed_shown_and_decided(live: Live) -> None:
    propose(live, "shy")
    [waiting] = answer(live, "agents", "proposals", "list", "shy", "--state", "pending")["items"]
    proposal_id = waiting["proposal_id"]

    shown = invoke(live, "agents", "proposals", "show", "shy", proposal_id)
    assert "+Be warm." in shown.stdout + shown.stderr
    approved = answer(live, "agents", "proposals", "approve", "shy", proposal_id)
    assert (approved["state"], approved["file_version"]) == ("approved", 1)
    assert live.ok("GET", "/v1/agents/shy/files/SOUL.md")["content"] == "Be warm.\n"
    invoke(live, "agents", "proposals", "reject", "shy", proposal_id, exit_code=4)
    invoke(live, "agents", "proposals", "show", "shy", "prp_none", exit_code=3)


def test_what_an_agent_wrote_is_accepted_with_one_command(live: Live) -> None:
    propose(live, "open-minded", soul_review=False)
    assert "nobody yet" in invoke(live, "agents", "files", "list", "open-minded").stdout
    line = ("agents", "files", "accept", "open-minded", "SOUL.md")
    invoke(live, *line, "--version", "7", exit_code=4)
    assert answer(live, *line, "--version", "1")["reviewed_by"] == "local"
    assert answer(live, *line)["version"] == 1
    invoke(live, "agents", "files", "accept", "open-minded", "AGENTS.md", exit_code=3)
    invoke(live, "agents", "files", "accept", "open-minded", "SOUL.md", "--user", "x", exit_code=3)


def test_a_proposal_is_rejected_with_a_reason(live: Live) -> None:
    propose(live, "bold")
    with Client(str(live.client.base_url)) as client:
        [waiting] = client.agents.proposals.list("bold")
    line = ("agents", "proposals", "reject", "bold", waiting.proposal_id, "--reason", "Too warm.")
    assert answer(live, *line)["reason"] == "Too warm."
    assert "bold" in invoke(live, "agents", "list").stdout


def test_the_client_reads_and_writes_copies(live: Live) -> None:
    live.ok("POST", "/v1/agents", {"agent_id": "free", "agent_type": "open"})
    with Client(str(live.client.base_url)) as client:
        files = client.agents.user_files
        files.set("free", "ann", "SOUL.md", "one")
        assert files.set("free", "ann", "SOUL.md", "two").version == 2
        assert files.get("free", "ann", "SOUL.md").content == "two"
        assert [each.name for each in files.page("free", "ann").items] == ["SOUL.md"]
        assert [each.version for each in files.versions("free", "ann", "SOUL.md")] == [2, 1]
        assert files.restore("free", "ann", "SOUL.md", 1).content == "one"
        assert files.delete("free", "ann", "SOUL.md").deleted
