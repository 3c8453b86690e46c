"""Telephone numbers: patterns find the candidates, `phonenumbers` validates them.

A date, an IP address, a version or an order number can look the same, so the words before a number
count: cues for a telephone, and cues for something else.
"""

import re
from functools import cache, lru_cache
from typing import Final

# Matched in lower case, which is much faster than ignoring case.
_CUES: Final = re.compile(
    r"(?:(?:\b|_)(?:tel(?:e(?:phone|fon[eo]?|foon|fax))?|phone|mobile?|mobil|cell(?:ulare?)?|call(?:ed|ing)?|fax|sms|text(?:ed)?|whatsapp|viber"
    r"|zalo|wechat|hotline|ring|dial|handy|contact|reach|number|msisdn|fon|móvil|celular|portable|gsm|kontakt|rufnummer|pager|gọi|sđt|sdt|đt|dđ|dt|"
    r"liên hệ|điện thoại|di động|số máy|téléphone|teléfono|telefono|телефон|тел|тел\.|номер|handynummer|emergency|helpline|voicemail)(?![A-Za-z])"
    r"|电话|電話|手机|手機|联系|聯絡|号码|號碼|热线|座机|拨打|致电|传真|携帯|전화|휴대폰|연락처|☎|📞|📱)[^0-9\n]{0,24}(?:\n[ \t]{0,8})?\Z"
)
_OTHER_CUES: Final = re.compile(
    r"(?:\b(?:v|ver|version|build|firmware|release|revision|rev|package|driver|kernel|ip|port|isbn|issn|ean|upc|gtin|imei|serial|order|invoice|ticket"
    r"|sku|part|model|ref|reference|case|id|ids|uid|no|row|rows|account|acct|tracking|epoch|ts|timestamp|doi|rfc|iso|range|pages?|coords?|lat|lon|lng"
    r"|size|offset|bytes|price|total|sum|amount|balance|phiên bản|mã đơn|đơn hàng|hóa đơn|mã số|tổng|commit|section|chapter|routing|bản|matrix|x)\b"
    r"|版本|订单|编号|编码|金额|总计|单号|价格|数据|序列号|账号|账户)[ \t:=#.,\"'(]{0,6}\Z"
)
# The number of something other than a telephone, as in `part number`.
_OTHER_NUMBER: Final = re.compile(
    r"\b(?:part|order|serial|invoice|ticket|model|reference|ref|case|account|acct|tracking|routing|lot|batch|item|article|catalogu?e?|sku|id"
    r"|version|build|policy|member|employee|customer|registration|licen[cs]e|reservation|booking|flight|room|seat|page|line|row|port)"
    r"[ \t_-]{1,2}(?:numbers?|nos?\.?|nr\.?|#)[^0-9\n]{0,24}\Z"
)
# Units after a quantity.
_UNITS: Final = re.compile(
    r"\s{0,2}(?:(?:rows?|bytes?|items?|records?|vnd|usd|eur|đ|đồng|ms|px|tokens?|requests?|kb|mb|gb|times|users?|points?|lines?|files?|%|€|\$|£)\b|条|行|个|次|元|字节|人|件|章|节|=|[*×]\s*\d)",
    re.IGNORECASE,
)
_NANP: Final = re.compile(
    r"(?:1[ -]?)?\([2-9]\d\d\)([ .-]?)\d{3}([ .-])\d{4}|(?:1[ -])?[2-9]\d\d([ -])\d{3}([ -])\d{4}"
    r"|(?:1\.)?[2-9]\d\d\.\d{3}\.\d{4}"
)
_GROUPED: Final = re.compile(
    r"\(?0\d{1,4}\)?(?:[ .\-/]\d{2,8}){1,5}"  # national format, with the trunk zero
    r"|1[3-9]\d[ -]\d{4}[ -]\d{4}"
)
_DECIMAL: Final = re.compile(r"\.\d\Z|^\+\d+\.\d+\Z")
# Five pairs, as in France.
_PAIRS: Final = re.compile(r"0[1-9](?:\.\d\d){4}")
# With dots a number looks like a version; these groupings are those of telephones.
_DOTTED: Final = re.compile(
    rf"{_PAIRS.pattern}|0\d{{3}}\.\d{{3}}\.\d{{3}}|0\d\d\.\d{{3,4}}\.\d{{4}}"
)
_ZIP: Final = re.compile(r"\d{5}-\d{4}")
_REGIONS: Final = (
    "US", "GB", "VN", "CN", "FR", "DE", "JP", "KR", "IN", "AU", "ES", "IT", "NL", "BR", "CA", "SG", "TH", "TW", "HK",
    "CH", "AT", "BE", "SE", "PL", "ID", "MY", "PH", "MX", "TR", "RU", "ZA", "NZ", "IE", "PT", "DK", "NO", "FI",
)  # fmt: skip
# Regions in which a grouped national number needs no cue.
_GROUPED_REGIONS: Final = ("VN", "CN", "FR", "GB", "DE", "JP", "KR", "AU", "IT", "NL", "IN", "TH", "TW", "CH", "AT", "BE", "SE", "ID", "MY", "TR", "ZA", "NZ", "IE")  # fmt: skip
_DATE: Final = re.compile(
    r"(?:19|20)\d\d[-./ ](?:0?[1-9]|1[0-2])[-./ ](?:0?[1-9]|[12]\d|3[01])(?:\D.*)?|\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d(?:\D.*)?"
)
_ADDRESS: Final = re.compile(
    r"(?:\d{1,3}\.){3}\d{1,3}|\d{1,3}(?:[.,]\d{3}){2,}|\d+\.\d+|(?:\d{1,2}\.){2,}\d+"
)
_GLUE_BEFORE: Final = re.compile(r"[0-9A-Za-z_.:/#%@=&?-]\Z|[0-9][ (]+\Z|[-+*/^<>≤≥×÷] \Z")
_FREE_BEFORE: Final = re.compile(r"(?:^|[^\w.])[\w.-]{0,32}[:=/]\Z|[A-Za-z]\.\Z|[(\[\"']\Z")
_FIGURES_AFTER: Final = re.compile(r" [0-9]")
_GLUE_AFTER: Final = re.compile(
    r"[A-Za-z0-9_%]|[.:/-][0-9A-Za-z]|,[0-9]{3}(?![0-9])| ?[-+*/^=<>×÷]\s*[0-9(]"
)
# A group of three digits after a comma.
_THOUSANDS: Final = re.compile(r"[0-9]{3}(?![0-9])")
_COMMA_BEFORE: Final = re.compile(r"[0-9],\Z")
# An unbroken mobile number needs no cue in a text of the country's language.
_MOBILES: Final = (
    ("CN", 11, re.compile(r"[\u3400-\u9fff]")),
    ("VN", 10, re.compile(r"[ăđơưĂĐƠƯ\u1ea0-\u1ef9]")),
)


def is_phone(text: str, start: int, end: int) -> bool:
    """Whether the digits from `start` to `end` are a telephone number, judged with the context."""
    value = text[start:end]
    digits = "".join(filter(str.isdigit, value))
    if (
        not 7 <= len(digits) <= 15
        or _is_part(text, start, end)
        or _is_other(text, start, end, value)
    ):
        return False
    before = text[max(0, start - 48) : start].lower()
    if value.startswith("+"):
        return not _DECIMAL.search(value) and _is_possible("+" + digits)
    is_called = _CUES.search(before) is not None and _OTHER_NUMBER.search(before) is None
    if not is_called and (_OTHER_CUES.search(before) or _OTHER_NUMBER.search(before)):
        return False
    return _is_home_number(value, digits, is_called=is_called, around=before + text[end : end + 16])


def _is_part(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 40) : start]
    # Digits after a space belong to a number that is itself written with spaces.
    is_spaced = " " in text[start:end] or text[start:end].isdigit()
    if _GLUE_AFTER.match(text, end) or (is_spaced and _FIGURES_AFTER.match(text, end)):
        return True
    if _COMMA_BEFORE.search(before) and _THOUSANDS.match(text, start):
        return True
    return _GLUE_BEFORE.search(before) is not None and _FREE_BEFORE.search(before) is None


def _is_other(text: str, start: int, end: int, value: str) -> bool:
    return (
        _DATE.fullmatch(value) is not None
        or (_ADDRESS.fullmatch(value) is not None and not _PAIRS.fullmatch(value))
        or _UNITS.match(text, end) is not None
    )


def _is_home_number(value: str, digits: str, *, is_called: bool, around: str) -> bool:
    nanp = _NANP.fullmatch(value)
    if nanp:
        is_spaced = nanp[3] == " " and nanp[4] == " "
        return is_called or not is_spaced or is_valid(digits, ("US",))
    if digits.startswith("00") and len(digits) >= 11:
        return (is_called or not value.isdigit()) and _is_possible("+" + digits[2:])
    if _ZIP.fullmatch(value):
        return False
    if "." in value and not is_called and not _DOTTED.fullmatch(value):
        return False
    if _GROUPED.fullmatch(value) and len(digits) >= 9:
        return is_valid(digits, _REGIONS if is_called else _GROUPED_REGIONS)
    if is_called:
        return len(digits) >= (8 if value.isdigit() else 7) and is_valid(digits, _REGIONS)
    return value.isdigit() and any(
        len(digits) == length and script.search(around) and is_valid(digits, (region,))
        for region, length, script in _MOBILES
    )


@lru_cache(maxsize=4096)
def _is_possible(number: str) -> bool:
    """Whether an international number has a length that its country uses."""
    import phonenumbers

    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(number))
    except phonenumbers.NumberParseException:
        return False


def is_valid(digits: str, regions: tuple[str, ...]) -> bool:
    """Whether one of the regions has such national numbers."""
    return any(_numbers_of(region).fullmatch(digits) for region in regions)


@cache
def _numbers_of(region: str) -> re.Pattern[str]:
    """The pattern of a region's national numbers, from the library's own tables.

    Asking the library number by number is a hundred times slower.
    """
    from phonenumbers import PhoneMetadata

    known = PhoneMetadata.metadata_for_region(region)
    assert known is not None, region  # noqa: S101 - the regions are our own list
    kinds = (
        known.fixed_line,
        known.mobile,
        known.toll_free,
        known.voip,
        known.shared_cost,
        known.uan,
    )
    shapes = {
        kind.national_number_pattern for kind in kinds if kind and kind.national_number_pattern
    }
    return re.compile(rf"(?:{known.national_prefix or ''})?(?:{'|'.join(sorted(shapes))})")
