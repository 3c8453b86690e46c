"""Channels with a daemon behind them: turns as runs, tools of a turn, and the stream."""

from typing import Any

from tests.api.commands import answer, invoke
from tests.api.live import Live, SentEvent
from tests.support.daemon import wait_for
from tests.support.skill_service_harness import skill_md
from understudy.channels.bridge_signatures import signed_headers
from understudy.testing.answers import Answer, SeenRequest, call

EMIT = "emit_output"


def room(live: Live, name: str, *agents: str, **fields: Any) -> str:
    for agent in agents:
        live.session(agent)
    members = [
        {"member_id": "local", "member_kind": "human_actor", "display_name": "Lo"},
        *({"member_id": agent} for agent in agents),
    ]
    live.ok(
        "POST", "/v1/channels", {"channel_id": name, "title": name, "members": members, **fields}
    )
    return f"/v1/channels/{name}"


def speaks(**said: str) -> Any:
    """A rule by which each agent, found by its name in the briefing, says its words once."""

    def rule(request: SeenRequest) -> Answer | None:
        told = "\n".join(turn.text for turn in request.turns)
        if "It is your turn" not in told:
            return None
        if request.turns[-1].role == "tool":
            return Answer(text="thinking aloud")
        who = next(name for name in said if f"You are {name} " in told)
        text = said[who]
        return call(EMIT, {"content": text}) if text else Answer(text="pass")

    return rule


def tools(request: SeenRequest) -> list[str]:
    return [tool["function"]["name"] for tool in request.body.get("tools", ())]


def texts(live: Live, path: str, count: int) -> list[tuple[str, str]]:
    def said() -> list[tuple[str, str]] | None:
        items = live.ok("GET", path + "/messages")["items"]
        found = [(item["sender"]["id"], item["content"]) for item in items]
        return found if len(found) >= count else None

    return wait_for(said, what=f"{count} messages in {path}")


def idle(live: Live, path: str) -> None:
    wait_for(lambda: not live.ok("GET", path + "/leases")["items"] or None, what="turns to end")


def test_agents_speak_in_turn_and_only_what_they_publish_is_heard(live: Live) -> None:
    path = room(live, "talk", "ann", "bob", "cat")
    live.model.rule = speaks(ann="Rails.", bob="", cat="Django.")
    live.ok("POST", path + "/messages", {"content": "Which framework?"})

    assert texts(live, path, 3) == [
        ("local", "Which framework?"),
        ("ann", "Rails."),
        ("cat", "Django."),
    ]
    idle(live, path)
    [run] = live.ok("GET", "/v1/runs", params={"session_id": "bob"})["items"]
    assert (run["kind"], run["status"]) == ("channel_delivery", "completed")


def test_who_had_a_turn_and_was_silent_is_named(live: Live) -> None:
    path = room(live, "quiet", "ida", "jon")
    live.model.rule = speaks(ida="", jon="")
    live.ok("POST", path + "/messages", {"content": "@ida what is missing?"})

    def silent() -> list[Any] | None:
        found = live.ok("GET", path + "/next-speakers").get("silent", [])
        return found if len(found) == 2 else None

    first, second = wait_for(silent, what="both to pass")
    assert [(first["session_id"], first["outcome"])] == [("ida", "nothing_to_add")]
    told = invoke(live, "channels", "leases", "quiet")
    assert told.stdout == "Nobody has the floor.\n"
    runs = f"({first['run_id']}, {second['run_id']})"
    assert f"ida and jon had their turn and had nothing to add {runs}" in told.stderr
    titles = [
        each["title"]
        for each in live.ok("GET", "/v1/sessions", params={"limit": 200})["items"]
        if each["session_id"] == "ida"
    ]
    assert titles == ["Lo: @ida what is missing?"]


def test_a_turn_has_the_persona_and_route_of_its_session(live: Live) -> None:
    persona = {"persona_id": "pirate", "display_name": "Pirate", "soul": "Speak like a pirate."}
    live.ok("POST", "/v1/personas", persona)
    for slug in ("reef-knots", "bowlines"):
        live.ok("POST", "/v1/skills", {"content": skill_md(f"Skill {slug}"), "slug": slug})
    scope = {"skill_allow": ["bowlines"]}
    live.session("bea", persona_id="pirate", capability_scope=scope)
    live.ok("PUT", "/v1/sessions/bea/route-policy", {"route_policy": {"provider": "other"}})
    live.session("cal")
    path = room(live, "own")
    live.ok("POST", path + "/members", {"member_id": "cal", "participation_mode": "manual_only"})
    untouched = live.ok("GET", "/v1/sessions/cal/events")
    live.ok("POST", path + "/members", {"member_id": "bea"})
    live.model.rule = speaks(bea="Arr.")
    before = len(live.model.requests)
    live.ok("POST", path + "/messages", {"content": "Ahoy?"})
    texts(live, path, 2)
    idle(live, path)

    asked = live.model.requests[before]
    assert "Speak like a pirate." in asked.system
    assert {EMIT, "set_channel_reaction", "read_channel_thread"} <= set(tools(asked))
    assert ("bowlines" in asked.system, "reef-knots" in asked.system) == (True, False)
    [run] = live.ok("GET", "/v1/runs?session_id=bea")["items"]
    assert (run["kind"], run["request"]["provider"]) == ("channel_delivery", "other")
    assert live.ok("GET", "/v1/sessions/cal/events") == untouched


def test_the_tools_of_a_turn_are_unknown_elsewhere(live: Live) -> None:
    live.model.rule = None
    live.session("plain")
    live.model.queue(call(EMIT, {"content": "hi"}), "done")
    before = len(live.model.requests)
    live.run("plain", "say it in the room")

    first, second = live.model.requests[before : before + 2]
    assert EMIT not in tools(first)
    assert "create_channel_stimulus" not in tools(first)
    assert "there is no tool 'emit_output'" in second.turns[-1].text


def test_a_secret_is_not_published(live: Live) -> None:
    path = room(live, "secrets", "dan")
    secret = "ghp_" + "A1b2C3d4" * 4 + "Zz99"
    live.model.rule = speaks(dan=f"It is {secret}")
    live.ok("POST", path + "/messages", {"content": "The key?"})

    [_, (_, told)] = texts(live, path, 2)
    assert secret not in told
    idle(live, path)


def test_a_stream_tells_messages_reactions_members_and_turns_without_a_gap(live: Live) -> None:
    path = room(live, "live", "eve")
    live.model.rule = speaks(eve="Yes.")
    with live.stream(path + "/stream", last_id="0") as events:
        joined = [next(events) for _ in range(2)]
        sent = live.ok("POST", path + "/messages", {"content": "Well?"})
        live.ok("POST", f"{path}/messages/{sent['message_id']}/reactions", {"emoji": "👍"})
        seen: list[SentEvent] = []
        while not (seen and seen[-1].name == "lease" and seen[-1].data["change"] == "ended"):
            seen.append(next(events))
    assert [event.name for event in joined] == ["member", "member"]
    by_name = {event.name: event for event in seen}
    assert set(by_name) == {"message", "reaction", "lease"}
    said = [event.data["message"]["content"] for event in seen if event.name == "message"]
    assert said == ["Well?", "Yes."]
    with live.stream(path + "/stream", last_id=seen[0].id) as events:
        again = [next(events) for _ in range(len(seen) - 1)]
    assert [event.id for event in again] == [event.id for event in seen[1:]]


def test_who_speaks_next_is_told_with_the_reasons(live: Live) -> None:
    path = room(live, "order", "fay", "gus", paused=True)
    assert live.ok("GET", path + "/next-speakers") == {"speakers": [], "passed_over": []}
    live.ok("POST", path + "/messages", {"content": "@gus first?"})
    live.ok("POST", path + "/members", {"member_id": "fay", "muted": True})

    found = live.ok("GET", path + "/next-speakers")
    assert [each["session_id"] for each in found["speakers"]] == ["gus"]
    assert "priority" in found["speakers"][0]["reasons"]
    assert found["passed_over"][0]["reasons"] == ["muted"]


def test_a_signed_request_is_posted_over_a_bridge(live: Live) -> None:
    path = room(live, "outside")
    made = live.ok("POST", path + "/bridges", {"bridge_id": "hook", "identities": {"u": "local"}})
    assert "credentials" not in made
    assert "secret" not in live.ok("GET", path + "/bridges/hook")
    body = b'{"id": "1", "text": "Hello", "author": "u"}'
    now = live.daemon.resources.clock.now_ms()
    headers = {**signed_headers(made["secret"], "d", now, body), "Content-Type": "application/json"}
    door = "/v1/bridges/hook/messages"
    for _ in range(2):
        answer = live.client.post(door, content=body, headers=headers)
        assert answer.status_code == 200, answer.text
    assert texts(live, path, 1) == [("local", "Hello")]
    forged = live.client.post(door, content=body + b" ", headers=headers)
    assert (forged.status_code, forged.json()["code"]) == (403, "bridge_signature_invalid")
    lost = live.client.post("/v1/bridges/gone/messages", content=body, headers=headers)
    assert lost.status_code == 403


def test_commands_mirror_a_project_and_tell_who_is_next(live: Live) -> None:
    path = room(live, "hall")
    live.session("fay")
    project = {"project_id": "site", "display_name": "Site", "members": [{"member_id": "fay"}]}
    live.ok("POST", "/v1/projects", project)
    invoke(live, "projects", "channels", "link", "site", "hall", "--mirror")
    [link] = answer(live, "projects", "channels", "list", "site")["items"]
    assert link["mirror_members"] is True
    live.ok("PUT", path, {"paused": True})
    live.ok("POST", path + "/messages", {"content": "Anybody?"})
    assert "fay" in invoke(live, "channels", "next", "hall").stdout


def test_a_bridge_is_made_with_its_own_address_and_fields(live: Live) -> None:
    room(live, "harbour")
    fields = '{"connector": "webhook", "unknown_senders": "guest"}'
    line = ("channels", "bridges", "create", "harbour", "pier", "--fields", fields)
    made = answer(live, *line, "--outgoing-url", "http://127.0.0.1:9/out")
    assert (made["connector"], made["unknown_senders"]) == ("webhook", "guest")
    assert made["outgoing_url"] == "http://127.0.0.1:9/out"
