"""What a user typed themselves: the only words that can be consent."""

from typing import Final

from understudy.evolution.run_settings import is_interactive
from understudy.runs.model import Run, RunRequest
from understudy.sessions.model import Session

_NOBODY_NAMED: Final = RunRequest().actor_id


def own_words(run: Run, session: Session) -> str | None:
    """The text of the message that a run began with; None where somebody else may have written it.

    Letters, schedules and what an agent tells a sidechain are not typed by the user, nor is what a
    caller passes on for somebody whom it names. Attached files are no text of the message.
    """
    if not is_interactive(run, session):
        return None
    if run.request.actor_id not in (_NOBODY_NAMED, run.user_id):
        return None
    return run.input.text
