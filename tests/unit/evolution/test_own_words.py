"""Whose words a run began with."""

from dataclasses import replace

import pytest

from tests.support.factories import make_run, make_session
from understudy.evolution.consent import own_words
from understudy.runs.model import InputItem, RunInput, RunKind, RunRequest

TYPED = RunInput(items=(InputItem(type="text", text="save as skill"),))
RUN = replace(make_run(), input=TYPED, user_id="ann")
SESSION = make_session("s1")


def test_what_a_user_typed_is_theirs() -> None:
    named = replace(RUN, request=RunRequest(actor_id="ann"))

    assert own_words(RUN, SESSION) == "save as skill"
    assert own_words(named, SESSION) == "save as skill"


def test_a_file_beside_the_message_is_no_part_of_it() -> None:
    page = InputItem(type="asset_reference", asset_id="ast_1", file_name="save as skill")
    attached = replace(RUN, input=RunInput(items=(*TYPED.items, page)))
    alone = replace(RUN, input=RunInput(items=(page,)))

    assert own_words(attached, SESSION) == "save as skill"
    assert own_words(alone, SESSION) == ""


@pytest.mark.parametrize(
    "kind",
    [
        RunKind.MAILBOX_DELIVERY,
        RunKind.SCHEDULED_INPUT,
        RunKind.GOAL_CONTINUATION,
        RunKind.CHANNEL_DELIVERY,
        RunKind.PARENT_CLARIFICATION,
        RunKind.OBSERVATION_MATERIALIZATION,
    ],
)
def test_what_comes_by_the_clock_by_mail_or_from_another_session_is_not(kind: RunKind) -> None:
    assert own_words(replace(RUN, kind=kind), SESSION) is None


@pytest.mark.parametrize(
    "request_",
    [
        RunRequest(actor_id="bob", source_plugin="group-chat"),
        RunRequest(actor_id="bob"),
        RunRequest(actor_id="ann", source_plugin="slack"),
        RunRequest(source_plugin="slack"),
        RunRequest(source_kind="webhook"),
        RunRequest(source_kind="cron"),
        RunRequest(source_kind="heartbeat"),
    ],
    ids=str,
)
def test_what_a_caller_passes_on_is_not(request_: RunRequest) -> None:
    assert own_words(replace(RUN, request=request_), SESSION) is None


def test_what_an_agent_tells_a_sidechain_is_not() -> None:
    assert own_words(RUN, make_session("child", parent_session_id="s1")) is None
