"""How much the code knows about people's language: limits that only shrink."""

from importlib.resources import files

import pytest

from understudy.patterns.word_lists import WordLists, read_toml

# Lines of Python, and of word lists; and of all lists of the packages that read what people say.
LIMITS = {"evolution": (3_830, 130), "learnings": (8_200, 604)}
READERS = ("learnings", "evolution", "retrieval")
MAX_LIST_LINES = 1_050
LANGUAGES = {"english", "vietnamese", "chinese"}
MAX_ENTRIES = 30


def lines(package: str, pattern: str) -> int:
    folder = files(f"understudy.{package}")
    return sum(
        len(file.read_text("utf-8").splitlines())
        for file in folder.iterdir()
        if file.name.endswith(pattern)
    )


@pytest.mark.parametrize(("package", "limits"), LIMITS.items())
def test_a_package_stays_within_its_lines(package: str, limits: tuple[int, int]) -> None:
    assert lines(package, ".py") <= limits[0]
    assert lines(package, ".toml") <= limits[1]


def test_all_word_lists_stay_within_their_lines() -> None:
    assert sum(lines(package, ".toml") for package in READERS) <= MAX_LIST_LINES


def test_a_list_of_requests_is_short_in_each_language() -> None:
    tables = read_toml("understudy.evolution", "words.toml")
    words = WordLists("understudy.evolution")

    assert {frozenset(table) for table in tables.values()} == {frozenset(LANGUAGES)}
    for name in tables:
        for language in LANGUAGES:
            assert 0 < len(words(f"{name}.{language}")) <= MAX_ENTRIES, (name, language)


@pytest.mark.parametrize("file", ["standing.toml", "expiry_words.toml"])
def test_a_closed_list_of_learnings_is_short_in_each_language(file: str) -> None:
    tables = read_toml("understudy.learnings", file)

    assert set(tables) == {"en", "vi", "zh"}
    for language, roles in tables.items():
        assert 0 < sum(map(len, roles.values())) <= MAX_ENTRIES, language
