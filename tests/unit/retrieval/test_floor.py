"""A relevance floor keeps out what covers too little of the question."""

import pytest

from understudy.retrieval.documents import Document, Field, Scored
from understudy.retrieval.score import RECOMMENDED_FLOOR, rank, relevant

STORE = (
    "Project codename is Atlas; the public product name is Harbor.",
    "The staging database lives at pg-staging.internal:5433 and is reset every Monday.",
    "Error E1042 means the licence token has expired.",
    "Minh prefers short commit messages without emoji.",
    "Máy chủ thử nghiệm đặt tại Đà Nẵng.",
    "测试环境部署在上海机房。",
)


def best(query: str) -> Scored:
    documents = [
        Document(id=f"d{number}", fields=(Field(name="text", text=text),))
        for number, text in enumerate(STORE)
    ]
    return rank(query, documents)[0]


@pytest.mark.parametrize(
    "query",
    [
        "What is the codename of the project?",
        "where is the staging db host",
        "what does E1042 mean",
        "how does Minh like commit messages",
        "may chu thu nghiem o dau",
        "测试环境在哪个机房",
    ],
)
def test_answers_pass_the_recommended_floor(query: str) -> None:
    assert relevant(best(query), RECOMMENDED_FLOOR)


@pytest.mark.parametrize(
    "query",
    [
        "Write a haiku about autumn leaves",
        "What is the boiling point of nitrogen?",
        "Which player had the most interceptions for the season?",
        "hôm nay thời tiết thế nào",
        "讲一个笑话",
        "Does the public like Vivaldi and Mozart?",
    ],
)
def test_what_is_off_topic_stays_below_it(query: str) -> None:
    assert not relevant(best(query), RECOMMENDED_FLOOR)


def test_a_floor_of_zero_lets_everything_through() -> None:
    assert relevant(best("nothing of this kind"), 0)


def test_coverage_is_the_share_of_what_the_question_asks() -> None:
    assert best("atlas codename").coverage == 1
    assert best("atlas vivaldi").coverage == pytest.approx(0.5)
    assert best("atlas codename vivaldi mozart").coverage == pytest.approx(0.5)
    assert best("vivaldi").coverage == 0


def test_everyday_words_ask_little() -> None:
    assert best("please tell me about the new atlas").coverage > 0.7
