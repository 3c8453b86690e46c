"""The sentence that carries a statement is found whatever stands around it."""

import pytest

from understudy.learnings.already_decided import evidence_digest
from understudy.learnings.quotations import best_sentence, quotes_for, sentences
from understudy.memory.record import RunEvidence

ATLAS = "Project codename is Atlas"


def digest(request: str, outcome: str = "OK") -> str:
    evidence = RunEvidence(run_id="run_1", request=request, outcome=outcome)
    return evidence_digest(ATLAS, evidence)


def test_the_first_sentence_with_most_of_the_words_carries_it() -> None:
    text = "A project. The codename is Atlas! The project codename is Atlas; fine"
    assert best_sentence(ATLAS, text) == ("the project codename is atlas", 1.0)
    assert best_sentence(ATLAS, "nothing here") == ("", 0.0)


@pytest.mark.parametrize(
    "request_text",
    [
        f"Please. Fact: {ATLAS}.",
        f"fact:   {ATLAS.upper()}",
        f"Hello there!\nFact: {ATLAS}\nThanks.",
        f"Fact: {ATLAS}. Decision: ship it.",
    ],
)
def test_words_in_other_sentences_are_no_new_evidence(request_text: str) -> None:
    assert digest(request_text) == digest(f"Fact: {ATLAS}.")


@pytest.mark.parametrize("request_text", [f"As of today the fact: {ATLAS}", f"My {ATLAS}."])
def test_other_words_in_the_sentence_itself_are_new_evidence(request_text: str) -> None:
    assert digest(request_text) != digest(f"Fact: {ATLAS}.")


def test_what_only_the_answer_says_is_named_by_the_answer() -> None:
    said = f"{ATLAS}."
    assert digest("What is it?", said) == digest("And what is it called?", f"Well. {said}")
    assert digest("What is it?", said) != digest("What is it?", f"{ATLAS} now.")


@pytest.mark.parametrize(
    ("statement", "text", "quotes"),
    [
        (ATLAS, "Hello. The project codename is Atlas! Thanks.", ("The project codename is Atlas!",)),
        ("我喜欢公制单位", "你好。我喜欢用公制单位！谢谢", ("我喜欢用公制单位！",)),
        ("Tôi thích đơn vị mét", "Chào. Tôi thích đơn vị mét nhé.", ("Tôi thích đơn vị mét nhé.",)),
        ("I use tabs and I deploy on Monday", "I use tabs.\nI deploy on Monday.\nHow are you?",
         ("I use tabs.", "I deploy on Monday.")),
        (ATLAS, "What is the time?", ()),
        (ATLAS, "", ()),
        ("???", "???", ()),
    ],
)  # fmt: skip
def test_the_sentences_that_say_it_are_quoted(
    statement: str, text: str, quotes: tuple[str, ...]
) -> None:
    assert quotes_for(statement, text) == quotes


def test_few_and_short_quotations_are_enough() -> None:
    words = [f"word{number} other{number}" for number in range(4)]
    text = "\n".join(f"{word}{' really' * 99}" for word in (*words, *words))

    quotes = quotes_for(" ".join(words), text)

    assert [quote[:12] for quote in quotes] == words[:3]
    assert all(len(quote) == 401 for quote in quotes)


def test_a_quote_does_not_end_at_the_dot_of_an_acronym() -> None:
    text = "Decision: We use U.S. English. Write the mail."
    assert quotes_for("We use U.S. English", text) == ("Decision: We use U.S. English.",)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("We ship to the U.S. and Canada. Thanks.", 2),
        ("Our HQ is in the U.S. Please draft the mail.", 2),
        ("Dr. Lee leads it. She is in Oslo.", 2),
        ("Use a queue, e.g. Kafka or e.g. one in memory.", 1),
        ("See No. 5 in the list.", 1),
        ("The owner is J. Smith.", 1),
        ("Plan B. Then we go.", 2),
        ("The winner is A. Write the mail.", 2),
        ("We go with B. The others wait.", 2),
        ("Ask J. R. R. Tolkien. He knows.", 2),
        ("I live on Main St. The house is red.", 2),
        ("We meet in St. Gallen.", 1),
    ],
)
def test_the_dot_of_an_abbreviation_ends_no_sentence(text: str, parts: int) -> None:
    assert len(list(sentences(text))) == parts
