"""The offer below a reply: when it is made, and how it reads."""

import re
from dataclasses import replace
from typing import Any

import pytest

from understudy.agents.switches import Switches
from understudy.evolution.answers import MessageIntent, intent_of
from understudy.evolution.nudges import (
    CONDITIONS,
    EXCLUSIONS,
    Finish,
    held_back_by,
    is_silent,
    own_chars,
    postscript,
    with_postscript,
)
from understudy.i18n.locales import LOCALES

ON = Switches(skill_evolve=True, skill_nudge_interval=15)
DONE = Finish(switches=ON, tool_calls=15, reply="The report is ready.")
# One thing changed at a time, and the reason that it is held back for.
HELD_BACK: dict[str, dict[str, Any]] = {
    "skill-evolve-off": {"switches": replace(ON, skill_evolve=False)},
    "interval-off": {"switches": replace(ON, skill_nudge_interval=0)},
    "few-tool-calls": {"tool_calls": 14},
    "empty-reply": {"reply": " \n"},
    "silent-reply": {"reply": "NO_REPLY"},
    "sent-already": {"was_sent": True},
    "nobody-to-ask": {"is_interactive": False},
    "skill-created": {"created_skill": True},
    "declined": {"was_declined": True},
}
SILENT = {
    "NO_REPLY": True,
    "  NO_REPLY\n": True,
    "NO_REPLY.": True,
    "**NO_REPLY**": True,
    "All is well.\n\nNO_REPLY": True,
    "NO_REPLY\nnothing to add": True,
    "NO_REPLYING is fine": False,
    "NO_REPLY_TOKEN": False,
    "xNO_REPLY": False,
    "The token NO_REPLY is not sent.": False,
    "no_reply": False,
    "NO REPLY": False,
    "": False,
}


def test_it_is_due_when_all_conditions_hold() -> None:
    assert held_back_by(DONE) == ()


@pytest.mark.parametrize(("reason", "change"), HELD_BACK.items())
def test_one_reason_holds_it_back_and_is_named(reason: str, change: dict[str, Any]) -> None:
    run = replace(DONE, **change)

    assert held_back_by(run) == (reason,)


def test_there_are_six_conditions_and_every_rule_is_tried() -> None:
    assert len(CONDITIONS) == 6
    assert {reason for reason, _ in (*CONDITIONS, *EXCLUSIONS)} == set(HELD_BACK)


@pytest.mark.parametrize(
    ("interval", "calls", "due"),
    [
        *((15, 14, False), (15, 15, True), (15, 16, True), (3, 3, True)),
        *((1, 0, False), (1, 1, True), (0, 0, False), (0, 99, False)),
        # Kept from before such a value was refused.
        *((-1, 99, False), (-1, 0, False)),
    ],
)
def test_the_interval_is_a_boundary(interval: int, calls: int, due: bool) -> None:
    switches = replace(ON, skill_nudge_interval=interval)

    run = replace(DONE, switches=switches, tool_calls=calls)

    assert (held_back_by(run) == ()) is due


@pytest.mark.parametrize(("reply", "silent"), SILENT.items())
def test_a_reply_with_the_token_at_its_edge_is_silent(reply: str, silent: bool) -> None:
    assert is_silent(reply) is silent


@pytest.mark.parametrize("locale", LOCALES)
def test_it_is_a_blank_line_a_rule_and_one_italic_paragraph(locale: str) -> None:
    text = postscript(locale)

    assert re.fullmatch(r"\n\n---\n\n_[^\n]+_", text)
    assert text.count("---") == 1


@pytest.mark.parametrize("locale", LOCALES)
def test_it_names_two_emphasised_phrases_that_work_as_answers(locale: str) -> None:
    named = re.findall(r"\*\*([^*]+)\*\*", postscript(locale))

    assert [intent_of(phrase) for phrase in named] == [MessageIntent.ACCEPT, MessageIntent.DECLINE]


def test_it_speaks_the_language_of_the_run() -> None:
    assert len({postscript(locale) for locale in LOCALES}) == len(LOCALES)
    assert postscript("vi-VN") == postscript("vi")
    assert postscript("fr") == postscript(None) == postscript("en")


@pytest.mark.parametrize("reply", ["Done.", "Done.\n", "```\ncode\n```", "- a\n- b"])
def test_what_was_streamed_stays_and_the_offer_comes_last(reply: str) -> None:
    assert with_postscript(reply, "en") == reply + postscript("en")


@pytest.mark.parametrize("locale", LOCALES)
def test_an_offer_that_the_model_copied_is_not_made_twice(locale: str) -> None:
    once = with_postscript("Done.", locale)

    assert with_postscript(once, "en") == once
    assert with_postscript(once + "\n", locale) == once + "\n"


@pytest.mark.parametrize("locale", LOCALES)
def test_a_copied_offer_and_its_rule_are_not_the_models_own(locale: str) -> None:
    for reply in ("Done.", "Done.\n", "- a\n- b"):
        assert own_chars(reply) == len(reply)
        assert own_chars(with_postscript(reply, locale)) == len(reply.rstrip())
        assert own_chars(with_postscript(reply, locale) + "\n") == len(reply.rstrip())
    assert own_chars(postscript(locale)) == 0
