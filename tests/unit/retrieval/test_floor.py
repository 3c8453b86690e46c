"""A relevance floor keeps out what covers too little of the question."""

import pytest

from understudy.retrieval.documents import Document, Field, Scored
from understudy.retrieval.score import least_coverage, rank, relevant
from understudy.review.policy import RetrievalSettings

FLOOR = RetrievalSettings().relevance_floor

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
def test_answers_pass_the_default_floor(query: str) -> None:
    assert relevant(best(query), FLOOR)


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
    assert not relevant(best(query), FLOOR)


def test_a_floor_of_zero_lets_everything_through() -> None:
    assert relevant(best("nothing of this kind"), 0)


def test_coverage_is_the_share_of_what_the_question_asks() -> None:
    assert best("atlas codename").coverage == 1
    assert best("atlas vivaldi").coverage == pytest.approx(0.5)
    assert best("atlas vivaldi mozart").coverage == pytest.approx(1 / 3, abs=1e-4)
    assert best("vivaldi").coverage == 0


def test_everyday_words_ask_little() -> None:
    assert best("please tell me about the new atlas").coverage > 0.7


@pytest.mark.parametrize("others", [0, 4, 49, 999])
def test_the_size_of_the_store_does_not_change_what_a_record_covers(others: int) -> None:
    texts = [STORE[1], *(f"The {number}th staging note is short." for number in range(others))]
    documents = [
        Document(id=f"d{number}", fields=(Field(name="text", text=text),))
        for number, text in enumerate(texts)
    ]

    def covered(query: str) -> float:
        return next(it.coverage for it in rank(query, documents) if it.id == "d0")

    assert covered("where is the staging database") == 1
    assert FLOOR <= covered("which port has the staging database") < 1
    assert covered("the boiling point of nitrogen") == 0


def test_a_long_task_need_not_be_covered_whole() -> None:
    task = "Write the release notes for our customers, mention every fix and thank the testers."
    wish = "Take the figures from the staging database, which is reset too often."
    many = " ".join(f"Then compare chapter {number} with appendix {number}." for number in range(9))

    assert relevant(best(f"{task} {wish} {many}"), FLOOR)
    assert not relevant(best(f"{task} {many}"), FLOOR)


def test_the_best_match_opens_the_floor_for_those_that_cover_half_of_it() -> None:
    scored = [best("atlas codename"), best("atlas vivaldi"), best("vivaldi")]

    assert least_coverage(scored, 0.8) == pytest.approx(0.4)
    assert least_coverage(scored[1:], 0.8) == pytest.approx(0.8)
    assert least_coverage([], 0.8) == pytest.approx(0.8)
