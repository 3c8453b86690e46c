"""The table of rules, walked: its examples, and that no text can make it slow."""

import re

import pytest

from tests.support.cpu_effort import effort
from tests.support.tables import every_row
from understudy.patterns.search import Searcher
from understudy.redaction.opaque import is_made_up, is_placeholder, is_sensitive_key, looks_random
from understudy.redaction.rule_book import RedactionRule, personal_rules, secret_rules
from understudy.redaction.scrub import marker, scrub

RULES = (*secret_rules(), *personal_rules())
EACH_RULE = every_row("rule", RULES, ids=lambda rule: rule.id)
HOSTILE = (
    "a", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "password=", "password is ", "password=a1",
    "token='", "?key=", "authorization: ", "key k8Jq2Zx9Lm4Tv7Bd1Wc3 ", "密码", "密码是", "a@", "a@b.co ", "4111 ",
    "+33 6 12 34 56 78 ", "tel 0912345678 ", "%2541", "&#65;", "\\u0041", "=3D", "\u200b", "＝", '"+"',
    "postgres://app:hunter2@db.test/app", "<redacted:a>", "DE89 3704 0044 0532 0130 00", "eyJaaaaaaaa.", "?token=a",
    "authorization: bearer \u200b%41&#65;\\u0041 ", "user,password\n", "kind: Secret\ndata:\n a: b\n", "\\n", "YWJj" * 8 + " ",
    "pw for a ", "use a1b2c3 as my pw ", "pw was a. it is ", "door code is 1234 ", "密码不是", 'password: "a b ',
    "-----BEGIN PRIVATE KEY-----\nMIIEabcdefghijklmnop\n", "INSERT INTO t (a, password) VALUES ('a', 'b'), ",
)  # fmt: skip


@EACH_RULE
def test_what_must_match_is_found_by_its_rule_and_gone(rule: RedactionRule) -> None:
    searcher = Searcher([rule])
    for text in rule.matches:
        found = [text[start:end] for _, (start, end) in searcher.find(text)]
        clean = scrub(text, pii=True)
        assert found, text
        assert all(part not in clean for part in found), text


@EACH_RULE
def test_what_must_match_is_found_at_the_start_of_a_line_too(rule: RedactionRule) -> None:
    searcher = Searcher([rule])
    for text in rule.matches:
        found = [text[start:end] for _, (start, end) in searcher.find(text)]
        clean = scrub(f"word\n{text}", pii=True)
        assert all(part not in clean for part in found), text


@EACH_RULE
def test_what_must_not_match_passes_every_rule(rule: RedactionRule) -> None:
    for text in rule.misses:
        assert scrub(text, pii=True) == text


def test_ids_are_unique_and_each_rule_has_examples_of_both_kinds() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.matches, rule.id
        assert rule.misses, rule.id
        assert marker(rule.kind) == f"<redacted:{rule.kind}>"
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.kind)


def test_a_set_that_runs_out_of_memory_lets_every_rule_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searcher = Searcher(RULES)

    class Failing:
        def Match(self, text: str) -> None:  # noqa: N802 - the name of the library
            return None

    monkeypatch.setattr(searcher, "_sets", [(0, len(RULES), Failing())])
    assert [rule.kind for rule, _ in searcher.find("call +33612345678")] == ["phone"]


def seconds(text: str) -> float:
    return effort(lambda: scrub(text, pii=True))


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_length_of_a_hostile_line(piece: str) -> None:
    short, long = (piece * (size // len(piece)) for size in (2_000, 20_000))
    # Ten times the text may take ten times as long, a hundred times would be a square.
    assert seconds(long) < 40 * max(seconds(short), 0.005)


@pytest.mark.parametrize(
    "key",
    ["password", "DB_PASSWORD", "apiKey", "x-api-key", "client_secret", "clientSecret", "Api Key",
     "access_token", "spring.datasource.password", "PRIVATE_KEY", "Set-Cookie", "Authorization",
     "API_KEY_PROD", "token_2", "credentials"],
)  # fmt: skip
def test_a_sensitive_key_is_known_in_any_spelling(key: str) -> None:
    assert is_sensitive_key(key)


@pytest.mark.parametrize(
    "key",
    ["max_tokens", "token_count", "next_page_token", "tokenizer", "password_policy", "public_key",
     "monkey", "key", "secretary", "author", "bypass", "idempotency_key", "", "compass"],
)  # fmt: skip
def test_a_key_that_only_contains_the_word_is_not_sensitive(key: str) -> None:
    assert not is_sensitive_key(key)


@pytest.mark.parametrize(
    "value", ["${X}", "$X", "<key>", "{{ x }}", "xxxx", "****", "None", "[REDACTED]"]
)
def test_a_placeholder_is_no_secret(value: str) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize("value", ["my-dog-rex99", "p<ss1", "$2b$10$abc", "x1", "*a*1"])
def test_an_odd_value_is_no_placeholder(value: str) -> None:
    assert not is_placeholder(value)


def test_a_word_of_an_example_in_a_long_random_value_is_chance() -> None:
    assert is_made_up("your-token")
    assert not is_made_up("k8Jq2Zx9Lm4TvHEREv7Bd1Wc3")


@pytest.mark.parametrize(
    "value",
    ["camelCaseIdentifier", "HTTPServerError", "Donaudampfschifffahrt", "created_at_2026", "node18alpine",
     "test_password_reset", "us-east-1", "Nguyen2024", "x86_64-linux", "RFC8174", "base64Encode", "ubuntu22"],
)  # fmt: skip
def test_words_and_names_do_not_look_random(value: str) -> None:
    assert not looks_random(value, least=6)


@pytest.mark.parametrize(
    "value",
    ["zgCK36TE0rNu", "rFEhbAJ8OHm", "a1b2c3d4e5", "xqzvbnmklpwrt", "FotXRiyEsgmFAKWurmkvgNYbvk"],
)
def test_values_drawn_by_lot_look_random(value: str) -> None:
    assert looks_random(value, least=6)
