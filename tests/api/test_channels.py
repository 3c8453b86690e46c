"""Channels over HTTP."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from understudy.sessions import projects

ROOM = "/v1/channels/room"


def made(api: TestClient, method: str, path: str, **body: Any) -> Any:
    answer = api.request(method, path, json=body)
    assert answer.is_success, answer.text
    return answer.json()


def refused(
    api: TestClient, method: str, path: str, body: object = None, **options: Any
) -> tuple[int, str]:
    answer = api.request(method, path, json=body, **options)
    problem = answer.json()
    return answer.status_code, problem["code"]


@pytest.fixture
def room(api: TestClient) -> dict[str, Any]:
    for session_id in ("bob", "cat"):
        made(api, "POST", "/v1/sessions", session_id=session_id)
    people = [{"member_id": "local", "member_kind": "human_actor", "display_name": "Lo"}]
    agents = [{"member_id": "bob", "role": "critic"}, {"member_id": "cat", "muted": True}]
    view: dict[str, Any] = made(
        api,
        "POST",
        "/v1/channels",
        channel_id="room",
        title=" The room ",
        purpose="Plan",
        members=[*people, *agents],
        autonomy_policy={"member_cooldown_ms": 0},
    )
    return view


def test_a_channel_has_its_roster_and_the_defaults(room: dict[str, Any]) -> None:
    assert (room["title"], room["created_by"], room["paused"]) == ("The room", "local", False)
    by_id = {member["member_id"]: member for member in room["members"]}
    assert by_id["bob"]["session_id"] == "bob"
    assert by_id["local"]["actor_id"] == "local"
    assert by_id["cat"]["muted"]
    policy = room["autonomy_policy"]
    assert (policy["member_cooldown_ms"], policy["lease_timeout_ms"]) == (0, 60_000)
    assert policy["max_agent_replies_per_human_message"] == 3


def test_channels_are_found_by_their_words(api: TestClient, room: dict[str, Any]) -> None:
    made(api, "POST", "/v1/channels", channel_id="other", title="Else")

    assert [each["channel_id"] for each in api.get("/v1/channels").json()["items"]] == [
        "other",
        "room",
    ]
    found = api.get("/v1/channels", params={"query": "PLAN"}).json()["items"]
    assert found == [api.get(ROOM).json()]


def test_a_change_that_changes_nothing_leaves_the_channel(
    api: TestClient, room: dict[str, Any]
) -> None:
    assert made(api, "PUT", ROOM, title="The room", paused=False) == room
    changed = made(api, "PUT", ROOM, paused=True, autonomy_policy={"lease_timeout_ms": 5})
    assert (changed["paused"], changed["version"]) == (True, 2)
    policy = changed["autonomy_policy"]
    assert (policy["lease_timeout_ms"], policy["member_cooldown_ms"]) == (5, 0)


def test_a_member_keeps_its_day_of_joining(api: TestClient, room: dict[str, Any]) -> None:
    before = {each["member_id"]: each["joined_at_ms"] for each in room["members"]}
    after = made(api, "POST", ROOM + "/members", member_id="bob", display_name="Robert")
    bob = next(each for each in after["members"] if each["member_id"] == "bob")
    assert (bob["display_name"], bob["joined_at_ms"]) == ("Robert", before["bob"])
    left = made(api, "DELETE", ROOM + "/members/cat")
    assert len(left["members"]) == 2
    assert len(api.get(ROOM + "/members").json()["items"]) == 2


def test_messages_form_threads(api: TestClient, room: dict[str, Any]) -> None:
    root = made(api, "POST", ROOM + "/messages", content="Hello @bob")
    assert root["sender"] == {"id": "local", "display_name": "Lo"}
    assert (root["addressed_member_ids"], root["reactions"]) == (["bob"], [])
    assert "thread_root_message_id" not in root
    reply = made(
        api, "POST", ROOM + "/messages", content="And?", reply_to_message_id=root["message_id"]
    )
    deep = made(
        api, "POST", ROOM + "/messages", content="So?", reply_to_message_id=reply["message_id"]
    )
    assert deep["thread_root_message_id"] == root["message_id"]
    other = made(api, "POST", ROOM + "/messages", content="Else")
    listed = api.get(ROOM + "/messages", params={"limit": 2}).json()
    assert listed["items"] == [deep, other]
    earlier = api.get(ROOM + "/messages", params={"limit": 2, "cursor": listed["next_cursor"]})
    assert earlier.json()["items"] == [root, reply]
    thread = api.get(ROOM + "/messages", params={"thread_root_message_id": root["message_id"]})
    assert thread.json()["items"] == [root, reply, deep]
    assert api.get(ROOM + "/messages", params={"query": "SO?"}).json()["items"] == [deep]
    channel = api.get(ROOM).json()
    assert (channel["message_count"], channel["last_message_preview"]) == (4, "Else")
    assert [each["status"] for each in api.get(ROOM + "/thread-work").json()["items"]] == [
        "active",
        "active",
    ]


def test_a_renamed_member_leaves_its_words_as_they_were(
    api: TestClient, room: dict[str, Any]
) -> None:
    sent = made(api, "POST", ROOM + "/messages", content="Hi")
    made(
        api,
        "POST",
        ROOM + "/members",
        member_id="local",
        member_kind="human_actor",
        display_name="New",
    )
    assert api.get(ROOM + "/messages").json()["items"] == [sent]


def test_reactions_are_set_once(api: TestClient, room: dict[str, Any]) -> None:
    sent = made(api, "POST", ROOM + "/messages", content="Hi")
    path = f"{ROOM}/messages/{sent['message_id']}/reactions"
    [_, view] = [made(api, "POST", path, emoji="👍") for _ in range(2)]
    assert view["reactions"] == [{"emoji": "👍", "actor_ids": ["local"], "count": 1}]
    [_, view] = [made(api, "DELETE", path, emoji="👍") for _ in range(2)]
    assert view["reactions"] == []
    assert api.delete(path, params={"emoji": "👍"}).status_code == 200


def test_a_file_in_a_message_cannot_be_deleted_before_the_channel(
    api: TestClient, room: dict[str, Any]
) -> None:
    items = [
        {"type": "text", "text": "See"},
        {"type": "inline_asset", "file_name": "plan.txt", "content_base64": "cGxhbg=="},
    ]
    sent = made(api, "POST", ROOM + "/messages", input_items=items)
    asset_id = sent["parts"][1]["asset_id"]
    assert api.get(ROOM + "/messages", params={"query": "plan.txt"}).json()["items"] == [sent]
    assert api.delete(f"/v1/assets/{asset_id}").status_code == 409
    assert api.delete(ROOM).status_code == 200
    assert api.delete(f"/v1/assets/{asset_id}").status_code == 200


def test_a_linked_channel_exists_and_stays(api: TestClient, room: dict[str, Any]) -> None:
    made(api, "POST", "/v1/projects", project_id="p", display_name="P", channel_links=["room"])
    assert refused(api, "DELETE", ROOM) == (409, "channel_linked_to_project")
    links = {"project_id": "q", "display_name": "Q", "channel_links": ["nonexistent-channel"]}
    assert refused(api, "POST", "/v1/projects", links) == (404, "channel_not_found")
    assert refused(api, "PUT", "/v1/projects/p", {"channel_links": ["gone"]})[0] == 404
    linked = refused(api, "POST", "/v1/projects/p/channels", {"channel_id": "gone"})
    assert linked == (404, "channel_not_found")
    made(api, "PUT", "/v1/projects/p", channel_links=[])
    assert api.delete(ROOM).json() == {"deleted": True}
    assert api.get(ROOM).status_code == 404


def test_the_members_of_a_project_are_mirrored_while_it_says_so(
    api: TestClient, room: dict[str, Any]
) -> None:
    def roster() -> list[str]:
        found = api.get(ROOM + "/members").json()["items"]
        return [each["member_id"] for each in found if each["member_id"].startswith("project:")]

    for name in ("dan", "eve"):
        made(api, "POST", "/v1/sessions", session_id=name)
    # Bob is there by hand already.
    members = [{"member_id": "dan", "role": "writer"}, {"member_id": "bob"}]
    made(api, "POST", "/v1/projects", project_id="p", display_name="P", members=members)
    made(api, "POST", "/v1/projects/p/channels", channel_id="room")
    assert roster() == []
    linked = made(api, "POST", "/v1/projects/p/channels", channel_id="room", mirror_members=True)
    assert linked["mirrored_channels"] == ["room"]
    assert roster() == ["project:p:dan"]
    [link] = api.get("/v1/projects/p/channels").json()["items"]
    assert link == {
        "channel_id": "room", "default_for_new_tasks": True, "mirror_members": True, "metadata": {}
    }  # fmt: skip

    made(api, "POST", "/v1/projects/p/members", member_id="eve")
    made(api, "POST", "/v1/projects/p/members", member_id="zoe", member_kind="human_actor")
    assert roster() == ["project:p:dan", "project:p:eve", "project:p:zoe"]
    shown = api.get("/v1/projects/p").json()
    assert made(api, "PUT", "/v1/projects/p", **shown) == shown
    made(api, "DELETE", "/v1/projects/p/members/eve")
    assert roster() == ["project:p:dan", "project:p:zoe"]
    made(api, "DELETE", "/v1/projects/p/channels/room")
    assert roster() == []
    assert "bob" in [each["member_id"] for each in api.get(ROOM + "/members").json()["items"]]


def test_a_link_says_what_its_channel_is_for(api: TestClient, room: dict[str, Any]) -> None:
    links = "/v1/projects/p/channels"
    made(api, "POST", "/v1/projects", project_id="p", display_name="P")
    noted = {"role": " planning ", "metadata": {"topic": "beds"}}
    project = made(api, "POST", links, channel_id="room", **noted)
    told = {"role": "planning", "metadata": {"topic": "beds"}}
    assert project["channel_notes"] == {"room": told}
    assert api.get("/v1/projects/p").json() == project
    # What is omitted stays, and what GET shows may be sent back.
    made(api, "POST", links, channel_id="room", mirror_members=True)
    [link] = api.get(links).json()["items"]
    assert {**link, **told} == link
    shown = api.get("/v1/projects/p").json()
    assert made(api, "PUT", "/v1/projects/p", **shown) == shown

    assert refused(api, "POST", links, {"channel_id": "room", "role": "x" * 201})[0] == 400
    assert refused(api, "POST", links, {"channel_id": "room", "metadata": []})[0] == 400
    cleared = made(api, "POST", links, channel_id="room", role="", metadata={})
    assert cleared["channel_notes"] == {}
    # Notes go with the link, and there are none of other channels.
    made(api, "PUT", "/v1/projects/p", channel_notes={"room": {"role": "a"}})
    noted = api.get("/v1/projects/p").json()
    assert noted["channel_notes"] == {"room": {"role": "a", "metadata": {}}}
    assert made(api, "DELETE", links + "/room")["channel_notes"] == {}
    made(api, "POST", links, channel_id="room", role="a")
    without = {**noted, "channel_links": []}
    assert made(api, "PUT", "/v1/projects/p", **without)["channel_notes"] == {}


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"channel_notes": {"rom/a": {"role": "b"}}}, "/channel_notes/rom~1a"),
        ({"mirrored_channels": ["room", "rom"]}, "/mirrored_channels/1"),
        ({"channel_notes": {"room": {"metadata": {"x": "y" * 16_384}}}}, "/channel_notes/room/metadata"),
    ],
)  # fmt: skip
def test_a_project_says_a_little_of_the_channels_that_it_links(
    api: TestClient, room: dict[str, Any], changes: dict[str, Any], where: str
) -> None:
    made(api, "POST", "/v1/projects", project_id="p", display_name="P", channel_links=["room"])
    told = api.put("/v1/projects/p", json=changes)
    assert (told.status_code, told.json()["errors"][0]["pointer"]) == (400, where)
    body = {"project_id": "q", "display_name": "Q", "channel_links": ["room"], **changes}
    assert api.post("/v1/projects", json=body).json()["errors"][0]["pointer"] == where


def test_a_channel_is_linked_once_and_few_are_linked(
    api: TestClient, room: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    links = "/v1/projects/p/channels"
    twice = ["room", "room"]
    made(api, "POST", "/v1/projects", project_id="p", display_name="P", channel_links=twice)
    assert len(api.get(links).json()["items"]) == 1
    monkeypatch.setattr(projects, "MAX_CHANNEL_LINKS", 1)
    made(api, "POST", "/v1/channels", channel_id="hall", title="Hall")
    for body, where in (
        ({"channel_id": "hall"}, "/channel_id"),
        ({"channel_id": "none"}, "/channel_id"),
        ({"channel_id": "room", "metadata": {"x": "y" * 16_384}}, "/metadata"),
    ):
        told = api.post(links, json=body)
        assert (told.status_code, told.json()["errors"][0]["pointer"]) == (400, where)


def test_projects_that_mirror_into_one_channel_keep_to_their_own_members(
    api: TestClient, room: dict[str, Any]
) -> None:
    def roster() -> list[str]:
        found = api.get(ROOM + "/members").json()["items"]
        return sorted(it["member_id"] for it in found if it["member_id"].startswith("project:"))

    def join(project: str, member_id: str, **fields: str) -> None:
        fields = {"member_id": member_id, "member_kind": "human_actor", **fields}
        made(api, "POST", f"/v1/projects/{project}/members", **fields)

    for name in ("p", "p:q"):
        made(api, "POST", "/v1/projects", project_id=name, display_name=name)
        made(api, "POST", f"/v1/projects/{name}/channels", channel_id="room", mirror_members=True)
    by_hand = {"member_id": "project:p:guest", "member_kind": "human_actor", "actor_id": "guest"}
    made(api, "POST", ROOM + "/members", **by_hand)
    join("p:q", "zoe")
    # One person under two names, and one who works with a session.
    join("p", "ida-writes", actor_id="ida")
    join("p", "ida-reviews", actor_id="ida")
    join("p", "kim", session_id="bob")

    others = ["project:p:guest", "project:p:q:zoe"]
    assert roster() == sorted(["project:p:ida-writes", "project:p:kim", *others])
    made(api, "DELETE", "/v1/projects/p/members/ida-writes")
    assert roster() == sorted(["project:p:ida-reviews", "project:p:kim", *others])
    made(api, "DELETE", "/v1/projects/p/channels/room")
    assert roster() == others


def test_a_session_in_a_channel_cannot_end(api: TestClient, room: dict[str, Any]) -> None:
    assert refused(api, "POST", "/v1/sessions/bob/end", {}) == (409, "session_in_channel")
    made(api, "DELETE", ROOM + "/members/bob")
    assert api.post("/v1/sessions/bob/end", json={}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/channels", {"title": " "}, 400, "name_invalid"),
        ("/v1/channels", {"channel_id": "room", "title": "x"}, 409, "channel_exists"),
        ("/v1/channels", {"channel_id": "a b", "title": "x"}, 400, "invalid_id"),
        ("/v1/channels", {"title": "x", "pinned_asset_ids": ["gone"]}, 400, "asset_not_found"),
        ("/v1/channels", {"title": "x", "autonomy_policy": {"lease_timeout_ms": 0}}, 400, "policy_invalid"),
        ("/v1/channels", {"title": "x", "members": [{"member_id": "gone"}]}, 404, "session_not_found"),
        ("/v1/channels/gone/messages", {"content": "x"}, 404, "channel_not_found"),
        (ROOM + "/messages", {"content": " "}, 400, "message_empty"),
        (ROOM + "/messages", {"content": "x" * 65_537}, 413, "message_too_large"),
        (ROOM + "/messages", {"content": "x", "reply_to_message_id": "gone"}, 404, "message_not_found"),
        (ROOM + "/messages", {"content": "x", "addressed_member_ids": ["no"]}, 400, "addressed_member_unknown"),
        (ROOM + "/messages", {"content": "x", "sender_actor_id": "eve"}, 403, "sender_not_a_member"),
        (ROOM + "/messages", {"content": "x", "metadata": {"source_run_id": "r"}}, 400, "metadata_reserved"),
        (ROOM + "/members", {"member_id": "x", "actor_id": "y"}, 400, "member_invalid"),
        (ROOM + "/members", {"member_id": "x", "member_kind": "human_actor", "session_id": "bob"}, 400, "member_invalid"),
        (ROOM + "/members", {"member_id": "x", "session_id": "bob"}, 409, "member_exists"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(
    api: TestClient, room: dict[str, Any], path: str, body: object, status: int, code: str
) -> None:
    assert refused(api, "POST", path, body) == (status, code)


def test_threads_do_not_cross(api: TestClient, room: dict[str, Any]) -> None:
    one = made(api, "POST", ROOM + "/messages", content="1")["message_id"]
    two = made(api, "POST", ROOM + "/messages", content="2")["message_id"]
    reply = made(api, "POST", ROOM + "/messages", content="3", thread_root_message_id=one)
    wrong = {
        "content": "x",
        "reply_to_message_id": reply["message_id"],
        "thread_root_message_id": two,
    }
    assert refused(api, "POST", ROOM + "/messages", wrong) == (400, "reply_outside_thread")
    wrong = {"content": "x", "thread_root_message_id": reply["message_id"]}
    assert refused(api, "POST", ROOM + "/messages", wrong) == (400, "not_a_thread_root")
    assert refused(api, "DELETE", ROOM + "/members/gone") == (404, "member_not_found")


def test_a_person_speaks_only_for_themselves_and_their_sessions(guarded: TestClient) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}

    def token(user_id: str) -> dict[str, str]:
        body = {"user_id": user_id, "role": "operator"}
        made_token = guarded.post("/v1/tokens", json=body, headers=admin).json()["token"]
        return {"Authorization": f"Bearer {made_token}"}

    ann, eve = token("ann"), token("eve")
    guarded.post("/v1/sessions", json={"session_id": "anns"}, headers=ann)
    body = {"channel_id": "room", "title": "Room", "members": [{"member_id": "anns"}]}
    assert refused(guarded, "POST", "/v1/channels", body, headers=eve) == (403, "session_not_yours")
    people = [{"member_id": name, "member_kind": "human_actor"} for name in ("ann", "bea")]
    body["members"] = [*people, {"member_id": "anns"}]
    assert guarded.post("/v1/channels", json=body, headers=ann).status_code == 201

    def says(headers: dict[str, str], **fields: str) -> object:
        answer = guarded.post(ROOM + "/messages", json={"content": "x", **fields}, headers=headers)
        return answer.status_code if answer.is_success else answer.json()["code"]

    assert says(ann) == 201
    assert says(ann, sender_session_id="anns") == 201
    assert says(ann, sender_actor_id="bea") == "sender_not_yours"
    assert says(ann, sender_display_name="Bea") == "sender_not_yours"
    assert says(eve) == "sender_not_a_member"
    assert guarded.post(ROOM + "/messages", json={"content": "x"}, headers=eve).status_code == 403
    assert says(eve, sender_session_id="anns") == "sender_not_yours"
    assert says(admin, sender_actor_id="bea") == 201
    audit = guarded.get("/v1/audit", headers=admin).json()["items"]
    done = next(each for each in audit if each["action"] == "channels.post")
    assert (done["actor"], done["reason"]) == ("admin", "as bea")


def test_a_repeat_under_the_same_key_posts_once(api: TestClient, room: dict[str, Any]) -> None:
    keyed = {"Idempotency-Key": "once"}
    sent = [api.post(ROOM + "/messages", json={"content": "x"}, headers=keyed) for _ in range(2)]
    assert sent[0].json() == sent[1].json()
    assert api.get(ROOM).json()["message_count"] == 1


def test_the_address_of_a_bridge_may_be_taken_away(api: TestClient, room: dict[str, Any]) -> None:
    bridges = ROOM + "/bridges"
    address = "http://127.0.0.1:9/out"
    bridge = made(api, "POST", bridges, bridge_id="pier", outgoing_url=address)
    assert bridge["outgoing_url"] == address
    for wrong in ("ftp://example.org/", "no address"):
        told = api.put(f"{bridges}/pier", json={"outgoing_url": wrong})
        assert told.status_code == 400
        assert [each["pointer"] for each in told.json()["errors"]] == ["/outgoing_url"]
    assert "outgoing_url" not in made(api, "PUT", f"{bridges}/pier", outgoing_url="")
