"""Who may change an agent over HTTP: its owner, and admins."""

from itertools import count

import pytest

from tests.api.skill_desk import Desk

_numbers = count(1)


def agent_of(desk: Desk, owner_id: str | None) -> str:
    """The path of a new agent that an admin made."""
    body = {"agent_id": f"owned-{next(_numbers)}", "agent_type": "predefined"}
    made = desk.root.ok("POST", "/v1/agents", body | ({"owner_id": owner_id} if owner_id else {}))
    return f"/v1/agents/{made['agent_id']}"


def test_an_agent_belongs_to_who_made_it_unless_another_owner_is_named(desk: Desk) -> None:
    assert desk.root.ok("GET", agent_of(desk, None))["owner_id"] == "admin"
    assert desk.root.ok("GET", agent_of(desk, "ann"))["owner_id"] == "ann"
    assert "owner_id" not in desk.root.ok("GET", "/v1/agents/default")


def test_its_owner_sets_switches_and_writes_and_restores_files(desk: Desk) -> None:
    path = agent_of(desk, "ann")

    changed = desk.ann.ok("PUT", path, {"other_config": {"self_evolve": True}})
    assert changed["other_config"] == {"self_evolve": True}
    for content in ("Be warm.", "Be brief."):
        desk.ann.ok("PUT", f"{path}/files/SOUL.md", {"content": content})
    desk.ann.ok("POST", f"{path}/files/SOUL.md/restore", {"version": 1})
    assert desk.bob.ok("GET", f"{path}/files/SOUL.md")["content"] == "Be warm."
    desk.ann.ok("DELETE", f"{path}/files/SOUL.md")
    assert desk.ann.ok("GET", f"{path}/proposals")["items"] == []


@pytest.mark.parametrize(
    ("method", "place", "body"),
    [
        ("PUT", "", {"other_config": {"self_evolve": True}}),
        ("PUT", "/files/SOUL.md", {"content": "Obey."}),
        ("DELETE", "/files/SOUL.md", None),
        ("POST", "/files/SOUL.md/restore", {"version": 1}),
        ("GET", "/proposals", None),
        ("GET", "/proposals/prp_1", None),
        ("POST", "/proposals/prp_1/approve", None),
        ("POST", "/proposals/prp_1/reject", None),
    ],
)
def test_nobody_else_but_admins_does(
    desk: Desk, method: str, place: str, body: dict[str, object] | None
) -> None:
    path = agent_of(desk, "ann")
    desk.root.ok("PUT", f"{path}/files/SOUL.md", {"content": "Be warm."})

    assert desk.bob.refused(method, path + place, body) == (403, "agent_not_yours")
    assert desk.vera.refused(method, path + place, body) == (403, "forbidden")
    assert desk.root.ok("GET", f"{path}/files/SOUL.md")["content"] == "Be warm."


def test_an_owner_who_is_only_a_viewer_changes_nothing(desk: Desk) -> None:
    path = agent_of(desk, "vera")
    assert desk.vera.refused("PUT", path, {"display_name": "Mine"}) == (403, "forbidden")


@pytest.mark.parametrize(
    "more",
    [
        {"permissions": {"rules": [{"tool": "shell", "decision": "allow"}]}},
        {"owner_id": "bob"},
        {"other_config": {"soul_frozen": False}},
        {"other_config": {"soul_review": True}},
        {"other_config": None},
        {"owner_id": ""},
    ],
)
def test_an_owner_gives_neither_the_agent_more_rights_nor_the_agent_away(
    desk: Desk, more: dict[str, object]
) -> None:
    path = agent_of(desk, "ann")
    desk.root.ok("PUT", path, {"other_config": {"soul_frozen": True}})
    before = desk.ann.ok("GET", path)

    assert desk.ann.refused("PUT", path, {"display_name": "Mine", **more}) == (403, "forbidden")

    assert desk.ann.ok("GET", path) == before
    # What is put back as it was shown changes nothing, and is no such attempt.
    assert desk.ann.ok("PUT", path, before | {"display_name": "Mine"})["display_name"] == "Mine"


def test_an_admin_gives_an_agent_to_somebody_else_or_to_nobody(desk: Desk) -> None:
    path = agent_of(desk, "ann")

    assert desk.root.ok("PUT", path, {"owner_id": "bob"})["owner_id"] == "bob"
    assert desk.ann.refused("PUT", path, {"display_name": "Mine"}) == (403, "agent_not_yours")
    desk.bob.ok("PUT", path, {"display_name": "His"})
    assert "owner_id" not in desk.root.ok("PUT", path, {"owner_id": ""})
    assert desk.bob.refused("PUT", path, {"display_name": "Mine"}) == (403, "agent_not_yours")


def test_an_owner_has_the_name_of_a_user(desk: Desk) -> None:
    path = agent_of(desk, None)
    assert desk.root.refused("PUT", path, {"owner_id": "a b\n"})[0] == 400
    assert desk.root.refused("PUT", path, {"owner_id": "x" * 256})[0] == 400


def test_only_admins_make_and_delete_agents(desk: Desk) -> None:
    path = agent_of(desk, "ann")
    body = {"agent_id": "hers", "agent_type": "open"}
    assert desk.ann.refused("POST", "/v1/agents", body) == (403, "forbidden")
    assert desk.ann.refused("DELETE", path) == (403, "forbidden")
