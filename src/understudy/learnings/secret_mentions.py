"""Secrets that are told in a sentence: beside the name of one, before it, or of what was named above."""

import re
from functools import cache
from typing import Final

from understudy.learnings.secret_assignments import (
    UNSPACED_FROM,
    is_about_secrets,
    may_be_secret,
)
from understudy.redaction.opaque import WORDS, is_hash, is_jumble, looks_random

MIN_CHARS: Final = 6
# How far before a name its secret may begin, and how far what "it" stands for may lie back.
REACH: Final = 160
# A shorter one is what a commit is called by.
MIN_HEX: Final = 12

_KEY: Final = (
    r"(?<![a-z0-9])(?:(?:api|app|access|secret|private|signing|auth|master|encryption)[ _-]?key"
    r"|(?:api|access|auth|bearer|refresh|bot)[ _-]?token|client[ _-]?secret)(?![a-z0-9])"
)
_LOGIN: Final = re.compile(
    r"(?i)(?<![a-z0-9])(?:log-?in|log-?on|sign-?in|credentials?|creds?)(?![a-z0-9])"
)
# With the words of other languages, in every text that names a password, a key or a login.
_CUES: Final = ("pass", "pw", "pswd", "mdp", "key", "token", "secret", "log", "sign", "cred")
_VALUE: Final = r"[\"'`“「]?(?P<value>[!#-&+-Z^_a-z|~]{5,200})"

# `passwd hunter22 for root`
_BESIDE: Final = re.compile(rf"\s{{0,3}}{_VALUE}")
# `use hunter22 as the password`
_BEFORE: Final = re.compile(
    rf"(?i)(?<![\w.@/-]){_VALUE}[\"'`”」]?\s(?:as|is|was|est|ist|als|comme|como|là)\s"
    r"(?:(?:the|my|our|your|its|his|her|their|a|le|la|mon|das|mein)\s)?(?:[\w.'’-]{1,24}\s){0,3}\Z"
)
# Nothing follows that the name only tells more of, as in `the password policy`.
_NO_MORE: Final = re.compile(
    r"\W{0,3}(?:\Z|\n|(?<=[.,;!?)])\s|\s(?:for|of|to|on|in|at|and|when|pour|für)\b)"
)
# `the login is admin:hunter22`
_PAIR: Final = re.compile(
    r"(?i)[^.:=\n]{0,40}?(?:\s(?:is|are|was|were|with)\s|\s?[:=]\s?)[\"'`“]?"
    rf"(?:[\w.@+-]{{1,64}}(?::|\s?/\s)|(?:admin|root|user|guest|demo|[\w.+-]{{1,64}}@[\w.-]{{1,64}})/){_VALUE}"
)
# `it is 7f3a…`, of what was named before.
_IT: Final = re.compile(
    r"(?i)(?<![\w'’])(?:(?:it|this|that|(?:the|its|whose)\svalue)(?:\s(?:is|was|reads|equals)\s|['’]s\s|\s?[:=]\s?)"
    rf"|c['’]est\s|nó là\s|它是){_VALUE}"
)
# A measure, a numbered part of something, the name of a header, a word that says what a thing is like.
_ORDINARY: Final = re.compile(
    r"(?i)\d{1,4}-?(?:days?|weeks?|months?|years?|hours?|min(?:ute)?s?|char(?:acter)?s?|bits?|bytes?|times|digits?)"
    r"|(?:reset|policy|field|form|page|step|rule|test|version|phase|option|section|chapter|table|figure|input|user|host|port)"
    r"[-_]?\d{1,4}|x-[\w-]+|[\w-]+-(?:based|backed|only|style|like|compatible|ready|bound|specific)"
)


def has_told_secret(text: str) -> bool:
    """Whether a sentence tells something that may be a secret."""
    plain = text.lower()
    if not any(cue in plain for cue in (*_CUES, *WORDS("passwords_abroad"))):
        return False
    return _is_beside_a_name(text) or _is_login(text) or _is_of_a_name(text)


@cache
def _name() -> re.Pattern[str]:
    """What a secret is called; the group `password` holds the name of a password."""
    abroad = sorted(WORDS("passwords_abroad"))
    spaced = "|".join(it for it in abroad if it[0] < UNSPACED_FROM)
    unspaced = "|".join(it for it in abroad if it[0] >= UNSPACED_FROM)
    names = rf"pass(?:word|wd|phrase|code)|pwd|pw|pswd|mdp|{spaced}"
    password = rf"(?<![a-z0-9])(?:{names})(?![a-z0-9])|{unspaced}"
    return re.compile(rf"(?i)(?P<password>{password})|{_KEY}")


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
    """Whether "it" is a secret that was named shortly before."""
    for it in _IT.finditer(text):
        names = list(_name().finditer(text[max(0, it.start() - REACH) : it.start()]))
        if any((_is_password if name["password"] else _is_drawn)(it["value"]) for name in names):
            return True
    return False


def _is_password(found: str) -> bool:
    """Whether it has letters and figures as passwords have them."""
    value = found.rstrip(".,;:!?*_-)")
    has_both = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    if not has_both or len(value) < MIN_CHARS or _ORDINARY.fullmatch(value):
        return False
    return may_be_secret(value) and not is_about_secrets(value.strip("0123456789"))


def _is_drawn(found: str) -> bool:
    """Whether it looks drawn by lot."""
    value = found.rstrip(".,;:!?*_-)")
    if not _is_password(value):
        return False
    is_hex = is_hash(value) and len(value) >= MIN_HEX
    return is_hex or looks_random(value, least=MIN_CHARS) or is_jumble(value)
