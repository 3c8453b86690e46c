"""The offer below a reply to keep what was done as a skill: when it is made, and how it reads."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from understudy.agents.switches import Switches
from understudy.evolution.answers import words_to_answer
from understudy.i18n.catalogue import say
from understudy.i18n.locales import LOCALES, locale_of

SILENT: Final = "NO_REPLY"
RULE: Final = "\n\n---\n\n"

_BEGINS_SILENT: Final = re.compile(rf"\W*+{SILENT}\b")
_ENDS_SILENT: Final = re.compile(rf"\b{SILENT}\W*+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """A run that has just ended in good order, as far as it matters here."""

    switches: Switches
    # Calls that were made, whether they succeeded or failed; not those that were refused.
    tool_calls: int
    reply: str
    was_sent: bool = False
    # A run at the top, of a session in which somebody can answer.
    is_interactive: bool = True
    created_skill: bool = False
    was_declined: bool = False


Rule = tuple[str, Callable[[Finish], bool]]

# All of these must hold.
CONDITIONS: Final[tuple[Rule, ...]] = (
    ("skill-evolve-off", lambda run: run.switches.skill_evolve),
    ("interval-off", lambda run: run.switches.skill_nudge_interval > 0),
    ("few-tool-calls", lambda run: run.tool_calls >= run.switches.skill_nudge_interval),
    ("empty-reply", lambda run: bool(run.reply.strip())),
    ("silent-reply", lambda run: not is_silent(run.reply)),
    ("sent-already", lambda run: not run.was_sent),
)
# None of these may: there is nobody to ask, or nothing to ask about.
EXCLUSIONS: Final[tuple[Rule, ...]] = (
    ("nobody-to-ask", lambda run: not run.is_interactive),
    ("skill-created", lambda run: run.created_skill),
    ("declined", lambda run: run.was_declined),
)


def held_back_by(run: Finish) -> tuple[str, ...]:
    """Every reason not to make the offer; empty means that it is due."""
    unmet = [reason for reason, holds in CONDITIONS if not holds(run)]
    excluded = [reason for reason, applies in EXCLUSIONS if applies(run)]
    return (*unmet, *excluded)


def is_silent(text: str) -> bool:
    """Whether a reply is the token that nobody is shown, or begins or ends with it as a word."""
    return bool(_BEGINS_SILENT.match(text) or _ENDS_SILENT.search(text))


def postscript(locale: str | None) -> str:
    """What comes after the reply: a blank line, a rule, and one paragraph in italics."""
    spoken = locale_of(locale)
    return RULE + say(spoken, "skill.nudge_postscript", **words_to_answer(spoken))


def with_postscript(text: str, locale: str | None) -> str:
    """The reply and the offer, whose difference is the last delta that streaming clients get.

    A model that copied the offer from an earlier reply has made it already.
    """
    return text + postscript(locale) if _copied(text) is None else text


def own_chars(text: str) -> int:
    """How much of a model's reply is its own: not an offer that it copied, nor the rule above."""
    copied = _copied(text)
    return len(text if copied is None else text.rstrip().removesuffix(copied).rstrip("- \r\n"))


def _copied(text: str) -> str | None:
    """The offer that a reply ends with already."""
    offers = (postscript(each).strip("-\n") for each in LOCALES)
    return next((each for each in offers if text.rstrip().endswith(each)), None)
