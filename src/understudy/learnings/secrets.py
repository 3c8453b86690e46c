"""Whether a text looks like secret material, which is never learned; a table of checks."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Final

from understudy.core.dataclass import dataclass
from understudy.core.invisible_characters import is_unseen
from understudy.core.lazy import lazy_pattern
from understudy.learnings.model import MAX_CONTENT_CHARS
from understudy.learnings.secret_assignments import (
    UNSPACED_FROM,
    VENDOR_PREFIX,
    has_secret_assignment,
    is_about_secrets,
    may_be_secret,
)
from understudy.patterns.rule_book import ProvenRule, RuleBook, examples
from understudy.patterns.word_lists import read_toml
from understudy.redaction.opaque import WORDS, is_hash, is_jumble, looks_random
from understudy.redaction.scrub import holds_secret, scrub

MIN_CHARS: Final = 6
# How many characters before a name are searched for its value, or before "it" for a name.
REACH: Final = 160
# Shorter hexadecimal strings are abbreviated commit ids.
MIN_HEX: Final = 12

_KEY: Final = (
    r"(?<![a-z0-9])(?:(?:api|app|access|secret|private|signing|auth|master|encryption)[ _-]?key"
    r"|(?:api|access|auth|bearer|refresh|bot)[ _-]?token|client[ _-]?secret)(?![a-z0-9])"
)
_LOGIN: Final = lazy_pattern(
    r"(?i)(?<![a-z0-9])(?:log-?in|log-?on|sign-?in|credentials?|creds?)(?![a-z0-9])"
)
# Prefilter: every text that names a password, a key or a login contains one of these.
_CUES: Final = ("pass", "pw", "pswd", "mdp", "key", "token", "secret", "log", "sign", "cred")
_VALUE: Final = r"[\"'`“「]?(?P<value>[!#-&+-Z^_a-z|~]{5,200})"

# `passwd hunter22 for root`
_BESIDE: Final = lazy_pattern(rf"\s{{0,3}}{_VALUE}")
# `use hunter22 as the password`
_BEFORE: Final = lazy_pattern(
    rf"(?i)(?<![\w.@/-]){_VALUE}[\"'`”」]?\s(?:as|is|was|est|ist|als|comme|como|là)\s"
    r"(?:(?:the|my|our|your|its|his|her|their|a|le|la|mon|das|mein)\s)?(?:[\w.'’-]{1,24}\s){0,3}\Z"
)
# The name is not part of a longer noun, as in `the password policy`.
_NO_MORE: Final = lazy_pattern(
    r"\W{0,3}(?:\Z|\n|(?<=[.,;!?)])\s|\s(?:for|of|to|on|in|at|and|when|pour|für)\b)"
)
# `the login is admin:hunter22`
_PAIR: Final = lazy_pattern(
    r"(?i)[^.:=\n]{0,40}?(?:\s(?:is|are|was|were|with)\s|\s?[:=]\s?)[\"'`“]?"
    rf"(?:[\w.@+-]{{1,64}}(?::|\s?/\s)|(?:admin|root|user|guest|demo|[\w.+-]{{1,64}}@[\w.-]{{1,64}})/){_VALUE}"
)
# `it is 7f3a…`, after the name of a secret.
_IT: Final = lazy_pattern(
    r"(?i)(?<![\w'’])(?:(?:it|this|that|(?:the|its|whose)\svalue)(?:\s(?:is|was|reads|equals)\s|['’]s\s|\s?[:=]\s?)"
    rf"|c['’]est\s|nó là\s|它是){_VALUE}"
)
# Measures, numbered parts, header names, and compound adjectives.
_ORDINARY: Final = lazy_pattern(
    r"(?i)\d{1,4}-?(?:days?|weeks?|months?|years?|hours?|min(?:ute)?s?|char(?:acter)?s?|bits?|bytes?|times|digits?)"
    r"|(?:reset|policy|field|form|page|step|rule|test|version|phase|option|section|chapter|table|figure|input|user|host|port)"
    r"[-_]?\d{1,4}|x-[\w-]+|[\w-]+-(?:based|backed|only|style|like|compatible|ready|bound|specific)"
)
Holds = Callable[[str], bool]
_PRIVATE_KEY: Final = lazy_pattern(r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY")
# `p.a.s.s.w.o.r.d`, `k-e-y`: single characters with the same separator between them.
_SPELLED_OUT: Final = lazy_pattern(
    r"(?<![\w.·*/|-])[^\W\d_](?P<gap>[.·*/|_-]|[ \u00a0]{1,2})[^\W\d_](?:(?P=gap)[^\W_]){2,}(?!\w)"
)
_CUE_CHARS: Final = 56
_SENTENCE_END: Final = lazy_pattern(r"[.!?](?=\s)|[。\n]")


def has_told_secret(text: str) -> bool:
    """Whether a sentence mentions a value that may be a secret."""
    plain = text.lower()
    if not any(cue in plain for cue in (*_CUES, *WORDS("passwords_abroad"))):
        return False
    return _is_beside_a_name(text) or _is_login(text) or _is_of_a_name(text)


@cache
def _name() -> re.Pattern[str]:
    """The pattern of names of secrets; the group `password` is the name of a password."""
    abroad = sorted(WORDS("passwords_abroad"))
    spaced = "|".join(it for it in abroad if it[0] < UNSPACED_FROM)
    unspaced = "|".join(it for it in abroad if it[0] >= UNSPACED_FROM)
    names = rf"pass(?:word|wd|phrase|code)|pwd|pw|pswd|mdp|{spaced}"
    password = rf"(?<![a-z0-9])(?:{names})(?![a-z0-9])|{unspaced}"
    return lazy_pattern(rf"(?i)(?P<password>{password})|{_KEY}")


def _is_beside_a_name(text: str) -> bool:
    for name in _name().finditer(text):
        looks_right = _is_password if name["password"] else _is_drawn
        beside = _BESIDE.match(text, name.end()) if name["password"] else None
        if beside and looks_right(beside["value"]):
            return True
        before = _BEFORE.search(text[max(0, name.start() - REACH) : name.start()])
        if before and _NO_MORE.match(text, name.end()) and looks_right(before["value"]):
            return True
    return False


def _is_login(text: str) -> bool:
    pairs = (_PAIR.match(text, named.end()) for named in _LOGIN.finditer(text))
    return any(pair is not None and _is_password(pair["value"]) for pair in pairs)


def _is_of_a_name(text: str) -> bool:
    """Whether "it" refers to the name of a secret shortly before."""
    for it in _IT.finditer(text):
        names = list(_name().finditer(text[max(0, it.start() - REACH) : it.start()]))
        if any((_is_password if name["password"] else _is_drawn)(it["value"]) for name in names):
            return True
    return False


def _is_password(found: str) -> bool:
    """Whether a value has letters and digits as passwords do."""
    value = found.rstrip(".,;:!?*_-)")
    has_both = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    if not has_both or len(value) < MIN_CHARS or _ORDINARY.fullmatch(value):
        return False
    return may_be_secret(value) and not is_about_secrets(value.strip("0123456789"))


def _is_drawn(found: str) -> bool:
    """Whether a value looks random."""
    value = found.rstrip(".,;:!?*_-)")
    if not _is_password(value):
        return False
    is_hex = is_hash(value) and len(value) >= MIN_HEX
    return is_hex or looks_random(value, least=MIN_CHARS) or is_jumble(value)


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
    mark = lazy_pattern(book.regex(entry["pattern"]))
    if "beside" not in entry:
        return lambda text: mark.search(text) is not None
    beside = lazy_pattern(book.regex(entry["beside"]))
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
    "has_told_secret": has_told_secret,
    "holds_secret": holds_secret,
}
