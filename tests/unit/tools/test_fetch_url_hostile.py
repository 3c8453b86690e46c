"""Whatever URL a model or a server gives, nothing that is not public is connected to.

A canary listens on loopback, and every name leads to it: what slips through is seen.
"""

from collections.abc import Collection, Iterator
from ipaddress import ip_address
from pathlib import Path

import httpx2
import pytest

from tests.support.tool_calls import call, context_in, refusal
from tests.support.web_server import Answer, WebServer, web_server
from understudy.core.urls import AUTHORITY_RULES, URL_RULES
from understudy.tools.addresses import Address
from understudy.tools.base import ToolError
from understudy.tools.web import FetchUrl, FetchUrlParameters

NOWHERE = Path("/")
PUBLIC = "93.184.216.34"

# What the names of the tables below resolve to; every other name is this machine.
NAMES = {
    "private.test": ["10.0.0.1"],
    "shared.test": ["100.64.1.1"],
    "metadata.test": ["169.254.169.254"],
    "metadata.google.internal": [PUBLIC],
    "metadata.goog": [PUBLIC],
    "mixed.test": [PUBLIC, "127.0.0.1"],
    "mixed6.test": ["2606:4700:4700::1111", "::1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::127.0.0.1"],
    "six-to-four.test": ["2002:7f00:1::"],
    "teredo.test": ["2001:0:808:808:0:0:80ff:fffe"],
    "local6.test": ["fe80::1"],
    "unique6.test": ["fd00:ec2::254"],
    "nothing.test": ["0.0.0.0"],
    "everybody.test": ["224.0.0.1"],
}

# A URL, and the code it is refused with. `{port}` is where the canary listens.
HOSTILE: tuple[tuple[str, str], ...] = (
    # Plain.
    ("http://127.0.0.1:{port}/", "address_blocked"),
    ("http://127.0.0.1.:{port}/", "address_blocked"),
    ("https://127.0.0.1:{port}/", "address_blocked"),
    ("http://127.9.9.9:{port}/", "address_blocked"),
    ("http://localhost:{port}/", "address_blocked"),
    ("http://LOCALHOST:{port}/", "address_blocked"),
    ("http://localhost.:{port}/", "address_blocked"),
    ("http://any.name.test:{port}/", "address_blocked"),
    ("http://127.0.0.1.nip.io:{port}/", "address_blocked"),
    ("http://0.0.0.0:{port}/", "address_blocked"),
    ("http://10.0.0.1:{port}/", "address_blocked"),
    ("http://172.16.0.1:{port}/", "address_blocked"),
    ("http://192.168.0.1:{port}/", "address_blocked"),
    ("http://169.254.169.254/latest/meta-data/", "address_blocked"),
    ("http://100.100.100.200/latest/meta-data/", "address_blocked"),
    ("http://168.63.129.16/metadata", "address_blocked"),
    ("http://100.64.0.1:{port}/", "address_blocked"),
    ("http://224.0.0.1:{port}/", "address_blocked"),
    ("http://255.255.255.255:{port}/", "address_blocked"),
    # Other spellings of addresses.
    ("http://2130706433:{port}/", "url_host"),
    ("http://017700000001:{port}/", "url_host"),
    ("http://0x7f000001:{port}/", "url_host"),
    ("http://0x7f.0.0.1:{port}/", "url_host"),
    ("http://0177.0.0.1:{port}/", "url_host"),
    ("http://0177.0x0.0.1:{port}/", "url_host"),
    ("http://127.0.0.01:{port}/", "url_host"),
    ("http://127.1:{port}/", "url_host"),
    ("http://127.0.1:{port}/", "url_host"),
    ("http://0:{port}/", "url_host"),
    ("http://0x:{port}/", "url_host"),
    ("http://127.0.0.1..:{port}/", "url_host"),
    ("http://256.256.256.256:{port}/", "url_host"),
    ("http://127.0.0.1%00.example.org:{port}/", "url_host_encoded"),
    ("http://%31%32%37.0.0.1:{port}/", "url_host_encoded"),
    ("http://127%2e0%2e0%2e1:{port}/", "url_host_encoded"),
    ("http://localhos%74:{port}/", "url_host_encoded"),
    ("http://127。0。0。1:{port}/", "url_host_not_ascii"),
    ("http://１２７.0.0.1:{port}/", "url_host_not_ascii"),
    ("http://①②⑦.⓪.⓪.①:{port}/", "url_host_not_ascii"),
    ("http://localhoſt:{port}/", "url_host_not_ascii"),
    ("http://ⓛocalhost:{port}/", "url_host_not_ascii"),
    ("http://127.0.0.1\u2044x:{port}/", "url_host_not_ascii"),
    # IPv6.
    ("http://[::1]:{port}/", "address_blocked"),
    ("http://[0:0:0:0:0:0:0:1]:{port}/", "address_blocked"),
    ("http://[::]:{port}/", "address_blocked"),
    ("http://[::ffff:127.0.0.1]:{port}/", "address_blocked"),
    ("http://[::ffff:7f00:1]:{port}/", "address_blocked"),
    ("http://[::FFFF:7F00:0001]:{port}/", "address_blocked"),
    ("http://[::127.0.0.1]:{port}/", "address_blocked"),
    ("http://[::ffff:0:127.0.0.1]:{port}/", "address_blocked"),
    ("http://[64:ff9b::7f00:1]:{port}/", "address_blocked"),
    ("http://[64:ff9b:1::7f00:1]:{port}/", "address_blocked"),
    ("http://[2002:7f00:1::]:{port}/", "address_blocked"),
    ("http://[2001:0:808:808:0:0:80ff:fffe]:{port}/", "address_blocked"),
    ("http://[fe80::1]:{port}/", "address_blocked"),
    ("http://[fd00:ec2::254]/", "address_blocked"),
    ("http://[ff02::1]:{port}/", "address_blocked"),
    ("http://[::1%25lo]:{port}/", "url_host_encoded"),
    ("http://[fe80::1%lo]:{port}/", "url_host_encoded"),
    ("http://[v1.x]:{port}/", "url_host"),
    ("http://[::1:{port}/", "url_host"),
    ("http://::1:{port}/", "url_host"),
    ("http://[127.0.0.1]:{port}/", "address_blocked"),
    ("http://[]:{port}/", "url_host"),
    # Names that lead where they should not.
    ("http://private.test:{port}/", "address_blocked"),
    ("http://shared.test:{port}/", "address_blocked"),
    ("http://metadata.test/", "address_blocked"),
    ("http://metadata.google.internal/computeMetadata/v1/", "address_blocked"),
    ("http://METADATA.google.internal./", "address_blocked"),
    ("http://metadata.goog/", "address_blocked"),
    ("http://mixed.test:{port}/", "address_blocked"),
    ("http://mixed6.test:{port}/", "address_blocked"),
    ("http://mapped.test:{port}/", "address_blocked"),
    ("http://nat64.test:{port}/", "address_blocked"),
    ("http://six-to-four.test:{port}/", "address_blocked"),
    ("http://teredo.test:{port}/", "address_blocked"),
    ("http://local6.test:{port}/", "address_blocked"),
    ("http://unique6.test:{port}/", "address_blocked"),
    ("http://nothing.test:{port}/", "address_blocked"),
    ("http://everybody.test:{port}/", "address_blocked"),
    # One reader sees one host in it, another reader another.
    ("http://example.org@127.0.0.1:{port}/", "url_userinfo"),
    ("http://user:pass@127.0.0.1:{port}/", "url_userinfo"),
    ("http://127.0.0.1:{port}@example.org/", "url_userinfo"),
    ("http://example.org:80@127.0.0.1:{port}/", "url_userinfo"),
    ("http://@127.0.0.1:{port}/", "url_userinfo"),
    ("http://example.org\\@127.0.0.1:{port}/", "url_backslash"),
    ("http://127.0.0.1:{port}\\@example.org/", "url_backslash"),
    ("http:\\\\127.0.0.1:{port}\\", "url_backslash"),
    ("http://127.0.0.1:{port}#@example.org/", "address_blocked"),
    ("http://127.0.0.1:{port}?@example.org/", "address_blocked"),
    ("http://127.0.0.1:{port}/?x=http://example.org/", "address_blocked"),
    ("http://127.0.0.1:{port}/#/../example.org", "address_blocked"),
    ("http://example.org:{port}:80/", "url_host"),
    ("http://example.org:80:{port}/", "url_host"),
    ("http://127.0.0.1,example.org:{port}/", "url_host"),
    ("http://127.0.0.1;example.org:{port}/", "url_host"),
    ("http://127.0.0.1&example.org:{port}/", "url_host"),
    ("http://127.0.0.1 example.org:{port}/", "url_unprinted"),
    (" http://127.0.0.1:{port}/", "url_unprinted"),
    ("http://127.0.0.1:{port}/\r\nHost: example.org", "url_unprinted"),
    ("http://127.0.0.1:{port}/ HTTP/1.1", "url_unprinted"),
    ("http://local\thost:{port}/", "url_unprinted"),
    ("http://local\u00adhost:{port}/", "url_unprinted"),
    ("http://local\u200bhost:{port}/", "url_unprinted"),
    ("http://127.0.0.1\0.example.org:{port}/", "url_unprinted"),
    ("http://exa\udcffmple.org:{port}/", "url_unprinted"),
    # Ports in odd places.
    ("http://localhost:00{port}/", "url_host"),
    ("http://localhost:/", "url_host"),
    ("http://localhost:0/", "url_port"),
    ("http://localhost:65536/", "url_port"),
    ("http://localhost:-1/", "url_host"),
    ("http://localhost:+{port}/", "url_host"),
    ("http://localhost:{port}x/", "url_host"),
    ("http://localhost:٨٠/", "url_host_not_ascii"),
    ("http://:{port}/", "url_host"),
    ("http:///127.0.0.1:{port}/", "url_host"),
    ("http://?127.0.0.1:{port}", "url_host"),
    ("http://", "url_host"),
    # Other schemes.
    ("file:///etc/passwd", "url_scheme"),
    ("FILE:///etc/passwd", "url_scheme"),
    ("file://localhost/etc/passwd", "url_scheme"),
    ("gopher://127.0.0.1:{port}/_GET", "url_scheme"),
    ("ftp://127.0.0.1:{port}/", "url_scheme"),
    ("dict://127.0.0.1:{port}/x", "url_scheme"),
    ("ldap://127.0.0.1:{port}/", "url_scheme"),
    ("ws://127.0.0.1:{port}/", "url_scheme"),
    ("data:text/plain,x", "url_scheme"),
    ("jar:http://127.0.0.1:{port}/!/", "url_scheme"),
    ("view-source:http://127.0.0.1:{port}/", "url_scheme"),
    ("url:http://127.0.0.1:{port}/", "url_scheme"),
    ("unix:///var/run/docker.sock", "url_scheme"),
    ("http+unix://%2Fvar%2Frun%2Fdocker.sock/info", "url_scheme"),
    ("http:127.0.0.1:{port}", "url_scheme"),
    ("http:/127.0.0.1:{port}/", "url_scheme"),
    ("//127.0.0.1:{port}/", "url_scheme"),
    ("127.0.0.1:{port}", "url_scheme"),
    ("javascript:fetch('http://127.0.0.1:{port}/')", "url_scheme"),
    ("hTTp://127.0.0.1:{port}/", "address_blocked"),
    ("HTTPS://LocalHost:{port}/", "address_blocked"),
    ("http://localhost:{port}/" + "x" * 5000, "url_too_long"),
)


async def resolve(host: str, port: int) -> Collection[Address]:
    return [ip_address(text) for text in NAMES.get(host, ["127.0.0.1"])]


@pytest.fixture(scope="module")
def canary() -> Iterator[WebServer]:
    with web_server(lambda _: Answer(b"the canary")) as server:
        yield server


@pytest.fixture(scope="module")
def places() -> dict[str, str]:
    """Where each path of the front server leads."""
    return {}


@pytest.fixture(scope="module")
def front(places: dict[str, str]) -> Iterator[WebServer]:
    """A server that may be reached, and sends its visitors elsewhere."""

    def send_on(path: str) -> Answer:
        return Answer(status=302, headers={"Location": places[path]})

    with web_server(send_on) as server:
        yield server


@pytest.fixture(autouse=True)
def untouched(canary: WebServer) -> Iterator[None]:
    yield
    assert canary.connections == 0


def test_the_table_of_hostile_addresses_is_large_and_reaches_every_rule() -> None:
    assert len(HOSTILE) >= 60
    assert {rule.code for rule in (*URL_RULES, *AUTHORITY_RULES)} <= {code for _, code in HOSTILE}


@pytest.mark.parametrize(("url", "code"), HOSTILE)
@pytest.mark.anyio
async def test_a_hostile_url_connects_to_nothing(canary: WebServer, url: str, code: str) -> None:
    arguments = FetchUrlParameters.model_construct(url=url.replace("{port}", str(canary.port)))
    with pytest.raises(ToolError) as refused:
        await FetchUrl(resolve=resolve).call(arguments, context_in(NOWHERE))
    assert refused.value.code == code
    assert len(refused.value.detail) < 400
    assert refused.value.detail.isprintable()


# As a place to go on to, this is a path at the server that sends there: it is not hostile.
RELATIVE = ("127.0.0.1:{port}",)


def as_location(url: str) -> str:
    """The URL as a header can carry it."""
    return url.encode("utf-8", "surrogateescape").decode("latin-1")


@pytest.mark.parametrize(
    "url", [url for url, _ in HOSTILE if not {"\r", "\n", "\0"} & set(url) and url not in RELATIVE]
)
@pytest.mark.anyio
async def test_a_redirect_to_a_hostile_url_connects_to_nothing(
    canary: WebServer, front: WebServer, places: dict[str, str], url: str
) -> None:
    path = f"/{len(places)}"
    places[path] = as_location(url.replace("{port}", str(canary.port)))
    tool = FetchUrl(frozenset({f"front.test:{front.port}"}), resolve=resolve)
    arguments = FetchUrlParameters(url=f"http://front.test:{front.port}{path}")
    with pytest.raises(ToolError):
        await tool.call(arguments, context_in(NOWHERE))
    assert front.seen[-1][0] == path


def test_an_allowance_for_one_port_opens_no_other(canary: WebServer, front: WebServer) -> None:
    for entry in (f"127.0.0.1:{front.port}", f"localhost:{front.port}", "10.0.0.0/8", "other.test"):
        tool = FetchUrl(frozenset({entry}), resolve=resolve)
        error = refusal(tool, NOWHERE, url=f"http://localhost:{canary.port}/")
        assert error.code == "address_blocked"


class Recorder(httpx2.AsyncBaseTransport):
    """Stands for the network: remembers who was called, and answers."""

    def __init__(self, location: str | None = None) -> None:
        self.called: list[tuple[str, str]] = []
        self.location = location

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.called.append((request.url.host, request.headers["host"]))
        headers = {"Content-Type": "text/plain"}
        if self.location:
            headers["Location"] = self.location
        return httpx2.Response(302 if self.location else 200, headers=headers, stream=Empty())


class Empty(httpx2.AsyncByteStream):
    async def __aiter__(self):
        yield b""


class Turncoat:
    """A name server that says something harmless first, and something else ever after."""

    def __init__(self, *then: str) -> None:
        self.then = then
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Collection[Address]:
        self.asked += 1
        return [ip_address(PUBLIC)] if self.asked == 1 else list(map(ip_address, self.then))


@pytest.mark.parametrize("then", ["127.0.0.1", "::1", "169.254.169.254"])
def test_a_name_that_changes_its_mind_after_the_check_changes_nothing(then: str) -> None:
    network, names = Recorder(), Turncoat(then)
    tool = FetchUrl(resolve=names, transport=lambda _: network)
    call(tool, NOWHERE, url="http://rebinding.test:8080/")
    assert network.called == [(PUBLIC, "rebinding.test:8080")]
    assert names.asked == 1


@pytest.mark.parametrize("then", ["127.0.0.1", "::1", "169.254.169.254"])
def test_a_name_that_changes_its_mind_between_two_hops_is_refused(then: str) -> None:
    network, names = Recorder("/again"), Turncoat(then)
    tool = FetchUrl(resolve=names, transport=lambda _: network)
    error = refusal(tool, NOWHERE, url="http://rebinding.test:8080/")
    assert error.code == "address_blocked"
    assert [host for host, _ in network.called] == [PUBLIC]
    assert names.asked == 2


def test_a_refusal_does_not_tell_the_address_that_a_name_has() -> None:
    error = refusal(FetchUrl(resolve=resolve), NOWHERE, url="http://private.test/")
    assert "10.0.0.1" not in error.detail
    assert "private network" in error.detail
