"""Validates answers against the questions of a request."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy.core.errors import coded_error
from understudy.runs.requests import PersonRequest, RequestKind, RequestState

DOMAIN: Final = "questions"
MAX_FREEFORM_CHARS: Final = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswer:
    """The selected options or the free text for one question."""

    question_id: str
    selected_option_ids: tuple[str, ...] = ()
    freeform_answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResolution:
    """The resolution of a question request: answers, or a refusal."""

    request_id: str
    answers: tuple[QuestionAnswer, ...] = ()
    declined: bool = False
    justification: str | None = None


def read_resolution(given: Mapping[str, Any]) -> QuestionResolution:
    """Parse a resolution from a validated body."""
    answers = (
        QuestionAnswer(**{**each, "selected_option_ids": tuple(each["selected_option_ids"])})
        for each in given["answers"]
    )
    return QuestionResolution(**{**given, "answers": tuple(answers)})


def check_answers(questions: Sequence[Mapping[str, Any]], resolution: QuestionResolution) -> None:
    """Raise `Invalid` unless every question has one valid answer, or all are declined."""
    if resolution.declined:
        if resolution.answers:
            raise coded_error(
                "questions/question_declined_with_answers", pointer="/resolution/answers"
            )
        return
    by_id = {str(question["id"]): question for question in questions}
    seen: set[str] = set()
    for index, answer in enumerate(resolution.answers):
        pointer = f"/resolution/answers/{index}"
        if answer.question_id not in by_id:
            raise coded_error(
                "questions/question_unknown_answer", pointer=pointer, question_id=answer.question_id
            )
        if answer.question_id in seen:
            raise coded_error("questions/question_duplicate_answer", pointer=pointer)
        seen.add(answer.question_id)
        for code, is_wrong in ANSWER_RULES:
            if is_wrong(by_id[answer.question_id], answer):
                raise coded_error(f"questions/{code}", pointer=pointer, limit=MAX_FREEFORM_CHARS)
    missing = [question_id for question_id in by_id if question_id not in seen]
    if missing:
        raise coded_error(
            "questions/question_answer_missing",
            pointer="/resolution/answers",
            question_id=missing[0],
        )


def _options(question: Mapping[str, Any]) -> set[str]:
    return {str(option["id"]) for option in question.get("options", ())}


def _is_written(answer: QuestionAnswer) -> bool:
    return bool((answer.freeform_answer or "").strip())


# Error code and predicate; the first match is raised.
ANSWER_RULES: Final[tuple[tuple[str, Callable[[Mapping[str, Any], QuestionAnswer], bool]], ...]] = (
    (
        "question_option_not_found",
        lambda question, answer: not set(answer.selected_option_ids) <= _options(question),
    ),
    (
        "question_duplicate_option",
        lambda _, answer: len(set(answer.selected_option_ids)) < len(answer.selected_option_ids),
    ),
    (
        "question_single_select_violation",
        lambda question, answer: (
            not question.get("multi_select") and len(answer.selected_option_ids) > 1
        ),
    ),
    (
        "question_answer_empty",
        lambda _, answer: not answer.selected_option_ids and not _is_written(answer),
    ),
    (
        "question_answer_too_long",
        lambda _, answer: len(answer.freeform_answer or "") > MAX_FREEFORM_CHARS,
    ),
)


def answer_text(questions: Sequence[Mapping[str, Any]], resolution: Mapping[str, Any]) -> str:
    """The answers as text for the model."""
    by_id = {str(question["id"]): question for question in questions}
    lines = [
        f"{by_id[answer['question_id']]['question']}\n{_chosen(by_id[answer['question_id']], answer)}"
        for answer in resolution.get("answers", ())
    ]
    if resolution.get("justification"):
        lines.append(f"They added: {resolution['justification']}")
    return "\n\n".join(lines)


def answers_in(request: PersonRequest) -> Iterator[tuple[str, bool]]:
    """Each answer to a question alone, and whether they typed it; the labels are the agent's words."""
    if request.state is not RequestState.ANSWERED or request.kind is not RequestKind.QUESTION:
        return
    by_id = {str(question["id"]): question for question in request.body["questions"]}
    for answer in (request.resolution or {}).get("answers", ()):
        options = by_id[answer["question_id"]].get("options", ())
        labels = {str(option["id"]): str(option["label"]) for option in options}
        yield from ((labels[chosen], False) for chosen in answer["selected_option_ids"])
        if answer.get("freeform_answer"):
            yield str(answer["freeform_answer"]), True


def _chosen(question: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    labels = {str(option["id"]): str(option["label"]) for option in question.get("options", ())}
    parts = [f"- {labels[chosen]} ({chosen})" for chosen in answer["selected_option_ids"]]
    if answer.get("freeform_answer"):
        parts.append(f"- {answer['freeform_answer']}")
    return "\n".join(parts)
