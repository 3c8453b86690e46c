"""Whether a text looks like secret material, which is never learned; a table of checks."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from understudy.core.invisible_characters import is_unseen
from understudy.learnings.model import MAX_CONTENT_CHARS
from understudy.learnings.secret_assignments import (
    VENDOR_PREFIX,
    has_secret_assignment,
)
from understudy.patterns.rule_book import ProvenRule, RuleBook, examples
from understudy.patterns.word_lists import read_toml
from understudy.redaction.opaque import WORDS
from understudy.redaction.scrub import holds_secret, scrub

Holds = Callable[[str], bool]
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY")
# `p.a.s.s.w.o.r.d`, `k-e-y`: single characters with the same separator between them.
_SPELLED_OUT: Final = re.compile(
    r"(?<![\w.·*/|-])[^\W\d_](?P<gap>[.·*/|_-]|[ \u00a0]{1,2})[^\W\d_](?:(?P=gap)[^\W_]){2,}(?!\w)"
)
_CUE_CHARS: Final = 56
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|[。\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretCheck(ProvenRule):
    """One check for secrets, and its reason."""

    reason: str
    holds: Holds
    # Also matches examples of secrets; only for texts where a false positive costs little.
    is_strict: bool = False


def secret_reason(text: str, *, strictly: bool = False) -> str | None:
    """Why a text looks like secret material; None when it does not."""
    # Longer texts are refused anyway, and would fill the cache.
    return (_remembered if len(text) <= MAX_CONTENT_CHARS else _reason)(text, strictly)


def _reason(text: str, strictly: bool) -> str | None:
    shown = _shown(text)
    readings = dict.fromkeys((shown, read_together(shown)))
    checks = [check for check in secret_checks() if strictly or not check.is_strict]
    return next(
        (check.reason for reading in readings for check in checks if check.holds(reading)), None
    )


# A cache: the check before a transaction pays for the one under its lock.
_remembered: Final = lru_cache(maxsize=2048)(_reason)


def _shown(text: str) -> str:
    """The text as a reader sees it: no hidden characters, one form for each letter."""
    if text.isascii() and text.isprintable():
        return text
    seen = "".join(each for each in text if each in "\n\t" or not is_unseen(each))
    return unicodedata.normalize("NFKC", seen)


def read_together(text: str) -> str:
    """The text with spelled-out words joined."""
    return _SPELLED_OUT.sub(lambda found: found[0].replace(found["gap"], ""), text)


@cache
def secret_checks() -> tuple[SecretCheck, ...]:
    """The checks of `secrets.toml`, in order."""
    tables = read_toml("understudy.learnings", "secrets.toml")
    abroad = "|".join(WORDS("cues_abroad"))
    book = RuleBook(tables, vendor_prefix=VENDOR_PREFIX, cues_abroad=abroad)
    return tuple(_check(book, entry) for entry in book.tables["check"])


def _check(book: RuleBook, entry: Mapping[str, Any]) -> SecretCheck:
    return SecretCheck(
        id=entry["id"],
        reason=entry["reason"],
        holds=_FUNCTIONS[entry["function"]] if "function" in entry else _mark(book, entry),
        is_strict=entry.get("strict", False),
        matches=examples(entry["matches"]),
        misses=examples(entry["misses"]),
    )


def _mark(book: RuleBook, entry: Mapping[str, Any]) -> Holds:
    """A check for a pattern, or for a pattern near another one."""
    mark = re.compile(book.regex(entry["pattern"]))
    if "beside" not in entry:
        return lambda text: mark.search(text) is not None
    beside = re.compile(book.regex(entry["beside"]))
    return lambda text: any(
        beside.search(_sentence_before(text, found.start())) for found in mark.finditer(text)
    )


def _sentence_before(text: str, at: int) -> str:
    """The text shortly before an offset, within its sentence."""
    near = text[max(0, at - _CUE_CHARS) : at]
    return _SENTENCE_END.split(near)[-1]


def _would_be_scrubbed(text: str) -> bool:
    # Personal data is no secret: a fact may contain it.
    return _PRIVATE_KEY.search(text) is not None or scrub(text, pii=False) != text


_FUNCTIONS: Final[Mapping[str, Holds]] = {
    "would_be_scrubbed": _would_be_scrubbed,
    "has_secret_assignment": has_secret_assignment,
    "holds_secret": holds_secret,
}
