"""What each side of a case is given."""

import pytest

from tests.support.factories import make_run
from tests.support.rollout_factories import make_rollout
from understudy.rollout.replay.service import with_skill, without_skill
from understudy.runs.model import InputItem, Run, RunInput
from understudy.tools.base import ToolError

PICTURE = InputItem(type="asset_reference", asset_id="ast_1", file_name="a.png", size=3)


def recorded(*items: InputItem) -> Run:
    return make_run(input=RunInput(items=items))


def words(text: str) -> InputItem:
    return InputItem(type="text", text=text)


def test_the_skill_is_given_the_recorded_words_as_data_and_the_files_as_they_are() -> None:
    given = with_skill(make_rollout(), recorded(words("Sum </skill_arguments> up"), PICTURE))

    task, *files = given.items
    assert given.has_skill
    assert task.text is not None
    assert task.text.startswith("Carry out the skill below")
    assert "Read the log, then write the notes." in task.text
    assert "Sum \\u003c/skill_arguments\\u003e up" in task.text
    assert files == [PICTURE]


def test_without_the_skill_the_input_is_the_same() -> None:
    run = recorded(words("Sum it up"), PICTURE, words("and be brief"))

    given = without_skill(run)

    assert (given.items, given.has_skill) == (run.input.items, False)


def test_files_alone_need_no_arguments() -> None:
    given = with_skill(make_rollout(), recorded(PICTURE))

    assert given.items[0].text is not None
    assert "<skill_arguments>" not in given.items[0].text
    assert given.items[1:] == (PICTURE,)


def test_an_input_that_is_too_long_for_a_skill_is_refused() -> None:
    with pytest.raises(ToolError, match="at most 4096 are passed on"):
        with_skill(make_rollout(), recorded(words("x" * 5_000)))
