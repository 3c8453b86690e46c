"""Judges a value next to a cue: the weaker the cue, the more random the value must look."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from understudy.redaction.cues import Cue
from understudy.redaction.opaque import (
    WORDS,
    is_code,
    is_harmless_shape,
    is_hash,
    is_jumble,
    is_made_up,
    is_quoted_code,
    looks_random,
)

_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w.-]+(?::\S*)?|[\w./-]+@v?[\d.]+")
_COMPOUND: Final = re.compile(
    r"[A-Za-z]+\d{0,3}(?:[-_/][A-Za-z]+\d{0,3})*[-_/][A-Za-z]+|(?i:sha|md|base|aes|rsa|utf|ed|hs|rs|es|argon|v)-?\d+\w{0,3}"
)
# A reference number, as in `user#12345`.
_REFERENCE: Final = re.compile(r"[A-Za-z_/.-]+[#@+]\d+|\d+[%$+]?-?\w*")
_PASSWORD_SIGNS: Final = frozenset("!#$%^*?+~&@")
# Parts of patterns, queries and encoded texts.
_NO_PASSWORD: Final = re.compile(
    r"\[\^?[A-Za-z0-9]-|\\[dwsb]|\{\d|\w=\w|%[0-9A-F]{2}.*%[0-9A-F]{2}|/.*/|\w\(|://"
)
# Digits in place of letters, as in `h0use`.
_LEET: Final = re.compile(r"[A-Za-z][0-9]{1,2}[A-Za-z]")
_PHRASE: Final = re.compile(r"\w[\w'’-]*(?:,? [\w'’-]+)+!?")
_BLANK: Final = re.compile(r"[ \t\n]")
_KINDS: Final = (re.compile(r"[a-z]"), re.compile(r"[A-Z]"), re.compile(r"[0-9]"))


def is_assigned_secret(value: str, cue: Cue, *, firmly: bool, quoted: bool, called: bool) -> bool:
    """Whether a value assigned to a cue is a secret; `firmly` by a sign and not by words."""
    if called or len(value) < 4 or is_made_up(value):
        return False
    if is_quoted_code(value) if quoted else is_code(value):
        return False
    if _BLANK.search(value):
        return _is_phrase(value, cue, quoted=quoted)
    if cue.is_password and cue.grade == 2:
        return _is_password(value, firmly=firmly, quoted=quoted)
    if cue.is_password:
        is_leet = firmly and _LEET.search(value) and not _COMPOUND.fullmatch(value)
        return bool(is_leet) or looks_random(value, least=6) or is_mixed(value)
    if is_harmless_shape(value):
        return cue.grade == 2 and len(value) == 36 and value.count("-") == 4
    if firmly and len(value) >= 8 and (is_mixed(value) or (cue.grade == 2 and is_jumble(value))):
        return True
    if cue.grade == 2:
        return len(value) >= 8 and looks_random(value, least=6 if firmly else 8)
    if is_hash(value):
        return len(value) >= 32 and cue.name.lower() not in {"key", "keys", "sig", "hash"}
    return looks_random(value, least=10) and _is_mostly_random(value)


@lru_cache(maxsize=4096)
def is_said_password(value: str, *, is_next: bool, is_password: bool) -> bool:
    """Whether a word near a password cue is the password, without a separator."""
    if len(value) < 8 or is_made_up(value) or is_code(value) or is_harmless_shape(value):
        return False
    if _looks_like_address(value) or _NO_PASSWORD.search(value):
        return False
    if _REFERENCE.fullmatch(value) and not looks_random(value, least=4):
        return False
    kinds = sum(kind.search(value) is not None for kind in _KINDS)
    has_sign = not _PASSWORD_SIGNS.isdisjoint(value)
    if kinds >= 2 and has_sign and _KINDS[2].search(value):
        return (is_next and is_password) or looks_random(value, least=4)
    return is_password and is_next and kinds == 3 and looks_random(value, least=6)


def is_mixed(value: str) -> bool:
    """Whether it mixes letters, digits and signs that no name or path has."""
    return (
        not _PASSWORD_SIGNS.isdisjoint(value)
        and any(map(str.isalpha, value))
        and any(map(str.isdigit, value))
        and not _looks_like_address(value)
    )


def _is_password(value: str, *, firmly: bool, quoted: bool) -> bool:
    plain = value.rstrip(".,;:!?")
    if plain.lower() in WORDS.set("common_passwords") or looks_random(plain, least=5):
        return True
    if is_jumble(value) and (firmly or not _PASSWORD_SIGNS.isdisjoint(value)):
        return True
    if not firmly and (_COMPOUND.fullmatch(plain) or is_harmless_shape(plain) or "/" in plain):
        return False
    has_digit = any(map(str.isdigit, plain))
    has_sign = any(not character.isalnum() and character not in "-_./" for character in plain)
    if plain.isdigit():
        return firmly and 4 <= len(plain) <= 12
    if is_harmless_shape(plain) or ("/" in plain and not quoted and not has_sign):
        return False
    return (has_digit and (firmly or len(plain) >= 6)) or (firmly and has_sign and len(plain) >= 6)


def _looks_like_address(value: str) -> bool:
    """Whether it looks like an e-mail address, a URL or an image name."""
    return _ADDRESS.fullmatch(value) is not None or "://" in value or value[0] in "#?"


def _is_phrase(value: str, cue: Cue, *, quoted: bool) -> bool:
    """Whether several words are a passphrase and not a sentence about one."""
    if not quoted or not cue.is_password:
        return False
    if len(value) > 80:
        return looks_random(value, least=60)
    if value[-1] in ".:?…":
        return False
    if cue.name.isupper() or cue.name.lower().endswith("phrase"):
        return True
    # A label begins with a capital and goes on in small letters.
    is_label = value[0].isupper() and value[1:].islower() and not any(map(str.isdigit, value))
    words = re.findall(r"\w+", value.lower())
    is_telling = len(words) >= (4 if is_label else 2) and is_passphrase(words)
    return looks_random(value, least=6) or (is_telling and _PHRASE.fullmatch(value) is not None)


def is_passphrase(words: Iterable[str]) -> bool:
    """Whether none of the words belongs to a sentence or to a text about secrets."""
    return WORDS.set("sentence_words").isdisjoint(words) and WORDS.set("about_secrets").isdisjoint(
        words
    )


def _is_mostly_random(value: str) -> bool:
    random = sum(
        len(run) for run in re.findall(r"[A-Za-z0-9]+", value) if looks_random(run, least=5)
    )
    return random * 5 >= len(value) * 3


@lru_cache(maxsize=4096)
def is_opaque(value: str, grade: int) -> bool:
    """Whether a value looks like a secret with only a cue nearby."""
    least, kinds = (12, 2) if grade == 2 else (16, 3)
    # A text with an assignment is no value.
    if "=" in value.rstrip("=") or len(value) < least:
        return False
    if sum(kind.search(value) is not None for kind in _KINDS) < kinds:
        return False
    if not looks_random(value, least=least - 2) or not _is_mostly_random(value):
        return False
    return not (is_hash(value) or is_made_up(value) or is_code(value) or is_harmless_shape(value))
