"""A light client reads answers without their models, and calls this machine without a library."""

import json
import socket
import threading
from dataclasses import asdict, replace
from typing import Any

import pytest

from tests.support.tiny_daemon import tiny_daemon
from tests.unit.client.fake_daemon import run_document
from understudy.client import Client, NotFoundError, Retries, UnreachableError
from understudy.client.address import checked_url
from understudy.client.errors import AnswerError, InvalidCall
from understudy.client.light import LightRecord, NotLight, read_light
from understudy.client.loopback import Loopback
from understudy.wire.runs import RunView

TOKEN = "hold-" + "these-words"


def light_run(**more: Any) -> Any:
    return read_light("RunView", run_document(**more))


def test_fields_that_an_answer_leaves_out_are_what_the_model_makes_of_them() -> None:
    light, model = light_run(), RunView.model_validate(run_document())

    for name in RunView.model_fields:
        if name not in ("request", "usage"):
            assert getattr(light, name) == getattr(model, name), name
    assert light.usage.model_calls == model.usage.model_calls
    assert light.request.actor_id == model.request.actor_id


def test_records_within_records_are_read_too() -> None:
    page = read_light("Items[RunView]", {"items": [run_document("run_1"), run_document("run_2")]})

    assert [each.run_id for each in page.items] == ["run_1", "run_2"]
    assert page.next_cursor is None


def test_a_plain_object_within_a_record_stays_one() -> None:
    assert light_run(input_metadata={"items": 1}).input_metadata == {"items": 1}


def test_what_is_no_field_is_asked_of_the_model() -> None:
    assert light_run().model_dump()["run_id"] == "run_1"
    with pytest.raises(AttributeError):
        _ = light_run().such_a_thing


def test_a_field_of_a_later_daemon_is_readable() -> None:
    assert light_run(mood="good").mood == "good"


def test_a_record_can_be_copied_and_made_an_object() -> None:
    changed = replace(light_run(), status="failed")

    assert changed.status == "failed"
    assert type(changed).__bases__ == (LightRecord,)
    assert asdict(changed)["usage"]["model_calls"] == 0


def test_a_record_that_may_not_be_null_is_left_to_the_model() -> None:
    for name in ("usage", "request"):
        with pytest.raises(NotLight):
            light_run(**{name: None})


@pytest.mark.parametrize(
    "answer", [None, [], "text", {}, {"items": "text"}, {"items": [{"run_id": "r"}]}]
)
def test_an_answer_of_another_shape_is_left_to_the_model(answer: object) -> None:
    with pytest.raises(NotLight):
        read_light("Items[RunView]", answer)


def test_an_answer_of_another_shape_is_told_in_the_words_of_the_typed_client() -> None:
    with tiny_daemon({"/v1/runs/r1": {"run_id": "r1"}}) as (url, _):
        said = []
        for is_light in (True, False):
            with Client(url, is_light=is_light) as client, pytest.raises(AnswerError) as told:
                client.runs.get("r1")
            said.append(str(told.value))
    assert said[0] == said[1]
    assert "session_id" in said[0]


def test_a_light_call_is_sent_as_any_other() -> None:
    with tiny_daemon({"/v1/sessions/s 1/end": {}, "/v1/runs": {"items": []}}) as (url, asked):
        for is_light in (True, False):
            with Client(url, TOKEN, is_light=is_light) as client:
                client.runs.page(session_id="s&1", limit=3)
                with pytest.raises(NotFoundError):
                    client.sessions.input("ü/1", "grüße", key="k-1")
    light, typed = asked[:2], asked[2:]
    for one, other in zip(light, typed, strict=True):
        assert (one.method, one.target, one.body) == (other.method, other.target, other.body)
        for name in ("Authorization", "Content-Type", "Idempotency-Key"):
            assert one.headers[name] == other.headers[name]
    assert json.loads(light[1].body) == {"content": "grüße"}


def test_nobody_there_is_told_in_the_same_words() -> None:
    with tiny_daemon({}) as (url, _):
        pass
    said = []
    for is_light in (True, False):
        with (
            Client(url, is_light=is_light, retries=Retries(delays_s=())) as client,
            pytest.raises(UnreachableError) as told,
        ):
            client.runs.get("r1")
        said.append(str(told.value))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:4600", "http://localhost:65535/under/study/", "http://[::1]:80"],
)
def test_a_daemon_of_this_machine_is_called_without_a_library(url: str) -> None:
    assert Loopback.at(checked_url(url), TOKEN) is not None


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:4600",
        "http://daemon.test:4600",
        "http://127.0.0.1",
        "http://me:word@127.0.0.1:4600",
        "http://127.0.0.2:4600",
    ],
)
def test_other_addresses_keep_proxies_and_certificates(url: str) -> None:
    assert Loopback.at(checked_url(url), TOKEN) is None


@pytest.mark.parametrize("more", ["\r\nX-More: 1", "ü", " "])
@pytest.mark.parametrize("is_light", [True, False])
def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(
    more: str, is_light: bool
) -> None:
    with pytest.raises(InvalidCall) as told:
        Client("http://127.0.0.1:4600", TOKEN + more, is_light=is_light).runs.get("r1")
    assert TOKEN not in str(told.value)


@pytest.mark.parametrize("is_light", [True, False])
@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"", "it closed the connection unanswered"),
        (b"SSH-2.0-server\r\n\r\n", "what answers there does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "amid its answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", "amid its answer"),
    ],
)
def test_a_broken_answer_is_told_in_our_words(sent: bytes, told: str, is_light: bool) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        Client(
            f"http://127.0.0.1:{server.getsockname()[1]}",
            is_light=is_light,
            retries=Retries(delays_s=()),
        ) as client,
    ):
        thread = threading.Thread(target=answer_once, args=(server, sent))
        thread.start()
        with pytest.raises(UnreachableError) as problem:
            client.runs.get("r1")
        thread.join()
    assert problem.value.reason.endswith(told)


def answer_once(server: socket.socket, sent: bytes) -> None:
    """Read a request, and send these bytes before the connection is closed."""
    connection, _ = server.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(sent)


def test_an_address_with_https_where_there_is_none_says_so() -> None:
    with tiny_daemon({}) as (url, _):
        address = url.replace("http:", "https:")
        with (
            Client(address, is_light=True, retries=Retries(delays_s=())) as client,
            pytest.raises(UnreachableError, match="use http://"),
        ):
            client.runs.get("r1")


@pytest.mark.parametrize(
    "url", ["127.0.0.1:4600", "ftp://127.0.0.1:1", "http://", "http://127.0.0.1:65536"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidCall, match="must look like"):
        checked_url(url)
