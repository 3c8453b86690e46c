"""Personal data: e-mail addresses, and numbers that identify people, their cards and accounts."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from string import ascii_uppercase
from typing import Final

from understudy.patterns.linear import Span
from understudy.patterns.search import PatternMatch
from understudy.redaction.opaque import WORDS
from understudy.redaction.phones import is_phone

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
_GROUPS: Final = re.compile(r"[0-9]+")
_LONG_PARTS: Final = re.compile(r"\S{9,}")
# Digit groupings of card numbers.
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
# Doubled digits with their digit sums, for the Luhn check.
_DOUBLED: Final = str.maketrans("123456789", "246813579")
_FIGURES: Final = str.maketrans({letter: str(int(letter, 36)) for letter in ascii_uppercase})
_DNI_LETTERS: Final = "TRWAGMYFPDXBNJZSQVHLCKE"
# fmt: off
_ODD_FISCAL: Final = (
    1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
)
# fmt: on
_RESIDENT_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def email_address(match: PatternMatch) -> Iterable[Span]:
    """An e-mail address that is no file, package or shell login."""
    start, end = match.span("secret")
    text, value = match.string, match["secret"]
    top = value.rpartition(".")[2].lower()
    if (
        len(top) < 2
        or top in WORDS.set("no_domains")
        or _USER_INFO.search(text, max(0, start - 64), start)
    ):
        return ()
    if _SHELL.match(text, end) or value.lower().startswith("git@"):
        return ()
    return ((start, end),)


def luhn(digits: str) -> bool:
    """Whether the check digit of a card number is right."""
    return sum(map(int, digits[-1::-2] + digits[-2::-2].translate(_DOUBLED))) % 10 == 0


@lru_cache(maxsize=4096)
def is_card(value: str) -> bool:
    """Whether the digits are a card number: issuer prefix, length and check digit."""
    digits = "".join(_GROUPS.findall(value))
    if not 13 <= len(digits) <= _LONGEST_CARD or len(set(digits)) < 2 or not luhn(digits):
        return False
    return any(issuer.match(digits) and len(digits) in lengths for issuer, lengths in _CARD_LENGTHS)


@lru_cache(maxsize=4096)
def is_iban(value: str) -> bool:
    """Whether the check digits of an account number are right."""
    compact = "".join(filter(str.isalnum, value)).upper()
    return int((compact[4:] + compact[:4]).translate(_FIGURES)) % 97 == 1


def has_four_signs(value: str) -> bool:
    """Whether it has more than three different characters, so that it is no filler."""
    return len(set(value)) > 3


def is_ssn(value: str) -> bool:
    """Whether it is a possible social security number: none begins with 000, 666 or 9."""
    area, middle, serial = value.split("-")
    return area not in {"000", "666"} and area[0] != "9" and middle != "00" and serial != "0000"


def is_resident_id(value: str) -> bool:
    """Whether the check character of a Chinese resident number is right."""
    total = sum(int(a) * b for a, b in zip(value, _RESIDENT_WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == value[-1].upper()


def card_numbers(match: PatternMatch) -> Iterator[Span]:
    """Card numbers in a run of digits: all of it, or groups of card length."""
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
    """Whether digits are grouped as people do: by twos or more, or one by one."""
    return min(sizes[:-1], default=2) >= 2 or max(sizes) == 1


def _is_glued(text: str, start: int, end: int) -> bool:
    """Whether letters or digits continue it, so that it is only a part."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return bool(_LETTER_BEFORE.search(before) or _LETTER_AFTER.match(after))


def phone_numbers(match: PatternMatch) -> Iterator[Span]:
    """Telephone numbers in a run of digits: all of it, or one of its space-separated parts."""
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


def social_security_number(match: PatternMatch) -> Iterable[Span]:
    """A possible social security number that stands alone."""
    start, end = match.span("secret")
    if not is_ssn(match["secret"]) or _is_glued(match.string, start, end):
        return ()
    return ((start, end),)


def iban(match: PatternMatch) -> Iterable[Span]:
    """An IBAN, whose length follows from its country, as it may run into the next word."""
    start, end = match.span()
    wanted = WORDS.pairs("iban_lengths").get(match.string[start : start + 2].upper())
    number = _iban_shape(int(wanted)).match(match.string, start, end) if wanted else None
    return (number.span(),) if number and is_iban(number[0]) else ()


@cache
def _iban_shape(length: int) -> re.Pattern[str]:
    return re.compile(rf"(?:[ .-]?[A-Za-z0-9]){{{length}}}")


def _digits(value: str) -> list[int]:
    return [int(character) for character in value if character.isdigit()]


def _weighted(value: str, weights: tuple[int, ...]) -> int:
    return sum(figure * weight for figure, weight in zip(_digits(value), weights, strict=False))


def is_varied(value: str) -> bool:
    """Whether it has more than two different digits."""
    return len(set(_digits(value))) > 2


def is_cpf(value: str) -> bool:
    """Whether the check digits of a Brazilian taxpayer number are right."""
    digits = _digits(value)
    first = _weighted(value, tuple(range(10, 1, -1))) * 10 % 11 % 10
    second = _weighted(value, tuple(range(11, 1, -1))) * 10 % 11 % 10
    return len(set(digits)) > 1 and digits[9:] == [first, second]


def is_dni(value: str) -> bool:
    """Whether the check letter of a Spanish identity number is right."""
    plain = re.sub(r"[\W_]", "", value).upper()
    number = plain[:-1].translate(str.maketrans("XYZ", "012"))
    return _DNI_LETTERS[int(number) % 23] == plain[-1]


def is_pesel(value: str) -> bool:
    """Whether the check digit of a Polish identity number is right."""
    return (10 - _weighted(value[:10], (1, 3, 7, 9) * 3) % 10) % 10 == int(value[-1])


def is_codice_fiscale(value: str) -> bool:
    """Whether the check letter of an Italian tax code is right."""
    total = 0
    for index, character in enumerate(value[:15].upper()):
        place = int(character, 36) if character.isdigit() else ord(character) - 65
        total += place if index % 2 else _ODD_FISCAL[place]
    return chr(65 + total % 26) == value[15].upper()


def is_nir(value: str) -> bool:
    """Whether the check digits of a French social security number are right."""
    plain = re.sub(r"\W", "", value).upper().replace("2A", "19").replace("2B", "18")
    return plain.isdigit() and 97 - int(plain[:13]) % 97 == int(plain[13:])


def is_ahv(value: str) -> bool:
    """Whether the check digit of a Swiss social security number is right."""
    digits = _digits(value)
    return (10 - _weighted(value[:-1], (1, 3) * 6) % 10) % 10 == digits[-1]


def is_sin(value: str) -> bool:
    """Whether the check digit of a Canadian social insurance number is right."""
    return is_varied(value) and luhn("".join(map(str, _digits(value))))


def is_bsn(value: str) -> bool:
    """Whether the check digit of a Dutch citizen number is right."""
    return is_varied(value) and _weighted(value, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def is_tfn(value: str) -> bool:
    """Whether the check digit of an Australian tax file number is right."""
    return is_varied(value) and _weighted(value, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def is_steuer_id(value: str) -> bool:
    """Whether the check digit of a German tax number is right."""
    product = 10
    digits = _digits(value)
    for figure in digits[:10]:
        product = ((figure + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == digits[10]
