"""An allow covers what it seems to cover, and no more; a deny covers every way to say it."""

from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.core.urls import UnclearUrl, read_url
from understudy.permissions.decide import PATH, SHELL, URL, decide
from understudy.permissions.model import CallRule, Level, PermissionDecision, PlacedRule

EXAMPLE = "https://example.com/*"


def applies(
    decision: PermissionDecision, tool: str, arguments: dict, patterns: dict[str, str]
) -> bool:
    """Whether a single rule with these patterns applies to a call."""
    rule = CallRule(tool=tool, decision=decision, arguments=patterns)
    placed = PlacedRule(rule=rule, level=Level.SESSION, index=0)
    return decide(tool, arguments, [placed], PermissionDecision.ASK).rule is rule


# Commands

SMUGGLED = [
    "git status; rm -rf /",
    "git status && rm -rf /",
    "git status & rm -rf /",
    "git status | sh",
    "git status || true",
    "git status\nrm -rf /",
    "git status\r\nrm -rf /",
    "git $(rm -rf /)",
    "git `rm -rf /`",
    "git ${IFS}x",
    "git $HOME",
    "git log > /etc/passwd",
    "git log >> file",
    "git log < file",
    "git <(rm -rf /)",
    "git {a,b}",
    "git log \x00 rm",
    "git log \x0b rm",
    "git log;",
    "git ;",
    "git log &",
    "git (x)",
]


@pytest.mark.parametrize("command", SMUGGLED)
def test_a_wildcard_of_an_allow_covers_no_second_command(command: str) -> None:
    assert not applies(
        PermissionDecision.ALLOW, "shell", {"command": command}, {"command": "git *"}
    )
    assert not applies(PermissionDecision.ALLOW, "shell", {"command": command}, {"command": "*"})
    # Nor when the rule speaks of all tools.
    assert SHELL.objects("git *", command) is not None


@pytest.mark.parametrize("command", ["git status", "git log --oneline -n 3", "git commit -m 'a b'"])
def test_a_simple_command_is_allowed(command: str) -> None:
    assert applies(PermissionDecision.ALLOW, "shell", {"command": command}, {"command": "git *"})


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("git log | head -*", "git log | head -3", True),
        ("git log | head -*", "git log | head -3 | sh", False),
        ("git log* | head", "git log -3 | head", True),
        ("git log* | head", "git log; rm x | head", False),
        ("*; true", "a; true", True),
        ("*; true", "a; b; true", False),
        ("echo $HOME", "echo $HOME", True),
        ("echo $*", "echo $(rm x)", False),
        ("a*;b*", "a;b;b", False),
    ],
)
def test_control_characters_must_be_spelled_by_the_pattern(
    pattern: str, command: str, fits: bool
) -> None:
    assert (SHELL.objects(pattern, command) is None) is fits


def test_the_verdict_says_why_an_allow_did_not_match() -> None:
    rule = CallRule(tool="shell", decision=PermissionDecision.ALLOW, arguments={"command": "git *"})
    placed = PlacedRule(rule=rule, level=Level.AGENT, index=0)

    verdict = decide("shell", {"command": "git a; b"}, [placed], PermissionDecision.ASK)

    assert (verdict.decision, verdict.level) == (PermissionDecision.ASK, Level.TOOL)
    assert "control characters" in verdict.trace[0].why


@given(st.lists(st.text("gi |;", max_size=3), min_size=1), st.data())
def test_an_allow_covers_a_command_unless_a_wildcard_stands_for_control_characters(
    spelled: list[str], data: st.DataObject
) -> None:
    command = spelled[0]
    covered = ""
    for piece in spelled[1:]:
        filling = data.draw(st.text("git a", max_size=3) | st.text("a;&|\n$`", max_size=2))
        covered += filling
        command += filling + piece

    is_allowed = SHELL.objects("*".join(spelled), command) is None

    assert is_allowed is not any(char in ";&|\n$`" for char in covered)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /x",
        "  rm  -rf /x",
        "git status; rm -rf /x",
        "true && rm x",
        "$(rm x)",
        "'rm' x",
        "r\\m x",
    ],
)
def test_a_denied_command_is_found_among_others(command: str) -> None:
    assert applies(PermissionDecision.DENY, "shell", {"command": command}, {"command": "rm *"})
    assert applies(PermissionDecision.ASK, "shell", {"command": command}, {"command": "rm *"})


def test_what_no_shell_reads_is_not_guarded() -> None:
    assert applies(PermissionDecision.ALLOW, "note", {"command": "a; b"}, {"command": "*"})
    assert applies(PermissionDecision.ALLOW, "shell", {"why": "a; b"}, {"why": "*"})


# Addresses

FOREIGN = [
    "https://example.com@evil.test/",
    "https://example.com:443@evil.test/",
    "https://user:pass@example.com/",
    "https://example.com.evil.test/",
    "https://example.comevil.test/",
    "https://evil.test/https://example.com/",
    "https://evil.test/?https://example.com/",
    "https://evil.test#https://example.com/",
    "https://evil.test\\@example.com/",
    "https://example.com\\.evil.test/",
    "https:\\\\example.com/",
    "https:///example.com/",
    "https:/example.com/",
    "https:example.com/",
    "//example.com/",
    "example.com/",
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript://example.com/%0aalert(1)",
    "https://example.com:8443/",
    "https://example.com:80/",
    "https://exam\tple.com/",
    "https://example.com\n.evil.test/",
    " https://example.com/",
    "https://example.com /",
    "https://example.com%2eevil.test/",
    "https://example.com%00.evil.test/",
    "https://\u0435xample.com/",
    "https://example\u3002com/",
    "https://[::1]/",
    "https://127.0.0.1/",
    "https://www.example.com/",
    "https://",
    "https:///",
    "",
    "*",
]


@pytest.mark.parametrize("url", FOREIGN)
def test_an_allowed_host_admits_no_other(url: str) -> None:
    assert not applies(PermissionDecision.ALLOW, "fetch_url", {"url": url}, {"url": EXAMPLE})


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "https://example.com",
        "https://example.com/a/b?c=d#e",
        "HTTPS://EXAMPLE.com/A",
        "https://example.com:443/a",
        "https://example.com./a",
        "https://example.com?q",
        "https://example.com/?u=https://evil.test/",
    ],
)
def test_an_allowed_host_is_found_however_it_is_written(url: str) -> None:
    assert applies(PermissionDecision.ALLOW, "fetch_url", {"url": url}, {"url": EXAMPLE})


@pytest.mark.parametrize(
    ("pattern", "url", "fits"),
    [
        ("*", "https://anything.test/", True),
        ("*", "not an address", False),
        ("https://*", "https://anything.test/a", True),
        ("https://*/*", "https://anything.test/a", True),
        ("https://*.example.com/*", "https://a.example.com/x", True),
        ("https://*.example.com/*", "https://a.b.example.com/x", True),
        ("https://*.example.com/*", "https://example.com/x", False),
        ("https://*.example.com/*", "https://evil.test/.example.com/x", False),
        ("https://*.example.com/*", "https://evil.test?.example.com/x", False),
        ("https://example.com*", "https://example.com.evil.test/", False),
        ("https://example.*/", "https://example.evil.test/", False),
        ("*example.com/*", "https://example.com/", False),
        ("*://example.com/*", "http://example.com/a", True),
        ("*://example.com/*", "http://example.com:81/a", False),
        ("http*://example.com/*", "https://example.com/a", True),
        ("https://example.com:8443/*", "https://example.com:8443/a", True),
        ("https://example.com:*/*", "https://example.com:8443/a", True),
        ("https://Example.COM/*", "https://example.com/a", True),
        ("https://example.com", "https://example.com/", True),
        ("https://example.com", "https://example.com/a", False),
        ("https://example.com/public/*", "https://example.com/public/a", True),
        ("https://example.com/public/*", "https://example.com/private", False),
        ("https://example.com/public/*", "https://example.com/public/../private", False),
        ("https://example.com/public/*", "https://example.com/public/%2e%2E/private", False),
        ("https://example.com/public/*", "https://example.com/public/..%2fprivate", False),
        ("https://example.com/public/*", "https://example.com/public/..%5cprivate", False),
        ("http://[::1]/*", "http://[::1]/a", True),
    ],
)
def test_an_allow_pattern_is_held_against_each_part_of_an_address(
    pattern: str, url: str, fits: bool
) -> None:
    assert (URL.objects(pattern, url) is None) is fits


MARKS = ["https:", "http:", "//", "/", "\\", "@", ":", "?", "#", ".", "%2e", "..", "*", "[", "]"]
WORDS = ["example.com", "evil.test", "443", "user", "A", " ", "\t", "\n"]
PIECES = st.sampled_from([*MARKS, *WORDS])


@given(st.lists(PIECES, max_size=3).map("".join), st.lists(PIECES, max_size=5).map("".join))
def test_whatever_an_allow_admits_other_readers_send_to_the_same_host(
    before: str, after: str
) -> None:
    url = f"https://{before}example.com{after}"
    if URL.objects(EXAMPLE, url) is None:
        assert urlsplit(url).hostname in ("example.com", "example.com.")
        assert httpx2.URL(url).host in ("example.com", "example.com.")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/admin",
        "HTTPS://Example.Com/admin",
        "https://example.com:443/admin",
        "https://user@example.com/admin",
        "https://example.com./admin/x",
        "https://example.com/a/../admin",
        "https://example.com/%61dmin",
        "https:\\\\example.com\\admin",
        " https://exam\tple.com/admin",
        "https://example.com:0443/admin",
        "https://example.com:00443/admin",
        "https://example.com//admin",
        "https://example.com/./%2fadmin",
        "https://example.com/a/..%2fadmin",
        "https://example.com/a/%2e%2e//admin",
    ],
)
def test_a_denied_address_is_found_however_it_is_written(url: str) -> None:
    for pattern in ("https://example.com/admin*", "https://EXAMPLE.com:443/admin*"):
        assert applies(PermissionDecision.DENY, "fetch_url", {"url": url}, {"url": pattern})


LONG = "http://[2001:0DB8:0:0:0:0:0:0001]/admin"
SHORT = "http://[2001:db8::1]/admin"


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("http://[2001:db8::1]/*", LONG),
        ("http://[2001:0db8:0000::0001]:80/*", SHORT),
        ("http://93.184.215.14/*", "http://[::ffff:93.184.215.14]/"),
        ("http://93.184.215.14/*", "http://[::ffff:5db8:d70e]/a"),
        ("https://example.com//admin/*", "https://example.com/admin/x"),
        ("https://example.com:0443/*", "https://example.com/"),
        ("*://*/secret*", "https://example.com//%73ecret"),
    ],
)
def test_an_address_has_many_spellings_and_a_deny_knows_them(pattern: str, url: str) -> None:
    assert applies(PermissionDecision.DENY, "fetch_url", {"url": url}, {"url": pattern})
    assert applies(PermissionDecision.ASK, "fetch_url", {"url": url}, {"url": pattern})


def test_a_deny_of_one_address_is_none_of_another() -> None:
    for url in ("https://example.com:444/", "http://example.com/", "https://example.org/"):
        assert not applies(PermissionDecision.DENY, "fetch_url", {"url": url}, {"url": EXAMPLE})


@given(st.lists(PIECES, max_size=4).map("".join), st.lists(PIECES, max_size=4).map("".join))
def test_a_deny_covers_every_address_that_would_be_fetched_from_the_host(
    before: str, after: str
) -> None:
    url = f"https://{before}example.com{after}"
    try:
        target = read_url(url)
    except UnclearUrl:
        return
    if target.host == "example.com" and target.port == 443 and target.scheme == "https":
        assert URL.touches(EXAMPLE, url)


# Paths


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("docs/*", "docs/a.md", True),
        ("docs/*", "./docs//a.md", True),
        ("docs/*", "docs/../secret", False),
        ("docs/*", "docs/..", False),
        ("docs/*", "../docs/a", False),
        ("docs/*", "/docs/a", False),
        ("*", "a..b/c", True),
        (".", "./", True),
        ("*", ".", True),
    ],
)
def test_an_allowed_path_does_not_climb(pattern: str, path: str, fits: bool) -> None:
    assert (PATH.objects(pattern, path) is None) is fits


@pytest.mark.parametrize("path", ["secret/a", "./secret/a", "x/../secret/a", "secret//a"])
def test_a_denied_path_is_found_however_it_is_written(path: str) -> None:
    assert applies(PermissionDecision.DENY, "write_file", {"path": path}, {"path": "secret/*"})


@pytest.mark.parametrize("tool", ["list_files", "search_files"])
@pytest.mark.parametrize("path", ["secret", "secret/", "./secret", "a/../secret", "secret/deep"])
def test_what_is_denied_below_a_directory_is_denied_with_the_directory(
    tool: str, path: str
) -> None:
    for decision in (PermissionDecision.ASK, PermissionDecision.DENY):
        assert applies(decision, tool, {"path": path}, {"path": "secret/*"})
    assert not applies(PermissionDecision.DENY, tool, {"path": "secrets"}, {"path": "secret/*"})


def test_a_long_path_is_tidied_in_no_time() -> None:
    path = "a/" * 60_000 + "../" * 60_000

    assert PATH.touches(".", path)
