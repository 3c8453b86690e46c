"""`understudy serve`: run the daemon."""

import typer

from understudy.cli.arguments import Bind, ConfigFile, DatabaseUrl, Home, Workspace
from understudy.cli.output import ExitCode, note


def serve(
    home: Home = None,
    bind: Bind = None,
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
    workspace: Workspace = None,
) -> None:
    """Run the daemon until a signal stops it: the first one drains, a second one ends it."""
    from understudy.settings import Flags, SettingsError, load_settings

    flags = Flags(
        home=home, bind=bind, database_url=database_url, config=config, workspace=workspace
    )
    try:
        settings = load_settings(flags)
    except SettingsError as problem:
        note(f"understudy: {problem}")
        raise typer.Exit(ExitCode.FAILED) from None
    # Everything the daemon is made of; only after the settings are known to be good.
    from understudy.daemon.serve import serve as run

    raise typer.Exit(run(settings))
