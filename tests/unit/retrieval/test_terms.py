"""Text becomes terms: the same for every form of a word, in every language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.retrieval.terms import MOST_QUERY_TERMS, query_terms, terms_of

ALIKE = (
    ("editors", "editor"),
    ("running", "ran"),
    ("went", "going"),
    ("children", "kids"),
    ("colour", "color"),
    ("organisation", "organization"),
    ("travelling", "traveling"),
    ("licence", "license"),
    ("authentication", "auth"),
    ("databases", "db"),
    ("third", "3rd"),
    ("two", "2"),
    ("1,000", "1000"),
    ("Minh's", "minh"),
    ("e-mail", "email"),
    ("back-off", "backoff"),
    ("CAFÉ", "cafe"),
    ("Hoà Phát", "hoa phat"),
    ("Đà Nẵng", "da nang"),
    ("ｆｕｌｌ width", "full width"),
    ("retryWithBackoff", "retry with backoff"),
    ("max_tracked_per_session", "maxTrackedPerSession"),
    ("src/net/http_client.ts", "http client"),
    ("HTTPServer", "http server"),
)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_forms_of_one_word_share_a_term(one: str, other: str) -> None:
    shared = set(terms_of(one)) & set(terms_of(other))

    assert shared
    if len(terms_of(other)) == 1:
        assert shared == set(terms_of(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [("hour", "or"), ("wing", "w"), ("business", "bus"), ("E1042", "E1043"), ("东京", "京东")],
)
def test_different_words_stay_apart(one: str, other: str) -> None:
    common = {term for term in set(terms_of(one)) & set(terms_of(other)) if len(term) > 1}

    assert common == set()


def test_chinese_is_cut_into_characters_and_pairs() -> None:
    assert terms_of("测试环境") == ("测", "测试", "试", "试环", "环", "环境", "境")


@pytest.mark.parametrize("text", ["한국어 문장", "ภาษาไทย", "オフィス", "Привет мир", "שלום"])
def test_other_scripts_have_terms_too(text: str) -> None:
    assert terms_of(text)


def test_accents_are_kept_beside_the_plain_word() -> None:
    assert terms_of("chiến") == ("chien", "chiến")


def test_questions_lose_their_question_words() -> None:
    assert query_terms("What is the codename of the project?") == query_terms("codename project")
    assert query_terms("谁负责支付系统") == query_terms("负责支付系统")
    assert query_terms("máy chủ ở đâu") == query_terms("máy chủ")


def test_nothing_is_asked_twice() -> None:
    assert query_terms("banana bananas BANANA") == query_terms("banana")


def test_only_the_rarest_words_of_an_endless_question_are_asked() -> None:
    common = "the people make a good plan for work and life "
    asked = query_terms(common * 2_000 + " ".join(f"zebra{n}" for n in range(500)))

    assert len(asked) == MOST_QUERY_TERMS
    assert all(term.startswith("zebra") for term in asked)


@given(st.text(max_size=300))
def test_any_text_has_terms_that_an_index_can_store(text: str) -> None:
    for term in (*terms_of(text), *query_terms(text)):
        assert term
        assert len(term) <= 64
        assert not any(sign.isspace() or sign in "\"'" for sign in term)


@given(st.text(max_size=200))
def test_what_a_text_asks_for_is_what_it_holds(text: str) -> None:
    assert set(query_terms(text)) <= set(terms_of(text))


def test_a_megabyte_without_a_blank_is_read_in_time() -> None:
    assert len(terms_of("x" * 1_000_000)) <= 2
    assert terms_of("a.b-" * 250_000)
    assert terms_of("测" * 300_000) == ("测", "测测")
