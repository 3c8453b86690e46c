"""Remarks beside the conversation: prompt sections, budget nudges and the postscript offer."""

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from understudy.agents.switches import Switches
from understudy.evolution.answers import words_to_answer
from understudy.i18n.catalogue import say
from understudy.i18n.locales import LOCALES, locale_of
from understudy.runs.model import Run
from understudy.runs.steps import Also
from understudy.sessions.journal import EventKind, NewEvent

SILENT: Final = "NO_REPLY"
RULE: Final = "\n\n---\n\n"
_BEGINS_SILENT: Final = re.compile(rf"\W*+{SILENT}\b")
_ENDS_SILENT: Final = re.compile(rf"\b{SILENT}\W*+\Z")
RemarkName = Literal["70", "90", "postscript"]
POSTSCRIPT: Final = "postscript"
SELF_EVOLUTION_TITLE: Final = "Self-Evolution"
SELF_EVOLUTION: Final = """\
You may rewrite your SOUL.md with write_file, to suit the people you work with:
- tone and voice
- response style and format
- vocabulary and phrasing
- interaction habits
Never change your name, identity or contact data, your core purpose or role, or anything in \
IDENTITY.md and AGENTS.md: they are locked. Take small steps, each for a clear pattern in what \
users say or do."""
SKILL_CREATION: Final = """\
### Skill creation

After a task of 5 or more tool calls, ask: would this process help again?
For: works with other inputs; many steps, easily forgotten; domain workflow of use to others.
Against: one-off; debugging; under 5 calls; user said skip.
Create: skill_manage(action="create", content="---\\nname: ...")
Improve: skill_manage(action="patch", slug="...", find="...", replace="...")
Remove: skill_manage(action="delete", slug="...")
Only your own skills. Quality over quantity. Create with the user's consent; when unsure, ask."""
Nudge = Literal["70", "90"]
# The tenths of the budget from which each is due; at most one in an iteration, the later one first.
TENTHS: Final[tuple[tuple[Nudge, int], ...]] = (("90", 9), ("70", 7))
_KEYS: Final[Mapping[Nudge, str]] = {"70": "skill.nudge_70_pct", "90": "skill.nudge_90_pct"}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What the prompt of a run says of evolving, and what its snapshot keeps of that."""

    self_evolution: str = ""
    # Stands below what is told of skills.
    skill_creation: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Words, the event that tells that they were said, and what else is written with it."""

    text: str
    event: NewEvent
    also: Also | None = None
    # Where the model's own words end in the reply that the remark stands below.
    own_chars: int | None = None


def remark_key(run_id: str, name: RemarkName) -> str:
    """Names a remark among the steps of a run: each is made once."""
    return f"{run_id}:nudge:{name}"


def remark_event(run: Run, name: RemarkName, *, step: int) -> NewEvent:
    """The event that tells which remark was made, and never its words."""
    return NewEvent(
        kind=EventKind.NUDGE,
        run_id=run.run_id,
        key=remark_key(run.run_id, name),
        data={"nudge": name, "step": step, "agent_id": run.agent_id, "locale": run.locale},
    )


def nudge_due(
    iteration: int, max_iterations: int, *, sent: Set[str], tools_removed: bool
) -> Nudge | None:
    """What to say before this iteration's model call, counted from 1; only in whole numbers.

    Without tools the advice could not be followed, so it is not given.
    """
    if max_iterations <= 0 or tools_removed:
        return None
    for nudge, tenths in TENTHS:
        if nudge in sent:
            # Nor does an earlier one follow a later one.
            return None
        if iteration * 10 >= max_iterations * tenths:
            return nudge
    return None


def nudge_text(nudge: Nudge, locale: str | None) -> str:
    """The words of it; they begin with `[System]` in every language."""
    return say(locale, _KEYS[nudge])
