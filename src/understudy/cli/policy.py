"""`understudy policy`: the learning policy and the run-memory policy."""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection
from understudy.cli.inputs import NotAnObject, parse_object
from understudy.cli.options import Expected, PageOptions
from understudy.cli.output import ExitCode, note, problem_lines, understudy
from understudy.cli.person import Left, Person, Somebody
from understudy.cli.policy_documents import (
    changed,
    document,
    one_source,
    policy_pairs,
    show_dry_run,
    unwrapped,
)
from understudy.cli.screen import visible_line

if TYPE_CHECKING:
    from understudy.client.errors import InvalidError
    from understudy.memory.service import RunMemoryDryRun

commands = Commands("Policy: what operators decide about memory and learning.")


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
WRAPPED_IN: Final = "/policy"
NO_EDITOR: Final = "name an editor in EDITOR or VISUAL, or give --file or --stdin"
# Characters of a long value that are shown.
MAX_CHARS: Final = 120
NOTHING: Final = object()


@commands("show", "get", show=policy_pairs)
def show(daemon: DaemonConnection, which: Which = LEARNING) -> object:
    """Show a policy in force; the learning policy unless another is named."""
    return _calls(daemon, which).get()


@commands("edit", show=policy_pairs)
def edit(
    daemon: DaemonConnection,
    which: Which = LEARNING,
    file: File = None,
    stdin: Stdin = False,
    expected_revision: Expected = None,
) -> object:
    """Edit a policy in your editor, or replace it by a file; a wrong one changes nothing."""
    calls = _calls(daemon, which)
    source = one_source(file, stdin=stdin)
    if source is not None:
        return calls.set(document(source), expected_revision=expected_revision)
    if daemon.as_json:
        raise typer.BadParameter("an editor needs a person: give --file or --stdin with --json")
    current = calls.get()
    revision = current.revision if expected_revision is None else expected_revision
    editing = Editing(Somebody(), which, may_ask=sys.stdin.isatty())
    if editing.edit(daemon.answer["policy"], partial(calls.set, expected_revision=revision)):
        return calls.get()
    note("nothing changed")
    return None


@commands("set", show=policy_pairs)
def change(
    daemon: DaemonConnection,
    which: Annotated[str, typer.Argument(metavar="WHICH", help="`learning`, or `run-memory`.")],
    pairs: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE...", help="Fields to change, such as judge.enabled=true."
        ),
    ],
    expected_revision: Expected = None,
) -> object:
    """Change fields of a policy; the others stay as they are."""
    return _change(daemon, _calls(daemon, which), pairs, expected_revision)


@commands("dry-run", show=show_dry_run)
def dry_run(
    daemon: DaemonConnection,
    file: File = None,
    stdin: Stdin = False,
    days: Annotated[
        int, typer.Option("--days", min=1, max=90, help="Decided ones of so many days, too.")
    ] = 7,
) -> object:
    """Tell what a learning policy would do otherwise with what waits and what was decided."""
    source = one_source(file, stdin=stdin)
    if source is None:
        raise typer.BadParameter("give the policy to try: --file or --stdin")
    wanted = document(source)
    return daemon.client.learning_policy.dry_run(wanted, days=days)


@commands("history", "revisions")
def history(daemon: DaemonConnection, page: PageOptions, which: Which = LEARNING) -> None:
    """List the kept revisions of a policy with what each changed, newest first."""
    found = _calls(daemon, which).revisions_page(**page)
    documents = [item["policy"] for item in daemon.answer["items"]]
    rows = [
        (
            item.revision,
            screen.ago(item.updated_at_ms),
            item.actor,
            item.rollback_of_revision,
            None if older is None else changes(older, document) or "nothing",
        )
        for item, document, older in zip_longest(found.items, documents, documents[1:])
    ]
    columns = ("revision", "when", "by", "rollback of", "changes")
    daemon.show(lambda: screen.table(columns, rows, empty="No revisions yet."))
    daemon.more(found.next_cursor)


@commands("rollback", show=policy_pairs)
def roll_back(
    daemon: DaemonConnection,
    which: Which = LEARNING,
    to: Annotated[
        int | None,
        typer.Option("--to", metavar="REVISION", help="To which one; the one before if left out."),
    ] = None,
    expected_revision: Expected = None,
) -> object:
    """Bring an earlier policy back as a new revision."""
    return _calls(daemon, which).roll_back(to, expected_revision=expected_revision)


run_memory = Commands("How much is remembered of runs, for how long, and who may find it.")
commands.app.add_typer(run_memory.app, name="run-memory")


@run_memory("show", "get", show=policy_pairs)
def show_run_memory(daemon: DaemonConnection) -> object:
    """Show the policy in force."""
    return daemon.client.run_memory_policy.get()


@run_memory("set", show=policy_pairs)
def change_run_memory(
    daemon: DaemonConnection,
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Fields to change; the others stay."),
    ] = None,
    file: File = None,
    stdin: Stdin = False,
    expected_revision: Expected = None,
) -> object:
    """Change the policy; what it no longer allows is forgotten at once."""
    calls = daemon.client.run_memory_policy
    source = one_source(file, stdin=stdin)
    if bool(pairs) == (source is not None):
        raise typer.BadParameter("give KEY=VALUE pairs, or --file, or --stdin")
    if source is not None:
        return calls.set(document(source), expected_revision=expected_revision)
    return _change(daemon, calls, pairs or (), expected_revision)


def _show_prunes(view: "RunMemoryDryRun") -> None:
    screen.table(("run",), [(run_id,) for run_id in view.run_ids], empty="Nothing would go.")
    leaving = f"{view.expired_count} past their time, {view.overflow_count} beyond the limit"
    note(f"{leaving}; {view.kept_count} would stay")


@run_memory("dry-run", show=_show_prunes)
def dry_run_run_memory(daemon: DaemonConnection, file: File = None, stdin: Stdin = False) -> object:
    """Name the records that a policy would delete at once; nothing changes."""
    source = one_source(file, stdin=stdin)
    if source is None:
        raise typer.BadParameter("give the policy to try: --file or --stdin")
    return daemon.client.run_memory_policy.dry_run(document(source))


REVISIONS_COLUMNS: Final[screen.Layout] = {
    "revision": "revision",
    "when": "updated_at_ms",
    "by": "actor",
    "rollback of": "rollback_of_revision",
    "policy": lambda item: screen.compact(asdict(item.policy)),
}


@run_memory("revisions", show=REVISIONS_COLUMNS, empty="No revisions yet.")
def run_memory_revisions(daemon: DaemonConnection, page: PageOptions) -> object:
    """List the kept revisions of the policy, newest first."""
    return daemon.client.run_memory_policy.revisions_page(**page)


@run_memory("rollback", show=policy_pairs)
def roll_back_run_memory(
    daemon: DaemonConnection,
    revision: Annotated[
        int | None, typer.Argument(metavar="[REVISION]", help="The one before if left out.")
    ] = None,
    expected_revision: Expected = None,
) -> object:
    """Bring the policy of an earlier revision back as a new one."""
    return daemon.client.run_memory_policy.roll_back(revision, expected_revision=expected_revision)


def _calls(daemon: DaemonConnection, which: str) -> Any:
    """The calls about a policy."""
    client = daemon.client
    calls = {LEARNING: client.learning_policy, "run-memory": client.run_memory_policy}.get(which)
    if calls is None:
        raise typer.BadParameter(f"there is a learning and a run-memory policy; got {which!r}")
    return calls


def _change(
    daemon: DaemonConnection, calls: Any, pairs: Sequence[str], expected_revision: int | None
) -> object:
    changed({}, pairs)  # a mistyped one is told before anybody is asked
    current = calls.get()
    wanted = changed(daemon.answer["policy"], pairs)
    # A concurrent change is not overwritten.
    revision = current.revision if expected_revision is None else expected_revision
    return calls.set(wanted, expected_revision=revision)


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
    """The errors of a policy, each with its JSON pointer in the edited document."""
    if not problem.errors:
        return problem_lines(problem.problem)
    told = [
        f"  {each.pointer.removeprefix(WRAPPED_IN) or '/'}: {each.detail}"
        for each in problem.errors
    ]
    return ["error: the policy is not taken, and the old one stays", *told]


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
    return visible_line(json.dumps(value, ensure_ascii=False), MAX_CHARS)
