"""The scrubber: what it removes, what it keeps, and that twice is the same as once."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.redaction import scrub as scrubber
from understudy.redaction.patterns import RULES
from understudy.redaction.scrub import MAX_JSON_DEPTH, Json, scrub, scrub_json

KEY = "sk-" + "ant-" + "a1" * 12
PIECES = [text for rule in RULES for text in (*rule.matches, *rule.misses)]
GLUE = [
    "",
    " ",
    "\n",
    "=",
    ":",
    '"',
    "'",
    "\\",
    "-",
    "password=",
    "Bearer ",
    "<redacted:jwt>",
    "x",
    "1",
]


def test_what_surrounds_a_secret_stays() -> None:
    assert scrub(f"call with {KEY}, then stop.") == "call with <redacted:api-key>, then stop."
    assert scrub("https://h.test/i?token=t1&safe=1&signature=s1") == (
        "https://h.test/i?token=<redacted:secret>&safe=1&signature=<redacted:secret>"
    )
    assert (
        scrub("db postgres://u:" + "hunter2" + "@h/db")
        == "db postgres://u:<redacted:password>@h/db"
    )


def test_a_text_that_ends_inside_a_private_key_keeps_no_byte_of_it() -> None:
    body = "MIIEvQ" * 30
    text = f"here:\n-----BEGIN RSA PRIVATE KEY-----\n{body[:64]}\n{body[64:]}"
    assert scrub(text) == "here:\n<redacted:private-key>"


def test_a_secret_longer_than_any_real_one_leaves_no_rest() -> None:
    assert scrub(f"a {KEY * 4000} b") == "a <redacted:api-key> b"


def test_known_values_go_whatever_their_shape_longest_first() -> None:
    text = "plain words here, plain words, plain"
    assert scrub(text, ("plain words", "plain words here")) == (
        "<redacted:literal>, <redacted:literal>, plain"
    )


def test_a_literal_too_short_to_be_a_key_is_ignored() -> None:
    assert scrub("a b c the", ("", "a", "the")) == "a b c the"


def test_a_literal_that_is_part_of_a_marker_leaves_markers_whole() -> None:
    once = scrub(f"redacted {KEY}", ("redacted", "literal"))
    assert once == "<redacted:literal> <redacted:api-key>"
    assert scrub(once, ("redacted", "literal")) == once


def test_secrets_glued_together_all_go_however_many_passes_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    glued = "AKIA" + "ABCD" * 4 + "xoxp-" + "a1" * 10 + "ghs_" + "a1" * 18
    assert scrub(glued) == "<redacted:api-key>"
    monkeypatch.setattr(scrubber, "MAX_PASSES", 1)
    assert scrub(glued) == "<redacted:api-key>"


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GLUE)), max_size=6))
def test_scrubbing_twice_changes_nothing_more(parts: list[tuple[str, str]]) -> None:
    once = scrub("".join(piece + glue for piece, glue in parts))
    assert scrub(once) == once


@given(st.text())
def test_any_text_can_be_scrubbed(text: str) -> None:
    once = scrub(text)
    assert scrub(once) == once


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


def test_json_nested_too_deeply_is_hidden_rather_than_passed() -> None:
    value: Json = KEY
    for _ in range(MAX_JSON_DEPTH + 50):
        value = [value]
    assert "<redacted:too-deep>" in json.dumps(scrub_json(value))


@pytest.mark.parametrize("value", [None, True, 3, "text", [], {}])
def test_json_without_secrets_stays_as_it_is(value: Json) -> None:
    assert scrub_json(value) == value
