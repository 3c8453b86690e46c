"""The room in the console: its log, its roster, who speaks next and why."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import idle_daemon
from tests.console.conftest import OURS, client_of
from understudy.channels.model import EventName
from understudy.daemon.wiring import Daemon

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def daemon(tmp_path: Path, fresh_database: Path) -> Iterator[Daemon]:
    daemon = idle_daemon(tmp_path / "home", fresh_database)
    yield daemon
    daemon.resources.database.dispose()


@pytest.fixture
def console(daemon: Daemon) -> Iterator[TestClient]:
    with client_of(daemon) as client:
        yield client


@pytest.fixture
def room(console: TestClient) -> str:
    for name in ("ann", "bob"):
        console.post("/v1/sessions", json={"session_id": name})
    members = [{"member_id": "local", "member_kind": "human_actor"}]
    members += [{"member_id": name} for name in ("ann", "bob")]
    body = {"channel_id": "room", "title": "Launch", "purpose": HOSTILE, "members": members}
    assert console.post("/v1/channels", json=body).status_code == 201
    sent = console.post("/v1/channels/room/messages", json={"content": f"@bob {HOSTILE}"})
    assert sent.status_code == 201
    return str(sent.json()["message_id"])


def test_rooms_are_listed(console: TestClient, room: str) -> None:
    page = console.get("/channels").text

    assert "Launch" in page
    assert 'href="/channels/room"' in page


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
def test_a_room_shows_its_log_its_roster_and_who_speaks_next(
    console: TestClient, room: str, language: str
) -> None:
    answer = console.get("/channels/room", headers={"Accept-Language": language})

    assert answer.status_code == 200
    assert HOSTILE not in answer.text
    assert "&lt;script&gt;" in answer.text
    assert 'href="/sessions/ann"' in answer.text
    order = answer.text.partition("<ol>")[2].partition("</ol>")[0]
    assert order.index("bob") < order.index("ann")
    assert "channel." not in answer.text.partition("<main")[2].replace("channel.html", "")


def test_a_room_says_who_had_a_turn_and_was_silent(
    console: TestClient, daemon: Daemon, room: str
) -> None:
    turn = {"human_message_id": room, "outcome": "nothing_to_add"}
    with daemon.resources.units.write() as unit:
        for name in ("bob", "ann"):
            data = {**turn, "holder_session_id": name, "run_id": f"run_{name}"}
            unit.channels.event("room", EventName.LEASE, data, at_ms=1)

    page = console.get("/channels/room").text

    bob, ann = (f'<a href="/runs/run_{name}">{name}</a>' for name in ("bob", "ann"))
    assert f"{bob}, {ann} had their turn and had nothing to add." in page


def test_a_person_posts_and_reacts(console: TestClient, room: str) -> None:
    form = {"channel_id": "room", "content": "From the page", "_to": "/channels/room"}
    assert console.post("/act/channels.post", data=form, headers=OURS).status_code in (200, 303)
    form = {"channel_id": "room", "message_id": room, "emoji": "👍", "_to": "/channels/room"}
    assert console.post("/act/channels.react", data=form, headers=OURS).status_code in (200, 303)

    items = console.get("/v1/channels/room/messages").json()["items"]
    assert [item["content"] for item in items][1:] == ["From the page"]
    assert items[0]["reactions"][0]["count"] == 1


def test_an_unknown_room_is_not_found(console: TestClient) -> None:
    assert console.get("/channels/gone").status_code == 404
