"""The catalogues: complete in every language, and looked up by what the reader speaks."""

import string
from itertools import combinations

import pytest

from tests.support.tables import every_row
from understudy.i18n.catalogue import entries, knows, phrases, say
from understudy.i18n.locales import DEFAULT, LOCALES

OTHERS = [locale for locale in LOCALES if locale != DEFAULT]
LISTS = sorted(key for key, entry in entries(DEFAULT).items() if isinstance(entry, tuple))
TEXTS = sorted(key for key, entry in entries(DEFAULT).items() if isinstance(entry, str))
# What the rest of the product relies on.
NEEDED = (
    *("skill.nudge_postscript", "skill.nudge_70_pct", "skill.nudge_90_pct"),
    *("consent.offer", "consent.needed", "consent.declined"),
)


def placeholders(text: object) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(str(text)) if name is not None}


@pytest.mark.parametrize("locale", OTHERS)
def test_every_catalogue_has_the_same_keys(locale: str) -> None:
    assert entries(locale).keys() == entries(DEFAULT).keys()


@every_row("key", TEXTS)
def test_a_text_has_the_same_placeholders_in_every_language(key: str) -> None:
    used = [placeholders(entries(locale)[key]) for locale in LOCALES]

    assert all(each == used[0] for each in used)
    assert all(name.isidentifier() for name in used[0])


@every_row("key", TEXTS)
def test_a_text_differs_from_language_to_language_and_is_never_blank(key: str) -> None:
    texts = [str(entries(locale)[key]) for locale in LOCALES]

    assert len(set(texts)) == len(LOCALES)
    assert all(text.strip() == text and text for text in texts)


@pytest.mark.parametrize("key", NEEDED)
def test_the_texts_that_others_rely_on_are_there(key: str) -> None:
    assert knows(key)


@pytest.mark.parametrize("key", LISTS)
def test_phrases_are_given_for_every_language_without_repeats(key: str) -> None:
    spoken = phrases(key)

    assert tuple(spoken) == LOCALES
    assert all(len(set(each)) == len(each) > 0 for each in spoken.values())


def test_no_phrase_means_two_things() -> None:
    said = [{phrase for each in phrases(key).values() for phrase in each} for key in LISTS]

    assert len(said) > 1
    assert all(one.isdisjoint(other) for one, other in combinations(said, 2))


def test_the_first_phrases_are_those_that_were_promised() -> None:
    first = {key: [each[0] for each in phrases(key).values()] for key in LISTS}

    assert first == {
        "consent.make": ["make a skill of this", "tạo kỹ năng từ việc này", "把这个保存为技能"],
        "consent.save": ["save as skill", "lưu kỹ năng", "保存技能"],
        "consent.skip": ["skip", "bỏ qua", "跳过"],
    }


def test_values_are_put_into_the_text_and_never_read_as_one() -> None:
    assert "{limit} {0}" in say("en", "consent.offer_named", name="{limit} {0}")


@pytest.mark.parametrize("locale", ["vi", "vi-VN", "VI_vn", "vi-VN.UTF-8"])
def test_the_region_of_a_language_makes_no_difference(locale: str) -> None:
    assert say(locale, "consent.offer") == entries("vi")["consent.offer"]


@pytest.mark.parametrize("locale", ["fr", "", None, "../zh", "z" * 10_000])
def test_a_language_that_we_do_not_speak_is_answered_in_english(locale: str | None) -> None:
    assert say(locale, "consent.offer") == entries("en")["consent.offer"]


@pytest.mark.parametrize("key", ["no.such", "consent", "consent.save", ""])
def test_what_is_no_text_is_never_said(key: str) -> None:
    assert not knows(key)
    with pytest.raises(KeyError):
        say("en", key)


def test_a_text_is_no_list_of_phrases() -> None:
    with pytest.raises(KeyError):
        phrases("consent.offer")
