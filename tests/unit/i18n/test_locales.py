"""Which language somebody is answered in."""

import pytest

from understudy.i18n.locales import DEFAULT, from_accept_language, locale_of

TAGS = {
    "en": "en",
    "EN-gb": "en",
    "vi-VN": "vi",
    "vi_VN.UTF-8": "vi",
    "zh-Hant-TW": "zh",
    " zh ": "zh",
    "fr": DEFAULT,
    "vie": DEFAULT,
    "v": DEFAULT,
    "": DEFAULT,
    "*": DEFAULT,
    "vi VN": DEFAULT,
    "-vi": DEFAULT,
    "../vi": DEFAULT,
    "vi\x00": DEFAULT,
    "ｖｉ": DEFAULT,
    "vi-" + "x" * 100: DEFAULT,
}
HEADERS = {
    "vi": "vi",
    "vi-VN,vi;q=0.9,en;q=0.8": "vi",
    "en;q=0.2, zh;q=0.9": "zh",
    "fr-FR, fr;q=0.9, zh-CN;q=0.4": "zh",
    "vi;q=0.5,zh;q=0.5": "vi",
    "vi;q=0, en": "en",
    "vi;q=0": None,
    "vi;q=0.000": None,
    "fr, de": None,
    "*": None,
    "fr, *;q=0.5": None,
    "": None,
    ",,;;,": None,
    "vi;q=2": None,
    "vi;q=nan": None,
    "vi;q=-1": None,
    "vi;q=1e9": None,
    "vi;q=0.5;q=0.9": None,
    "vi ; Q=0.7 , en;q=0.1": "vi",
    "zh;q=1.0": "zh",
}


@pytest.mark.parametrize(("tag", "locale"), TAGS.items())
def test_a_tag_names_a_language(tag: str, locale: str) -> None:
    assert locale_of(tag) == locale


def test_nothing_said_is_english() -> None:
    assert locale_of(None) == DEFAULT
    assert from_accept_language(None) is None


@pytest.mark.parametrize(("header", "locale"), HEADERS.items())
def test_a_header_names_what_is_liked_best(header: str, locale: str | None) -> None:
    assert from_accept_language(header) == locale


def test_only_the_beginning_of_an_endless_header_is_read() -> None:
    assert from_accept_language("zh;q=0.1," + "fr," * 100_000 + "vi") == "zh"
    assert from_accept_language("v" * 1_000_000) is None


def test_a_tag_that_is_cut_in_two_is_not_read() -> None:
    # The cut leaves "zh" of "zhx", a language that nobody asked for.
    assert from_accept_language("fr," * 340 + "  zhx") is None
