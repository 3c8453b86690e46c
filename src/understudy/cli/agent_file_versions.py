"""The versions of context files on the command line: listed, compared, printed, brought back."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from understudy.cli import screen
from understudy.cli.connection import Connection
from understudy.cli.output import note, print_json

if TYPE_CHECKING:
    from understudy.wire.agents import FileVersionDetail, FileVersionView


def files_of(daemon: Connection, user: str | None) -> tuple[Any, tuple[str, ...]]:
    """The calls for an agent's own files, or those for a user's copies and whose these are."""
    agents = daemon.client.agents
    return (agents.files, ()) if user is None else (agents.user_files, (user,))


def list_versions(
    daemon: Connection,
    agent_id: str,
    name: str,
    user: str | None,
    *,
    limit: int,
    cursor: str | None,
    diff: bool = False,
) -> None:
    """Show the versions of a file, newest first; or what each of them changed."""
    files, who = files_of(daemon, user)
    page = files.versions_page(agent_id, *who, name, limit=limit, cursor=cursor)
    if diff:
        versions = [item.version for item in page.items]
        _tell_changes(daemon, files, (agent_id, *who, name), versions, page.next_cursor)
    else:
        columns = ("version", "bytes", "by", "run", "written")
        rows = [_row(item) for item in page.items]
        daemon.show(lambda: screen.table(columns, rows, empty="This file was never written."))
    daemon.more(page.next_cursor)


def show_version(
    daemon: Connection, agent_id: str, name: str, user: str | None, version: int
) -> None:
    """Print a file as it was."""
    files, who = files_of(daemon, user)
    view = files.version(agent_id, *who, name, version)

    def render() -> None:
        if view.deleted:
            note(f"{name} was deleted in version {version}")
        else:
            screen.document(view.content)

    daemon.show(render)


def restore_version(
    daemon: Connection, agent_id: str, name: str, user: str | None, version: int
) -> None:
    """Bring an earlier version of a file back."""
    files, who = files_of(daemon, user)
    view = files.restore(agent_id, *who, name, version)
    daemon.show(lambda: note(f"{name} of {agent_id} is at version {view.version}"))


def _tell_changes(
    daemon: Connection,
    files: Any,
    file: tuple[str, ...],
    versions: Sequence[int],
    next_cursor: str | None,
) -> None:
    """What each version changed; with --json one document with all of them."""
    answers: list[Any] = []
    for version in versions:
        view = files.version(*file, version)
        answers.append(daemon.answer)
        if not daemon.as_json:
            _tell_change(view)
    if daemon.as_json:
        print_json({"items": answers, "next_cursor": next_cursor})
    elif not versions:
        print("This file was never written.")


def _tell_change(view: "FileVersionDetail") -> None:
    size = "deleted" if view.deleted else f"{view.size} bytes"
    when = screen.ago(view.created_at_ms)
    told = (f"version {view.version}", size, f"by {view.actor}", view.run_id, when)
    print(", ".join(part for part in told if part))
    print(screen.visible(view.diff) or "[no line differs]")
    print()


def _row(item: "FileVersionView") -> tuple[object, ...]:
    size = "deleted" if item.deleted else item.size
    return item.version, size, item.actor, item.run_id, screen.ago(item.created_at_ms)
