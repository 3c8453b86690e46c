"""A post goes to the address that was checked, and whatever happens is an answer."""

import time
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

import pytest

from tests.support.postgres_server import free_port
from tests.support.receiver import Receiver
from understudy.core.errors import Invalid
from understudy.deliveries.webhook import WebhookSender, resolve
from understudy.runs.submission import check_reply_targets
from understudy.sessions.model import ReplyTarget
from understudy.tools.addresses import Address

pytestmark = pytest.mark.anyio


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver
        receiver.release()


def leads_to(*addresses: str) -> WebhookSender:
    """A sender for which every name stands for these addresses."""

    async def look_up(host: str, port: int) -> Sequence[Address]:
        return [ip_address(address) for address in addresses]

    return WebhookSender(resolve=look_up, timeout_s=2)


async def test_a_body_and_its_headers_arrive_as_they_are(receiver: Receiver) -> None:
    answer = await WebhookSender().post(receiver.url, {"X-One": "1"}, b'{"a":1}')

    [request] = receiver.requests
    assert answer.status_code == 200
    assert (request.method, request.path) == ("POST", "/hook?token=s3cret-in-query")
    assert request.body == b'{"a":1}'
    assert request.headers["x-one"] == "1"


async def test_a_name_is_resolved_once_and_still_named(receiver: Receiver) -> None:
    port = urlsplit(receiver.url).port
    asked: list[str] = []

    async def look_up(host: str, _: int) -> Sequence[Address]:
        asked.append(host)
        return [ip_address("127.0.0.1")]

    answer = await WebhookSender(resolve=look_up).post(f"http://hooks.test:{port}/in", {}, b"{}")

    assert answer.status_code == 200
    assert asked == ["hooks.test"]
    assert receiver.requests[0].headers["host"] == f"hooks.test:{port}"


async def test_the_next_address_is_tried_when_one_does_not_listen(receiver: Receiver) -> None:
    port = urlsplit(receiver.url).port
    sender = leads_to("::1", "127.0.0.1")

    assert (await sender.post(f"http://both.test:{port}/", {}, b"{}")).status_code == 200


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.1.1",
        "fe80::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "240.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "::ffff:0.0.0.0",
    ],
)
async def test_nothing_is_sent_to_places_that_are_for_nobody(address: str) -> None:
    answer = await leads_to(address).post("http://rebind.test/hook", {}, b"{}")

    assert answer.is_final
    assert "leads to" in (answer.error or "")


async def test_one_bad_address_among_good_ones_is_enough() -> None:
    answer = await leads_to("127.0.0.1", "169.254.169.254").post("http://rebind.test/", {}, b"{}")

    assert answer.is_final


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://127.0.0.1/x",
        "file:///etc/passwd",
        "http://",
        "http://user@127.0.0.1/",
        "http://127.0.0.1:99999999/",
        "//127.0.0.1/",
        "http://\u2603.test/",
        "http://" + "a" * 70 + ".test/",
    ],
)
async def test_what_is_no_web_address_is_given_up(url: str) -> None:
    answer = await WebhookSender().post(url, {}, b"{}")

    assert answer.is_final
    assert answer.status_code is None


async def test_a_redirect_is_an_answer_and_not_followed(receiver: Receiver) -> None:
    receiver.statuses.append(302)
    receiver.headers["Location"] = receiver.url

    answer = await WebhookSender().post(receiver.url, {}, b"{}")

    assert answer.status_code == 302
    assert len(receiver.requests) == 1


async def test_a_long_answer_is_not_read(receiver: Receiver) -> None:
    receiver.body = b"x" * 50_000_000
    began = time.monotonic()

    answer = await WebhookSender().post(receiver.url, {}, b"{}")

    assert answer.status_code == 200
    assert time.monotonic() - began < 5


async def test_silence_ends_in_time(receiver: Receiver) -> None:
    receiver.hold()

    answer = await WebhookSender(timeout_s=0.2).post(receiver.url, {}, b"{}")

    assert (answer.status_code, answer.error) == (None, "no answer within 0.2 s")
    assert not answer.is_final


async def test_a_closed_port_can_be_tried_again_and_is_told_without_the_address() -> None:
    answer = await WebhookSender().post(f"http://127.0.0.1:{free_port()}/?key=hidden", {}, b"{}")

    assert not answer.is_final
    assert answer.error == "the target cannot be reached (ConnectError)"


async def test_a_wait_that_is_asked_for_is_told(receiver: Receiver) -> None:
    receiver.statuses.append(429)
    receiver.headers["Retry-After"] = "17"

    answer = await WebhookSender().post(receiver.url, {}, b"{}")

    assert (answer.status_code, answer.retry_after_s) == (429, 17.0)


async def test_this_machine_is_found_by_name() -> None:
    assert all(address.is_loopback for address in await resolve("localhost", 80))


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "0.0.0.0", "224.0.0.1", "[fe80::1]", "[::]", "[::ffff:169.254.169.254]"],
)
def test_a_target_that_is_never_sent_to_is_refused_at_once(host: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_reply_targets((ReplyTarget(plugin="http", address=f"http://{host}/hook"),))

    assert refused.value.code == "invalid_reply_target"
    assert refused.value.errors[0].pointer == "/reply_targets/0/address"


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "[::1]", "localhost", "example.com"])
def test_loopback_private_and_public_targets_are_taken(host: str) -> None:
    target = ReplyTarget(plugin="http", address=f"https://{host}:8443/hook?x=1")

    assert check_reply_targets((target,)) == (target,)
