"""Offers where people find them: in the API, among the commands, and in a chat."""

from typing import Any

import pytest

from tests.api.commands import answer, invoke
from tests.api.live import Live
from understudy.testing.answers import Answer, call

ALL = "/v1/approvals"
ANN = {"X-Understudy-User-Id": "ann"}


def skill_md(name: str) -> str:
    return f"---\nname: {name}\ndescription: Writes it\n---\nCollect and write.\n"


def creates(name: str) -> Answer:
    return call("skill_manage", {"action": "create", "content": skill_md(name)})


@pytest.fixture
def session(live: Live) -> str:
    """A session of an agent that learns."""
    body = {"agent_id": "pupil", "agent_type": "predefined", "other_config": {"skill_evolve": True}}
    if live.client.get("/v1/agents/pupil").status_code == 404:
        live.ok("POST", "/v1/agents", body)
    session_id: str = live.ok("POST", "/v1/sessions", {"agent_id": "pupil"})["session_id"]
    return session_id


def offered(live: Live, session: str, name: str, **options: Any) -> dict[str, Any]:
    """The offer that a run left open which tried to make a skill."""
    live.model.queue(creates(name), "I have asked.")
    path = f"/v1/sessions/{session}/runs"
    run_id = live.ok("POST", path, {"content": "Tidy up."}, **options)["run_id"]
    assert live.finished(run_id)["status"] == "completed"
    [item] = live.ok("GET", f"{ALL}?session_id={session}")["items"]
    offer: dict[str, Any] = item
    return offer


def answered(live: Live, offer: dict[str, Any], behavior: str, **options: Any) -> Any:
    body = {"resolutions": [{"request_id": offer["id"], "behavior": behavior}]}
    path = f"/v1/runs/{offer['run_id']}/approvals"
    return live.client.post(path, json=body, **options)


def test_an_offer_is_listed_shown_and_accepted_like_an_approval(live: Live, session: str) -> None:
    offer = offered(live, session, "Api one")

    assert (offer["kind"], offer["state"], offer["user_id"]) == ("offer", "pending", "local")
    assert offer["reason"] == "Keep what was done here as the skill “Api one”?"
    assert (offer["tool_name"], offer["input"]["action"]) == ("skill_manage", "create")
    assert offer["actions"] == ["allow", "deny"]
    week = 7 * 24 * 3600 * 1000
    assert offer["expires_at_ms"] - offer["created_at_ms"] == week
    assert live.ok("GET", f"{ALL}/{offer['id']}") == offer
    taken = answered(live, offer, "allow", headers={"Idempotency-Key": offer["id"]})
    again = answered(live, offer, "allow", headers={"Idempotency-Key": offer["id"]})

    assert (taken.status_code, again.status_code) == (202, 202)
    assert again.json() == taken.json()
    settled = live.ok("GET", f"{ALL}/{offer['id']}")
    assert (settled["state"], settled["actions"]) == ("allowed", [])
    live.model.queue(creates("Api one"), "Kept.")
    assert live.run(session, "Go on.")["status"] == "completed"
    assert live.ok("GET", "/v1/skills/api-one")["owner_id"] == "local"


def test_a_skill_written_as_a_file_is_asked_about_by_its_path(live: Live) -> None:
    session = live.ok("POST", "/v1/sessions", {})["session_id"]
    root = live.daemon.settings.workspace / "skills"
    root.mkdir()
    live.ok("POST", "/v1/skills/roots", {"path": str(root)})
    path = "skills/api-file/SKILL.md"
    live.model.queue(call("write_file", {"path": path, "content": skill_md("Api file")}), "Asked.")

    live.run(session, "Tidy up.")

    [offer] = live.ok("GET", f"{ALL}?session_id={session}")["items"]
    assert (offer["tool_name"], offer["input"]) == ("write_file", {"path": path})
    assert offer["reason"] == f"Keep what was done here as the skill “{path}”?"


def test_declining_is_told_to_the_agent_and_no_offer_is_left(live: Live, session: str) -> None:
    offer = offered(live, session, "Api two")
    body = {"resolutions": [{"request_id": offer["id"], "behavior": "deny"}]}
    # The address of a session serves as well, and has nothing to wait for.
    live.ok("POST", f"/v1/sessions/{session}/approvals", body)
    live.model.queue(creates("Api two"), "As you wish.")

    live.run(session, "And now?")

    assert live.model.requests[-1].turns[-1].text.startswith("the user declined")
    assert live.ok("GET", f"{ALL}?session_id={session}")["items"] == []
    assert live.client.get("/v1/skills/api-two").status_code == 404


def test_only_the_user_who_is_asked_can_answer(live: Live, session: str) -> None:
    offer = offered(live, session, "Api three", headers=ANN)

    mine = live.ok("GET", f"{ALL}?session_id={session}", headers=ANN)["items"]
    listed = invoke(live, "approvals", "list", "--session", session).stdout
    refused = answered(live, offer, "allow")
    agreed = answered(live, offer, "allow", headers=ANN)
    late = answered(live, offer, "deny", headers=ANN)

    assert (offer["user_id"], offer["actions"]) == ("ann", [])
    assert live.ok("GET", f"{ALL}/{offer['id']}")["actions"] == []
    assert [each["actions"] for each in mine] == [["allow", "deny"]]
    assert "offer to ann: Keep what was" in listed
    assert (refused.status_code, refused.json()["code"]) == (403, "offer_not_yours")
    assert agreed.status_code == 202
    assert (late.status_code, late.json()["code"]) == (409, "offer_state_conflict")


def test_the_stream_of_a_run_tells_that_it_made_an_offer(live: Live, session: str) -> None:
    offer = offered(live, session, "Api four")
    answered(live, offer, "deny")

    told = [
        event.data["event"]["type"]
        for event in live.told(offer["run_id"])
        if event.name == "run_updated"
    ]
    events = live.ok("GET", f"/v1/sessions/{session}/events?limit=200")["items"]

    # What is said to the offer afterwards is no part of the run.
    assert "offer_opened" in told
    assert told[-1] == "completed"
    assert events[-1]["data"]["type"] == "offer_resolved"
    assert events[-1]["data"]["request_ids"] == [offer["id"]]


def test_the_refusal_is_in_the_audit(live: Live, session: str) -> None:
    offer = offered(live, session, "Api five")

    entries = live.ok("GET", "/v1/audit?resource=skills")["items"]

    [entry] = [entry for entry in entries if offer["run_id"] in (entry["reason"] or "")]
    assert (entry["action"], entry["outcome"]) == ("skills.create", "refused")
    assert "consent_needed" in entry["reason"]


def test_offers_are_listed_shown_accepted_and_declined_by_commands(
    live: Live, session: str
) -> None:
    first = offered(live, session, "Command one")
    shown = invoke(live, "approvals", "show", first["id"]).stdout
    listed = invoke(live, "approvals", "list", "--session", session).stdout
    accepted = invoke(live, "approvals", "allow", first["id"])
    live.model.queue(creates("Command one"), "Kept.")
    live.run(session, "Go on.")
    second = offered(live, session, "Command two")
    declined = answer(live, "approvals", "deny", second["id"])
    after = invoke(live, "approvals", "show", second["id"]).stdout

    assert "Keep what was done here as the skill “Command one”?" in shown
    assert "open" in shown
    assert "offer: Keep what was" in listed
    assert "accepted: the agent may do it now" in accepted.stderr
    assert declined["run_id"] == second["run_id"]
    assert "declined by local" in after
    assert live.ok("GET", "/v1/skills/command-one")["version"] == 1


def test_a_chat_points_out_what_was_offered_and_takes_the_answer(live: Live, session: str) -> None:
    live.model.queue(creates("Chat one"), "I have asked.")
    asked = invoke(live, "chat", "Tidy up.", "--session", session)
    live.model.queue(creates("Chat one"), "Kept it.")
    kept = invoke(live, "chat", "save as skill", "--session", session)

    assert "offer: Keep what was done here as the skill “Chat one”?" in asked.stderr
    assert "/pending" in asked.stderr
    assert "I have asked." in asked.stdout
    assert "offer:" not in kept.stderr
    assert live.ok("GET", "/v1/skills/chat-one")["version"] == 1
