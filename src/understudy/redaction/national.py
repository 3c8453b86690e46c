"""Numbers that states give to people, known by the word before them, their shape or check digit."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from understudy.redaction.rule import Match, Rule, Span

Check = Callable[[str], bool]
_DNI_LETTERS: Final = "TRWAGMYFPDXBNJZSQVHLCKE"
_ODD_FISCAL: Final = (
    1,
    0,
    5,
    7,
    9,
    13,
    15,
    17,
    19,
    21,
    2,
    4,
    18,
    20,
    11,
    3,
    6,
    8,
    12,
    14,
    16,
    10,
    22,
    25,
    24,
    23,
)


def _digits(value: str) -> list[int]:
    return [int(character) for character in value if character.isdigit()]


def _weighted(value: str, weights: tuple[int, ...]) -> int:
    return sum(figure * weight for figure, weight in zip(_digits(value), weights, strict=False))


def _varied(value: str) -> bool:
    return len(set(_digits(value))) > 2


def _cpf(value: str) -> bool:
    digits = _digits(value)
    first = _weighted(value, tuple(range(10, 1, -1))) * 10 % 11 % 10
    second = _weighted(value, tuple(range(11, 1, -1))) * 10 % 11 % 10
    return len(set(digits)) > 1 and digits[9:] == [first, second]


def _dni(value: str) -> bool:
    plain = re.sub(r"[\W_]", "", value).upper()
    number = plain[:-1].translate(str.maketrans("XYZ", "012"))
    return _DNI_LETTERS[int(number) % 23] == plain[-1]


def _pesel(value: str) -> bool:
    return (10 - _weighted(value[:10], (1, 3, 7, 9) * 3) % 10) % 10 == int(value[-1])


def _fiscal(value: str) -> bool:
    """The check letter of an Italian tax code."""
    total = 0
    for index, character in enumerate(value[:15].upper()):
        place = int(character, 36) if character.isdigit() else ord(character) - 65
        total += place if index % 2 else _ODD_FISCAL[place]
    return chr(65 + total % 26) == value[15].upper()


def _nir(value: str) -> bool:
    plain = re.sub(r"\W", "", value).upper().replace("2A", "19").replace("2B", "18")
    return plain.isdigit() and 97 - int(plain[:13]) % 97 == int(plain[13:])


def _swiss(value: str) -> bool:
    digits = _digits(value)
    return (10 - _weighted(value[:-1], (1, 3) * 6) % 10) % 10 == digits[-1]


def _luhn(value: str) -> bool:
    from understudy.redaction.personal import luhn

    return _varied(value) and luhn("".join(map(str, _digits(value))))


def _bsn(value: str) -> bool:
    return _varied(value) and _weighted(value, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _tax_file(value: str) -> bool:
    return _varied(value) and _weighted(value, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def _steuer(value: str) -> bool:
    product = 10
    digits = _digits(value)
    for figure in digits[:10]:
        product = ((figure + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == digits[10]


def _national(
    rule_id: str, cue: str, number: str, check: Check, example: tuple[str, str, str]
) -> Rule:
    """A number of people; without a `cue` its shape and check digits say enough."""
    before = rf"(?:{cue})[^\n0-9]{{0,30}}?" if cue else ""
    word, begin, rest = example
    ends = "" if number.endswith(")") else r"\b"

    def pick(match: Match) -> Iterable[Span]:
        return (match.span("secret"),) if check(match["secret"]) else ()

    return Rule(
        id=rule_id,
        kind="national-id",
        trigger=rf"(?i)(?:{cue})" if cue else rf"\b{number}{ends}",
        pattern=rf"(?i){before}\b(?P<secret>{number}){ends}"
        if cue
        else rf"\b(?P<secret>{number}){ends}",
        pick=pick,
        matches=(f"{word} {begin}{rest}".strip(),),
        misses=(f"{word} is asked for in the form", f"{word} 00000"),
    )


NATIONAL: Final = (
    _national("nino", r"\bnino\b|national insurance|\bni (?:no|number)", r"[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]", _varied, ("NINO", "QQ1234", "56C")),
    _national("nino-spaced", "", r"[A-CEGHJ-PR-TW-Z]{2} [0-9]{2} [0-9]{2} [0-9]{2} [A-D]", _varied, ("", "AB 12 34", " 56 C")),
    _national("cpf", r"\bcpf\b", r"[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2}", _cpf, ("CPF", "123.456", ".789-09")),
    _national("cpf-dotted", "", r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", _cpf, ("", "123.456", ".789-09")),
    _national("dni", r"\bdni\b|\bnif\b|\bnie\b|documento nacional", r"[0-9XYZ][0-9]{7}[ -]?[A-Z]", _dni, ("DNI", "123456", "78Z")),
    _national("nric", r"\bnric\b|\bfin\b|\bic (?:no|number)", r"[STFGM][0-9]{7}[A-Z]", _varied, ("NRIC", "S1234", "567D")),
    _national("pesel", r"\bpesel\b", r"[0-9]{11}", _pesel, ("PESEL", "440514", "01359")),
    _national("codice-fiscale", "", r"[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]", _fiscal, ("", "RSSMRA85", "T10A562S")),
    _national("nir", r"\bnir\b|s[ée]curit[ée] sociale|n° s[ée]cu|num[ée]ro de s[ée]cu", r"[12] ?[0-9]{2} ?[0-9]{2} ?[0-9][0-9AB] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}", _nir, ("NIR", "1 84 12 76", " 451 089 46")),
    _national("nir-spaced", "", r"[12] [0-9]{2} [0-9]{2} [0-9][0-9AB] [0-9]{3} [0-9]{3} [0-9]{2}", _nir, ("", "1 84 12 76", " 451 089 46")),
    _national("rrn", "", r"[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])-[1-8][0-9]{6}", _varied, ("주민등록번호", "900101", "-1234567")),
    _national("ahv", "", r"756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}", _swiss, ("AHV", "756.9217", ".0769.85")),
    _national("sin", r"\bsin\b|social insurance", r"[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{3}", _luhn, ("SIN", "046 454", " 286")),
    _national("bsn", r"\bbsn\b|burgerservicenummer|sofinummer", r"[0-9]{9}", _bsn, ("BSN", "1112", "22333")),
    _national("tfn", r"\btfn\b|tax file n", r"[0-9]{3} ?[0-9]{3} ?[0-9]{3}", _tax_file, ("TFN", "123 456", " 782")),
    _national("steuer-id", r"steuer-?id|\bidnr\b|steueridentifikations|steuerliche identifikations", r"[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}", _steuer, ("Steuer-ID", "86 095", " 742 719")),
    _national("curp", "", r"[A-Z]{4}[0-9]{6}[HM][A-Z]{5}[A-Z0-9][0-9]", _varied, ("CURP", "GODE561231", "HDFRRN09")),
    _national("personnummer", r"personnummer|fødselsnummer|\bcpr\b|hetu\b|henkilötunnus", r"[0-9]{6,8}[-+A ]?[0-9]{3,5}[A-Z]?", _varied, ("personnummer", "811218", "-9876")),
    _national("hong-kong-id", "", r"[A-Z]{1,2}[0-9]{6}\([0-9A]\)", _varied, ("HKID", "A1234", "56(3)")),
    _national("taiwan-id", r"身分證|身份證|taiwan id|統一編號", r"[A-Z][1289][0-9]{8}", _varied, ("身分證", "A1234", "56789")),
    _national("indian-pan", r"\bpan\b|permanent account", r"[A-Z]{3}[ABCFGHJLPT][A-Z][0-9]{4}[A-Z]", _varied, ("PAN", "ABCPK1", "234L")),
    _national("my-number", r"マイナンバー|個人番号", r"[0-9]{4} ?[0-9]{4} ?[0-9]{4}", _varied, ("マイナンバー", "1234 5678", " 9018")),
    _national("resident-id-named", r"身份证|身份證|公民身份", r"[1-9][0-9]{16}[0-9Xx]|[1-9][0-9]{14}", _varied, ("身份证", "110105491", "231002")),
    _national("passport", r"passport(?: (?:no|number|nr|#)\.?)?|passeport|reisepass\w*|pasaporte|hộ chiếu|护照号?码?|パスポート\w*", r"[A-Z]{1,2}[0-9]{6,8}|[0-9]{9}|[0-9]{2}[A-Z]{2}[0-9]{5}", _varied, ("passport number", "X1234", "567")),
    _national("driving-licence", r"driv(?:er'?s?|ing) licen[cs]e(?: (?:no|number|#)\.?)?", r"[A-Z]{1,5}[0-9-]{6,15}[A-Z0-9]{0,5}", _varied, ("driving licence no.", "MORGA75", "3116SM9IJ")),
)  # fmt: skip
