"""`understudy questions`: questions of runs to people."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.answers import Typed, read_answers
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.options import InSession, Key, OfRun, PageOptions
from understudy.cli.output import ExitCode, note, understudy
from understudy.cli.requests import outlook, question_pairs
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.wire.approvals import QuestionResolutionBody, QuestionView
    from understudy.wire.runs import RunView

commands = Commands("Questions: what runs ask people.")

QuestionId = Annotated[str, typer.Argument(metavar="ID", help="The question's id.")]
Everything = Annotated[
    bool, typer.Option("--all", help="Also those that were answered, expired or withdrawn.")
]
Justification = Annotated[str | None, typer.Option(help="Told to the model as well.")]


def _asked(view: "QuestionView") -> str:
    first, *more = view.questions
    words = screen.visible_line(first.question, 100)
    return f"{words} (and {len(more)} more)" if more else words


QUESTIONS_COLUMNS: Final[screen.Layout] = {
    "question": "id",
    "state": "state",
    "asked": "created_at_ms",
    "session": "session_id",
    "what": _asked,
}


@commands("list", show=QUESTIONS_COLUMNS, empty="Nobody asks anything.")
def list_questions(
    daemon: DaemonConnection,
    page: PageOptions,
    session: InSession = None,
    run: OfRun = None,
    everything: Everything = False,
) -> object:
    """List questions that wait for an answer, oldest first."""
    return daemon.client.questions.page(
        session_id=session, run_id=run, everything=everything, **page
    )


def _tell_outlook(run: "RunView") -> None:
    note(outlook(run))


@commands("answer", show=_tell_outlook)
def answer(
    daemon: DaemonConnection,
    request_id: QuestionId,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[Q=]OPTION",
            help="Choose an option by id, label or number; repeatable. `q2=o1` answers q2.",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="[Q=]TEXT", help="Answer in your own words; `-` reads stdin."),
    ] = None,
    question: Annotated[
        str | None, typer.Option(help="Which question is answered, where there are several.")
    ] = None,
    justification: Justification = None,
    key: Key = None,
) -> object:
    """Answer a question; without options and text you are asked at the terminal."""
    typed = Typed(options=option or [], texts=text or [], question_id=question)
    view = daemon.client.questions.get(request_id)
    resolution = read_answers(view, typed) if typed else _ask(daemon, view)
    if justification is not None:
        resolution = resolution.model_copy(update={"justification": justification})
    return daemon.client.questions.resolve(view.run_id, resolution, key=key)


@commands("review")
def review(daemon: DaemonConnection, session: InSession = None, run: OfRun = None) -> None:
    """Go through what is asked, one question after the other, and answer."""
    from understudy.cli.decisions import Review
    from understudy.cli.person import somebody

    person = somebody()
    if person is None or daemon.as_json:
        raise typer.BadParameter("a review needs a terminal; use `questions list` and `answer`")
    pending = [*daemon.client.questions.list(session_id=session, run_id=run)]
    if not pending:
        note("nobody asks anything")
        return
    Review(daemon.client, person).questions(pending)


@commands("decline", show=_tell_outlook)
def decline(
    daemon: DaemonConnection,
    request_id: QuestionId,
    justification: Justification = None,
    key: Key = None,
) -> object:
    """Give no answer; the run goes on, and the model is told."""
    run_id = daemon.client.questions.get(request_id).run_id
    return daemon.client.questions.decline(run_id, request_id, justification=justification, key=key)


@commands("cancel", show="run {view.run_id} is being cancelled")
def cancel(daemon: DaemonConnection, request_id: QuestionId, key: Key = None) -> object:
    """Withdraw a question, and cancel the run that asks it."""
    run_id = daemon.client.questions.get(request_id).run_id
    return daemon.client.questions.cancel(run_id, request_id, key=key)


def _ask(daemon: DaemonConnection, view: "QuestionView") -> "QuestionResolutionBody":
    from understudy.cli.answers import ask_questions
    from understudy.cli.person import Left, somebody

    person = somebody()
    if person is None or daemon.as_json:
        raise typer.BadParameter("give --option or --text; without a terminal nobody can be asked")
    if view.state != "pending":
        note(f"error: the question was settled before: {view.state}")
        raise typer.Exit(ExitCode.REFUSED)
    try:
        return ask_questions(person, view)
    except Left:
        note(f"left waiting; `{understudy()} questions answer {view.id}` asks again")
        raise typer.Exit(ExitCode.REFUSED) from None


declare(
    commands,
    Verb(names="show get", call="questions.get", show=question_pairs),
)
