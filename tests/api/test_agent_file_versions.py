"""What context files were: looked at over HTTP, compared, brought back; and what was no text at all."""

from itertools import count
from pathlib import Path

from starlette.testclient import TestClient

from tests.api.live import settings_at
from tests.api.skill_users import SkillUsers
from understudy.daemon.wiring import Daemon

_numbers = count(1)


def agent(users: SkillUsers, kind: str = "predefined") -> str:
    """The path of a new agent."""
    agent_id = f"versions-{next(_numbers)}"
    users.root.ok("POST", "/v1/agents", {"agent_id": agent_id, "agent_type": kind})
    return f"/v1/agents/{agent_id}"


def written(users: SkillUsers, path: str, *texts: str) -> str:
    """The same path, with a version for each text; an empty one is a deletion."""
    for text in texts:
        if text:
            users.root.ok("PUT", path, {"content": text})
        else:
            users.root.ok("DELETE", path)
    return path


def test_each_version_can_be_read_with_what_it_changed(users: SkillUsers) -> None:
    path = written(users, f"{agent(users)}/files/SOUL.md", "Be calm.\nBe brief.\n", "Be calm.\n")

    first, second = (users.vera.ok("GET", f"{path}/versions/{at}") for at in (1, 2))

    assert first["content"] == "Be calm.\nBe brief.\n"
    assert first["diff"].startswith("--- /dev/null\n+++ b/SOUL.md\n")
    assert (second["version"], second["actor"], second["run_id"]) == (2, "admin", None)
    assert (second["size"], second["deleted"]) == (9, False)
    assert second["created_at_ms"] >= first["created_at_ms"]
    head = "--- a/SOUL.md\n+++ b/SOUL.md\n@@ -1,2 +1 @@\n Be calm.\n-Be brief."
    assert second["diff"] == head


def test_a_version_says_why_and_its_reason_holds_no_secret(users: SkillUsers) -> None:
    path = f"{agent(users)}/files/SOUL.md"
    users.root.ok("PUT", path, {"content": "Be calm.", "reason": "  They asked. "})
    users.root.ok("PUT", path, {"content": "Be loud.", "reason": " "})
    users.root.ok("POST", f"{path}/restore", {"version": 1})
    listed = users.vera.ok("GET", f"{path}/versions")["items"]
    said = ["version 1 was restored", None, "They asked."]
    assert [each.get("reason") for each in listed] == said
    secret = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"
    body = {"content": "Be kind.", "reason": f"the key is {secret}"}
    answer = users.root.call("PUT", path, body)
    assert answer.status_code == 422
    assert secret not in answer.text
    assert answer.json()["errors"][0]["pointer"] == "/reason"


def test_only_versions_that_there_are_can_be_read(users: SkillUsers) -> None:
    path = written(users, f"{agent(users)}/files/SOUL.md", "Be calm.")

    assert users.root.refused("GET", f"{path}/versions/2") == (404, "agent_file_version_not_found")
    for number in ("0", "-1", "one", "2147483648"):
        assert users.root.refused("GET", f"{path}/versions/{number}") == (400, "bad_request")
    unknown = path.replace("SOUL", "OTHER")
    assert users.root.refused("GET", f"{unknown}/versions/1") == (400, "agent_file_unknown")
    nobody = "/v1/agents/nobody/files/SOUL.md/versions/1"
    assert users.root.refused("GET", nobody) == (404, "agent_not_found")
    assert users.nobody.call("GET", f"{path}/versions/1").status_code == 401
    # As everywhere: what a route does not know of, it does not look at.
    assert users.root.ok("GET", f"{path}?version=7")["version"] == 1


def test_a_deletion_is_a_version_that_is_marked(users: SkillUsers) -> None:
    path = written(users, f"{agent(users)}/files/AGENTS.md", "Look twice.", "", "Look.")

    listed = users.root.ok("GET", f"{path}/versions")["items"]
    gone = users.root.ok("GET", f"{path}/versions/2")

    assert [(each["version"], each["deleted"]) for each in listed] == [
        (3, False),
        (2, True),
        (1, False),
    ]
    assert (gone["deleted"], gone["size"], gone["content"]) == (True, 0, "")
    assert gone["diff"].endswith("-Look twice.")
    assert users.root.ok("GET", f"{path}/versions/3")["diff"].startswith("--- /dev/null\n")
    soul = written(users, path.replace("AGENTS", "SOUL"), "Be calm.", "")
    record = soul.partition("/files/")[0] + "/evolution"
    assert [each["deleted"] for each in users.root.ok("GET", record)["items"]] == [True, False]


def test_a_deletion_cannot_be_brought_back(users: SkillUsers) -> None:
    base = agent(users)
    soul = written(users, f"{base}/files/SOUL.md", "Be calm.", "", "Be warm.")
    other = written(users, f"{base}/files/AGENTS.md", "Look twice.", "", "Look.")

    refused = users.root.call("POST", f"{soul}/restore", {"version": 2})
    assert (refused.status_code, refused.json()["code"]) == (400, "soul_blank")
    assert refused.json()["errors"][0]["pointer"] == "/version"
    refused = users.root.call("POST", f"{other}/restore", {"version": 2})
    assert (refused.status_code, refused.json()["code"]) == (409, "agent_file_version_deleted")
    assert "delete the file instead" in refused.json()["detail"]

    assert users.root.ok("GET", soul)["content"] == "Be warm."
    assert users.root.ok("GET", other)["version"] == 3
    assert users.root.ok("POST", f"{soul}/restore", {"version": 1})["version"] == 4


def test_the_versions_of_a_copy_are_its_users_business(users: SkillUsers) -> None:
    path = f"{agent(users, 'open')}/users/ann/files/USER.md"
    for text in ("Likes tea.", "Likes both."):
        users.ann.ok("PUT", path, {"content": text})
    users.ann.ok("DELETE", path)

    assert users.ann.ok("GET", f"{path}/versions/1")["content"] == "Likes tea."
    assert "+Likes both." in users.root.ok("GET", f"{path}/versions/2")["diff"]
    refused = users.bob.refused("GET", f"{path}/versions/1")
    assert refused == (403, "agent_file_not_yours")
    refused = users.ann.refused("POST", f"{path}/restore", {"version": 3})
    assert refused == (409, "agent_file_version_deleted")


def test_null_clears_all_switches_and_one_null_is_a_mistake(api: TestClient) -> None:
    config = {"self_evolve": True, "skill_nudge_interval": 3, "color": "blue"}
    body = {"agent_id": "null", "agent_type": "predefined", "other_config": config}
    api.post("/v1/agents", json=body).raise_for_status()
    path = "/v1/agents/null"

    refused = api.put(path, json={"other_config": {"self_evolve": None}})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_other_config")
    assert api.put(path, json={"display_name": "Ada"}).json()["other_config"] == config
    assert api.put(path, json={"other_config": {}}).json()["other_config"] == config

    cleared = api.put(path, json={"other_config": None}).json()

    assert cleared["other_config"] == {}
    assert not any(each["on"] for each in cleared["switches"])
    assert cleared["version"] == 3
    assert api.put(path, json={"other_config": None}).json() == cleared


def test_the_share_of_a_soul_that_may_change_comes_from_the_settings(tmp_path: Path) -> None:
    settings = settings_at(tmp_path, config="[evolution]\nsoul_change_percent = 25\n")
    daemon = Daemon(settings)
    limits = daemon.services.agents.context_files.checks.limits
    daemon.resources.database.dispose()

    assert limits.max_change == 0.25
