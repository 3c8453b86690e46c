"""The scrubber: what it removes, what it keeps, and that twice is the same as once."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.redaction import scrub as scrubber
from understudy.redaction.rule_book import personal_rules, secret_rules
from understudy.redaction.scrub import (
    MAX_JSON_DEPTH,
    Json,
    preview,
    scrub,
    scrub_counted,
    scrub_json,
)

KEY = "sk-" + "ant-" + "a1" * 12
RANDOM = "k8Jq" + "2Zx9Lm4T" + "v7Bd1Wc3"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0In0." + "c2lnbmF0dXJl"
PEM = "-----BEGIN " + "PRIVATE KEY-----\n" + "MIIEvQ" * 10 + "\n-----END " + "PRIVATE KEY-----"
PIECES = [
    text
    for rule in (*secret_rules(), *personal_rules())
    for text in (*rule.matches[:2], *rule.misses[:2])
]
GLUE = [
    "", " ", "\n", "=", ":", '"', "'", "\\", "-", "password=", "Bearer ", "<redacted:jwt>", "x", "1",
    "密码", "%3D", "&#61;", "\u200b", "@", "+", "://u:", ",", "|", "=\n",
]  # fmt: skip


def test_what_surrounds_a_secret_stays() -> None:
    assert scrub(f"call with {KEY}, then stop.") == "call with <redacted:api-key>, then stop."
    assert scrub("https://h.test/i?token=t1&safe=1&signature=s1") == (
        "https://h.test/i?token=<redacted:secret>&safe=1&signature=<redacted:secret>"
    )
    assert (
        scrub("db postgres://u:" + "hunter2" + "@h/db")
        == "db postgres://u:<redacted:password>@h/db"
    )


@pytest.mark.parametrize(
    ("secret", "kind"),
    [
        ("alice@" + "example.com", "email"),
        ("123-45-" + "6789", "ssn"),
        ("555-123-" + "4567", "phone"),
        ("(415) 555-" + "2671", "phone"),
        ("+1 415 555 " + "2671", "phone"),
        ("4111-1111-1111-" + "1111", "card"),
        ("4242 4242 4242 " + "4242", "card"),
        ("sk-" + "ant-x1", "api-key"),
        ("ghp_" + "1234567890", "api-key"),
        ("github_pat_" + "1", "api-key"),
        ("xoxb-" + "1-2", "api-key"),
        ("AKIA" + "ABCDEFGHIJKLMNOP", "api-key"),
        (JWT, "jwt"),
        (PEM, "private-key"),
    ],
)
def test_each_family_goes_whole_and_leaves_its_marker(secret: str, kind: str) -> None:
    assert scrub(f"see {secret} here", pii=True) == f"see <redacted:{kind}> here"


def test_a_request_loses_its_secrets_and_keeps_its_dates_and_addresses() -> None:
    text = (
        "Backup at 2026-06-30 12:00 on 192.168.10.100 build 2026.06.30.01; call +33612345678 or"
        " +44 20 7946 0958; mail mailto:bob@example.com; db postgres://u:" + "hunter2" + "@h/db;"
        " Authorization: Basic " + "dXNlcjpw" + "YXNz"
    )
    assert scrub(text, pii=True) == (
        "Backup at 2026-06-30 12:00 on 192.168.10.100 build 2026.06.30.01; call <redacted:phone> or"
        " <redacted:phone>; mail mailto:<redacted:email>; db postgres://u:<redacted:password>@h/db;"
        " Authorization: Basic <redacted:authorization>"
    )


@pytest.mark.parametrize(
    "token",
    ["AIza" + "Sy" + "a1-" * 11, "glpat-" + "a1" * 10, "hf_" + "aB" * 17, "npm_" + "a1" * 18,
     "sk_" + "live_" + "a1" * 12, "ASIA" + "Z1" * 8, "gho_" + "a1" * 18],
)  # fmt: skip
def test_more_tokens_go(token: str) -> None:
    assert scrub(f"x={token}") == "x=<redacted:api-key>"
    assert "abc.def" not in scrub("BEARER " + "abc.def")


def test_without_pii_an_address_stays_and_a_key_goes() -> None:
    text = f"alice@example.com has {KEY} and {JWT}"
    assert scrub(text) == "alice@example.com has <redacted:api-key> and <redacted:jwt>"


@pytest.mark.parametrize("sign", ["\u00b2", "|", " · "])
def test_a_card_is_known_whatever_sign_stands_between_its_groups(sign: str) -> None:
    assert scrub("card " + sign.join(["4111", "1111", "1111", "1111"]), pii=True) == (
        "card <redacted:card>"
    )


@pytest.mark.parametrize(
    "number", ["4242424242424241", "4242 4242 4242 4241", "4242-4242-4242-4241"]
)
def test_a_number_that_is_no_card_is_not_half_eaten_as_a_telephone(number: str) -> None:
    assert scrub(f"id {number} ok", pii=True) == f"id {number} ok"


@pytest.mark.parametrize(
    "written",
    [
        "密码：{}",
        "mật khẩu là {}",
        "password%3D{}",
        "password%253D{}",
        "password&#61;{}",
        "pass\u200bword={}",
        "\x1b[1mpassword\x1b[0m=\x1b[32m{}\x1b[0m",
        "ｐａｓｓｗｏｒｄ＝{}",
        "\\u0070assword={}",
        "password=3D{}",
        'password = "{}"',
        "我把密钥改成{}之后",
    ],
)
def test_however_a_secret_is_written_it_goes(written: str) -> None:
    assert RANDOM not in scrub(written.format(RANDOM))


def test_a_secret_broken_into_two_strings_goes_with_what_broke_it() -> None:
    text = f'api_key = "{RANDOM[:9]}" + "{RANDOM[9:]}"; next()'
    assert scrub(text) == 'api_key = "<redacted:secret>"; next()'


def test_a_secret_with_something_invisible_inside_goes_whole() -> None:
    assert scrub(f"use {KEY[:9]}\u200b{KEY[9:]} now") == "use <redacted:api-key> now"


def test_a_text_that_ends_inside_a_private_key_keeps_no_byte_of_it() -> None:
    body = "MIIEvQ" * 30
    text = f"here:\n-----BEGIN RSA PRIVATE KEY-----\n{body[:64]}\n{body[64:]}"
    assert scrub(text) == "here:\n<redacted:private-key>"


@pytest.mark.parametrize("prefix", ["", "// ", "12: ", 'echo "', "2026-01-01T00:00:00Z app[1]: "])
@pytest.mark.parametrize("cut", range(1, 70, 7))
def test_a_key_cut_anywhere_keeps_no_byte_whatever_stands_before_its_lines(
    prefix: str, cut: int
) -> None:
    body = ("MIIEvQk8Jq2Zx9Lm4Tv7Bd1Wc3" * 9)[: 128 + cut]
    lines = ["-----BEGIN RSA " + "PRIVATE KEY-----", body[:64], body[64:128], body[128:]]
    clean = scrub("\n".join(f"{prefix}{line}" for line in lines))
    assert clean == f"{prefix}<redacted:private-key>"


@pytest.mark.parametrize("size", [40, 4_000, 400_000])
def test_a_secret_longer_than_any_real_one_leaves_no_rest(size: int) -> None:
    assert scrub(f"a {KEY}{'b2' * size} b") == "a <redacted:api-key> b"
    assert scrub(f'password="{RANDOM}{"b2" * size}" b') == 'password="<redacted:secret>" b'


def test_a_long_secret_that_holds_the_beginnings_of_others_is_one() -> None:
    long = KEY + ("b2" * 4_000 + "-" + KEY) * 3
    assert scrub(f"a {long} b") == "a <redacted:api-key> b"


def test_a_secret_far_into_a_long_text_is_found_and_its_neighbours_stay() -> None:
    filler = "All quiet on the line, nothing to see. " * 500
    text = f"{filler}{KEY} {filler}password={RANDOM}\n{filler}"
    assert scrub(text, pii=True) == (
        f"{filler}<redacted:api-key> {filler}password=<redacted:secret>\n{filler}"
    )


def test_known_values_go_whatever_their_shape_longest_first() -> None:
    text = "plain words here, plain words, plain"
    assert scrub(text, ("plain words", "plain words here")) == (
        "<redacted:literal>, <redacted:literal>, plain"
    )


@pytest.mark.parametrize(
    "written",
    ["My%24ecret%20Value%2F1", "My\\u0024ecret Value\\/1", "TXkkZWNyZXQgVmFsdWUvMQ==", "My$ecret\u200b Value/1",
     "My$ecret&#32;Value/1"],
)  # fmt: skip
def test_a_known_value_goes_however_it_is_written(written: str) -> None:
    assert scrub(f"a {written} b", ("My$ecret Value/1",)) == "a <redacted:literal> b"


def test_a_known_value_inside_a_secret_leaves_no_rest_of_it() -> None:
    text = "postgres://u:" + "acmeX9kd82" + "@h/db"
    assert scrub(text, ("acme",)) == "postgres://u:<redacted:password>@h/db"
    assert scrub("token: " + "acme-prodX9kd82LqPw73", ("acme-prod",)) == "token: <redacted:secret>"


def test_a_marker_shields_nothing_that_is_glued_to_it() -> None:
    once = scrub("password=<redacted:x>" + "Hunter2!x9zQ" + " ok")
    assert once == "password=<redacted:secret> ok"
    assert scrub(once) == once


def test_a_literal_too_short_to_be_a_key_is_ignored() -> None:
    assert scrub("a b c the", ("", "a", "the")) == "a b c the"


def test_a_literal_that_is_part_of_a_marker_leaves_markers_whole() -> None:
    once = scrub(f"redacted {KEY}", ("redacted", "literal"))
    assert once == "<redacted:literal> <redacted:api-key>"
    assert scrub(once, ("redacted", "literal")) == once


def test_secrets_glued_together_all_go() -> None:
    glued = "AKIA" + "ABCD" * 4 + "xoxp-" + "a1" * 10 + "ghs_" + "a1" * 18
    assert "a1a1" not in scrub(glued)


def test_what_was_taken_out_is_counted_by_kind() -> None:
    done = scrub_counted(
        f"{KEY} {JWT} bob@example.com +33612345678 secret-literal", ("secret-literal",), pii=True
    )
    assert done.kinds == {"api-key": 1, "email": 1, "jwt": 1, "literal": 1, "phone": 1}
    assert (done.secrets, done.pii) == (3, 2)
    assert scrub_counted(done.text, pii=True).kinds == {}


def test_a_preview_is_scrubbed_before_it_is_cut() -> None:
    filler = "x" * 150
    cut = preview(f"{filler} {'sk-' + 'proj-'}ABCDEFGHIJKLMNOP", 160)
    assert cut == f"{filler} …"
    assert preview("a" * 500, 160) == "a" * 160 + "…"
    assert preview("a" * 160, 160) == "a" * 160


@given(st.integers(0, 80))
def test_a_preview_never_holds_a_part_of_a_marker(limit: int) -> None:
    cut = preview(f"one {KEY} two {KEY} three", limit)
    assert len(cut) <= limit + 1
    assert "<" not in cut.replace("<redacted:api-key>", "")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GLUE)), max_size=5), st.booleans()
)
def test_scrubbing_twice_changes_nothing_more(parts: list[tuple[str, str]], pii: bool) -> None:
    once = scrub("".join(piece + glue for piece, glue in parts), pii=pii)
    assert scrub(once, pii=pii) == once


@settings(deadline=None)
@given(st.text(), st.booleans())
def test_any_text_can_be_scrubbed(text: str, pii: bool) -> None:
    once = scrub(text, pii=pii)
    assert scrub(once, pii=pii) == once


def test_a_lone_surrogate_survives() -> None:
    assert scrub("a \ud800 b", pii=True) == "a \ud800 b"


def test_what_never_settles_ends_after_a_few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrubber, "MAX_PASSES", 1)
    assert scrub(f"a {KEY} b") == "a <redacted:api-key> b"


def test_json_loses_texts_under_sensitive_keys_and_secrets_anywhere() -> None:
    value: Json = {
        "note": f"uses {KEY}",
        "clientSecret": "short",
        "api_key": {"current": "abc", "old": ["def", 12, None, True, ""]},
        "max_tokens": 4096,
        "list": [1, 2.5, None, False, "known-value"],
        f"key {KEY}": "x",
    }
    assert scrub_json(value, ("known-value",)) == {
        "note": "uses <redacted:api-key>",
        "clientSecret": "<redacted:secret>",
        "api_key": {
            "current": "<redacted:secret>",
            "old": ["<redacted:secret>", "<redacted:secret>", None, True, ""],
        },
        "max_tokens": 4096,
        "list": [1, 2.5, None, False, "<redacted:literal>"],
        "key <redacted:api-key>": "x",
    }


def test_json_loses_personal_data_when_asked() -> None:
    assert scrub_json({"to": "bob@example.com"}) == {"to": "bob@example.com"}
    assert scrub_json({"to": "bob@example.com"}, pii=True) == {"to": "<redacted:email>"}


def test_json_nested_too_deeply_is_hidden_rather_than_passed() -> None:
    value: Json = KEY
    for _ in range(MAX_JSON_DEPTH + 50):
        value = [value]
    assert "<redacted:too-deep>" in json.dumps(scrub_json(value))


@pytest.mark.parametrize("value", [None, True, 3, "text", [], {}])
def test_json_without_secrets_stays_as_it_is(value: Json) -> None:
    assert scrub_json(value) == value
