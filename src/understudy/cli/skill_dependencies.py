"""`understudy skills deps` and `runtimes`: what skills need of the daemon's machine."""

from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli import screen
from understudy.cli.arguments import Key
from understudy.cli.connection import Connection, connect
from understudy.cli.options import Commands
from understudy.cli.output import ExitCode, note

if TYPE_CHECKING:
    from understudy.wire.skill_dependencies import InstalledView

commands = Commands("What skills need.")
deps = Commands("Packages and programs that skills need; for admins.")
commands.app.add_typer(deps.app, name="deps")


@commands("runtimes")
def runtimes(ctx: typer.Context) -> None:
    """List the programs that skills run with, and whether they are there."""
    with connect(ctx) as daemon:
        view = daemon.client.skill_dependencies.runtimes()
        rows = [(item.name, item.available, item.version) for item in view.runtimes]

        def render() -> None:
            screen.table(("program", "there", "version"), rows, empty="None is known.")
            note("skills can run" if view.ready else "skills that bring programs cannot run here")

        daemon.show(render)


@deps("rescan")
def rescan(ctx: typer.Context, key: Key = None) -> None:
    """Look again at what every skill misses; nothing is run for that."""
    with connect(ctx) as daemon:
        view = daemon.client.skill_dependencies.rescan(key=key)
        rows = [(item.slug, item.status, item.missing or None) for item in view.results]

        def render() -> None:
            screen.table(("skill", "status", "misses"), rows, empty="There is no skill to look at.")
            note(f"{screen.count(view.updated, 'skill')} changed")

        daemon.show(render)


@deps("install")
def install(
    ctx: typer.Context,
    label: Annotated[
        str | None,
        typer.Argument(metavar="[DEP]", help="One only, such as `pip:requests` or `npm:marked`."),
    ] = None,
    key: Key = None,
) -> None:
    """Install the packages that skills miss, each into an environment of its own skill."""
    with connect(ctx) as daemon:
        if not daemon.as_json:
            screen.aside("installing; this may take some minutes")
        if label is not None:
            _install_one(daemon, label, key)
            return
        view = daemon.client.skill_dependencies.install(key=key)
        daemon.show(lambda: _show_installed(view))
        if view.errors:
            raise typer.Exit(ExitCode.FAILED)


def _install_one(daemon: Connection, label: str, key: str | None) -> None:
    view = daemon.client.skill_dependencies.install_one(label, key=key)
    words = "is installed" if view.ok else f"is not installed: {view.error}"
    daemon.show(lambda: note(f"{label} {words}"))
    if not view.ok:
        raise typer.Exit(ExitCode.FAILED)


def _show_installed(view: "InstalledView") -> None:
    rows = [
        (manager, name)
        for manager, names in (("system", view.system), ("pip", view.pip), ("npm", view.npm))
        for name in names
    ]
    if rows:
        screen.table(("by", "installed"), rows, empty="")
    for line in (*((view.message,) if view.message else ()), *view.errors):
        note(line)
