"""What the grammars of answers and requests are made of, and that no words make them slow."""

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import pytest

from tests.support.cpu_effort import takes_under
from understudy.evolution import acts, answers
from understudy.evolution.answers import intent_of
from understudy.evolution.requests import skill_requests
from understudy.evolution.requests.grammar import Grammar
from understudy.evolution.visible_text import plain, word_line

DELETING = acts._grammars("delete", ("short-lived",))
PUBLISHING = acts._grammars("publish", ("drafts/report",))
GRAMMARS = (*skill_requests.grammars(), *DELETING, *PUBLISHING)
ANSWERS = {
    "accepting": answers.words_around("polite", "agreeing"),
    "declining": answers.words_around("polite", "refusing"),
    "refusing": answers.words_around("thanking", "bare"),
}
READERS: dict[str, Callable[[str], bool]] = {
    "accepting": answers.is_accepting,
    "declining": answers.is_declining,
    "refusing": answers.is_bare_no,
}
# How Python itself reads a pattern.
PARSER = import_module("re._parser")
# What splits in two ways would take four million tries, which is slow and still ends.
TIMES = 22
WISHES = ("save as skill", "make this a skill", "tạo kỹ năng từ việc này", "把这个保存为技能")
Choice = tuple[str, ...]
# A pattern as its parser understands it: what it does, and with what.
Parsed = Sequence[tuple[object, Any]]


def in_words(choices: Sequence[str], blank: str) -> list[Choice]:
    return [tuple(choice.split() if blank else choice) for choice in choices]


@pytest.mark.parametrize(
    "choices",
    [
        *([*map(answers.words_of, around)] for around in ANSWERS.values()),
        *(in_words(each.leads, each.blank) for each in skill_requests.grammars()),
        *(in_words(each.polite, each.blank) for each in skill_requests.grammars()),
    ],
)
def test_no_choice_is_made_of_others(choices: list[Choice]) -> None:
    assert [choice for choice in choices if is_made_of(choice, {*choices} - {choice})] == []


def test_a_choice_that_is_made_of_others_is_found() -> None:
    assert is_made_of(("那", "就"), {("那",), ("就",)})
    assert not is_made_of(("thank", "you"), {("thank",), ("are", "you")})


def is_made_of(whole: Choice, choices: set[Choice]) -> bool:
    """Whether it is some of the choices, one behind the other."""
    return not whole or any(
        is_made_of(whole[len(choice) :], choices)
        for choice in choices
        if whole[: len(choice)] == choice
    )


def repeated(parsed: Parsed) -> Iterator[Parsed]:
    """What a pattern repeats without end."""
    for kind, value in parsed:
        name = str(kind)
        if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"} and value[1] > 1000:
            yield value[2]
        yield from (found for part in _inside(value) for found in repeated(part))


def _inside(value: object) -> Iterator[Parsed]:
    if isinstance(value, PARSER.SubPattern):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _inside(each)


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_what_is_asked_repeats_nothing_but_signs_without_end(grammar: Grammar) -> None:
    for part in (*grammar.modals, *grammar.tasks, *grammar.asks, *grammar.connectors):
        parsed = PARSER.parse(part)
        assert all(len(each) == 1 and str(each[0][0]) == "IN" for each in repeated(parsed)), part


@pytest.mark.parametrize("grammar", skill_requests.grammars())
def test_what_is_repeated_is_plain_words(grammar: Grammar) -> None:
    for choice in (*grammar.leads, *grammar.polite, *grammar.soft_questions, *grammar.particles):
        assert not grammar.blank or word_line(plain(choice)) == choice
        assert re.escape(choice).replace("\\ ", " ") == choice


def test_repeating_without_end_is_found() -> None:
    assert [*repeated(PARSER.parse("(?:a(?:b|c)*)?"))]
    assert not [*repeated(PARSER.parse("(?:a(?:b|c){0,3})?"))]


def in_no_time(texts: Sequence[str], reader: Callable[[str], object] = intent_of) -> bool:
    """Whether none of these takes longer than so many of them may."""
    return takes_under(0.1 + len(texts) / 500, lambda: [reader(text) for text in texts])


def with_wishes(choice: str, blank: str) -> list[str]:
    many = blank.join([choice] * TIMES)
    around = [(f"{many}{blank}{wish}", f"{wish}{blank}{many}") for wish in WISHES]
    return [many, f"{many} x", *(text for both in around for text in both)]


@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_that_is_said_again_and_again_takes_long(name: str) -> None:
    for choice in ANSWERS[name]:
        assert in_no_time(with_wishes(choice, " ")), choice


@pytest.mark.parametrize("name", ANSWERS)
def test_no_two_answers_that_are_said_again_and_again_take_long(name: str) -> None:
    reader = READERS[name]

    for first in ANSWERS[name]:
        pairs = (" ".join([first, second] * TIMES) for second in ANSWERS[name])
        assert in_no_time([pair[-answers.MAX_CHARS :] for pair in pairs], reader), first


@pytest.mark.parametrize("grammar", skill_requests.grammars())
def test_no_lead_that_is_said_again_and_again_takes_long(grammar: Grammar) -> None:
    for choice in (*grammar.leads, *grammar.polite):
        assert in_no_time(with_wishes(choice, grammar.blank)), choice


@pytest.mark.parametrize("grammar", skill_requests.grammars())
def test_no_two_leads_that_are_said_again_and_again_take_long(grammar: Grammar) -> None:
    def reader(line: str) -> object:
        return skill_requests._asks(grammar, line)

    most = skill_requests.MAX_SENTENCE_CHARS
    for choices in (grammar.leads, grammar.polite):
        for first in choices:
            pairs = (grammar.blank.join([first, second] * TIMES) for second in choices)
            lines = [f"{pair}{grammar.blank}skill kỹ năng 技能"[-most:] for pair in pairs]
            assert in_no_time(lines, reader), first


@pytest.mark.parametrize("grammar", DELETING)
def test_names_are_looked_for_in_no_time(grammar: Grammar) -> None:
    def asked(text: str) -> bool:
        return acts.asks_to_delete(text, "a-a", is_spoken_of=True)

    for lead in grammar.leads:
        assert in_no_time([f"{lead}{grammar.blank}" * TIMES + "delete the skill a-a x"] * 2, asked)
    assert in_no_time(["delete " + "a-a " * 90 + "skill", "delete the " * 30 + "skill a-a"], asked)
