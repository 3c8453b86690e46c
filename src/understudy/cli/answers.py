"""Answers to a run's questions: from options of a command, or typed at the terminal."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from understudy.cli.inputs import STDIN
from understudy.cli.person import Person
from understudy.cli.requests import question_lines
from understudy.cli.screen import count, visible

if TYPE_CHECKING:
    from understudy.wire.approvals import (
        AnswerBody,
        AskedView,
        QuestionResolutionBody,
        QuestionView,
    )

DECLINE: Final = "/decline"
SEPARATOR: Final = re.compile(r"[,\s]+")
# Longer digit strings are no option numbers.
MAX_DIGITS: Final = 9


class Unclear(Exception):
    """The typed text is not an answer; the message says why."""


def ask_questions(person: Person, view: "QuestionView") -> "QuestionResolutionBody":
    """The answers of a person to all questions of a request, or that they decline."""
    from understudy.wire.approvals import QuestionResolutionBody

    answers: list[AnswerBody] = []
    for asked in view.questions:
        person.say(["", *question_lines(asked)])
        answer = _ask_one(person, asked)
        if answer is None:
            return _declined(person, view)
        answers.append(answer)
    return QuestionResolutionBody(request_id=view.id, answers=answers)


def read_answer(asked: "AskedView", typed: str) -> "AnswerBody":
    """A typed text as an answer: numbers, ids or labels of options, or else free text."""
    from understudy.wire.approvals import AnswerBody

    text = typed.strip()
    if not text:
        raise Unclear("type an answer")
    chosen = _chosen(asked, text)
    if chosen is None:
        return AnswerBody(question_id=asked.id, freeform_answer=text)
    if len(chosen) > 1 and not asked.multi_select:
        raise Unclear("only one option can be chosen")
    return AnswerBody(question_id=asked.id, selected_option_ids=chosen)


def option_named(asked: "AskedView", word: str) -> str | None:
    """The id of the option with this number on the screen, or else with this id or label."""
    # The number first: what a model names its options must not change what a number means.
    if _is_number(word) and 1 <= int(word) <= len(asked.options):
        return asked.options[int(word) - 1].id
    by_label = {option.label.casefold(): option.id for option in reversed(asked.options)}
    by_id = {option.id: option.id for option in asked.options}
    return by_id.get(word) or by_label.get(word.casefold())


def _ask_one(person: Person, asked: "AskedView") -> "AnswerBody | None":
    while True:
        typed = person.ask(_prompt(asked))
        if typed == DECLINE:
            return None
        try:
            return read_answer(asked, typed)
        except Unclear as problem:
            person.say([str(problem)])


def _prompt(asked: "AskedView") -> str:
    if not asked.options:
        return f"your answer ({DECLINE} gives none): "
    numbers = "numbers such as 1,2" if asked.multi_select else "a number"
    return f"{numbers}, or your own words ({DECLINE} gives no answer): "


def _chosen(asked: "AskedView", text: str) -> list[str] | None:
    """The options that a text names; None when it is meant as words."""
    words = SEPARATOR.split(text)
    are_numbers = all(map(_is_number, words))
    numbered = _all_named(asked, words) if are_numbers else None
    if numbered is not None:
        return numbered
    whole = option_named(asked, text)
    if whole is not None:
        return [whole]
    if asked.options and are_numbers:
        raise Unclear(f"there are {count(len(asked.options), 'option')}")
    return _all_named(asked, text.split(","))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= MAX_DIGITS


def _all_named(asked: "AskedView", words: list[str]) -> list[str] | None:
    found = [option_named(asked, word.strip()) for word in words]
    # Without duplicates.
    return None if None in found else list(dict.fromkeys(each for each in found if each))


def _declined(person: Person, view: "QuestionView") -> "QuestionResolutionBody":
    from understudy.wire.approvals import QuestionResolutionBody

    more: dict[str, Any] = {}
    if why := person.ask("why not (may be empty; the model is told): "):
        more["justification"] = why
    return QuestionResolutionBody(request_id=view.id, declined=True, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """The values of --option and --text; each may begin with the id of its question and `=`."""

    options: Sequence[str] = ()
    texts: Sequence[str] = ()
    # The question of entries that name none.
    question_id: str | None = None

    def __bool__(self) -> bool:
        return bool(self.options or self.texts)


def read_answers(view: "QuestionView", typed: Typed) -> "QuestionResolutionBody":
    """The answers to a request; every question needs one."""
    from understudy.wire.approvals import QuestionResolutionBody

    default = _default_question(view, typed)
    chosen = _by_question(view, typed.options, default)
    written = _by_question(view, typed.texts, default)
    missing = [visible(each.id) for each in view.questions if each.id not in {*chosen, *written}]
    if missing:
        raise typer.BadParameter(
            f"{', '.join(missing)} has no answer: give --option {missing[0]}=… or"
            f" --text {missing[0]}=…, or leave both out to be asked"
        )
    answers = [
        _answer(each, chosen.get(each.id, []), written.get(each.id, [])) for each in view.questions
    ]
    return QuestionResolutionBody(request_id=view.id, answers=answers)


def _default_question(view: "QuestionView", typed: Typed) -> str | None:
    ids = [each.id for each in view.questions]
    if typed.question_id is None:
        return ids[0] if len(ids) == 1 else None
    if typed.question_id not in ids:
        known = visible(", ".join(ids))
        raise typer.BadParameter(f"there is no question {typed.question_id!r}: {known}")
    return typed.question_id


def _by_question(
    view: "QuestionView", entries: Sequence[str], default: str | None
) -> dict[str, list[str]]:
    ids = {each.id for each in view.questions}
    found: dict[str, list[str]] = {}
    for entry in entries:
        named, separator, rest = entry.partition("=")
        if separator and named in ids:
            found.setdefault(named, []).append(rest)
        elif default is not None:
            found.setdefault(default, []).append(entry)
        else:
            raise typer.BadParameter(
                f"which question is {entry!r} for? Name it with --question, or as Q={entry}"
            )
    return found


def _answer(asked: "AskedView", options: Sequence[str], texts: Sequence[str]) -> "AnswerBody":
    from understudy.wire.approvals import AnswerBody

    if len(texts) > 1:
        raise typer.BadParameter(f"--text is given twice for {visible(asked.id)}")
    fields = (
        {"freeform_answer": sys.stdin.read() if texts[0] == STDIN else texts[0]} if texts else {}
    )
    ids = [_option(asked, word) for word in options]
    return AnswerBody(question_id=asked.id, selected_option_ids=ids, **fields)


def _option(asked: "AskedView", word: str) -> str:
    found = option_named(asked, word)
    if found is None:
        known = visible(", ".join(option.id for option in asked.options) or "none")
        raise typer.BadParameter(f"{visible(asked.id)} has no option {word!r}; there is: {known}")
    return found
