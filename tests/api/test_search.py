"""Search over everything that has a page, over HTTP and on the command line."""

from collections.abc import Mapping
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.live import Live
from tests.api.skill_users import SkillUsers
from tests.api.test_learning_candidates import learn
from tests.api.test_resources import ok, refused
from tests.support.command_line_in_process import typed
from tests.support.skill_service_harness import SLUG


def found(api: TestClient, query: str) -> list[Mapping[str, Any]]:
    answer = api.get("/v1/search", params={"query": query})
    assert answer.is_success, answer.text
    items: list[Mapping[str, Any]] = answer.json()["items"]
    return items


def test_each_kind_is_found_by_its_name_or_words(api: TestClient) -> None:
    ok(api, "POST", "/v1/agents", {"agent_id": "vermilion-painter", "agent_type": "open"})
    ok(api, "POST", "/v1/sessions", {"session_id": "talk-of-vermilion"})
    content = "---\nname: vermilion-mixing\ndescription: How to mix it.\n---\n\nMix it.\n"
    ok(api, "POST", "/v1/skills", {"content": content})
    learning = learn(api, "The gateway is painted vermilion.")["learning_id"]
    proposal = {
        "scope": {"kind": "workspace", "id": "default"},
        "kind": "fact",
        "content": "Vermilion is a red.",
    }
    candidate = ok(api, "POST", "/v1/learning-candidates", proposal)["candidate_id"]

    items = found(api, "vermilion")

    ids = {(each["kind"], each["id"]) for each in items if each["kind"] != "skill"}
    assert ids == {
        ("agent", "vermilion-painter"),
        ("session", "talk-of-vermilion"),
        ("learning", learning),
        ("candidate", candidate),
    }
    assert [each["title"] for each in items if each["kind"] == "skill"] == ["vermilion-mixing"]


def test_an_id_leads_to_its_thing(api: TestClient) -> None:
    learning = learn(api, "The gateway is painted vermilion.")["learning_id"]
    assert [each["id"] for each in found(api, learning)] == [learning]


@pytest.mark.parametrize("query", ["", "   ", "%", "_", "' OR 1=1 --", "\\", "nothing of the sort"])
def test_what_fits_nothing_finds_nothing(api: TestClient, query: str) -> None:
    learn(api, "The gateway is painted vermilion.")
    assert found(api, query) == []


def test_a_kind_has_at_most_six_results(api: TestClient) -> None:
    for number in range(9):
        ok(api, "POST", "/v1/sessions", {"session_id": f"paint-{number}"})
    assert [each["id"] for each in found(api, "PAINT")] == [f"paint-{n}" for n in range(8, 2, -1)]


def test_a_query_has_a_limit(api: TestClient) -> None:
    assert refused(api, "GET", f"/v1/search?query={'x' * 5_000}") == (400, "memory/invalid_query")


def test_a_skill_is_found_by_those_who_see_it(users: SkillUsers) -> None:
    users.ann.create()
    of_ann = users.ann.ok("GET", f"/v1/search?query={SLUG}")["items"]
    of_bob = users.bob.ok("GET", f"/v1/search?query={SLUG}")["items"]
    assert [each["kind"] for each in of_ann] == ["skill"]
    assert of_bob == []


def test_runs_are_found_by_what_they_were_asked(live: Live) -> None:
    live.session("talk")
    run = live.run("talk", "Where is the cobalt lantern?")["run_id"]
    result = typed("--url", str(live.client.base_url), "search", "cobalt lantern")
    assert result.exit_code == 0, result.output
    assert run in result.stdout


def test_an_id_is_found_by_its_beginning(api: TestClient) -> None:
    learning = learn(api, "The gateway is painted vermilion.")["learning_id"]

    answer = ok(api, "GET", f"/v1/ids?kind=learning&prefix={learning[:15]}&mine=true")

    assert [each["id"] for each in answer["items"]] == [learning]
    assert answer["items"][0]["label"] == "The gateway is painted vermilion."


def test_ids_are_of_a_known_kind(api: TestClient) -> None:
    status, code = refused(api, "GET", "/v1/ids?kind=elephant&prefix=run_")
    assert (status, code) == (400, "api/bad_request")
    assert refused(api, "GET", f"/v1/ids?kind=run&prefix={'x' * 201}")[0] == 400
