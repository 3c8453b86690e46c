"""The rules of the guard, loaded from `rules.toml` once, and as a table for the documentation."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from understudy.guard.rule import (
    Category,
    Detector,
    FileKind,
    GuardBook,
    GuardRule,
    Join,
    JoinSignal,
    Within,
)
from understudy.patterns.matcher import PatternSpec
from understudy.patterns.rule_book import RuleBook
from understudy.patterns.word_lists import read_toml


@cache
def rule_book() -> GuardBook:
    """The rules, signals and joins of `rules.toml`."""
    return book_of(read_toml("understudy.guard", "rules.toml"))


def book_of(tables: Mapping[str, Any]) -> GuardBook:
    """Parse rules from TOML tables; ValueError for an unknown detector."""
    book = RuleBook(tables)
    return GuardBook(
        rules=tuple(_rule(entry, book) for entry in tables["rule"]),
        signals=tuple(
            JoinSignal(id=entry["id"], title=entry["title"], patterns=_patterns(entry, book))
            for entry in tables["signal"]
        ),
        joins=tuple(_join(entry, book) for entry in tables["join"]),
    )


def rules() -> Sequence[GuardRule]:
    """Every rule with its id, category, reason and examples, those over the bundle last."""
    book = rule_book()
    return (*book.rules, *(join.rule for join in book.joins))


def _patterns(entry: Mapping[str, Any], book: RuleBook) -> Sequence[PatternSpec]:
    return tuple(_pattern(one, book) for one in entry.get("patterns", ()))


def _pattern(one: str | Mapping[str, Any], book: RuleBook) -> PatternSpec:
    said: Mapping[str, Any] = {"regex": one} if isinstance(one, str) else one
    lists = {name: book.regexes(said.get(name, ())) for name in ("also", "unless", "unless_line")}
    return PatternSpec(
        regex=book.regex(said["regex"]),
        same_groups=said.get("same_groups", False),
        **lists,
    )


def _rule(entry: Mapping[str, Any], book: RuleBook) -> GuardRule:
    return GuardRule(
        id=entry["id"],
        category=Category(entry["category"]),
        title=entry["title"],
        reason=entry["reason"],
        matches=tuple(entry["matches"]),
        misses=tuple(entry["misses"]),
        patterns=_patterns(entry, book),
        detector=_detector(entry),
        kinds=frozenset(map(FileKind, entry.get("kinds", FileKind))),
        is_speech=entry.get("speech", False),
        path=entry.get("path"),
        harmless=entry.get("harmless"),
    )


def _detector(entry: Mapping[str, Any]) -> Detector | None:
    name = entry.get("detector")
    if name is None:
        return None
    if name not in set(Detector):
        raise ValueError(f"{entry['id']}: no detector {name!r}; there are {', '.join(Detector)}")
    return Detector(name)


def _join(entry: Mapping[str, Any], book: RuleBook) -> Join:
    return Join(
        rule=_rule(entry, book),
        sources=frozenset(entry["sources"]),
        sinks=frozenset(entry["sinks"]),
        within=Within(entry["within"]),
        beside=frozenset(entry.get("beside", ())),
    )


def rule_table() -> str:
    """Every rule by category as a Markdown table: where it looks and its reason."""
    lines: list[str] = []
    for category in Category:
        lines += [
            f"### `{category}`",
            "",
            "| rule | what | a finding says: it … | where |",
            "|---|---|---|---|",
        ]
        lines += [_row(rule) for rule in rules() if rule.category is category]
        lines.append("")
    return "\n".join(lines)


def _row(rule: GuardRule) -> str:
    everywhere = rule.kinds == frozenset(FileKind)
    where = (
        "everywhere" if everywhere else ", ".join(kind for kind in FileKind if kind in rule.kinds)
    )
    return f"| `{rule.id}` | {rule.title} | {rule.reason} | {where} |"
