"""Words about secrets: they say how one is kept, made or used, and are none."""

import re
from typing import Final

from understudy.redaction.opaque import is_harmless_shape, is_value

# How the keys of well-known services begin.
VENDOR_PREFIX: Final = (
    r"(?:sk|pk|rk|gh[pousr]|github_pat|glpat|xox[a-z]|hf|npm|pypi|whsec|shpat|dop_v1|gsk|xai)"
)
_WORDS: Final = frozenset(
    """
    rotate rotates rotation weekly daily monthly quarterly yearly annually never always expire expires expiry
    require optional mandatory policy strong weak secure unsafe safe unique random long short length minimum maximum
    characters letters digits symbols words entropy complexity bcrypt scrypt argon2 argon2id pbkdf2 hash hashes salt
    vault keychain keyring bitwarden keepass lastpass doppler infisical kubernetes environment variable config file
    header headers cookie session bearer basic digest opaque oauth oauth2 openid saml ldap kerberos passkey webauthn
    ask contact support team admin owner platform security everyone nobody anyone someone self manual automatic
    manually automatically default custom enabled disabled allow allows deny denies forbid forbids prohibit ban
    public private internal external global local shared single multiple several same other none nothing unknown
    production staging development testing sandbox absent present missing unset server client browser mobile
    people person human employee customer service account per-user per-tenant read-only write-only short-lived
    long-lived one-time single-use case-sensitive server-side client-side true false later before after during
    """.split()  # noqa: SIM905
)
# How words end that say what something is like, or what is done with it.
_ENDINGS: Final = re.compile(
    r"[a-z-]{2,12}(?:ed|ing|able|ible|ory|ary|ive|less|ful|ly|al|ent|ant|ous|ic|ion|ment|ness|ity|oire|aire|ique)"
)
# Nobody joins words to one so long.
_LONGEST: Final = 14


def is_about_secrets(word: str) -> bool:
    """Whether a word says something of a secret rather than being one."""
    plain = word.lower()
    return plain in _WORDS or (len(plain) <= _LONGEST and _ENDINGS.fullmatch(plain) is not None)


# What is known by a name with figures in it.
_KNOWN: Final = re.compile(
    r"(?i)(?:oauth|argon|ed|sha|md|aes|rsa|hs|rs|es|ps|ec|utf|base|pbkdf|x|tls|ssl|v|http|s|k|p|web|auth|rfc)[-_/]?\d+\w{0,3}"
    r"|\d?[a-z]+\d{0,2}password"
)


def may_be_secret(value: str) -> bool:
    """Whether something real stands there that has no well-known name or public shape."""
    return is_value(value) and not is_harmless_shape(value) and not _KNOWN.fullmatch(value)
