"""Offering a person what a run waits for, until it goes on or the person leaves it waiting."""

from typing import TYPE_CHECKING

from understudy.cli.answering import ask_questions
from understudy.cli.deciding import settle
from understudy.cli.hints import understudy
from understudy.cli.output import error_lines
from understudy.cli.person import Left, Person

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.wire.runs import RunView


def offer(client: "Client", person: Person, run_id: str) -> bool:
    """Ask for everything that a run waits for; False when something is left waiting."""
    from understudy.client.errors import ConflictError, InvalidError, NotFoundError

    person.forget_typed()
    while True:
        run = client.runs.get(run_id)
        try:
            if not _offer_one(client, person, run):
                return True
        except (Left, KeyboardInterrupt):
            person.say(_come_back(run))
            return False
        except (ConflictError, InvalidError, NotFoundError) as problem:
            # Somebody else may have answered meanwhile, or the daemon does not take an answer.
            person.say(error_lines(problem))


def _offer_one(client: "Client", person: Person, run: "RunView") -> bool:
    """Ask for the first thing that a run waits for; False when there is none."""
    if run.pending_approvals:
        if settle(client, person, run.pending_approvals[0]) is None:
            raise Left
        return True
    if run.pending_questions:
        question = run.pending_questions[0]
        client.questions.resolve(run.run_id, ask_questions(person, question))
        return True
    return False


def _come_back(run: "RunView") -> list[str]:
    return [
        f"run {run.run_id} goes on waiting; /pending asks again,",
        f"so does `{understudy()} chat --session {run.session_id}` whenever you come back",
    ]
