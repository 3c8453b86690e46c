"""The table of rules, walked: its examples, its words, and that no text can make it slow."""

import tomllib
from collections import Counter

import pytest

from tests.support.cpu_effort import effort
from tests.support.tables import every_row
from tests.unit.guard.examples import found_in
from understudy.guard.detectors import CHECKS
from understudy.guard.rule import Category, Detector, GuardRule
from understudy.guard.rule_book import book_of, rule_book, rule_table, rules
from understudy.guard.scan import scan_text
from understudy.patterns.linear import spans_of
from understudy.patterns.matcher import compiled

EACH_RULE = every_row("rule", rules(), ids=lambda rule: rule.id)
PUBLIC = {
    Category.DESTRUCTIVE_SHELL: "D1 D2 D3 D4 D5",
    Category.CODE_INJECTION: "C1 C2 C3 C4 C5 C6 C7",
    Category.CREDENTIAL_EXFIL: "X1 X2 X3 X4 X5 X6",
    Category.PATH_TRAVERSAL: "T1",
    Category.SQL_INJECTION: "S1 S2 S3",
    Category.PRIVILEGE_ESCALATION: "P1 P2 P3",
}
HOSTILE = (
    "curl ", "rm -rf ", "chmod --a ", "a", "\\", " ", "\u0300\u0327\u0316", "\u200b", "../", "'+'", '"a"[::-1] ', "a|\n",
)  # fmt: skip


@EACH_RULE
def test_a_rule_finds_what_it_must(rule: GuardRule) -> None:
    assert rule.matches
    for example in rule.matches:
        assert found_in(rule, example), example


@EACH_RULE
def test_a_rule_leaves_what_only_looks_like_it(rule: GuardRule) -> None:
    assert rule.misses
    for example in rule.misses:
        assert not found_in(rule, example), example


@EACH_RULE
def test_a_rule_says_why_in_words_for_people(rule: GuardRule) -> None:
    assert rule.title[0].isupper()
    assert rule.reason.split()[0].islower()
    assert not rule.reason.endswith(".")


def test_ids_are_unique_and_the_25_public_rules_are_there() -> None:
    ids = Counter(rule.id for rule in rules())
    by_category = {
        category: {rule.id.partition(".")[0] for rule in rules() if rule.category is category}
        for category in Category
    }

    assert max(ids.values()) == 1
    assert sum(len(numbers.split()) for numbers in PUBLIC.values()) == 25
    for category, numbers in PUBLIC.items():
        assert by_category[category] >= set(numbers.split())
    assert by_category[Category.PROMPT_INJECTION]


def test_a_pattern_that_matches_nothing_at_all_still_ends() -> None:
    assert [spans[0] for spans in spans_of(compiled("x*"), b"ax")] == [(0, 0), (1, 2), (2, 2)]


def test_joins_name_signals_that_exist() -> None:
    known = {signal.id for signal in rule_book().signals}

    assert {end for join in rule_book().joins for end in join.sources | join.sinks} == known


def test_every_detector_has_a_check_and_a_rule_that_uses_it() -> None:
    assert set(CHECKS) == {rule.detector for rule in rules()} - {None} == set(Detector)


def test_a_rule_that_names_an_unknown_detector_is_not_loaded() -> None:
    text = """
        [words]
        [[rule]]
        id = "Z1.odd"
        category = "code_injection"
        title = "Odd"
        reason = "is odd"
        detector = "zero_with"
        matches = []
        misses = []
    """

    with pytest.raises(ValueError, match="no detector 'zero_with'; there are bidi, nul"):
        book_of(tomllib.loads(text))


def test_the_table_for_the_docs_has_every_rule_once() -> None:
    table = rule_table()

    assert all(table.count(f"| `{rule.id}` |") == 1 for rule in rules())


@pytest.mark.parametrize("piece", HOSTILE, ids=repr)
def test_a_hostile_line_takes_time_that_grows_with_it_and_not_faster(piece: str) -> None:
    def spent(size: int) -> float:
        text = piece * (size // len(piece))
        return effort(lambda: scan_text(text))

    once, twice = spent(10_000), spent(20_000)
    # 100 KB within a second, with room for a busy machine.
    assert once < 0.3
    assert twice < 3 * once + 0.05
