"""Answers by number, by name and in words."""

import io
from typing import Any

import pytest
import typer

from tests.unit.cli.waiting_parts import DRINK, FREE, FakePerson, question
from understudy.cli import screen
from understudy.cli.answers import (
    Typed,
    Unclear,
    ask_questions,
    option_named,
    read_answer,
    read_answers,
)
from understudy.cli.requests import question_lines, question_pairs

MANY = {**DRINK, "multi_select": True}


def answered(typed: str, asked: dict[str, Any] = DRINK) -> Any:
    (one,) = question(asked).questions
    answer = read_answer(one, typed)
    return answer.freeform_answer or answer.selected_option_ids


@pytest.mark.parametrize(
    ("typed", "options"),
    [("1", ["o1"]), (" 3 ", ["o3"]), ("o2", ["o2"]), ("coffee", ["o2"]), ("2,2", ["o2"])],
)
def test_an_option_is_chosen_by_number_id_or_label(typed: str, options: list[str]) -> None:
    assert answered(typed) == options


@pytest.mark.parametrize("typed", ["1,3", "1 3", "3,1,3", "Tea, water", "o1,o3"])
def test_several_are_chosen_where_that_is_allowed(typed: str) -> None:
    assert sorted(answered(typed, MANY)) == ["o1", "o3"]


@pytest.mark.parametrize("typed", ["milk", "2 cups of tea", "Tea, but hot", "tea coffee", "½"])
def test_everything_else_is_an_answer_in_words(typed: str) -> None:
    assert answered(typed) == typed
    assert answered(typed, MANY) == typed


MISLED = {
    **DRINK,
    "multi_select": True,
    "options": [
        {"id": "2", "label": "1,3"},
        {"id": "1", "label": "3"},
        {"id": "9", "label": "2024"},
    ],
}


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        ("1", ["2"]),
        ("2", ["1"]),
        ("3", ["9"]),
        ("03", ["9"]),
        ("1,3", ["2", "9"]),
        ("1,2", ["2", "1"]),
        # No number on the screen: ids and labels may have these.
        ("9", ["9"]),
        ("2024", ["9"]),
    ],
)
def test_a_number_means_the_one_on_the_screen_whatever_options_are_called(
    typed: str, options: list[str]
) -> None:
    assert answered(typed, MISLED) == options
    (one,) = question(MISLED).questions
    if "," not in typed:
        assert [option_named(one, typed)] == options


def test_an_id_comes_before_a_label() -> None:
    options = [{"id": "a", "label": "b"}, {"id": "b", "label": "a"}]

    assert answered("b", {**DRINK, "options": options}) == ["b"]


def test_a_very_long_number_is_a_word() -> None:
    assert answered("1" * 5000) == "1" * 5000


def test_a_number_is_a_word_where_there_are_no_options() -> None:
    assert answered("2", FREE) == "2"


@pytest.mark.parametrize(
    ("typed", "why"),
    [("", "type an answer"), ("4", "3 options"), ("0", "3 options"), ("1,2", "only one")],
)
def test_what_is_no_answer_says_why(typed: str, why: str) -> None:
    with pytest.raises(Unclear, match=why):
        answered(typed)


def test_options_are_numbered_and_nothing_hides_in_them() -> None:
    (asked,) = question({**DRINK, "question": "Tea\x1b[2J?"}).questions

    assert question_lines(asked) == [
        r"Drinks: Tea\x1b[2J?",
        "  1. Tea – green  (o1)",
        "  2. Coffee  (o2)",
        "  3. Water  (o3)",
    ]


def test_nothing_hides_in_the_ids_of_options_and_questions() -> None:
    option = {"id": "o1\x1b[2J\nx", "label": "Tea"}
    view = question({**DRINK, "id": "q\x1b[1m", "options": [option]})

    shown = [*screen.field_lines(question_pairs(view)), *question_lines(view.questions[0])]
    with pytest.raises(typer.BadParameter) as refused:
        read_answers(view, typed("o9"))

    assert r"  1. Tea  (o1\x1b[2J x)" in shown
    assert "\x1b" not in "".join(shown) + str(refused.value)


def test_every_question_is_asked_until_it_has_an_answer() -> None:
    person = FakePerson("9", "2", "two cups")

    resolution = ask_questions(person, question(DRINK, FREE))

    assert resolution.model_dump(exclude_unset=True) == {
        "request_id": "qst_1",
        "answers": [
            {"question_id": "q1", "selected_option_ids": ["o2"]},
            {"question_id": "q2", "freeform_answer": "two cups"},
        ],
    }


def test_an_answer_can_be_declined() -> None:
    resolution = ask_questions(FakePerson("/decline", "none of your business"), question(DRINK))

    assert resolution.model_dump(exclude_unset=True) == {
        "request_id": "qst_1",
        "declined": True,
        "justification": "none of your business",
    }


def typed(*options: str, text: tuple[str, ...] = (), q: str | None = None) -> Typed:
    return Typed(options=options, texts=text, question_id=q)


def answers(view: Any, given: Typed) -> list[dict[str, Any]]:
    return [each.model_dump() for each in read_answers(view, given).answers]


def test_the_only_question_needs_no_name() -> None:
    (answer,) = answers(question(MANY), typed("o1", "Water", text=("and ice",)))

    assert answer == {
        "question_id": "q1",
        "selected_option_ids": ["o1", "o3"],
        "freeform_answer": "and ice",
    }


def test_several_questions_are_told_apart_by_their_ids() -> None:
    view = question(DRINK, FREE)

    by_prefix = answers(view, typed("q1=o2", text=("q2=a=b",)))
    by_default = answers(view, typed("q1=o2", text=("a=b",), q="q2"))

    assert by_prefix == by_default
    assert [each["freeform_answer"] for each in by_prefix] == [None, "a=b"]


def test_a_text_may_come_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a long story"))

    assert answers(question(FREE), typed(text=("-",)))[0]["freeform_answer"] == "a long story"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (typed("o2"), "which question"),
        (typed("o2", q="q9"), "no question 'q9'"),
        (typed("q1=o9", text=("q2=x",)), "no option 'o9'"),
        (typed("q1=o1"), "q2 has no answer"),
        (typed("q1=o1", text=("q2=x", "q2=y")), "twice"),
    ],
)
def test_answers_that_do_not_fit_are_a_usage_error(given: Typed, why: str) -> None:
    with pytest.raises(typer.BadParameter, match=why):
        read_answers(question(DRINK, FREE), given)
