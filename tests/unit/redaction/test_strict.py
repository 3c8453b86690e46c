"""Where a false alarm costs little, the example of a secret is taken for one."""

import pytest

from tests.support.tables import every_row
from understudy.redaction.rule_book import RedactionRule, secret_rules
from understudy.redaction.scrub import holds_secret, scrub

# Whole and unbroken in no file, so that no scanner takes this one for a leak.
EXAMPLES = (
    "sk-" + "1234567890abcdef" * 2,
    "sk-" + "ABCDEF1234567890" * 2,
    "sk-" + "abcdefghijklmnop1234",
    "Bearer " + "abcdefghijklmnop",
    "Basic " + "abcdefghijklmnop",
    "authorization: " + "abcdefghijklmnop",
)


@pytest.mark.parametrize("text", ["AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "EXAMPLEEXAMPLEEX"])
def test_the_key_id_that_aws_shows_in_its_documents_is_scrubbed_like_a_real_one(text: str) -> None:
    assert scrub(f"use {text}, then stop") == "use <redacted:api-key>, then stop"
    assert holds_secret(text)
    assert scrub("AKIA" + "." * 16) == "AKIA" + "." * 16


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_example_of_a_secret_passes_for_one_only_here(text: str) -> None:
    assert scrub(text) == text
    assert holds_secret(text)
    assert holds_secret(f"call it with {text}, then stop")
    assert holds_secret(f"先用{text}再停")


@pytest.mark.parametrize(
    "text",
    [
        "use a bearer token",
        "Bearer authentication is what administrators of the service use",
        "basic authentication",
        "run sk-learn, then sk-learn-pipeline-v2-notes",
        "ask-for-1234 tickets",
        "Authorization: Bearer $TOKEN",
        "Bearer YOUR_TOKEN_HERE",
        "re_index_all_documents_v2",
        "b.convertUtf8ToSomethingElse()",
        "ghp_" + "x" * 24,
        "git show " + "0a1b2c3d" * 5,
    ],
)
def test_ordinary_instructions_pass_here_too(text: str) -> None:
    assert not holds_secret(text)


@every_row("rule", [rule for rule in secret_rules() if rule.strict], ids=lambda rule: rule.id)
def test_what_every_vendor_calls_a_blank_passes_here_too(rule: RedactionRule) -> None:
    assert not any(holds_secret(text) for text in rule.misses)
