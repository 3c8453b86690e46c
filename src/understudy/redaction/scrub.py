"""The one scrubber: replaces secrets with markers that say what was there."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from understudy.redaction.opaque import is_sensitive_key
from understudy.redaction.patterns import RULES, Rule

# Shorter ones would take ordinary words out of every text.
MIN_LITERAL_CHARS: Final = 4
# A marker can uncover a secret that was glued to the one before it.
MAX_PASSES: Final = 4
MAX_JSON_DEPTH: Final = 100
_MARKER: Final = re.compile(r"(<redacted:[a-z-]{1,32}>)")

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def marker(kind: str) -> str:
    """What stands in place of a secret of this kind."""
    return f"<redacted:{kind}>"


def scrub(text: str, literals: Iterable[str] = ()) -> str:
    """The text without secrets; `literals` are values known to be secret, whatever their shape.

    Scrubbing twice changes nothing more.
    """
    # Known values first: a rule might take only a part of one and leave the rest.
    text = _without_literals(text, literals)
    for _ in range(MAX_PASSES):
        before = text
        for rule in RULES:
            text = apply_rule(rule, text)
        if text == before:
            break
    return text


def _without_literals(text: str, literals: Iterable[str]) -> str:
    known = {literal for literal in literals if len(literal) >= MIN_LITERAL_CHARS}
    for literal in sorted(known, key=lambda value: (-len(value), value)):
        if literal in text:
            # A literal such as "redacted" must not break the markers that are already there.
            parts = _MARKER.split(text)
            parts[::2] = [part.replace(literal, marker("literal")) for part in parts[::2]]
            text = "".join(parts)
    return text


def apply_rule(rule: Rule, text: str) -> str:
    """The text with every match of one rule replaced by its marker."""
    group: str | int = "secret" if "secret" in rule.pattern.groupindex else 0

    def replacement(match: re.Match[str]) -> str:
        whole = match[0]
        if rule.check is not None and not rule.check(match):
            return whole
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return whole[:start] + marker(rule.kind) + whole[end:]

    return rule.pattern.sub(replacement, text)


def scrub_json(value: Json, literals: Iterable[str] = ()) -> Json:
    """A JSON value without secrets: every text scrubbed, all text under a sensitive key gone."""
    return _scrub_value(value, tuple(literals), hide=False, depth=0)


def _scrub_value(value: Json, literals: tuple[str, ...], *, hide: bool, depth: int) -> Json:
    if depth > MAX_JSON_DEPTH:
        return marker("too-deep")
    match value:
        case None | bool():
            return value
        case str():
            return marker("secret") if hide and value else scrub(value, literals)
        case int() | float():
            return marker("secret") if hide else value
        case list():
            return [_scrub_value(item, literals, hide=hide, depth=depth + 1) for item in value]
        case _:
            return _scrub_mapping(value, literals, hide=hide, depth=depth)


def _scrub_mapping(
    value: Mapping[str, Json], literals: tuple[str, ...], *, hide: bool, depth: int
) -> dict[str, Json]:
    return {
        scrub(key, literals): _scrub_value(
            item, literals, hide=hide or is_sensitive_key(key), depth=depth + 1
        )
        for key, item in value.items()
    }
