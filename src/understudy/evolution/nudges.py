"""Remarks beside the conversation: prompt sections, budget nudges and the postscript offer."""

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from understudy.agents.switches import Switches
from understudy.evolution.answers import words_to_answer
from understudy.i18n.catalogue import say
from understudy.i18n.locales import LOCALES, locale_of
from understudy.runs.execute import Also
from understudy.runs.model import Run
from understudy.sessions.journal import SILENT, EventKind, NewEvent

RULE: Final = "\n\n---\n\n"
_BEGINS_SILENT: Final = re.compile(rf"\W*+{SILENT}\b")
_ENDS_SILENT: Final = re.compile(rf"\b{SILENT}\W*+\Z")
RemarkName = Literal["70", "90", "postscript"]
POSTSCRIPT: Final = "postscript"
SELF_EVOLUTION_TITLE: Final = "Self-Evolution"
SELF_EVOLUTION: Final = """\
In your SOUL.md you CAN adapt, with write_file:
- tone and voice
- response style and format
- vocabulary, phrasing
- interaction habits
You MUST NOT change your name, identity, contact data, core purpose or role, nor IDENTITY.md and \
AGENTS.md (locked). Take small steps, each for a clear pattern in what users say."""
SKILL_CREATION: Final = """\
### Skill Creation (recommended after complex tasks)

After 5+ tool calls ask: will this process help again?
SHOULD create: works with other inputs; steps that are easy to forget; a domain workflow.
SHOULD NOT: one-off; debugging; under 5 calls; user said "skip".
skill_manage(action="create", content="---\\nname: ...")
skill_manage(action="patch", slug="...", find="...", replace="...")
skill_manage(action="delete", slug="...")
Only your own skills. Quality over quantity. Ask for consent."""
Nudge = Literal["70", "90"]
# The tenths of the budget from which each nudge is due; at most one per iteration, later first.
TENTHS: Final[tuple[tuple[Nudge, int], ...]] = (("90", 9), ("70", 7))
_KEYS: Final[Mapping[Nudge, str]] = {"70": "skill.nudge_70_pct", "90": "skill.nudge_90_pct"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """A completed run, as far as the postscript depends on it."""

    switches: Switches
    # Executed calls, successful or failed; not refused ones.
    tool_calls: int
    reply: str
    was_sent: bool = False
    # A top-level run whose user can answer.
    is_interactive: bool = True
    created_skill: bool = False
    was_declined: bool = False


Rule = tuple[str, Callable[[Finish], bool]]
# All conditions must hold.
CONDITIONS: Final[tuple[Rule, ...]] = (
    ("skill-evolve-off", lambda run: run.switches.skill_evolve),
    ("interval-off", lambda run: run.switches.skill_nudge_interval > 0),
    ("few-tool-calls", lambda run: run.tool_calls >= run.switches.skill_nudge_interval),
    ("empty-reply", lambda run: bool(run.reply.strip())),
    ("silent-reply", lambda run: not is_silent(run.reply)),
    ("sent-already", lambda run: not run.was_sent),
)
# No exclusion may apply: there is nobody to ask, or nothing to ask about.
EXCLUSIONS: Final[tuple[Rule, ...]] = (
    ("nobody-to-ask", lambda run: not run.is_interactive),
    ("skill-created", lambda run: run.created_skill),
    ("declined", lambda run: run.was_declined),
)


def held_back_by(run: Finish) -> tuple[str, ...]:
    """The reasons not to make the offer; empty when it is due."""
    unmet = [reason for reason, holds in CONDITIONS if not holds(run)]
    excluded = [reason for reason, applies in EXCLUSIONS if applies(run)]
    return (*unmet, *excluded)


def is_silent(text: str) -> bool:
    """Whether a reply begins or ends with the token for silence."""
    return bool(_BEGINS_SILENT.match(text) or _ENDS_SILENT.search(text))


def postscript(locale: str | None) -> str:
    """The postscript: a blank line, a rule, and one paragraph in italics."""
    spoken = locale_of(locale)
    return RULE + say(spoken, "skill.nudge_postscript", **words_to_answer(spoken))


def with_postscript(text: str, locale: str | None) -> str:
    """The reply with the postscript; streaming clients get the difference as the last delta.

    A reply that ends with a copied postscript is left as it is.
    """
    return text + postscript(locale) if _copied(text) is None else text


def own_chars(text: str) -> int:
    """The length of the model's own text, without a copied postscript and its rule."""
    copied = _copied(text)
    return len(text if copied is None else text.rstrip().removesuffix(copied).rstrip("- \r\n"))


def _copied(text: str) -> str | None:
    """The postscript that a reply ends with already."""
    offers = (postscript(each).strip("-\n") for each in LOCALES)
    return next((each for each in offers if text.rstrip().endswith(each)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """The evolution sections of a prompt, and their record in the snapshot of the run."""

    self_evolution: str = ""
    # Placed below the section of skills.
    skill_creation: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A text, its journal event, and an action in the same transaction."""

    text: str
    event: NewEvent
    also: Also | None = None
    # Length of the model's own text in the reply above the remark.
    own_chars: int | None = None


def remark_key(run_id: str, name: RemarkName) -> str:
    """The key of a remark among the steps of a run: each is made once."""
    return f"{run_id}:nudge:{name}"


def remark_event(run: Run, name: RemarkName, *, step: int) -> NewEvent:
    """The event of a remark; has its name and not its text."""
    return NewEvent(
        kind=EventKind.NUDGE,
        run_id=run.run_id,
        key=remark_key(run.run_id, name),
        data={"nudge": name, "step": step, "agent_id": run.agent_id, "locale": run.locale},
    )


def nudge_due(
    iteration: int, max_iterations: int, *, sent: Set[str], tools_removed: bool
) -> Nudge | None:
    """The nudge that is due before the model call of an iteration, counted from 1.

    Without tools only the last one: the model can still offer a skill in its answer. With a budget
    of one call there was nothing to make a skill of.
    """
    if max_iterations <= 0:
        return None
    for nudge, tenths in TENTHS:
        if nudge in sent:
            # An earlier nudge never follows a later one.
            return None
        if iteration * 10 >= max_iterations * tenths:
            may_be_heard = not tools_removed or (nudge == "90" and max_iterations > 1)
            return nudge if may_be_heard else None
    return None


def nudge_text(nudge: Nudge, locale: str | None) -> str:
    """The text of a nudge; begins with `[System]` in every language."""
    return say(locale, _KEYS[nudge])
