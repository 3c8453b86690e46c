"""`understudy policy`: what operators decide about memory and learning while the daemon runs."""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

import typer

from understudy.cli import policy_documents, screen
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.inputs import NotAnObject, parse_object
from understudy.cli.options import Commands, Cursor, Limit, shared
from understudy.cli.output import ExitCode, note, problem_lines, understudy
from understudy.cli.person import Left, Person
from understudy.cli.policy_documents import (
    changed,
    document,
    learning_policy_pairs,
    one_source,
    show_dry_run,
    unwrapped,
)
from understudy.cli.runtime import Expected
from understudy.cli.screen import one_line, visible

if TYPE_CHECKING:
    from understudy.client import Client
    from understudy.client.errors import InvalidError

commands = Commands("Policy: what operators decide about memory and learning.")
commands.app.add_typer(policy_documents.run_memory.app, name="run-memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One of the policies: the calls about it, and how it reads."""

    name: str
    calls: Callable[["Client"], Any]
    pairs: Callable[[Any], list[tuple[str, object]]]

    def show(self, daemon: DaemonConnection, view: Any) -> None:
        """The policy in force, after a look or a change."""
        daemon.show(lambda: screen.fields(self.pairs(view)))


POLICIES: Final[Mapping[str, Policy]] = {
    "learning": Policy(
        name="learning", calls=lambda client: client.learning_policy, pairs=learning_policy_pairs
    ),
    "run-memory": Policy(
        name="run-memory",
        calls=lambda client: client.run_memory_policy,
        pairs=policy_documents.run_memory_policy_pairs,
    ),
}
LEARNING: Final = "learning"
Which = Annotated[
    str,
    typer.Argument(
        metavar="[WHICH]", help="`learning` if left out, or `run-memory`.", show_default=False
    ),
]
File = Annotated[
    Path | None,
    typer.Option("--file", help="A whole policy as JSON; what it leaves out is the default."),
]
Stdin = Annotated[bool, typer.Option("--stdin", help="The same, from stdin.")]


@commands("show", "get")
def show(ctx: typer.Context, which: Which = LEARNING) -> None:
    """Show a policy in force; the learning policy unless another is named."""
    policy = _policy(which)
    with connect(ctx) as daemon:
        policy.show(daemon, policy.calls(daemon.client).get())


@commands("edit")
def edit(
    ctx: typer.Context,
    which: Which = LEARNING,
    file: File = None,
    stdin: Stdin = False,
    expected_revision: Expected = None,
) -> None:
    """Edit a policy in your editor, or replace it by a file; a wrong one changes nothing."""
    policy = _policy(which)
    source = one_source(file, stdin=stdin)
    wanted = None if source is None else document(source)
    if wanted is None and shared(ctx).json:
        raise typer.BadParameter("an editor needs a person: give --file or --stdin with --json")
    with connect(ctx) as daemon:
        calls = policy.calls(daemon.client)
        if wanted is not None:
            policy.show(daemon, calls.set(wanted, expected_revision=expected_revision))
        elif _edited(daemon, policy, expected_revision):
            policy.show(daemon, calls.get())
        else:
            note("nothing changed")


@commands("set")
def change(
    ctx: typer.Context,
    which: Annotated[str, typer.Argument(metavar="WHICH", help="`learning`, or `run-memory`.")],
    pairs: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE...", help="Fields to change, such as judge.enabled=true."
        ),
    ],
    expected_revision: Expected = None,
) -> None:
    """Change fields of a policy; the others stay as they are."""
    policy = _policy(which)
    changed({}, pairs)  # a mistyped one is told before anybody is asked
    with connect(ctx) as daemon:
        calls = policy.calls(daemon.client)
        current = calls.get()
        wanted = changed(daemon.answer["policy"], pairs)
        # Somebody else's change in between is not undone.
        revision = current.revision if expected_revision is None else expected_revision
        policy.show(daemon, calls.set(wanted, expected_revision=revision))


@commands("dry-run")
def dry_run(
    ctx: typer.Context,
    file: File = None,
    stdin: Stdin = False,
    days: Annotated[
        int, typer.Option("--days", min=1, max=90, help="Decided ones of so many days, too.")
    ] = 7,
) -> None:
    """Tell what a learning policy would do otherwise with what waits and what was decided."""
    source = one_source(file, stdin=stdin)
    if source is None:
        raise typer.BadParameter("give the policy to try: --file or --stdin")
    wanted = document(source)
    with connect(ctx) as daemon:
        view = daemon.client.learning_policy.dry_run(wanted, days=days)
        daemon.show(lambda: show_dry_run(view))


@commands("history", "revisions")
def history(
    ctx: typer.Context, which: Which = LEARNING, limit: Limit = 50, cursor: Cursor = None
) -> None:
    """List the kept revisions of a policy with what each changed, newest first."""
    policy = _policy(which)
    with connect(ctx) as daemon:
        page = policy.calls(daemon.client).revisions_page(limit=limit, cursor=cursor)
        documents = [item["policy"] for item in daemon.answer["items"]]
        rows = [
            (
                item.revision,
                screen.ago(item.updated_at_ms),
                item.actor,
                item.rollback_of_revision,
                None if older is None else changes(older, document) or "nothing",
            )
            for item, document, older in zip_longest(page.items, documents, documents[1:])
        ]
        columns = ("revision", "when", "by", "rollback of", "changes")
        daemon.show(lambda: screen.table(columns, rows, empty="No revisions yet."))
        daemon.more(page.next_cursor)


@commands("rollback")
def roll_back(
    ctx: typer.Context,
    which: Which = LEARNING,
    to: Annotated[
        int | None,
        typer.Option("--to", metavar="REVISION", help="To which one; the one before if left out."),
    ] = None,
    expected_revision: Expected = None,
) -> None:
    """Bring an earlier policy back as a new revision."""
    policy = _policy(which)
    with connect(ctx) as daemon:
        calls = policy.calls(daemon.client)
        policy.show(daemon, calls.roll_back(to, expected_revision=expected_revision))


def _policy(which: str) -> Policy:
    if which not in POLICIES:
        raise typer.BadParameter(f"there is a learning and a run-memory policy; got {which!r}")
    return POLICIES[which]


def _edited(daemon: DaemonConnection, policy: Policy, expected_revision: int | None) -> bool:
    """Have the policy in force edited; whether it was changed."""
    from understudy.cli.person import Somebody

    calls = policy.calls(daemon.client)
    current = calls.get()
    revision = current.revision if expected_revision is None else expected_revision
    editing = Editing(Somebody(), policy.name, may_ask=sys.stdin.isatty())
    return editing.edit(daemon.answer["policy"], partial(calls.set, expected_revision=revision))


WRAPPED_IN: Final = "/policy"
NO_EDITOR: Final = "name an editor in EDITOR or VISUAL, or give --file or --stdin"


class SetPolicy(Protocol):
    """Puts a policy in force."""

    def __call__(self, policy: dict[str, Any]) -> object: ...


class Editing:
    """One person who edits one policy; `which` is what commands call it."""

    def __init__(self, person: Person, which: str, *, may_ask: bool) -> None:
        self._person = person
        self._which = which
        # Whether there is somebody to ask for another try.
        self._may_ask = may_ask

    def edit(self, policy: dict[str, Any], put: SetPolicy) -> bool:
        """Have it edited and put in force; False when nothing was changed."""
        from understudy.client import ClientError
        from understudy.client.errors import InvalidError

        before = text = json.dumps(policy, indent=2, ensure_ascii=False) + "\n"
        while True:
            edited = self._person.edit(text, name=f"{self._which}-policy.json")
            if edited is None:
                raise self._leave(text if text != before else None, NO_EDITOR)
            if edited.strip() == before.strip():
                return False
            text = edited
            try:
                put(unwrapped(parse_object(text)))
            except NotAnObject as problem:
                self._again(text, [f"error: what was written {problem}"])
            except InvalidError as problem:
                self._again(text, invalid_lines(problem))
            except ClientError as problem:
                problem.add_note(self._kept(text))
                raise
            else:
                return True

    def _again(self, text: str, problems: list[str]) -> None:
        """Say what is wrong, and ask whether to go on."""
        self._person.say(problems)
        if self._may_ask:
            try:
                if self._person.ask("[e]dit it again, or [q]uit: ").lower() not in ("q", "quit"):
                    return
            except Left:
                pass
        raise self._leave(text)

    def _leave(self, text: str | None, why: str | None = None) -> typer.Exit:
        self._person.say(
            [*([f"error: {why}"] if why else []), *([self._kept(text)] if text else [])]
        )
        return typer.Exit(ExitCode.USAGE)

    def _kept(self, text: str) -> str:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix=f"{self._which}-policy-", suffix=".json", delete=False
        ) as file:
            file.write(text)
        again = f"{understudy()} policy edit {self._which} --file {file.name}"
        return f"what you wrote is kept; `{again}` tries it again"


def invalid_lines(problem: "InvalidError") -> list[str]:
    """What is wrong with a policy, each with its place in what was written."""
    if not problem.errors:
        return problem_lines(problem.problem)
    told = [
        f"  {each.pointer.removeprefix(WRAPPED_IN) or '/'}: {each.detail}"
        for each in problem.errors
    ]
    return ["error: the policy is not taken, and the old one stays", *told]


# What is shown of a long value.
MAX_CHARS: Final = 120
NOTHING: Final = object()


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Every field that is different, on one line; nothing when both say the same."""
    return "; ".join(_differences(before, after))


def _differences(before: object, after: object, path: str = "") -> Iterator[str]:
    """Down to the leaves where both have something; what only one has is told as a whole."""
    if before == after:
        return
    old, new = _parts(before), _parts(after)
    if old is None or new is None:
        yield f"{path}: {_word(before)} → {_word(after)}"
        return
    for name in dict.fromkeys((*new, *old)):
        way = f"[{name}]" if isinstance(name, int) else f".{name}" if path else name
        yield from _differences(old.get(name, NOTHING), new.get(name, NOTHING), f"{path}{way}")


def _parts(value: object) -> dict[Any, object] | None:
    if isinstance(value, list):
        return dict(enumerate(value))
    return dict(value) if isinstance(value, Mapping) else None


def _word(value: object) -> str:
    if value is NOTHING:
        return "–"
    return one_line(visible(json.dumps(value, ensure_ascii=False)), MAX_CHARS)
