"""What a connection does with what no client should send, or wait for, or read so slowly."""

import base64
import json
import os
import shutil
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.daemon import wait_for
from tests.support.rpc import Rpc
from tests.support.ws_skill_server import WsSkillServer, ws_skill_server
from understudy.access.tokens import TOKEN_ADMIN
from understudy.core.principal import Role
from understudy.daemon.connections import ImpatientWebSocket
from understudy.skills.events import SkillEventName
from understudy.storage.engine import open_engine
from understudy.ws.limits import MAX_FRAME_BYTES, Limits

Built = Callable[..., WsSkillServer]


@pytest.fixture
def build(tmp_path: Path, sqlite_template: Path) -> Iterator[Built]:
    """Makes a daemon with limits of its own."""
    path = tmp_path / "understudy.db"
    shutil.copy(sqlite_template, path)
    engine = open_engine(f"sqlite:///{path}")
    open_houses = []

    def make(**options: object) -> WsSkillServer:
        opened = ws_skill_server(engine, tmp_path, **options)  # type: ignore[arg-type]
        open_houses.append(opened)
        return opened.__enter__()

    yield make
    for opened in open_houses:
        opened.__exit__(None, None, None)
    engine.dispose()


@pytest.fixture(scope="module")
def home(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> Iterator[WsSkillServer]:
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copy(sqlite_template, folder / "understudy.db")
    engine = open_engine(f"sqlite:///{folder / 'understudy.db'}")
    with ws_skill_server(engine, folder) as opened:
        yield opened
    engine.dispose()


def frame(**fields: object) -> str:
    return json.dumps({"type": "req", "id": "x", "method": "skills.list", **fields})


@pytest.mark.parametrize(
    ("text", "answered_id"),
    [
        ("", None),
        ("nothing", None),
        ("{", None),
        ("null", None),
        ("7", None),
        ("[]", None),
        (f"[{frame()}]", None),
        ('"req"', None),
        (frame(id=None), None),
        (frame(id=True), None),
        (frame(id=1.5), None),
        (frame(id=""), None),
        (frame(id="x" * 129), None),
        (frame(id="x" * 100_000), None),
        (frame(id=10**20), None),
        (frame(id={"a": 1}), None),
        (frame(type="res"), "x"),
        (frame(type="event"), "x"),
        (frame(method=""), "x"),
        (frame(method=None), "x"),
        (frame(method="m" * 101), "x"),
        (frame(params=[]), "x"),
        (frame(params="text"), "x"),
        (frame(extra=1), "x"),
        (frame(params={"limit": "2"}), "x"),
        (frame(params={"limit": 1e99}), "x"),
        (frame(params={"cursor": "a\0b"}), "x"),
        ('{"type":"req","id":"x","method":"skills.list","params":{"cursor":"\\ud800"}}', "x"),
        ('{"type":"req","id":"x","method":"skills.list","params":{"limit":NaN}}', None),
        (frame(params=json.loads("[" * 70 + "]" * 70)), "x"),
        ('{"a":' * 80_000, None),
        ("[" * 400_000, None),
        ("9" * 400_000, None),
    ],
    ids=range(33),
)
def test_what_is_no_request_is_refused_and_the_next_one_answered(
    home: WsSkillServer, text: str, answered_id: str | None
) -> None:
    with home.rpc("vic") as client:
        answer = client.say(text)

        assert (answer["type"], answer["ok"], answer["id"]) == ("res", False, answered_id)
        assert answer["error"]["code"] == "INVALID_REQUEST"
        assert len(json.dumps(answer)) < 4000
        assert client.ok("skills.list")


@pytest.mark.parametrize(
    "params",
    [
        {"token": 7},
        {"token": "x" * 1001},
        {"token": "t", "password": "p"},
        {"token": "t", "tenant_id": "acme"},
        {"token": "t", "locale": "x" * 101},
    ],
)
def test_a_connect_that_makes_no_sense_lets_nobody_in(home: WsSkillServer, params: object) -> None:
    with home.rpc(None) as client:
        assert client.code("connect", params) == "INVALID_REQUEST"
        assert client.code("skills.list") == "UNAUTHORIZED"


def test_somebody_who_is_known_cannot_become_somebody_else(home: WsSkillServer) -> None:
    with home.rpc("vic") as client:
        again = client.ask("connect", {"token": home.tokens["root"]})
        updates = {"name": "any", "updates": {"name": "x"}}

        assert again["error"]["details"]["code"] == "already_connected"
        assert client.code("skills.update", updates) == "UNAUTHORIZED"


def test_a_binary_frame_ends_the_connection(home: WsSkillServer) -> None:
    with home.rpc("vic") as client:
        client.socket.send(frame().encode())
        assert closed(client) == 1003


def test_a_frame_that_is_too_large_ends_the_connection(home: WsSkillServer) -> None:
    with home.rpc("vic") as client:
        assert client.say("x" * MAX_FRAME_BYTES)["error"]["code"] == "INVALID_REQUEST"
        client.socket.send("x" * (MAX_FRAME_BYTES + 1))
        assert closed(client) == 1009


def test_a_frame_in_many_pieces_is_no_larger(home: WsSkillServer) -> None:
    def say(client: Rpc) -> None:
        client.socket.send(["x" * 1000] * 600)
        client.answer()

    with home.rpc("vic") as client, pytest.raises(ConnectionClosed):
        # It may be closed before the last piece is sent.
        say(client)


def test_somebody_who_is_not_known_may_not_say_much(home: WsSkillServer) -> None:
    with home.rpc(None) as client:
        client.socket.send(frame(params={"cursor": "x" * 17_000}))
        assert closed(client) == 1009


def test_somebody_who_is_not_known_may_not_try_for_ever(home: WsSkillServer) -> None:
    with home.rpc(None) as client:
        for _ in range(10):
            assert client.code("connect", {"token": "guess"}) == "UNAUTHORIZED"
        client.socket.send(frame())
        assert closed(client) == 1008


def test_a_token_that_was_deleted_ends_the_connection(build: Built) -> None:
    home = build()
    with home.rpc("ann") as client, home.rpc("bob") as other:
        home.services.tokens.delete(TOKEN_ADMIN, home.token_ids["ann"])
        assert client.code("skills.list") == "UNAUTHORIZED"
        assert closed(client) == 1008
        assert other.ok("skills.list")


def test_no_event_reaches_a_token_that_was_deleted(build: Built) -> None:
    home = build()
    skill = home.skill("watched")
    with home.rpc("ann") as client:
        home.services.tokens.delete(TOKEN_ADMIN, home.token_ids["ann"])
        payload = {"slug": skill.slug, "status": "active", "missing": []}
        home.services.skills.events.tell(SkillEventName.DEPS_CHECKED, payload)
        assert closed(client) == 1008


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://[bad"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
@pytest.mark.parametrize("who", [None, "ann"])
def test_a_page_of_another_site_opens_no_socket(
    home: WsSkillServer, headers: dict[str, str], who: str | None
) -> None:
    known = {"Authorization": f"Bearer {home.tokens[who]}"} if who else {}
    with (
        pytest.raises(InvalidStatus) as refused,
        home.rpc(None, additional_headers={**headers, **known}),
    ):
        pass
    answer = refused.value.response
    assert answer.status_code == 403
    assert json.loads(answer.body)["code"] == "cross_site_request"


def test_a_page_of_our_own_opens_one(home: WsSkillServer) -> None:
    headers = {
        "Origin": home.served.url.replace("ws:", "http:"),
        "Sec-Fetch-Site": "same-origin",
    }
    with home.rpc("vic", additional_headers=headers) as client:
        assert client.ok("skills.list")


def test_without_tokens_the_machine_itself_is_let_in(build: Built) -> None:
    home = build(is_open=True)
    with home.rpc(None) as client:
        said = client.ok("connect")
        assert (said["user_id"], said["role"]) == ("local", "admin")
        home.services.tokens.create(TOKEN_ADMIN, "ann", Role.ADMIN)
        assert client.code("skills.list") == "UNAUTHORIZED"


def test_without_tokens_a_name_that_is_not_the_machines_own_is_refused(build: Built) -> None:
    home = build(is_open=True)
    port = urlsplit(home.served.url).port
    lines = opening(f"evil.example:{port}", {"Origin": f"http://evil.example:{port}"})
    with raw(home, lines) as peer:
        peer.sendall(masked(1, frame(method="connect").encode()))
        answer = json.loads(received(peer))
    assert (answer["ok"], answer["error"]["details"]["code"]) == (False, "host_not_allowed")


def test_somebody_who_never_says_who_they_are_is_let_go(build: Built) -> None:
    home = build(limits=Limits(auth_timeout_s=0.2))
    with home.rpc("vic") as known, home.rpc(None) as client:
        assert closed(client) == 1008
        assert known.ok("skills.list")


def test_those_who_are_not_known_take_no_place_from_those_who_are(build: Built) -> None:
    home = build(limits=Limits(unauthenticated=1))
    with home.rpc("ann"), home.rpc("bob") as known:
        with home.rpc(None):
            with pytest.raises(InvalidStatus) as refused, home.rpc(None):
                pass
            assert refused.value.response.status_code == 503
            assert known.ok("skills.list")
        wait_for(lambda: can_enter(home), what="the stranger to be gone")


def can_enter(home: WsSkillServer) -> bool:
    try:
        with home.rpc("vic"):
            return True
    except InvalidStatus:
        return False


def test_there_is_an_end_to_the_connections_of_one_user(build: Built) -> None:
    home = build(limits=Limits(per_user=1))
    with home.rpc("ann"), home.rpc(None) as second, home.rpc("bob") as other:
        connect = {"token": home.tokens["ann"]}
        assert second.code("connect", connect) == "RESOURCE_EXHAUSTED"
        assert second.code("skills.list") == "UNAUTHORIZED"
        assert other.ok("skills.list")


def test_there_is_an_end_to_the_number_of_connections(build: Built) -> None:
    home = build(limits=Limits(connections=1))
    with home.rpc("vic"):
        with pytest.raises(InvalidStatus) as refused, home.rpc("ann"):
            pass
        assert refused.value.response.status_code == 503
    wait_for(lambda: not home.served.server.server_state.connections, what="it to end")
    with home.rpc("ann") as client:
        assert client.ok("skills.list")


def test_a_client_that_reads_nothing_is_let_go(build: Built) -> None:
    class Hasty(ImpatientWebSocket):
        give_up_s = 0.2

    def hasty(config: uvicorn.Config) -> None:
        config.ws = Hasty

    home = build(limits=Limits(queue=4, write_timeout_s=0.2), set_up=hasty)
    with home.rpc("root", max_queue=1, max_size=None, close_timeout=0.1):
        for _ in range(80):
            home.services.skills.events.tell(
                SkillEventName.DEPS_INSTALLED, {"result": "x" * 400_000}
            )
        # It goes though nothing of what was sent is taken.
        wait_for(lambda: not home.served.server.server_state.connections, what="it to be let go")
    wait_for(
        lambda: not home.services.skills.events._subscribers, what="nobody to be told any more"
    )


def test_more_events_than_can_be_looked_at_end_a_connection(build: Built) -> None:
    home = build(limits=Limits(backlog=3))
    with home.rpc("root") as client:

        def burst() -> None:
            for number in range(5):
                home.services.skills.events.tell(SkillEventName.DEPS_INSTALLING, {"count": number})

        home.served.loop.call_soon_threadsafe(burst)
        assert closed(client) == 1013


def test_a_client_that_answers_no_ping_is_let_go(build: Built) -> None:
    def impatient(config: uvicorn.Config) -> None:
        config.ws_ping_interval = config.ws_ping_timeout = 0.1

    home = build(set_up=impatient)
    with raw(home) as peer:
        wait_for(lambda: not home.served.server.server_state.connections, what="it to end")
        wait_for(
            lambda: not home.services.skills.events._subscribers, what="nobody to be told any more"
        )
        assert ended(peer)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x81\x05hello",
        b"\x83\x80abcd",
        b"\xf1\x80abcd",
        b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xffabcd",
        b"\x89\xfe\x00\xff" + b"a" * 300,
        b"\x80\x80abcd",
    ],
    ids=["http", "unmasked", "opcode", "reserved", "length", "ping", "continuation"],
)
def test_what_is_no_frame_ends_the_connection_and_only_that(
    home: WsSkillServer, sent: bytes
) -> None:
    with home.rpc("vic") as other, raw(home) as peer:
        peer.sendall(sent)
        assert ended(peer)
        assert other.ok("skills.list")


def test_text_that_is_none_ends_the_connection(home: WsSkillServer) -> None:
    with raw(home) as peer:
        peer.sendall(masked(1, b"\xff\xfe"))
        assert ended(peer)


def test_a_client_that_leaves_in_the_middle_leaves_nothing_behind(home: WsSkillServer) -> None:
    before = len(home.services.skills.events._subscribers)
    for _ in range(5):
        with raw(home) as peer:
            peer.sendall(masked(1, frame().encode())[:-3])
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_for(
        lambda: len(home.services.skills.events._subscribers) <= before, what="them to be gone"
    )


def test_a_daemon_that_stops_says_so(build: Built) -> None:
    home = build()
    with home.rpc("vic") as client:
        home.served.loop.call_soon_threadsafe(home.services.resources.shutting_down.set)
        assert closed(client) == 1012


def test_a_change_under_way_is_answered_before_a_daemon_stops(build: Built) -> None:
    home = build()
    home.skill("late")
    with home.rpc("ann") as client:
        with home.units.write():
            update = {"name": "late", "updates": {"description": "Just so"}}
            client.socket.send(frame(method="skills.update", params=update))
            # Nothing is to be seen of it from here: it waits for the database.
            time.sleep(0.1)
            home.served.loop.call_soon_threadsafe(home.services.resources.shutting_down.set)
            time.sleep(0.1)
        assert client.answer()["ok"]
        assert closed(client) == 1012
    assert home.stored("late").description == "Just so"


def closed(client: Rpc) -> int:
    """The code with which the other end closed, without having said more."""
    with pytest.raises(ConnectionClosed) as end:
        client.event()
    assert end.value.rcvd is not None
    return end.value.rcvd.code


def opening(host: str, headers: dict[str, str] | None = None) -> bytes:
    """The request that opens a socket."""
    lines = {
        "Host": host,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        **(headers or {}),
    }
    return (
        "GET /ws HTTP/1.1\r\n" + "".join(f"{name}: {lines[name]}\r\n" for name in lines) + "\r\n"
    ).encode()


@contextmanager
def raw(home: WsSkillServer, request: bytes | None = None) -> Iterator[socket.socket]:
    """An open WebSocket, byte by byte."""
    port = urlsplit(home.served.url).port or 0
    with socket.create_connection(("127.0.0.1", port), timeout=10) as peer:
        peer.sendall(request or opening(f"127.0.0.1:{port}"))
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += peer.recv(1)
        assert b" 101 " in head, head
        yield peer


def masked(opcode: int, payload: bytes) -> bytes:
    """A whole frame of a client."""
    assert len(payload) < 126
    return bytes([0x80 | opcode, 0x80 | len(payload), 0, 0, 0, 0]) + payload


def received(peer: socket.socket) -> bytes:
    """The payload of the next frame."""
    head = peer.recv(2, socket.MSG_WAITALL)
    length = head[1]
    if length == 126:
        (length,) = struct.unpack("!H", peer.recv(2, socket.MSG_WAITALL))
    return peer.recv(length, socket.MSG_WAITALL)


def ended(peer: socket.socket) -> bool:
    """Whether the other end has closed, after whatever it still says."""
    try:
        while peer.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True
