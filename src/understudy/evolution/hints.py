"""Hints: tell a client about a setting that prevents what its user asked for.

A hint is a session event, once per code. It is in no prompt.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from understudy.agents.model import AgentType
from understudy.agents.switches import resolve
from understudy.core.dataclass import dataclass
from understudy.evolution.answers import MAX_MESSAGE_CHARS, MessageIntent, intent_of
from understudy.evolution.consent import own_words
from understudy.evolution.requests.skill_requests import sentences_of
from understudy.evolution.visible_text import plain
from understudy.i18n.catalogue import say
from understudy.learnings.capture_settings import CaptureSettings
from understudy.learnings.labels import labelled_statements
from understudy.patterns.word_lists import WordLists
from understudy.runs.model import Run
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

SKILL_EVOLVE_OFF: Final = "skill_evolve_off"
CAPTURE_OFF: Final = "capture_off"
NO_MODEL: Final = "capture_without_model"
_QUESTION: Final = re.compile(r"\?|[吗嗎呢]\W*$")
_WORDS: Final = WordLists("understudy.evolution")
# Intents for which a skill would be made if the agent could.
_WANTS_SKILL: Final = frozenset({MessageIntent.ACCEPT, MessageIntent.REQUEST})


def asks_to_remember(text: str) -> bool:
    """Whether the writer plainly asks to have something remembered from now on."""
    if len(text) > MAX_MESSAGE_CHARS:
        return False
    said = (plain(it.text) for it in sentences_of(text) if it.is_own)
    return any(_request().match(it) and not _QUESTION.search(it) for it in said)


@cache
def _request() -> re.Pattern[str]:
    """A request at the beginning of a sentence, after a few polite words."""
    leads, asks, signs = (
        "|".join(_WORDS(f"remembering.{name}")) for name in ("leads", "asks", "signs")
    )
    past = "|".join(_WORDS("remembering.past"))
    spoken = rf"(?:(?:{leads})[\s,]+){{0,4}}(?:{asks})(?!\w)(?![\s,]+(?:{past})(?!\w))"
    return re.compile(rf"\W{{0,8}}(?:{spoken}|{signs})")


@dataclass(frozen=True, slots=True)
class Hints:
    """Finds the hints for a run that starts."""

    capture: Callable[["Unit"], CaptureSettings]
    # Whether a route, or the default one, is the offline script, which finds no statements.
    is_offline: Callable[["Unit", str | None], bool]

    def events(self, unit: "Unit", run: Run, session: Session) -> tuple[NewEvent, ...]:
        """The hints that the session has not had before; its row is locked."""
        words = own_words(run, session)
        if words is None:
            return ()
        due = dict(self._due(unit, run, words))
        if not due:
            return ()
        given = {it.key for it in unit.journal.by_keys(run.session_id, [*map(_key, due)])}
        return tuple(
            NewEvent(
                kind=EventKind.HINT,
                run_id=run.run_id,
                key=_key(code),
                data={"code": code, "text": text},
            )
            for code, text in due.items()
            if _key(code) not in given
        )

    def _due(self, unit: "Unit", run: Run, words: str) -> Iterator[tuple[str, str]]:
        if intent_of(words) in _WANTS_SKILL:
            agent = unit.agents.get(run.agent_id)
            # An open agent has no switches.
            can_be_on = agent is not None and agent.agent_type is AgentType.PREDEFINED
            if agent is not None and can_be_on and not resolve(agent).skill_evolve:
                name = shlex.quote(agent.agent_id)
                yield SKILL_EVOLVE_OFF, say(run.locale, "hint.skill_evolve_off", agent=name)
        if asks_to_remember(words):
            capture = self.capture(unit).semantic_candidates
            route_id = capture.model.provider if capture.model else None
            if not capture.enabled:
                yield CAPTURE_OFF, say(run.locale, "hint.capture_off")
            elif not any(labelled_statements(words)) and self.is_offline(unit, route_id):
                yield NO_MODEL, say(run.locale, "hint.capture_without_model")


def _key(code: str) -> str:
    """The key of a hint among the events of a session."""
    return f"hint:{code}"
