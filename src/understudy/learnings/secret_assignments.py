"""Secrets recognised by the name they are assigned to: weak passwords, keys made of words.

Random-looking values are found by the redaction package, which must leave ordinary text alone. For
a statement to be remembered the rule is stricter: any value assigned to the name of a secret that
is no word about it counts as the secret.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from understudy.patterns.word_lists import WordLists
from understudy.redaction.opaque import (
    WORDS,
    is_harmless_shape,
    is_password_key,
    is_value,
    key_grade,
)

_OWN_WORDS: Final = WordLists("understudy.learnings")
# Prefixes of the API keys of well-known services.
VENDOR_PREFIX: Final = (
    r"(?:sk|pk|rk|gh[pousr]|github_pat|glpat|xox[a-z]|hf|npm|pypi|whsec|shpat|dop_v1|gsk|xai)"
)
# Code points from here on are scripts without blanks between words.
UNSPACED_FROM: Final = chr(0x2E80)
_NAME_CHARS: Final = 96
MIN_CHARS: Final = 6
MIN_PASSWORD_CHARS: Final = 5
MIN_PHRASE_WORDS: Final = 3
MIN_MADE_CHARS: Final = 10
MIN_MADE_DIGITS: Final = 3
# Signs and words that assign; not comparisons, addresses or namespaces.
_SIGN: Final = r"(?<![:=!<>~])(?::(?![:=/])|:?=(?![=>~])|=>|->|→|⇒)"
_SAID: Final = r"(?<=[\w\"'`])(?i:\s(?:(?:(?:is|was|been)\s)?(?:changed|set|reset|updated)\sto|is|was|equals|est|ist|es|là)\s)|是|为|為"
_TIE: Final = re.compile(rf"(?P<sign>{_SIGN})|{_SAID}")
# `password for the staging database: …`, `mật khẩu cơ sở dữ liệu: …`
_OF_WHAT: Final = re.compile(
    r"(?i)\s(?:for|of|to|on|in|at|du|de|des|pour|của|cho)\s[\w .'’-]{1,48}\Z"
)
_LOOSE_END: Final = re.compile(r"(?i)[\s\"'`*_\])]*(?:\b(?:is|was|est|là)\s*)?\Z")
# Short names of passwords, and their leetspeak spellings.
_PASSWORD_SHORT: Final = re.compile(
    r"(?i)(?<![a-z0-9])(?:pw|psw|pswd|pword|passw|passwrd|mdp|p[a4@][s5$]{2}(?:w[o0]r[dt]|phr[a4@]se|c[o0]de)"
    r"|(?:root|admin|user|db|database|wi-?fi|login|ssh|vpn|sudo|guest|mail|ftp|router|my|our|your)(?:['\u2019]?s)?[ _-]pass)\Z"
)
_VALUE: Final = re.compile(
    r"[\s*]{0,8}(?P<quote>[\"'`«「“\u2018]?)\**(?P<value>[!#-&+-Z^_a-z|~]{1,200})"
)
# The end of the statement after a value.
_STATEMENT_END: Final = re.compile(
    r"[\s\"'`*)\]}»」”\u2019]{0,8}(?:[.,;!?。]|$|\n|\Z)", re.MULTILINE
)
# The end of a value, where more text may follow.
_VALUE_END: Final = re.compile(r"[\"'`*)\]}»」”\u2019]{0,8}\s")
_PHRASE: Final = re.compile(
    r"[\s\"'`“]{0,4}(?P<phrase>[a-z]{2,16}(?:[ -][a-z]{2,16}){1,24})[\"'`”]?[.;,]?\s*(?:\n|\Z)"
)
_JOINED: Final = re.compile(r"(?:[a-z][A-Z]\w*|\w[_-]\w+)\Z")
_BY_A_VENDOR: Final = re.compile(rf"{VENDOR_PREFIX}[-_]\w")
# Endings of adjectives, participles and nouns that describe a secret.
_ABOUT_ENDINGS: Final = re.compile(
    r"[a-z-]{2,12}(?:ed|ing|able|ible|ory|ary|ive|less|ful|ly|al|ent|ant|ous|ic|ion|ment|ness|ity|oire|aire|ique)"
)
# Longer strings are no words.
_LONGEST_WORD: Final = 14
# Algorithms and formats with digits in their names.
_KNOWN_NAME: Final = re.compile(
    r"(?i)(?:oauth|argon|ed|sha|md|aes|rsa|hs|rs|es|ps|ec|utf|base|pbkdf|x|tls|ssl|v|http|s|k|p|web|auth|rfc)[-_/]?\d+\w{0,3}"
    r"|\d?[a-z]+\d{0,2}password"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """The name of a secret, and how a value is assigned to it."""

    name: str
    is_password: bool
    is_sign: bool
    # The offset of the value, and whether the sign has no blank on either side.
    at: int = 0
    is_tight: bool = False
    # Whether the sign has a blank on both sides, as in code and in sentences.
    is_spaced: bool = False

    @property
    def is_variable(self) -> bool:
        """Whether the name is written as an identifier in code."""
        return _JOINED.search(self.name) is not None


def is_about_secrets(word: str) -> bool:
    """Whether a word describes a secret rather than being one."""
    plain = word.lower()
    return plain in WORDS.set("about_secrets") or (
        len(plain) <= _LONGEST_WORD and _ABOUT_ENDINGS.fullmatch(plain) is not None
    )


def may_be_secret(value: str) -> bool:
    """Whether a value is real, and neither a well-known name nor a public format."""
    return is_value(value) and not is_harmless_shape(value) and not _KNOWN_NAME.fullmatch(value)


def has_secret_assignment(text: str) -> bool:
    """Whether a text assigns a possible secret to the name of a secret."""
    return any(_is_secret(text, named) for named in _names(text))


@cache
def _abroad() -> re.Pattern[str]:
    """The pattern of foreign names of secrets at the end of a text."""
    cues = WORDS("cues_abroad")
    spaced = "|".join(word for word in cues if word[0] < UNSPACED_FROM)
    unspaced = "|".join(word for word in cues if word[0] >= UNSPACED_FROM)
    return re.compile(rf"(?i)(?<![^\W\d_])(?:{spaced})(?:\s\w+){{0,4}}\Z|(?:{unspaced})\Z")


@cache
def _password_abroad() -> re.Pattern[str]:
    return re.compile(rf"(?i)(?:{'|'.join(WORDS('passwords_abroad'))})")


@cache
def _cue() -> re.Pattern[str]:
    """What every name of a secret contains: without it, a text need not be parsed."""
    last_words = {ending.split()[-1] for ending in WORDS("sensitive_endings")}
    known = {*last_words, *WORDS("cues_abroad"), *_OWN_WORDS("password_short")}
    return re.compile("|".join(re.escape(it.lower()) for it in sorted(known)))


def _names(text: str) -> Iterator[_Named]:
    for tie in _TIE.finditer(text):
        before = text[max(0, tie.start() - _NAME_CHARS) : tie.start()]
        is_sign = tie["sign"] is not None
        named = _name(before, is_sign=is_sign) if _cue().search(before.lower()) else None
        if named:
            around = text[tie.start() - 2 : tie.end() + 2]
            is_tight = is_sign and not re.search(r"\s", around[1:-1])
            is_spaced = re.fullmatch(r"\S = \S", around) is not None
            yield replace(named, at=tie.end(), is_tight=is_tight, is_spaced=is_spaced)


def _name(before: str, *, is_sign: bool) -> _Named | None:
    """The name of a secret right before a sign, if there is one."""
    name = _LOOSE_END.sub("", before, count=1)
    if _abroad().search(name):
        is_password = _password_abroad().search(name) is not None
        return _Named(name=name, is_password=is_password, is_sign=is_sign)
    name = _without_purpose(name)
    grade, is_password = key_grade(name), is_password_key(name)
    if grade == 2 or (grade and is_sign and is_password):
        return _Named(name=name, is_password=is_password, is_sign=is_sign)
    if _PASSWORD_SHORT.search(name):
        return _Named(name=name, is_password=True, is_sign=is_sign)
    return None


def _without_purpose(name: str) -> str:
    """The name without its purpose clause, such as `for the staging database`."""
    alone = _OF_WHAT.sub("", name)
    return name if alone.lower().endswith("secret") else alone


def _is_secret(text: str, named: _Named) -> bool:
    found = _VALUE.match(text, named.at)
    if found is None:
        return False
    value = found["value"].rstrip(".,;:!?*_-")
    if not may_be_secret(value):
        return False
    if _BY_A_VENDOR.match(value):
        return True
    is_quoted = bool(found["quote"])
    is_telling = _is_telling(value, named, is_quoted=is_quoted)
    after = found.start("value") + len(value)
    if _STATEMENT_END.match(text, after):
        return is_telling
    # `name=value` is an assignment, whatever follows it.
    is_apart = named.is_tight or (named.is_spaced and _looks_made(value))
    if is_apart and _VALUE_END.match(text, after) and is_telling:
        return True
    return named.is_sign and _is_passphrase(text, named, is_quoted=is_quoted)


def _is_telling(value: str, named: _Named, *, is_quoted: bool) -> bool:
    """Whether the value, alone in its statement, is more than a word about the secret."""
    if len(value) < (MIN_PASSWORD_CHARS if named.is_password else MIN_CHARS) or is_about_secrets(
        value
    ):
        return False
    if named.is_password and key_grade(named.name) != 1:
        return True
    if any(character.isdigit() for character in value):
        return any(character.isalpha() for character in value)
    # In a sentence, a word after "token is" describes the token, and a name tells whose it is.
    if not named.is_sign or named.is_password:
        return False
    return is_quoted or named.is_variable or (value.isalpha() and not value.istitle())


def _looks_made(value: str) -> bool:
    """Whether a value is neither a word nor a format such as `base64url`."""
    digits = sum(character.isdigit() for character in value)
    return len(value) >= MIN_MADE_CHARS and digits >= MIN_MADE_DIGITS and not value.isdigit()


def _is_passphrase(text: str, named: _Named, *, is_quoted: bool) -> bool:
    """Whether several words are a passphrase and not a sentence."""
    found = _PHRASE.match(text, named.at)
    if found is None:
        return False
    said = re.split("[ -]", found["phrase"])
    is_long = named.is_password and len(said) >= MIN_PHRASE_WORDS
    if not (is_long or (is_quoted and named.is_variable)):
        return False
    return not any(word in WORDS.set("sentence_words") or is_about_secrets(word) for word in said)
