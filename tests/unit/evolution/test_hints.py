"""Messages that plainly ask to have something remembered."""

import pytest

from understudy.evolution.hints import asks_to_remember


@pytest.mark.parametrize(
    "text",
    [
        "Please remember: I always want metric units in reports.",
        "Remember that I like tea.",
        "hey btw remember i like tea, ok",
        "For next time, could you keep in mind that we ship on Mondays.",
        "tôi thích trà, nhớ nhé",
        "Keep in mind that the API is frozen.",
        "Don't forget: the office closes at five.",
        "Write a poem. Also remember I hate rhymes.",
        "From now on, bear in mind that I am colour-blind.",
        "请记住我喜欢喝茶",
        "別忘了我住在台北",
        "Hãy nhớ rằng tôi thích trà.",
        "Ghi nhớ: tôi ở Hà Nội.",
    ],
)
def test_a_plain_request_is_one(text: str) -> None:
    assert asks_to_remember(text)


@pytest.mark.parametrize(
    "text",
    [
        "Do you remember me?",
        "Remember when we went there?",
        "Remember what I said about tea.",
        "I remember the day.",
        "How can I remember my appointments",
        "Note that the tests fail.",
        "Summarise this: Please remember to pay.",
        "> Please remember to pay.",
        "你记得我吗？",
        "你还记得吗",
        "remember " * 5_000,
    ],
)
def test_a_question_a_memory_and_anothers_words_are_none(text: str) -> None:
    assert not asks_to_remember(text)
