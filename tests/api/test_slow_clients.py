"""Clients that send or read too slowly are let go, whichever part of a request they are slow with."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import httpx2
import pytest
import uvicorn

from tests.support.daemon import wait_for
from tests.support.rpc import Served, served
from understudy.api import limits
from understudy.api.app import create_app
from understudy.daemon.connections import ImpatientHttp, server_config
from understudy.daemon.wiring import Daemon

START = b"POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:4600\r\n"
WHOLE = START + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
SHORT_S = 0.2


class Hasty(ImpatientHttp):
    head_s = SHORT_S
    write_s = SHORT_S


class Small(ImpatientHttp):
    max_connections = 2


Serve = Callable[[type[ImpatientHttp]], Served]


@pytest.fixture
def serve(daemon: Daemon) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(protocol: type[ImpatientHttp]) -> Served:
            def set_up(config: uvicorn.Config) -> None:
                config.http = protocol

            return stack.enter_context(served(create_app(daemon.services), set_up=set_up))

        yield start


@contextmanager
def client_of(server: Served, sent: bytes = b"") -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port), timeout=20) as client:
        client.sendall(sent)
        yield client


def all_of(client: socket.socket) -> bytes:
    """Everything until the server closes."""
    return b"".join(iter(lambda: client.recv(65536), b""))


def test_half_a_request_is_ended(serve: Serve) -> None:
    server = serve(Hasty)
    with ExitStack() as stack:
        clients = [stack.enter_context(client_of(server, START)) for _ in range(50)]
        answers = [all_of(client) for client in clients]
    assert {answer.partition(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 408 "}
    wait_for(lambda: not server.server.server_state.connections, what="all of them to end")


def test_a_connection_without_a_request_is_ended(serve: Serve) -> None:
    with client_of(serve(Hasty)) as client:
        assert all_of(client) == b""


def test_headers_that_drip_do_not_win_time(serve: Serve) -> None:
    with client_of(serve(Hasty), START) as client:
        client.settimeout(SHORT_S / 10)
        got = b""
        while not got:
            try:
                client.sendall(b"X-Slow: 1\r\n")
                got = client.recv(100)
            except TimeoutError:
                continue
    assert b"408" in got


def test_half_a_second_request_is_ended_like_the_first(serve: Serve) -> None:
    ask = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:4600\r\n"
    with client_of(serve(Hasty), ask + b"\r\n" + ask) as client:
        answer = all_of(client)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in answer


def test_a_body_that_does_not_come_is_refused(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BODY_GRACE_S", SHORT_S)
    with client_of(serve(ImpatientHttp), WHOLE + b'{"session_id": ') as client:
        answer = all_of(client)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"body_too_slow" in answer


def test_the_rest_of_a_body_that_nobody_reads_is_not_waited_for(serve: Serve) -> None:
    refused = WHOLE.replace(b"/v1/sessions", b"/v1/nowhere")
    with client_of(serve(Hasty), refused) as client:
        answer = all_of(client)
    assert answer.startswith(b"HTTP/1.1 404 ")


def test_a_reader_who_takes_nothing_is_let_go(serve: Serve, daemon: Daemon) -> None:
    server = serve(Hasty)
    ask = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1:4600\r\n\r\n"
    with client_of(server) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(ask * 20)
        wait_for(lambda: not server.server.server_state.connections, what="it to be let go")


def test_more_connections_than_there_may_be_are_refused(serve: Serve) -> None:
    server = serve(Small)
    with client_of(server), client_of(server):
        wait_for(lambda: len(server.server.server_state.connections) == 2, what="both to be in")
        with client_of(server) as third:
            assert all_of(third).startswith(b"HTTP/1.1 503 ")


def test_a_stream_is_not_ended_by_these_limits(serve: Serve, daemon: Daemon) -> None:
    server = serve(Hasty)
    ask = b"GET /v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1:4600\r\nConnection: close\r\n\r\n"
    with client_of(server, ask) as client:
        assert b"200 OK" in client.recv(65536)
        client.settimeout(SHORT_S * 3)
        with suppress(TimeoutError):
            assert all_of(client) is None, "it was ended"
        daemon.resources.bell.attach(server.loop)
        server.loop.call_soon_threadsafe(daemon.resources.shut_down)
        client.settimeout(20)
        all_of(client)


def test_an_idle_connection_lives_longer_than_common_clients_keep_one(daemon: Daemon) -> None:
    kept_s = server_config(create_app(daemon.services)).timeout_keep_alive

    # aiohttp keeps one for 15 seconds.
    assert kept_s > max(15.0, httpx2.Limits().keepalive_expiry or 0.0)
