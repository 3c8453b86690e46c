"""What an agent may ask."""

import pytest
from pydantic import ValidationError

from understudy.runs.ask_user import AskUserParameters


def asked(*options: dict[str, str], **more: str) -> AskUserParameters:
    question = {"question": "Which?", "options": [*options], **more}
    return AskUserParameters.model_validate({"questions": [question]})


def option_ids(*options: dict[str, str]) -> list[str]:
    (question,) = asked(*options).questions
    return [option.id for option in question.options]


def test_missing_ids_are_filled_in() -> None:
    assert option_ids({"label": "a"}, {"label": "b", "id": "b"}) == ["o1", "b"]
    assert asked().questions[0].id == "q1"


def test_an_option_called_by_a_number_is_renamed() -> None:
    assert option_ids({"label": "no", "id": "2"}, {"label": "yes", "id": "1"}) == ["o2", "o1"]


@pytest.mark.parametrize("name", ["a b", "a\n", "\x1b[2J", "ő", "x" * 65, "a=b", "a,b"])
def test_ids_are_plain_words(name: str) -> None:
    with pytest.raises(ValidationError):
        asked({"label": "a", "id": name})
    with pytest.raises(ValidationError):
        asked(id=name)


@pytest.mark.parametrize("pair", [("a", "a"), ("1", "o1"), ("", "o1")])
def test_two_options_have_two_ids(pair: tuple[str, str]) -> None:
    with pytest.raises(ValidationError, match="two have the same id"):
        asked(*({"label": name or "x", "id": name} for name in pair))
