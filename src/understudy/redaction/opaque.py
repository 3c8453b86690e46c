"""Tells a secret from what only stands where one could be: a word, a number, a placeholder."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Final

Check = Callable[[re.Match[str]], bool]

# How the names of secrets end, whatever the case and whatever joins the words.
SENSITIVE_ENDINGS: Final = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "api key", "private key",
    "secret key", "access key", "account key", "signing key", "encryption key",
    "subscription key", "secret key base", "credential", "credentials", "authorization", "cookie",
)  # fmt: skip
_COMPACT_ENDINGS: Final = tuple(ending.replace(" ", "") for ending in SENSITIVE_ENDINGS)
PASSWORD_ENDINGS: Final = ("password", "passwd", "passphrase", "pwd")
# Cursors of a listing are called tokens but open nothing.
HARMLESS_ENDINGS: Final = ("pagetoken", "nexttoken", "continuationtoken", "cancellationtoken")
# Sensitive in the query of a URL, too common a word elsewhere.
QUERY_KEYS: Final = frozenset(
    {"key", "sig", "signature", "code", "xamzsignature", "xamzcredential"}
)
# What people write where a secret would stand.
PLACEHOLDER_WORDS: Final = frozenset(
    {
        "none", "null", "nil", "true", "false", "undefined", "string", "str", "bytes", "int",
        "bool", "any", "required", "optional", "empty", "missing", "invalid", "hidden", "masked",
        "redacted", "password", "passwd", "secret", "token", "value", "example", "changeme",
    }
)  # fmt: skip
_JOINTS: Final = re.compile(r"[\W_]")
_DIGIT: Final = re.compile(r"\d")
_LETTER: Final = re.compile(r"[^\W\d_]")
_BEYOND_WORDS: Final = re.compile(r"[^\w.-]|\d")
_PLACEHOLDER: Final = re.compile(
    r"<[^<>]{0,256}+>$|\[[A-Za-z ]{1,64}+\]$|\$[A-Za-z0-9_]{1,128}+$|\$?[({]|%[({]|%s$"
    r"|\*{3}|\.{3}|(?i:your)[-_ ]"
)


def is_sensitive_key(key: str) -> bool:
    """Whether the value under this name is a secret, judged by how the name ends."""
    compact = _compact(key)
    return compact.endswith(_COMPACT_ENDINGS) and not compact.endswith(HARMLESS_ENDINGS)


def _compact(key: str) -> str:
    return _JOINTS.sub("", key.lower())


def is_placeholder(value: str) -> bool:
    """Whether this only stands where a secret would be: `${TOKEN}`, `<key>`, `xxxx`, `None`."""
    plain = value.strip().rstrip(".,;:")
    return (
        plain.lower() in PLACEHOLDER_WORDS
        or (len(plain) >= 4 and len(set(plain.lower())) == 1)
        or _PLACEHOLDER.match(plain) is not None
    )


def is_real_token(match: re.Match[str]) -> bool:
    return not is_placeholder(match["body"])


def is_real_secret(match: re.Match[str]) -> bool:
    return not is_placeholder(match["secret"])


def is_opaque_bearer(match: re.Match[str]) -> bool:
    """Prose says "bearer tokens" and "the bearer of": a credential has more than letters."""
    value = match["secret"].rstrip(".")
    return not value.isalpha() or (len(value) >= 16 and not value.islower())


def is_basic_pair(match: re.Match[str]) -> bool:
    value = match["secret"].rstrip("=")
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4))
    except binascii.Error:
        return False


def is_secret_query(match: re.Match[str]) -> bool:
    key = match["key"]
    return (is_sensitive_key(key) or _compact(key) in QUERY_KEYS) and is_real_secret(match)


def is_opaque_assignment(match: re.Match[str]) -> bool:
    """Whether a bare value is a secret rather than a word, a number, a type or a call."""
    key, value = match["key"], match["secret"].rstrip(".")
    if not is_sensitive_key(key) or is_placeholder(value) or "(" in value or "[" in value:
        return False
    if _compact(key).endswith(PASSWORD_ENDINGS):
        return len(value) >= 4 and _BEYOND_WORDS.search(value) is not None
    return len(value) >= 8 and bool(_DIGIT.search(value) and _LETTER.search(value))


def is_quoted_secret(match: re.Match[str]) -> bool:
    key, value = match["key"], match["secret"]
    if not is_sensitive_key(key) or is_placeholder(value):
        return False
    if _compact(key).endswith(PASSWORD_ENDINGS):
        return len(value) >= 4
    return len(value) >= 8 and " " not in value and _DIGIT.search(value) is not None
