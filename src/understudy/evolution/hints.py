"""Hints: tell a client about a setting that prevented what its user asked for.

A hint is a session event, once per code. It is in no prompt.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.agents.model import AgentType
from understudy.agents.switches import resolve
from understudy.evolution.answers import MAX_MESSAGE_CHARS, MessageIntent, intent_of
from understudy.evolution.consent import own_words
from understudy.evolution.visible_text import plain
from understudy.i18n.catalogue import say
from understudy.learnings.capture_settings import CaptureSettings
from understudy.learnings.labels import labelled_statements
from understudy.learnings.pastes import holds_paste
from understudy.learnings.quotations import sentences
from understudy.runs.model import Run, RunTrace
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

SKILL_EVOLVE_OFF: Final = "skill_evolve_off"
CAPTURE_OFF: Final = "capture_off"
NO_MODEL: Final = "capture_without_model"
# A hint too many costs one line of a session, so the rule is short.
_REMEMBER: Final = re.compile(
    r"\b(?:(?<!i )remember(?! wh| me\b)|forget|memori[sz]e|in mind)\b|nhớ|đừng quên|lưu ý|[记記][住得下]|[别別]忘|不要忘"
)
_QUESTION: Final = re.compile(r"\?|[吗嗎呢]\W*$")
# Intents for which a skill would be made if the agent could.
_WANTS_SKILL: Final = frozenset({MessageIntent.ACCEPT, MessageIntent.REQUEST})


def asks_to_remember(text: str) -> bool:
    """Whether the writer speaks of remembering, and does not ask about it."""
    if len(text) > MAX_MESSAGE_CHARS or holds_paste(text):
        return False
    said = (plain(text[start:end]) for start, end in sentences(text))
    return any(_REMEMBER.search(sentence) and not _QUESTION.search(sentence) for sentence in said)


@dataclass(frozen=True, slots=True)
class Hints:
    """Finds the hints for a run that ends."""

    capture: Callable[["Unit"], CaptureSettings]
    # Whether a route, or the default one, is the offline script, which finds no statements.
    is_offline: Callable[["Unit", str | None], bool]

    def events(self, unit: "Unit", run: Run) -> tuple[NewEvent, ...]:
        """The hints that the session has not had before."""
        due = dict(self._due(unit, run, run.input.text))
        if not due or own_words(run, require_session(unit, run.session_id)) is None:
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
        # What its agent suggested is remembered, whatever the settings.
        if asks_to_remember(words) and RunTrace.CANDIDATE not in unit.traces(run):
            capture = self.capture(unit).semantic_candidates
            route_id = capture.model.provider if capture.model else None
            if not capture.enabled:
                yield CAPTURE_OFF, say(run.locale, "hint.capture_off")
            elif not any(labelled_statements(words)) and self.is_offline(unit, route_id):
                yield NO_MODEL, say(run.locale, "hint.capture_without_model")


def _key(code: str) -> str:
    """The key of a hint among the events of a session."""
    return f"hint:{code}"
