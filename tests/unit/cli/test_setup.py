"""The questions of `understudy setup`: what is asked, and what stays."""

from dataclasses import replace
from typing import Any

import pytest
import typer

from tests.unit.cli.waiting_parts import FakePerson
from understudy.cli.setup import MODELS, ModelAnswer, SetupAnswers, SetupOptions, asked, variable

BEFORE = SetupAnswers(model=MODELS["offline"], learning=True, skills=False)


def answers(*typed: str, before: SetupAnswers = BEFORE, **given: Any) -> SetupAnswers:
    options = SetupOptions(**given)
    return asked(FakePerson(*typed), before, options)


def test_what_is_not_typed_stays() -> None:
    assert answers("", "", "") == BEFORE


def test_a_model_has_questions_of_its_own() -> None:
    told = answers("anthropic", "", "TEAM_KEY", "no", "yes")

    assert told.model == replace(MODELS["anthropic"], api_key_env="TEAM_KEY")
    assert (told.learning, told.skills) == (False, True)


def test_a_local_server_is_asked_for_its_address() -> None:
    told = answers("local", "qwen3", "http://127.0.0.1:9000/v1", "", "")

    assert told.model.route == {
        "provider": "openai",
        "model": "qwen3",
        "base_url": "http://127.0.0.1:9000/v1",
    }


def test_an_answer_that_cannot_be_read_is_asked_again() -> None:
    assert answers("gpt", "offline", "perhaps", "no", "").learning is False
    told = answers("local", "qwen3", "yes", "127.0.0.1:9000", "https://models.example/v1", "", "")
    assert told.model.base_url == "https://models.example/v1"


def test_who_leaves_keeps_the_answers_given_so_far() -> None:
    told = answers("openai", "gpt-5", "")

    assert told.model == replace(MODELS["openai"], model="gpt-5")
    assert (told.learning, told.skills) == (True, False)


def test_options_save_their_questions() -> None:
    told = answers(provider="openai", learning=False, skills=True)

    assert told == SetupAnswers(model=MODELS["openai"], learning=False, skills=True)


def test_a_route_of_the_operators_own_can_be_kept_and_changed() -> None:
    house = ModelAnswer(source="house", provider="anthropic", model="c1")
    before = replace(BEFORE, model=house)

    assert answers("house", "c2", "KEY", "", "", before=before).model == replace(
        house, model="c2", api_key_env="KEY"
    )


@pytest.mark.parametrize("typed", ["sk-" + "abc123", "my key", "openai_key", "", "K" * 101])
def test_what_may_be_a_key_is_refused_and_not_repeated(typed: str) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        variable(typed)
    assert "not the key" in refused.value.message
    assert not typed or typed not in refused.value.message


@pytest.mark.parametrize(
    "given",
    [
        {"provider": "local"},
        {"provider": "offline", "model": "x"},
        {"provider": "bard"},
        {"provider": "local", "model": "x", "base_url": "localhost"},
    ],
)
def test_options_that_do_not_fit_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(typer.BadParameter):
        answers(**given)
