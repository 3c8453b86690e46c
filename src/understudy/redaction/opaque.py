"""Distinguishes a secret from a word, a number, a placeholder or code."""

import re
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from understudy.patterns.views import decode_base64
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.redaction")

_JOINTS: Final = re.compile(r"[\W_]+")
_NAME_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_PLACEHOLDER: Final = re.compile(
    r"\[[A-Za-z _-]{1,64}\]\Z|%\w?\Z|%[A-Z_]+%\Z|\*{3}|\.{3}|…|\\|x{4,}\W*\Z|X{4,}\W*\Z|@[A-Za-z_.]+@?\Z|<<|![A-Za-z]+\Z"
    r"|ENC\[|\$ANSIBLE",
    re.DOTALL,
)
_IN_BRACKETS: Final = re.compile(
    r"<[^<>]{0,256}>\Z|[$#@%]?(?:\{.*\}|\(.*\)s?)\W*\Z|[$#@%]?[({]+[\w.: -]*\Z|[$&](?:env:)?[A-Za-z0-9_]{1,128}\Z",
    re.DOTALL,
)
# A template name in braces.
_TEMPLATE: Final = re.compile(r"\{[a-z_][a-z_.]{2,40}\}")
_CALL: Final = re.compile(
    r"[-+!*&~]?[A-Za-z_]\w*(?:\.\w+)+\(.*\)?|[-+!*&~]?[a-z]\w*\([\w., ]*\)?", re.DOTALL
)
_REGEX: Final = re.compile(r"\^.*[\[(\\{].*\$", re.DOTALL)
_RANGES: Final = re.compile(r"\[\^?(?:a-z|A-Z|0-9|\\[wd])[^\]]{0,20}\][*+?{)]")
_NAMES: Final = r"[A-Za-z_$][\w$]{0,64}(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]{0,64})"
# A call, a subscript or a dotted path: code that refers to a secret.
_CODE: Final = re.compile(
    rf"{_NAMES}{{0,8}}(?:\(|\[[\"'A-Za-z0-9])[\w$.:>?()\[\],\"'*&! -]*\Z"
    r"|[a-z_$][a-zA-Z_$]{0,64}(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]{0,64}){1,8};?\Z"
    r"|[A-Z][A-Z_]{2,64}\Z|\(\?[:=!<Pi]|(?:function|lambda|new|await|return|self)\b[ .({]"
    r"|\^.*(?:\[\^?[A-Za-z0-9]-|\\[dwsb]|\{\d+,?\d*\}|\$\Z)"
)
# Within quotes, code only if it is complete.
_QUOTED_CODE: Final = re.compile(
    rf"{_NAMES}{{0,8}}(?:\(.*\)|\[.*\])[;.]?|[a-z_$][a-zA-Z_$]{{0,64}}(?:(?:\.|::|->)[A-Za-z_$][a-zA-Z_$]{{0,64}}){{1,8}};?"
    r"|[A-Z][A-Z_]{2,64}|\(\?[:=!<Pi].*|\^.*\$"
)
_HARMLESS_SHAPES: Final = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|(?:sha(?:1|224|256|384|512)|md5|blake\w+)[-:][A-Za-z0-9+/=]+"
    r"|[vV]?\d{1,4}(?:[._-]\d{1,4}){1,4}(?:[-+.][\w.+-]{0,30})?"
    r"|\d{4}-?\d\d-?\d\d(?:[T_ -]?\d\d:?\d\d(?::?\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|[A-Za-z][A-Za-z0-9+.-]*://\S*|(?:\.{0,2}/|~/|[A-Za-z]:\\)[\w.@/\\ -]*"
    r"|[\w./@-]+\.(?:py|js|ts|tsx|jsx|go|rs|rb|java|c|h|cpp|md|txt|json|ya?ml|toml|ini|env|pem|key|crt|"
    r"log|html?|css|png|jpe?g|gif|svg|pdf|zip|gz|tgz|whl|lock|xml|csv|sql|sh|conf|cfg|db|bin|so|exe)"
    r"|#[0-9a-fA-F]{3,8}|0x[0-9a-fA-F]{1,16}|[+-]?[\d.,]+[%A-Za-z]{0,3}|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|internal|local|example)(?:[:/]\S*)?"
)
_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_HASH_LENGTHS: Final = frozenset({7, 8, 12, 16, 32, 40, 56, 64, 96, 128})
_RUNS: Final = re.compile(r"[A-Za-z0-9]+")
_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_KIND_RUNS: Final = re.compile(r"[a-z]+|[A-Z]+|\d+|[^a-zA-Z\d]+")
_KINDS: Final = tuple(re.compile(kind) for kind in ("[a-z]", "[A-Z]", r"\d", ""))
_FIGURE: Final = 2
_BLANK: Final = re.compile(r"\s")
# A word or camel case with small numbers, or a short number.
_NAME_RUN: Final = re.compile(
    r"[A-Za-z]{1,15}|(?=.{1,15}\Z)[A-Za-z]+\d{1,2}|[A-Za-z][a-z]+\d{0,2}(?:[A-Z][a-z]+\d{0,2})+|\d{1,4}"
)
_VOWELS: Final = frozenset("aeiouyAEIOUY")


def name_words(name: str) -> list[str]:
    """The words of a name, lower-cased: `dbPassword_2` is db, password, 2."""
    return [word.lower() for word in _NAME_WORDS.findall(name)]


def is_sensitive_key(key: str) -> bool:
    """Whether the value under this name is a secret, by the ending of the name."""
    grade = key_grade(key)
    return grade == 2 or (grade == 1 and "".join(name_words(key)).endswith(WORDS("holders")))


@cache
def endings(table: str) -> tuple[str, ...]:
    """The endings of names in a table of the word lists, joined."""
    return tuple(ending.replace(" ", "") for ending in WORDS(f"{table}_endings"))


@lru_cache(maxsize=4096)
def key_grade(key: str) -> int:
    """2 if a value under this name is a secret, 1 if it may be, 0 if not."""
    parts = name_words(key[-128:])
    while len(parts) > 1 and (parts[-1] in WORDS.set("suffixes") or parts[-1].isdigit()):
        parts.pop()
    compact = "".join(parts)
    sensitive = endings("sensitive")
    if not compact.endswith(sensitive) or compact.endswith(endings("harmless")):
        return 0
    is_spelled = any(compact.endswith(one) and len(one) > len(parts[-1]) for one in sensitive)
    if not is_spelled and _is_longer_word(parts[-1]):
        return 0
    return 1 if compact.endswith(endings("faint")) else 2


@cache
def _is_longer_word(word: str) -> bool:
    """Whether the last word merely ends like the name of a secret, as `compass` does."""
    known = {ending.split()[-1] for ending in WORDS("sensitive_endings")} | {"key"}
    if word in known:
        return False
    tails = [ending for ending in endings("sensitive") if word.endswith(ending) and len(ending) > 4]
    return not tails


@lru_cache(maxsize=4096)
def is_password_key(key: str) -> bool:
    """Whether it is the name of a password, which may be short and made of words."""
    parts = name_words(key[-128:])
    while len(parts) > 1 and (parts[-1] in WORDS.set("suffixes") or parts[-1].isdigit()):
        parts.pop()
    return parts[-1:] == ["pw"] or "".join(parts).endswith((*endings("password"), "pass"))


@lru_cache(maxsize=4096)
def is_placeholder(value: str) -> bool:
    """Whether this is a placeholder for a secret: `${TOKEN}`, `<key>`, `xxxx`, `None`."""
    plain = value.strip().rstrip(".,;:").lower()
    if not plain or plain in WORDS.set("placeholders"):
        return True
    if _PLACEHOLDER.match(value.strip()) is not None:
        return True
    if _TEMPLATE.search(value) and not looks_random(_TEMPLATE.sub("", value)):
        return True
    if _IN_BRACKETS.match(value.strip()) is not None:
        # Brackets around a random value are part of it.
        return not (looks_random(value, least=10) or is_jumble(value))
    if len(plain) >= 4 and len(set(plain)) == 1:
        return True
    return len(set(plain)) <= 3 and len(plain) >= 12 and "x" in plain


@lru_cache(maxsize=4096)
def is_made_up(value: str) -> bool:
    """Whether words in the value mark it as an example, as in `YOUR_TOKEN_HERE`."""
    plain = value.lower()
    if is_placeholder(value):
        return True
    # In a long random value such a word occurs by chance.
    return any(word in plain for word in WORDS("placeholder_words")) and not (
        len(value) >= 20 and looks_random(value, least=16)
    )


@lru_cache(maxsize=4096)
def is_code(value: str) -> bool:
    """Whether the value is an expression that refers to the secret."""
    if _is_plain_code(value):
        return True
    return _CODE.match(value) is not None and not (looks_random(value, least=6) or is_jumble(value))


@lru_cache(maxsize=4096)
def is_quoted_code(value: str) -> bool:
    """Whether quoted text is entirely code."""
    if _is_plain_code(value) and (value[-1] in ")$" or _RANGES.search(value)):
        return True
    return _QUOTED_CODE.fullmatch(value) is not None and not (
        looks_random(value, least=8) or is_jumble(value)
    )


def _is_plain_code(value: str) -> bool:
    """Whether it is a call by a name of words, or a regular expression."""
    if _REGEX.fullmatch(value) or _RANGES.search(value):
        return True
    call = _CALL.fullmatch(value)
    return call is not None and _word_share("".join(filter(str.isalpha, value))) > 0.7


@lru_cache(maxsize=4096)
def is_jumble(value: str) -> bool:
    """Whether case, digits and signs alternate too often for written text."""
    if len(value) < 8:
        return False
    runs = _KIND_RUNS.findall(value)
    if len(runs) * 2 <= len(value):
        return False
    kinds = {next(at for at, kind in enumerate(_KINDS) if kind.match(run)) for run in runs}
    return _FIGURE in kinds and len(kinds) >= 3 and _BLANK.search(value) is None


@lru_cache(maxsize=4096)
def is_harmless_shape(value: str) -> bool:
    """Whether it is a UUID, a version, a date, an address, a path or another public format."""
    return _HARMLESS_SHAPES.fullmatch(value) is not None


def is_hash(value: str) -> bool:
    """Whether it has the shape of a digest or of a shortened one."""
    return len(value) in _HASH_LENGTHS and _HEX.fullmatch(value) is not None


@lru_cache(maxsize=4096)
def looks_random(value: str, *, least: int = 8) -> bool:
    """Whether at least `least` characters of it are no words, names or plain numbers."""
    found = 0
    for run in _RUNS.findall(value):
        if _is_random_run(run):
            found += len(run)
    return found >= least


def _is_random_run(run: str) -> bool:
    if len(run) < 5 or run.isdigit():
        return False
    parts = _PARTS.findall(run)
    if run.isalpha():
        return _is_random_letters(run, parts)
    digits = sum(part.isdigit() for part in parts)
    if digits == 1 and (run[-1].isdigit() or run[0].isdigit()):
        stem = run.strip("0123456789")
        figures = len(run) - len(stem)
        return (figures > 4 and len(stem) < 12) or _is_random_letters(stem, _PARTS.findall(stem))
    if digits >= 3 or len(run) / len(parts) <= (
        3.5 if digits == 2 else 3 if len(run) >= 16 else 2.5
    ):
        return True
    return len(run) >= 10 and _word_share("".join(filter(str.isalpha, run))) < 0.65


def _is_random_letters(run: str, parts: list[str]) -> bool:
    if len(run) < 6:
        return False
    if len(parts) == 1:
        return len(run) >= 8 and (not _VOWELS & set(run) or _word_share(run) < 0.5)
    if len(run) / len(parts) < 3:
        return True
    return len(run) >= 8 and len(parts) >= 3 and _word_share(run) < 0.68


def _word_share(letters: str) -> float:
    """The share of its letter pairs that are common in words."""
    plain = letters.lower()
    common = WORDS.set("letter_pairs")
    pairs = [first + second in common for first, second in pairwise(plain)]
    return sum(pairs) / len(pairs) if pairs else 1.0


@lru_cache(maxsize=4096)
def is_opaque_enough(value: str, *, least: int = 12) -> bool:
    """Whether enough of it is neither a word nor a short number, example or not."""
    if is_placeholder(value):
        return False
    return sum(len(run) for run in _RUNS.findall(value) if not _is_name(run)) >= least


def _is_name(run: str) -> bool:
    letters = "".join(filter(str.isalpha, run))
    return _NAME_RUN.fullmatch(run) is not None and _word_share(letters) >= 0.75


def is_basic_pair(value: str) -> bool:
    """Whether it is a user and a password in Base64, as in basic authentication."""
    pair = decode_base64(value)
    if pair is None:
        return False
    try:
        plain = pair.decode()
    except UnicodeDecodeError:
        return False
    return ":" in plain and plain.isprintable()


def is_value(value: str) -> bool:
    """Whether it is a real value: no placeholder, example or code."""
    return not (is_placeholder(value) or is_made_up(value) or is_code(value))


def is_random_value(value: str) -> bool:
    """Whether it is a real value that looks random."""
    return is_value(value) and looks_random(value, least=6)
