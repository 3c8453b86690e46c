"""The WebSocket of a whole daemon: the same skills as over HTTP, and no way around the API."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.api.live import Live
from tests.support.rpc import Rpc, rpc

SKILL_MD = "---\nname: Weekly report\ndescription: Writes the report\n---\nCollect and write.\n"


@contextmanager
def opened(live: Live) -> Iterator[Rpc]:
    """A connection of the machine's own user."""
    with rpc(address(live), log_in=False) as client:
        assert client.ok("connect")["role"] == "admin"
        yield client


def address(live: Live) -> str:
    return str(live.client.base_url).replace("http:", "ws:").rstrip("/")


def test_a_skill_is_the_same_over_http_and_over_the_socket(live: Live) -> None:
    made = live.ok("POST", "/v1/skills", {"content": SKILL_MD, "slug": "weekly-report"})
    with opened(live) as client:
        shown = client.ok("skills.get", {"name": "weekly-report"})
        assert (shown["id"], shown["content"].strip()) == (made["id"], "Collect and write.")
        updates = {"description": "Writes it every Friday"}
        client.ok("skills.update", {"id": made["id"], "updates": updates})

    seen = live.ok("GET", "/v1/skills/weekly-report")
    assert seen["description"] == "Writes it every Friday"
    newest = live.ok("GET", "/v1/audit?resource=skills")["items"][0]
    assert (newest["action"], newest["resource_id"]) == ("skills.update", made["id"])


def test_a_skill_that_came_with_the_product_is_shown_and_kept(live: Live) -> None:
    with opened(live) as client:
        listed = {skill["slug"]: skill for skill in client.ok("skills.list")["skills"]}
        updates = {"name": "skill-creator", "updates": {"description": "Ours now"}}
        refused = client.ask("skills.update", updates)

    assert (listed["skill-creator"]["is_system"], listed["skill-creator"]["source"]) == (
        True,
        "system",
    )
    assert refused["error"]["details"]["code"] == "skill_is_system"


def test_looking_for_dependencies_is_told_as_it_happens(live: Live) -> None:
    live.ok("POST", "/v1/skills", {"content": SKILL_MD, "slug": "checked"})
    with opened(live) as client:
        live.ok("POST", "/v1/skills/rescan-deps", {})
        events: list[dict[str, Any]] = []
        while not events or events[-1]["event"] != "skill.deps.complete":
            events.append(client.event())

    checked = {event["payload"]["slug"] for event in events[:-1]}
    assert "checked" in checked
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_there_is_no_other_socket(live: Live) -> None:
    for path in ("/", "/ws/", "/v1/sessions", "/healthz"):
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(address(live) + path, proxy=None),
        ):
            pass
        assert refused.value.response.status_code in (403, 404)


def test_without_an_upgrade_there_is_nothing(live: Live) -> None:
    answer = live.client.get("/ws")
    assert (answer.status_code, answer.json()["code"]) == (404, "route_not_found")


def test_what_a_run_leaves_for_people_is_told_as_on_a_stream(live: Live) -> None:
    live.ok("POST", "/v1/sessions", {"session_id": "taught"})
    with opened(live) as client:
        run = live.ok(
            "POST", "/v1/sessions/taught/runs", {"content": "Preference: I like short replies."}
        )
        told = client.event()
        last = live.ok("POST", "/v1/sessions/taught/runs", {"content": "save as skill"})
        hint = client.event()

    assert (told["event"], told["seq"], told["payload"]["run_id"]) == (
        "candidates_added",
        1,
        run["run_id"],
    )
    [candidate_id] = told["payload"]["candidate_ids"]
    found = live.ok("GET", f"/v1/learning-candidates/{candidate_id}")
    assert found["content"] == "I like short replies"
    assert (hint["event"], hint["payload"]["run_id"]) == ("hint", last["run_id"])
    assert hint["payload"]["session_id"] == "taught"
