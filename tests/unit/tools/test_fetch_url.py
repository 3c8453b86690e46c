"""Fetching pages of the web: what comes back, and within which bounds."""

import gzip
import shutil
import ssl
import subprocess
import time
import zlib
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from pathlib import Path

import httpx2
import pytest

from tests.support.tool_calls import call, refusal
from tests.support.web_server import Answer, web_server
from understudy.tools import web
from understudy.tools.addresses import Address
from understudy.tools.base import Approval, Effect, Tool, ToolContext, ToolError
from understudy.tools.destinations import follow, parse_url
from understudy.tools.response_bodies import MAX_BODY_BYTES
from understudy.tools.web import FetchUrl

HTML = {"Content-Type": "text/html; charset=utf-8"}
HERE = ip_address("127.0.0.1")


async def resolve_here(host: str, port: int) -> Collection[Address]:
    return [HERE]


TOOL = FetchUrl(frozenset({"site.test"}), resolve=resolve_here)
NOWHERE = Path("/")


def fetch(answer: Answer, path: str = "/") -> str:
    with web_server(lambda _: answer) as server:
        return call(TOOL, NOWHERE, url=f"http://site.test:{server.port}{path}")


def refused(answer: Answer) -> ToolError:
    with web_server(lambda _: answer) as server:
        return refusal(TOOL, NOWHERE, url=f"http://site.test:{server.port}/")


def test_it_reads_and_asks_a_person() -> None:
    assert TOOL.effect is Effect.READ
    assert TOOL.approval is Approval.ALWAYS


def test_the_answer_names_address_status_and_type_and_has_the_text() -> None:
    with web_server(lambda _: Answer(b"<h1>Hi</h1><p>there", headers=HTML)) as server:
        answer = call(
            TOOL, NOWHERE, url=f"HTTP://Site.Test:{server.port}/ä b?q=[1]#part".replace(" ", "%20")
        )
    assert answer == (
        f"URL: http://site.test:{server.port}/%C3%A4%20b?q=[1]\n"
        "Status: 200\nContent-Type: text/html; charset=utf-8\n\nHi\nthere"
    )
    ((path, headers),) = server.seen
    assert path == "/%C3%A4%20b?q=[1]"
    assert headers["Host"] == f"site.test:{server.port}"


def test_nothing_of_us_goes_out_and_nothing_comes_back_a_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    cookies = {"Content-Type": "text/plain", "Set-Cookie": "a=b; Path=/"}
    with web_server(lambda _: Answer(b"x", headers=cookies)) as server:
        for _ in range(2):
            call(TOOL, NOWHERE, url=f"http://site.test:{server.port}/")
    sent = {"Host", "User-Agent", "Accept", "Accept-Encoding", "Connection"}
    assert [set(headers) for _, headers in server.seen] == [sent, sent]


@pytest.mark.parametrize("status", [200, 204, 404, 418, 500, 304])
def test_every_status_is_an_answer(status: int) -> None:
    assert f"Status: {status}\n" in fetch(Answer(b"" if status in (204, 304) else b"x", status))


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", b"<b>as it is</b>", "<b>as it is</b>"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/problem+json; charset=utf-8", b"{}", "{}"),
        ("application/atom+xml", b"<feed/>", "<feed/>"),
        ("text/html", "<meta charset=gbk>你".encode("gbk"), "你"),
        ("text/plain; charset=iso-8859-1", b"caf\xe9", "café"),
        ("text/plain; charset=punycode", b"caf\xc3\xa9", "café"),
        ("text/plain; charset=zlib_codec", b"x", "x"),
        ("text/plain; charset=nonsense", b"\xff", "\ufffd"),
        ("text/plain", b"a\0b", "a\ufffdb"),
        ("", b"no type", "no type"),
        ("text/plain", b"", "[no text]"),
    ],
)
def test_text_is_read_in_its_own_encoding(kind: str, body: bytes, text: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    assert fetch(Answer(body, headers=headers)).endswith(f"\n\n{text}")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(b"x", headers={"Content-Type": "image/png"}), "not_text"),
        (Answer(b"x", headers={"Content-Type": "application/octet-stream"}), "not_text"),
        (Answer(b"x", headers={"Content-Type": "application/zip"}), "not_text"),
        (Answer(b"a\0b", headers={}), "not_text"),
        (
            Answer(b"x", headers={"Content-Type": "text/plain", "Content-Encoding": "br"}),
            "bad_coding",
        ),
        (
            Answer(b"x", headers={"Content-Type": "text/plain", "Content-Encoding": "gzip, gzip"}),
            "bad_coding",
        ),
        (
            Answer(b"no zip", headers={"Content-Type": "text/plain", "Content-Encoding": "gzip"}),
            "bad_coding",
        ),
        (
            Answer(b"x", headers={"Content-Type": "text/plain", "Content-Length": "9"}),
            "fetch_failed",
        ),
        (Answer(b"x", headers={"X" * 70_000: "y" * 70_000}), "fetch_failed"),
    ],
)
def test_what_cannot_be_read_is_refused(answer: Answer, code: str) -> None:
    assert refused(answer).code == code


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_packed_answer_is_unpacked(coding: str, pack) -> None:
    headers = {"Content-Type": "text/plain", "Content-Encoding": coding}
    assert fetch(Answer(pack(b"unpacked"), headers=headers)).endswith("\n\nunpacked")


def test_a_bomb_is_not_unpacked_further_than_the_bound() -> None:
    bomb = gzip.compress(bytes(100 * 1024 * 1024).replace(b"\0", b"x"), 9)
    assert len(bomb) < 200_000
    answer = fetch(Answer(bomb, headers={"Content-Type": "text/plain", "Content-Encoding": "gzip"}))
    assert answer.endswith(f"[cut: only the first {MAX_BODY_BYTES} bytes were read]")
    assert len(answer) < MAX_BODY_BYTES + 500


def test_a_long_answer_is_cut_while_it_arrives() -> None:
    answer = fetch(Answer(b"x" * (8 * 1024 * 1024)))
    assert answer.endswith(f"x\n[cut: only the first {MAX_BODY_BYTES} bytes were read]")


def test_a_server_that_is_slow_costs_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MAX_SECONDS", 0.5)

    def slow(_: str) -> Answer:
        time.sleep(4)
        return Answer()

    began = time.monotonic()
    with web_server(slow) as server:
        error = refusal(TOOL, NOWHERE, url=f"http://site.test:{server.port}/")
        assert time.monotonic() - began < 3
    assert error.code == "timed_out"


def test_redirects_are_followed_and_the_last_address_is_named() -> None:
    def answer(path: str) -> Answer:
        number = int(path.strip("/"))
        if number == 0:
            return Answer(b"arrived")
        return Answer(
            status=(301, 302, 303, 307, 308)[number - 1], headers={"Location": str(number - 1)}
        )

    with web_server(answer) as server:
        text = call(TOOL, NOWHERE, url=f"http://site.test:{server.port}/5")
        assert text.startswith(f"URL: http://site.test:{server.port}/0\n")
        assert text.endswith("arrived")
        assert len(server.seen) == 6


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("https://other.test/x", "https://other.test/x"),
        ("//other.test/x", "http://other.test/x"),
        ("/x?y=1#z", "http://site.test:81/x?y=1"),
        ("x", "http://site.test:81/a/x"),
        ("../x", "http://site.test:81/x"),
        ("../../../x", "http://site.test:81/x"),
        ("../../.evil.test/x", "http://site.test:81/.evil.test/x"),
        ("../../@evil.test/x", "http://site.test:81/@evil.test/x"),
        ("?y=2", "http://site.test:81/a/b?y=2"),
        ("#part", "http://site.test:81/a/b?q=1"),
        ("", "http://site.test:81/a/b?q=1"),
        ("x:y[", None),
        ("[", "http://site.test:81/a/["),
        ("http://[", None),
    ],
)
def test_a_redirect_is_read_from_where_it_was_given(location: str, target: str | None) -> None:
    base = parse_url("http://site.test:81/a/b?q=1")
    if target is None:
        with pytest.raises(ToolError):
            follow(base, location)
    else:
        assert str(follow(base, location)) == target


def test_endless_redirects_are_given_up() -> None:
    with web_server(lambda _: Answer(status=302, headers={"Location": "/"})) as server:
        error = refusal(TOOL, NOWHERE, url=f"http://site.test:{server.port}/")
    assert error.code == "too_many_redirects"
    assert len(server.seen) == 6


def test_a_redirect_without_a_place_to_go_is_an_answer() -> None:
    assert "Status: 302" in fetch(Answer(b"x", status=302))


def test_a_host_nobody_knows_is_said() -> None:
    async def nobody(host: str, port: int) -> Collection[Address]:
        raise OSError("no such host")

    async def nothing(host: str, port: int) -> Collection[Address]:
        return []

    for resolve in (nobody, nothing):
        tool = FetchUrl(resolve=resolve)
        assert refusal(tool, NOWHERE, url="http://gone.test/").code == "host_unknown"


def test_when_one_address_does_not_answer_the_next_is_tried() -> None:
    async def two(host: str, port: int) -> Collection[Address]:
        return [ip_address("127.0.0.2"), HERE]

    with web_server(lambda _: Answer(b"found")) as server:
        tool = FetchUrl(frozenset({"site.test"}), resolve=two)
        assert call(tool, NOWHERE, url=f"http://site.test:{server.port}/").endswith("found")


def test_a_server_that_is_not_there_is_said() -> None:
    error = refusal(TOOL, NOWHERE, url="http://site.test:9/")
    assert error.code == "fetch_failed"
    assert "site.test" in error.detail


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for `site.test`, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here to make a certificate")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = (
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=site.test "
        f"-addext subjectAltName=DNS:site.test -keyout {path} -out {path}.crt"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path


def test_a_pinned_connection_still_proves_that_it_is_the_host(certificate: Path) -> None:
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate)
    asked_for = []
    served.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    trusting = ssl.create_default_context(cafile=f"{certificate}.crt")
    tool = FetchUrl(
        frozenset({"127.0.0.1"}),
        resolve=resolve_here,
        transport=lambda context: httpx2.AsyncHTTPTransport(verify=trusting if context else False),
    )
    with web_server(lambda _: Answer(b"proved"), tls=served) as server:
        assert call(tool, NOWHERE, url=f"https://site.test:{server.port}/").endswith("proved")
        other = refusal(tool, NOWHERE, url=f"https://other.test:{server.port}/")
        untrusted = refusal(TOOL, NOWHERE, url=f"https://site.test:{server.port}/")
    assert "site.test" in asked_for
    for error in (other, untrusted):
        assert error.code == "fetch_failed"
        assert "certificate verify failed" in error.detail
    assert len(server.seen) == 1


def test_it_goes_on_only_where_it_may() -> None:
    asked: list[object] = []

    async def may_go_on(
        tool: Tool,
        arguments: Mapping[str, object],
        context: ToolContext,
        *,
        began_as: Mapping[str, object] | None,
    ) -> None:
        assert began_as == {"url": f"http://site.test:{server.port}/0"}
        asked.append((tool.name, arguments["url"], context.run_id))
        if str(arguments["url"]).endswith("/2"):
            raise ToolError("not there", code="redirect_denied")

    def answer(path: str) -> Answer:
        return Answer(status=302, headers={"Location": str(int(path.strip("/")) + 1)})

    tool = FetchUrl(frozenset({"site.test"}), resolve=resolve_here, may_go_on=may_go_on)
    with web_server(answer) as server:
        error = refusal(tool, NOWHERE, url=f"http://site.test:{server.port}/0")

    base = f"http://site.test:{server.port}"
    assert asked == [("fetch_url", f"{base}/{number}", "r") for number in (1, 2)]
    assert error.code == "redirect_denied"
    assert [path for path, _ in server.seen] == ["/0", "/1"]
