"""Words and reasons of the API for people, in Vietnamese, Chinese and English."""

import re

import pytest

from tests.support.openapi import committed_document
from understudy.agent.preview import LISTED, SKILL_WORDS
from understudy.i18n.terms import operation, sentence, table, term
from understudy.learnings.visibility import WORDS as BLOCKER_WORDS
from understudy.retrieval import choice, recovered
from understudy.review.evaluate import _LIMITS

TRANSLATED = ("vi", "zh")
# Names of formats, programs and settings, which no language has other words for.
NAMES = {"base64", "http", "stdio", "true", "utf-8", "learning_scopes", "requests"}
NAMES |= {"claude-code", "codex"}
NAMES |= {"source_ends", "tool_allowed_and_blocked"}


def _words(schema: object) -> set[str]:
    """Every word of a closed list in the API description."""
    if isinstance(schema, list):
        return {word for each in schema for word in _words(each)}
    if not isinstance(schema, dict):
        return set()
    own = {each for each in schema.get("enum", ()) if isinstance(each, str)}
    return own | {word for each in schema.values() for word in _words(each)}


DOCUMENT = committed_document()
STATES = sorted(_words(DOCUMENT) - NAMES)
CHANGES = sorted(
    str(described["operationId"])
    for path in DOCUMENT["paths"].values()
    for method, described in path.items()
    if method in {"post", "put", "patch", "delete"}
)


@pytest.mark.parametrize("locale", TRANSLATED)
def test_every_state_and_every_name_of_an_action_has_a_word(locale: str) -> None:
    known = table("terms", locale)
    parts = {part for name in CHANGES for part in name.split(".")}
    assert [word for word in (*STATES, *sorted(parts)) if word not in known] == []


@pytest.mark.parametrize("locale", TRANSLATED)
def test_every_reason_of_retrieval_and_policy_has_a_sentence(locale: str) -> None:
    said = [
        *(words for words in BLOCKER_WORDS.values()),
        *choice.LEARNING_WORDS.values(),
        *(choice.LEARNING_MATCHED, choice.LEARNING_STANDING),
        *(choice.LEARNING_BROWSED, choice.LEARNING_FIRST),
        *recovered.RUN_WORDS.values(),
        *(recovered.MATCHED, recovered.FILLED_UP, recovered.NEWEST, recovered.TOO_OLD),
        *SKILL_WORDS.values(),
        LISTED,
        *(limit.says for limit in _LIMITS),
    ]
    plain = [re.sub(r"\{[^}]*\}", "7", text) for text in said]
    assert [text for text in plain if sentence(locale, text) == text] == []


def test_a_sentence_keeps_what_differs_and_every_reason_of_several() -> None:
    text = (
        "it covers 12% of the input, and the policy wants at least 40%; it is marked as sensitive"
    )
    assert sentence("vi", text) == (
        "phủ 12% đầu vào, chính sách muốn ít nhất 40%; được đánh dấu nhạy cảm"
    )
    assert sentence("en", text) == text
    assert sentence("zh", "somebody wrote this") == "somebody wrote this"
    assert (
        sentence("zh", "rule 2 of the session (allow shell)") == "session 的规则 2（allow shell）"
    )


@pytest.mark.parametrize(
    ("locale", "word", "shown"),
    [
        ("en", "waiting_for_approval", "waiting for approval"),
        ("en", "is_draft", "draft"),
        ("en", "persona_id", "persona"),
        ("en", "id", "id"),
        ("vi", "waiting_for_approval", "chờ phê duyệt"),
        ("zh", "run_id", "运行 ID"),
        ("zh", "never_heard_of", "never heard of"),
    ],
)
def test_a_word_is_translated_or_shown_without_underscores(
    locale: str, word: str, shown: str
) -> None:
    assert term(locale, word) == shown


def test_an_operation_is_named_by_noun_and_verb() -> None:
    assert operation("vi", "learnings.revoke") == "điều đã học · thu hồi"
    assert operation("en", "learning_candidates.publish") == "candidates · publish"
    assert operation("en", "alone") == "alone"
