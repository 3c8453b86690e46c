"""Word lists are read from the TOML file of their package."""

from importlib.resources import files

import pytest

from understudy.patterns.word_lists import WordLists, read_toml

PACKAGES = (
    "evolution",
    "guard",
    "learnings",
    "redaction",
    "retrieval",
)


def test_a_list_keeps_the_order_of_its_file() -> None:
    numbers = WordLists("understudy.retrieval")("forms.numbers")
    assert numbers[:2] == ("0 zero", "1 one first once")


def test_a_text_is_a_list_of_its_words() -> None:
    words = WordLists("understudy.retrieval")
    assert "yesterday" in words("common.very_common")
    assert words.set("stop_words.french") == frozenset(words("stop_words.french"))


def test_pairs_are_a_mapping() -> None:
    assert WordLists("understudy.retrieval").pairs("spelling.words")["grey"] == "gray"


def test_a_list_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        WordLists("understudy.retrieval")("no.such.list")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_list_holds_only_texts(package: str) -> None:
    tables = [read_toml(f"understudy.{package}", "words.toml")]
    while tables:
        for value in tables.pop().values():
            if isinstance(value, dict):
                tables.append(value)
            else:
                assert value
                assert all(isinstance(item, str) and item for item in value)


def test_the_files_are_shipped_beside_the_code() -> None:
    assert all(files(f"understudy.{it}").joinpath("words.toml").is_file() for it in PACKAGES)
