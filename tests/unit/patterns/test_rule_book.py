"""Patterns of a rule book share parts, and its examples hold joints."""

import pytest

from understudy.patterns.rule_book import RuleBook, examples
from understudy.patterns.views import decode_base64

BOOK = RuleBook({"words": {"digit": "[0-9]", "pair": "@{digit}{2}|@{made}"}}, made="x")


def test_parts_are_spelled_out_in_patterns_and_in_later_parts() -> None:
    assert BOOK.regex("a@{pair}+") == "a(?:[0-9]{2}|(?:x))+"
    assert BOOK.regexes(("@{digit}", "b")) == ("[0-9]", "b")


def test_a_part_that_nobody_named_is_an_error() -> None:
    with pytest.raises(KeyError):
        BOOK.regex("@{other}")


def test_a_joint_in_an_example_stands_for_nothing() -> None:
    assert examples(["gh<>p_1", "<key>"]) == ("ghp_1", "<key>")


@pytest.mark.parametrize(
    ("run", "plain"),
    [("YWI=", b"ab"), ("YWI", b"ab"), ("-_-_", b"\xfb\xff\xbf"), ("+/+/", b"\xfb\xff\xbf")],
)
def test_base64_is_read_in_either_alphabet_with_or_without_padding(run: str, plain: bytes) -> None:
    assert decode_base64(run) == plain


@pytest.mark.parametrize("run", ["a", "abcde", "ab!c"])
def test_what_is_no_base64_is_not_read(run: str) -> None:
    assert decode_base64(run) is None
