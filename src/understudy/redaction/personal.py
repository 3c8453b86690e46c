"""Personal data: e-mail addresses, and numbers that identify people, their cards and accounts."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from string import ascii_uppercase
from typing import Final

from understudy.redaction.phones import is_phone
from understudy.redaction.rule import Match, Rule, Span, group_if, whole

# What ends a name with an @ in it that is a file, a package or a product of matrices.
_NO_DOMAIN: Final = frozenset(
    {
        "png", "jpg", "jpeg", "gif", "svg", "webp", "css", "scss", "less", "html", "htm", "json", "yaml", "yml", "toml",
        "txt", "tsx", "jsx", "mjs", "cjs", "tgz", "tar", "gz", "zip", "whl", "lock", "map", "shape", "dot",
        "conj", "transpose", "get", "post", "put", "patch", "delete", "route", "setter", "getter", "property",
        "service", "timer", "socket", "log", "conf", "ini", "cfg", "bak", "exe", "dll", "pdf", "xml", "csv", "sql",
    }
)  # fmt: skip
_USER_INFO: Final = re.compile(r"://[^\s/@]*\Z")
_SHELL: Final = re.compile(r":(?:~|/|[\w.-]*/|\d+[/$])|[\w.-]*[:~]?[~/][^\s]*\$")
_CARD_LENGTHS: Final = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"30[0-5]|3095|36|3[89]"), (14, 16)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 17, 18, 19)),
    (re.compile(r"6011|64[4-9]|65"), (16, 19)),
    (re.compile(r"62|81"), (16, 17, 18, 19)),
    (re.compile(r"220[0-4]|9792|60|508|606"), (16, 19)),
    (re.compile(r"50|5[6-9]|6[1-9]"), (16, 18, 19)),
)
_IBAN_LENGTHS: Final = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29,
    "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29,
    "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28,
    "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20,
    "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19,
    "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29,
    "RO": 24, "RS": 22, "SA": 24, "SC": 31, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "TN": 24, "TR": 26,
    "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip
_GROUPS: Final = re.compile(r"[0-9]+")
_LONG_PARTS: Final = re.compile(r"\S{9,}")
# How the figures of a card are grouped.
_CARD_GROUPS: Final = frozenset(
    {
        (13,), (14,), (15,), (16,), (17,), (18,), (19,), (4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3),
        (6, 4, 4, 4),
    }
)  # fmt: skip
_LONGEST_CARD: Final = 19
_CARD_COUNTS: Final = sorted(set(map(len, _CARD_GROUPS)))
_LETTER_BEFORE: Final = re.compile(r"(?<!%)[0-9A-Za-z_]\Z|[0-9A-Za-z_][.\-/+]\Z")
_LETTER_AFTER: Final = re.compile(r"[A-Za-z0-9_]|[.\-/+][0-9]|-[A-Za-z]")
# Twice a figure, the digits of that added up.
_DOUBLED: Final = str.maketrans("123456789", "246813579")
_FIGURES: Final = str.maketrans({letter: str(int(letter, 36)) for letter in ascii_uppercase})
_RESIDENT_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def _e_mail(match: Match) -> Iterable[Span]:
    start, end = match.span("secret")
    text, value = match.string, match["secret"]
    top = value.rpartition(".")[2].lower()
    if len(top) < 2 or top in _NO_DOMAIN or _USER_INFO.search(text, max(0, start - 64), start):
        return ()
    if _SHELL.match(text, end) or value.lower().startswith("git@"):
        return ()
    return ((start, end),)


def luhn(digits: str) -> bool:
    """Whether the check digit of a card number is right."""
    return sum(map(int, digits[-1::-2] + digits[-2::-2].translate(_DOUBLED))) % 10 == 0


@lru_cache(maxsize=4096)
def is_card(value: str) -> bool:
    """Whether the figures are a card number: an issuer's beginning, its length, its check digit."""
    digits = "".join(_GROUPS.findall(value))
    if not 13 <= len(digits) <= _LONGEST_CARD or len(set(digits)) < 2 or not luhn(digits):
        return False
    return any(issuer.match(digits) and len(digits) in lengths for issuer, lengths in _CARD_LENGTHS)


@lru_cache(maxsize=4096)
def is_iban(value: str) -> bool:
    """Whether the check digits of an account number are right."""
    compact = "".join(filter(str.isalnum, value)).upper()
    return int((compact[4:] + compact[:4]).translate(_FIGURES)) % 97 == 1


def is_ssn(value: str) -> bool:
    """Whether it could be a social security number: none begins with 000, 666 or 9."""
    area, middle, serial = value.split("-")
    return area not in {"000", "666"} and area[0] != "9" and middle != "00" and serial != "0000"


def is_resident_id(value: str) -> bool:
    """Whether the check character of a Chinese resident number is right."""
    total = sum(int(a) * b for a, b in zip(value, _RESIDENT_WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == value[-1].upper()


def _cards(match: Match) -> Iterator[Span]:
    """Card numbers in a run of figures: all of it, else groups of it that stand as cards do."""
    start, end = match.span()
    groups = [found.span() for found in _GROUPS.finditer(match.string, start, end)]
    sizes = [high - low for low, high in groups]
    if sum(sizes) <= _LONGEST_CARD and _is_even(sizes) and is_card(match.string[start:end]):
        if not _is_glued(match.string, start, end):
            yield start, end
        return
    taken = 0
    for first, (low, _) in enumerate(groups):
        for count in _CARD_COUNTS:
            if low < taken or tuple(sizes[first : first + count]) not in _CARD_GROUPS:
                continue
            _, high = groups[first : first + count][-1]
            if is_card(match.string[low:high]) and not _is_glued(match.string, low, high):
                yield low, high
                taken = high


def _is_even(sizes: list[int]) -> bool:
    """Whether figures are grouped as people do: by twos or more, or one by one."""
    return min(sizes[:-1], default=2) >= 2 or max(sizes) == 1


def _is_glued(text: str, start: int, end: int) -> bool:
    """Whether it goes on in letters or figures, so that this is only a part of something."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return bool(_LETTER_BEFORE.search(before) or _LETTER_AFTER.match(after))


def _numbers(match: Match) -> Iterator[Span]:
    """Telephone numbers in a run of figures: all of it, else one of its blank-separated parts."""
    text = match.string
    start, end = match.span()
    if text[start] in " (" and text[start:end].count("(") != text[start:end].count(")"):
        return
    if is_phone(text, start, end):
        yield start, end
        return
    for part in _LONG_PARTS.finditer(text, start, end):
        if part.span() != (start, end) and is_phone(text, *part.span()):
            yield part.span()


def _checked_ssn(match: Match) -> Iterable[Span]:
    start, end = match.span("secret")
    if not is_ssn(match["secret"]) or _is_glued(match.string, start, end):
        return ()
    return ((start, end),)


def _longest_iban(match: Match) -> Iterable[Span]:
    """The number may run into the next word; its country says how long it is."""
    start, end = match.span()
    wanted = _IBAN_LENGTHS.get(match.string[start : start + 2].upper())
    number = _iban_shape(wanted).match(match.string, start, end) if wanted else None
    return (number.span(),) if number and is_iban(number[0]) else ()


@cache
def _iban_shape(length: int) -> re.Pattern[str]:
    return re.compile(rf"(?:[ .-]?[A-Za-z0-9]){{{length}}}")


PERSONAL: Final = (
    Rule(
        id="e-mail",
        kind="email",
        trigger=r"[\pL\pN._+-]@[\pL\pN\[-]",
        pattern=r"(?P<secret>[\pL\pN_][\pL\pN._+-]*@(?:(?:(?:[\pL\pN-]+\.)+\pL+|[A-Za-z0-9-]+。(?:com|net|org|cn))\b"
        r"|(?:[\pL\pN-]+\.)+(?:рф|укр|бел|\x{441}\x{440}\x{431}|қаз|中国|中國|公司|网络|台灣|香港|한국|भारत|ไทย|みんな)|\[[0-9.]{7,15}\]))",
        pick=_e_mail,
        matches=("write to alice@example.test", "mailto:bob@example.test", "email=a.b+c@d.example.test,"),
        misses=(
            "git@host.test:acme/app.git", "react@18.3.1", "user@host:~$ ls", "A@B.T", "logo@2x.png",
            "scp a.txt bob@files.example.test:/tmp/",
        ),
    ),
    Rule(
        id="e-mail-apart",
        kind="email",
        trigger=r" @ |\" ?@",
        pattern=r"(?i)(?:\b[a-z0-9][a-z0-9._+-]{2,63} @ |\"[a-z0-9][^\"\s@]{0,62}\"@)[a-z0-9][a-z0-9-]{1,62}(?:\.[a-z0-9-]{2,63}){0,3}\.(?:com|org|net|edu|gov|io|co|info|de|fr|es|it|nl|uk|us|ca|au|br|ru|cn|jp|kr|vn|in|test|example)\b",
        pick=whole,
        matches=("alice @ example.com", '"alice"@example.com'),
        misses=("x = a @ b.T", "matrix @ vector.shape", '"@types/node"'),
    ),
    Rule(
        id="e-mail-disguised",
        kind="email",
        trigger=r"(?i)[\[({] ?at ?[\])}]",
        pattern=r"(?i)\b[a-z0-9._%+-]{1,64} ?[\[({] ?at ?[\])}] ?[a-z0-9-]{1,63}(?: ?(?:\.|[\[({] ?dot ?[\])}]) ?[a-z0-9-]{2,63}){1,4}\b",
        pick=whole,
        matches=("alice [at] example [dot] test", "bob(at)example.test"),
        misses=("look (at) this", "meet at noon dot com"),
    ),
    Rule(
        id="ssn",
        kind="ssn",
        trigger=r"[0-9]{3}-[0-9]{2}-[0-9]{4}",
        pattern=r"(?P<secret>\b[0-9]{3}-[0-9]{2}-[0-9]{4})\b",
        pick=_checked_ssn,
        matches=("123-45-" + "6789",),
        misses=("000-12-3456", "123-45-67890", "2026-12-3456", "9123-45-6789"),
    ),
    Rule(
        id="ssn-named",
        kind="ssn",
        trigger=r"(?i)\bssn|social.security|an sinh|社会安全|社保|\bsin\b|\bitin\b",
        pattern=r"(?i)(?:\bssn\b|social[ _-]?security|an sinh|社会安全|社保|\bitin\b)[^\n0-9]{0,40}(?P<secret>[0-9]{3}[-. ]?[0-9]{2}[-. ]?[0-9]{4})\b",
        pick=group_if(lambda value: len(set(value)) > 3),
        matches=("social security number 045 78 " + "7436", "ssn=" + "045787436"),
        misses=("SSN field must be optional in the form.", "ssn: 000000000"),
    ),
    Rule(
        id="resident-id",
        kind="national-id",
        trigger=r"[1-9][0-9]{16}[0-9Xx]",
        pattern=r"(?:^|[^0-9A-Za-z_.])(?P<secret>[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx])\b",
        pick=group_if(is_resident_id),
        matches=("身份证 11010519491231002" + "X",),
        misses=("id 110105194912310021",),
    ),
    Rule(
        id="citizen-id",
        kind="national-id",
        trigger=r"(?i)cccd|cmnd|căn cước|chứng minh|aadhaar|passport|hộ chiếu|护照|nhân dân",
        pattern=r"(?i)(?:\bcccd\b|\bcmnd\b|căn cước(?: công dân)?|chứng minh (?:nhân dân|thư)|\baadhaar\b)[^\n0-9]{0,30}(?P<secret>[0-9]{12}|[0-9]{9}|[0-9]{4} [0-9]{4} [0-9]{4})\b",
        pick=group_if(lambda value: len(set(value)) > 3),
        matches=("CCCD: 0790930" + "12345",),
        misses=("CCCD phải có 12 số",),
    ),
    Rule(
        id="iban",
        kind="iban",
        trigger=r"\b[A-Za-z]{2} ?[0-9]{2}(?:[ .-]?[A-Za-z0-9]{4}){2}",
        pattern=r"\b[A-Za-z]{2} ?[0-9]{2}(?:[ .-]?[A-Za-z0-9]{4}){2,7}(?:[ .-]?[A-Za-z0-9]{1,3})?\b",
        pick=_longest_iban,
        matches=("DE89 3704 0044 0532 0130 " + "00", "GB82WEST1234569876" + "5432"),
        misses=("DE89 3704 0044 0532 0130 01", "AB12 3456 7890 1234"),
    ),
    Rule(
        id="card",
        kind="card",
        trigger=r"(?:[0-9][ .\-/+_·•]{0,3}){12}[0-9]",
        pattern=r"[0-9](?:[ .\-/+_·•]{0,3}[0-9]){12,}",
        pick=_cards,
        matches=("4111-1111-1111-" + "1111", "4242 4242 4242 " + "4242", "card=4242424242424" + "242;"),
        misses=("4242424242424241", "4242 4242 4242 4241", "1767225600123456789"),
    ),
    Rule(
        id="card-grouped",
        kind="card",
        trigger=r"[0-9]{4}[^0-9A-Za-z]{1,3}[0-9]{4}[^0-9A-Za-z]{1,3}[0-9]{4}",
        pattern=r"(?i)(?:\b(?:card|visa|mastercard|amex|credit|debit|pan|cc|carte|karte|tarjeta|thẻ)\b|卡)[^\n0-9]{0,24}(?P<secret>[0-9]{4}(?:[^0-9A-Za-z]{1,3}[0-9]{4}){3})\b",
        pick=group_if(is_card),
        matches=("card 4111,1111,1111," + "1111", "card 4111|1111|1111|" + "1111"),
        misses=("card 4111,1111,1111,1112", "rows 4111,1111,1111,1111"),
    ),
    Rule(
        id="phone",
        kind="phone",
        trigger=r"(?:[0-9][ ().\-/]{0,3}){6}[0-9]",
        pattern=r"(?:\+[ (]{0,2}|\()?[0-9][0-9 ().\-/]{5,24}[0-9]",
        pick=_numbers,
        matches=(
            "555-123-" + "4567", "(415) 555-" + "2671", "+1 415 555 " + "2671", "+33612345" + "678",
            "SĐT: 0912 345 " + "678", "手机号 13800138" + "000", "Tel.: 01 99 00 56 " + "78",
        ),
        misses=(
            "2026-06-30 12:00", "192.168.10.100", "build 2026.06.30.01", "4242 4242 4242 4241",
            "v415.555.0132", "1,234,567,890 rows", "10.762622, 106.660172", "port 5432-5440",
        ),
    ),
)  # fmt: skip
