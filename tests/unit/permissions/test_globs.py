"""Patterns match what they spell, and never take long about it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cpu_effort import takes_under
from understudy.permissions.globs import literal_length, literal_prefix, matches

CASES = [
    ("", "", True),
    ("", "a", False),
    ("*", "", True),
    ("*", "anything\nat all", True),
    ("**", "", True),
    ("?", "", False),
    ("?", "a", True),
    ("?", "\n", True),
    ("?", "ab", False),
    ("git *", "git status", True),
    ("git *", "git", False),
    ("git*", "git", True),
    ("Git *", "git status", False),
    ("*.md", "docs/read.md", True),
    ("*.md", "read.md.exe", False),
    ("a*b*c", "aXbXc", True),
    ("a*b*c", "acb", False),
    ("ab*ba", "aba", False),
    ("a?c*e", "abcde", True),
    ("*?b*", "xab", True),
    ("*?b", "b", False),
    ("[ab]", "a", False),
    ("[ab]", "[ab]", True),
    (r"\*", r"\anything", True),
    ("a.c", "abc", False),
]


@pytest.mark.parametrize(("pattern", "text", "fits"), CASES)
def test_a_pattern_matches_what_it_spells(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, text) is fits


@given(st.text("ab*?\n", max_size=12), st.text("ab\n*?", max_size=12))
def test_patterns_agree_with_regular_expressions(pattern: str, text: str) -> None:
    spelled = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern)

    assert matches(pattern, text) is bool(re.fullmatch(spelled, text, re.DOTALL))


@pytest.mark.parametrize("pattern", ["a*" * 200 + "b", "*a" * 200 + "?b", "?a" * 200 + "*b"])
def test_a_hostile_text_takes_no_time(pattern: str) -> None:
    assert not matches(pattern, "a" * 250_000)
    assert takes_under(2.0, lambda: matches(pattern, "a" * 250_000))


def test_what_a_pattern_spells_is_counted() -> None:
    assert literal_prefix("read_*file") == "read_"
    assert literal_prefix("?x") == ""
    assert literal_prefix("shell") == "shell"
    assert literal_length("re?d_*") == 4
