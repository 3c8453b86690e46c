"""Reads `rules.toml` once and answers the rules in it."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from understudy.guard.rule import (
    Category,
    Detector,
    FileKind,
    Join,
    Pattern,
    Rule,
    RuleBook,
    Signal,
    Within,
)

_WORD: Final = re.compile(r"@\{(\w+)\}")


@cache
def rule_book() -> RuleBook:
    """Everything in `rules.toml`."""
    return book_of(files("understudy.guard").joinpath("rules.toml").read_text("utf-8"))


def book_of(text: str) -> RuleBook:
    """The rules that a TOML text tells; ValueError where it names what nobody knows."""
    known = tomllib.loads(text)
    words = _words(known["words"])
    return RuleBook(
        rules=tuple(_rule(entry, words) for entry in known["rule"]),
        signals=tuple(
            Signal(id=entry["id"], title=entry["title"], patterns=_patterns(entry, words))
            for entry in known["signal"]
        ),
        joins=tuple(_join(entry, words) for entry in known["join"]),
    )


def rules() -> Sequence[Rule]:
    """Every rule with its id, category, reason and examples, those over the bundle last."""
    book = rule_book()
    return (*book.rules, *(join.rule for join in book.joins))


def _words(named: Mapping[str, str]) -> Mapping[str, str]:
    """The shared parts of patterns; each may use those before it."""
    words: dict[str, str] = {}
    for name, regex in named.items():
        words[name] = _spelled_out(regex, words)
    return words


def _spelled_out(regex: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda word: f"(?:{words[word[1]]})", regex)


def _patterns(entry: Mapping[str, Any], words: Mapping[str, str]) -> Sequence[Pattern]:
    return tuple(_pattern(one, words) for one in entry.get("patterns", ()))


def _pattern(one: str | Mapping[str, Any], words: Mapping[str, str]) -> Pattern:
    said: Mapping[str, Any] = {"regex": one} if isinstance(one, str) else one
    lists = {
        name: tuple(_spelled_out(regex, words) for regex in said.get(name, ()))
        for name in ("also", "unless", "unless_line")
    }
    return Pattern(
        regex=_spelled_out(said["regex"], words),
        same_groups=said.get("same_groups", False),
        **lists,
    )


def _rule(entry: Mapping[str, Any], words: Mapping[str, str]) -> Rule:
    return Rule(
        id=entry["id"],
        category=Category(entry["category"]),
        title=entry["title"],
        reason=entry["reason"],
        matches=tuple(entry["matches"]),
        misses=tuple(entry["misses"]),
        patterns=_patterns(entry, words),
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


def _join(entry: Mapping[str, Any], words: Mapping[str, str]) -> Join:
    return Join(
        rule=_rule(entry, words),
        sources=frozenset(entry["sources"]),
        sinks=frozenset(entry["sinks"]),
        within=Within(entry["within"]),
        beside=frozenset(entry.get("beside", ())),
    )
