"""Answers typed as options of a command."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from understudy.cli.answering import option_named
from understudy.cli.inputs import STDIN
from understudy.cli.screen import visible

if TYPE_CHECKING:
    from understudy.wire.waiting import AnswerBody, AskedView, QuestionResolutionBody, QuestionView


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What was typed; each entry may begin with the id of its question and `=`."""

    options: Sequence[str] = ()
    texts: Sequence[str] = ()
    # The question that entries without one are for.
    question_id: str | None = None

    def __bool__(self) -> bool:
        return bool(self.options or self.texts)


def read_answers(view: "QuestionView", typed: Typed) -> "QuestionResolutionBody":
    """The answers to a request; every question needs one."""
    from understudy.wire.waiting import QuestionResolutionBody

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
    from understudy.wire.waiting import AnswerBody

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
