"""What an operator lets agents reach though it is not public."""

from ipaddress import ip_address

import pytest

from understudy.core.allowlist import is_host_name, parse_allowance


@pytest.mark.parametrize(
    ("entry", "host", "address", "port", "covered"),
    [
        ("127.0.0.1:8080", "localhost", "127.0.0.1", 8080, True),
        ("127.0.0.1:8080", "localhost", "127.0.0.1", 8081, False),
        ("127.0.0.1", "anything", "127.0.0.1", 1, True),
        ("127.0.0.1", "anything", "127.0.0.2", 1, False),
        ("10.0.0.0/8", "x", "10.255.0.1", 443, True),
        ("10.0.0.0/8", "x", "11.0.0.1", 443, False),
        ("10.0.0.0/8", "x", "::ffff:10.0.0.1", 443, False),
        ("fd00::/8", "x", "fd12::1", 443, True),
        ("[::1]:80", "x", "::1", 80, True),
        ("[::1]:80", "x", "::1", 81, False),
        ("[::1]", "x", "::1", 81, True),
        ("::1", "x", "::1", 81, True),
        ("Wiki.Internal", "wiki.internal", "10.0.0.1", 80, True),
        ("wiki.internal", "evil.wiki.internal", "10.0.0.1", 80, False),
        ("wiki.internal", "wiki.internal.evil", "10.0.0.1", 80, False),
        ("wiki.internal:8443", "wiki.internal", "10.0.0.1", 80, False),
        ("localhost", "127.0.0.1", "127.0.0.1", 80, False),
    ],
)
def test_an_entry_covers_what_it_names_and_nothing_else(
    entry: str, host: str, address: str, port: int, covered: bool
) -> None:
    assert parse_allowance(entry).covers(host, ip_address(address), port) is covered


@pytest.mark.parametrize(
    "entry",
    [
        "",
        " ",
        "*",
        "*.internal",
        "http://10.0.0.1",
        "http://10.0.0.1/",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "10.0.0.0/8:80",
        "host:0",
        "host:65536",
        "host:http",
        "host:",
        ":80",
        "user@host",
        "host/path",
        "a b",
        "127.1",
        "0x7f.1",
        "2130706433",
        "[::1",
        "häuser.example",
        "-bad.example",
        "a..b",
        "x" * 300,
    ],
)
def test_what_cannot_be_read_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_allowance(entry)


@pytest.mark.parametrize("text", ["127.0.0.1", "0x7f.1", "1", "a.1", "a.0x", "", "a.", "A", "a/b"])
def test_spellings_of_addresses_are_no_host_names(text: str) -> None:
    assert not is_host_name(text)


@pytest.mark.parametrize(
    "text", ["localhost", "a.b", "x1.y2z", "1a.example", "xn--hxajbheg.example"]
)
def test_a_name_of_a_host_is_taken_for_one(text: str) -> None:
    assert is_host_name(text)
