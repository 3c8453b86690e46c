"""The rules of redaction, read from `rules.toml` in order of precedence."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any, Final

from understudy.patterns.linear import Span
from understudy.patterns.rule_book import RuleBook, examples
from understudy.patterns.search import PatternMatch, Pick, SearchRule
from understudy.patterns.word_lists import read_toml

Entry = Mapping[str, Any]
# What may precede a token: nothing that could belong to it. `\b` is ASCII in RE2, so it also
# matches between a Chinese character and a letter.
_START: Final = r"(?:\b|_|%2[0-9A-F]|\\[nrt])"
_FIRST_CHARACTERS: Final = re.compile(r"(\[[^\]]+\]|\\w)(?:\{(\d+)|\+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionRule(SearchRule):
    """One family of secrets or personal data."""

    # The kind in the marker.
    kind: str
    # The strict pick, where a false positive costs little; None if it is the same.
    strict: Pick | None = None


Table = tuple[RedactionRule, ...]


@cache
def secret_tables() -> tuple[Table, ...]:
    """The rules for every text, in tables whose triggers are searched together."""
    book = _book()
    vendors = book.tables["vendors"]
    return (
        (*_rules(book, "blocks"), *(_family(book, entry) for entry in vendors["families"])),
        (
            *(_family(book, entry) for entry in vendors["shapes"]),
            *_rules(book, "prefixed", "links", "headers"),
        ),
        _rules(book, "commands", "documents", "tables", "context"),
    )


@cache
def personal_tables() -> tuple[Table, ...]:
    """The rules for texts in which personal data is redacted."""
    book = _book()
    return ((*_rules(book, "personal"), *map(_national, book.tables["national"]["numbers"])),)


@cache
def secret_rules() -> Table:
    """The rules for secrets."""
    return tuple(chain(*secret_tables()))


@cache
def personal_rules() -> Table:
    """The rules for personal data."""
    return tuple(chain(*personal_tables()))


@cache
def _book() -> RuleBook:
    from understudy.redaction.credentials import BODY, GAP
    from understudy.redaction.opaque import WORDS

    tables = read_toml("understudy.redaction", "rules.toml")
    programs: Mapping[str, str] = tables["programs"]
    return RuleBook(
        tables,
        gap=GAP,
        key_body=BODY,
        cues_abroad="|".join(sorted(WORDS("cues_abroad"), key=len, reverse=True)),
        program_names="|".join(programs),
        program_flags="|".join(
            rf"\b(?:{names})\b(?:\s[^\n|;]{{0,80}}?)??\s{flag}" for names, flag in programs.items()
        ),
    )


def _rules(book: RuleBook, *groups: str) -> Table:
    return tuple(_rule(book, entry) for group in groups for entry in book.tables[group])


def _rule(book: RuleBook, entry: Entry) -> RedactionRule:
    return RedactionRule(
        id=entry["id"],
        kind=entry["kind"],
        trigger=book.regex(entry["trigger"]),
        pattern=book.regex(entry["pattern"]),
        pick=_pick(entry["takes"], entry.get("takes_if")),
        strict=_pick(entry["strictly_takes"], entry.get("strictly_takes_if"))
        if "strictly_takes" in entry
        else None,
        matches=examples(entry["matches"]),
        misses=examples(entry["misses"]),
        # A key may extend far beyond its first line.
        is_long=entry.get("long", entry["kind"] == "private-key"),
    )


def _pick(takes: str, condition: str | None) -> Pick:
    if takes == "whole":
        return _whole
    if takes == "secret":
        return _secret_if(_function(condition)) if condition else _secret
    return _function(takes)


def _function(name: str) -> Callable[..., Any]:
    """A function of this package by `module.name`, imported when the rules are first read."""
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"understudy.redaction.{module}"), function)
    return found


def _whole(match: PatternMatch) -> Iterable[Span]:
    return (match.span(),)


def _secret(match: PatternMatch) -> Iterable[Span]:
    return (match.span("secret"),)


def _secret_if(check: Callable[[str], bool]) -> Pick:
    def pick(match: PatternMatch) -> Iterable[Span]:
        return (match.span("secret"),) if check(match["secret"]) else ()

    return pick


def _family(book: RuleBook, entry: Entry) -> RedactionRule:
    """The rule for a vendor's tokens; a `faint` prefix is shared with ordinary words.

    A `documented` family also matches the example in its vendor's documentation.
    """
    from understudy.redaction import credentials

    prefix, body = book.regex(entry["prefix"]), book.regex(entry["body"])
    is_faint = entry.get("faint", False)
    plain = credentials.any_vendor_token if "documented" in entry else credentials.vendor_token
    begin, rest = examples(entry["example"])
    return RedactionRule(
        id=entry["id"],
        kind="api-key",
        trigger=entry.get("trigger") or rf"(?:{prefix}){_beginning(body)}",
        pattern=rf"{_START}(?P<secret>(?:{prefix})(?P<body>{body}))",
        pick=credentials.random_token if is_faint else plain,
        strict=credentials.random_token_or_example
        if is_faint
        else credentials.vendor_token_or_example,
        matches=(begin + rest, f"use {begin}{rest}, then stop", f"把密钥改成{begin}{rest}之后"),
        misses=(f"{begin}...", begin + "x" * 24, f"{begin}your-token-here"),
    )


def _beginning(body: str) -> str:
    """The first characters of a body, so that a short prefix alone triggers no rule."""
    first = _FIRST_CHARACTERS.match(body)
    return f"{first[1]}{{{min(int(first[2] or 1), 8)}}}" if first else ""


def _national(entry: Entry) -> RedactionRule:
    """The rule for a personal number; without a `cue` its shape and check digits suffice."""
    cue, number = entry.get("cue"), entry["number"]
    before = rf"(?i)(?:{cue})[^\n0-9]{{0,30}}?" if cue else ""
    ends = "" if number.endswith(")") else r"\b"
    word, begin, rest = entry["example"]
    return RedactionRule(
        id=entry["id"],
        kind="national-id",
        trigger=rf"(?i)(?:{cue})" if cue else rf"\b{number}{ends}",
        pattern=rf"{before}\b(?P<secret>{number}){ends}",
        pick=_secret_if(_function(f"personal.{entry['check']}")),
        matches=(f"{word} {begin}{rest}".strip(),),
        misses=(f"{word} is asked for in the form", f"{word} 00000"),
    )
