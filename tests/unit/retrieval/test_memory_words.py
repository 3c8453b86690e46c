"""Which inputs ask for what is remembered."""

import unicodedata

import pytest

from understudy.retrieval.choice import asks_for_memory


@pytest.mark.parametrize(
    "query",
    [
        "Use durable memory if it exists.",
        "what do you remember",
        "RECALL everything",
        "any memories?",
        "show your learnings",
        "what is in the learned  context",
        "Utilise la mémoire",
        "utilise la memoire",
        "qu'as-tu appris",
        "bạn còn nhớ gì không?",
        "dùng trí nhớ của bạn",
        "Ghi nhớ: có gì rồi?",
        unicodedata.normalize("NFD", "bạn nhớ gì"),
        "你还记得什么",
        "请使用记忆",
        "你記得嗎",
    ],
)
def test_these_ask_for_memory(query: str) -> None:
    assert asks_for_memory(query)


@pytest.mark.parametrize(
    "query",
    [
        "What is the deployment status?",
        "workspace fact",
        "a memorandum for the board",
        "recalling",
        "the learned judge set the context",
        # Without its accents the word means something small, or a grape.
        "một cái nho nhỏ",
        "今天的天气",
        "",
    ],
)
def test_these_do_not(query: str) -> None:
    assert not asks_for_memory(query)
