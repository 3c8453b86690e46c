"""Who may change an agent over HTTP: its owner, and admins."""

from itertools import count

import pytest

from tests.api.skill_users import SkillUsers

_numbers = count(1)


def agent_of(users: SkillUsers, owner_id: str | None) -> str:
    """The path of a new agent that an admin made."""
    body = {"agent_id": f"owned-{next(_numbers)}", "agent_type": "predefined"}
    made = users.root.ok("POST", "/v1/agents", body | ({"owner_id": owner_id} if owner_id else {}))
    return f"/v1/agents/{made['agent_id']}"


def test_an_agent_belongs_to_who_made_it_unless_another_owner_is_named(users: SkillUsers) -> None:
    assert users.root.ok("GET", agent_of(users, None))["owner_id"] == "admin"
    assert users.root.ok("GET", agent_of(users, "ann"))["owner_id"] == "ann"
    assert "owner_id" not in users.root.ok("GET", "/v1/agents/default")


def test_its_owner_sets_switches_and_writes_and_restores_files(users: SkillUsers) -> None:
    path = agent_of(users, "ann")

    changed = users.ann.ok("PUT", path, {"other_config": {"self_evolve": True}})
    assert changed["other_config"] == {"self_evolve": True}
    for content in ("Be warm.", "Be brief."):
        users.ann.ok("PUT", f"{path}/files/SOUL.md", {"content": content})
    users.ann.ok("POST", f"{path}/files/SOUL.md/restore", {"version": 1})
    assert users.bob.ok("GET", f"{path}/files/SOUL.md")["content"] == "Be warm."
    users.ann.ok("DELETE", f"{path}/files/SOUL.md")
    assert users.ann.ok("GET", f"{path}/proposals")["items"] == []


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
    users: SkillUsers, method: str, place: str, body: dict[str, object] | None
) -> None:
    path = agent_of(users, "ann")
    users.root.ok("PUT", f"{path}/files/SOUL.md", {"content": "Be warm."})

    assert users.bob.refused(method, path + place, body) == (403, "agent_not_yours")
    assert users.vera.refused(method, path + place, body) == (403, "forbidden")
    assert users.root.ok("GET", f"{path}/files/SOUL.md")["content"] == "Be warm."


def test_an_owner_who_is_only_a_viewer_changes_nothing(users: SkillUsers) -> None:
    path = agent_of(users, "vera")
    assert users.vera.refused("PUT", path, {"display_name": "Mine"}) == (403, "forbidden")


@pytest.mark.parametrize(
    "more",
    [
        {"permissions": {"rules": [{"tool": "shell", "decision": "allow"}]}},
        {"owner_id": "bob"},
        {"agent_type": "open"},
        {"other_config": {"soul_frozen": False}},
        {"other_config": {"soul_review": True}},
        {"other_config": None},
        {"owner_id": ""},
    ],
)
def test_an_owner_gives_neither_the_agent_more_rights_nor_the_agent_away(
    users: SkillUsers, more: dict[str, object]
) -> None:
    path = agent_of(users, "ann")
    users.root.ok("PUT", path, {"other_config": {"soul_frozen": True}})
    before = users.ann.ok("GET", path)

    assert users.ann.refused("PUT", path, {"display_name": "Mine", **more}) == (403, "forbidden")

    assert users.ann.ok("GET", path) == before
    # What is put back as it was shown changes nothing, and is no such attempt.
    assert users.ann.ok("PUT", path, before | {"display_name": "Mine"})["display_name"] == "Mine"


def test_an_admin_gives_an_agent_to_somebody_else_or_to_nobody(users: SkillUsers) -> None:
    path = agent_of(users, "ann")

    assert users.root.ok("PUT", path, {"owner_id": "bob"})["owner_id"] == "bob"
    assert users.ann.refused("PUT", path, {"display_name": "Mine"}) == (403, "agent_not_yours")
    users.bob.ok("PUT", path, {"display_name": "His"})
    assert "owner_id" not in users.root.ok("PUT", path, {"owner_id": ""})
    assert users.bob.refused("PUT", path, {"display_name": "Mine"}) == (403, "agent_not_yours")


def test_an_owner_has_the_name_of_a_user(users: SkillUsers) -> None:
    path = agent_of(users, None)
    assert users.root.refused("PUT", path, {"owner_id": "a b\n"})[0] == 400
    assert users.root.refused("PUT", path, {"owner_id": "x" * 256})[0] == 400


def test_only_admins_make_and_delete_agents(users: SkillUsers) -> None:
    path = agent_of(users, "ann")
    body = {"agent_id": "hers", "agent_type": "open"}
    assert users.ann.refused("POST", "/v1/agents", body) == (403, "forbidden")
    assert users.ann.refused("DELETE", path) == (403, "forbidden")
