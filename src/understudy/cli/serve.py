"""`understudy serve`: run the daemon."""

import typer

from understudy.cli.arguments import Bind, ConfigFile, DatabaseUrl, Home, Workspace
from understudy.cli.local_settings import settings_or_exit


def serve(
    home: Home = None,
    bind: Bind = None,
    database_url: DatabaseUrl = None,
    config: ConfigFile = None,
    workspace: Workspace = None,
) -> None:
    """Run the daemon until a signal stops it: the first one drains, a second one ends it."""
    from understudy.settings import Flags

    flags = Flags(
        home=home, bind=bind, database_url=database_url, config=config, workspace=workspace
    )
    settings = settings_or_exit(flags)
    # Everything the daemon is made of; only after the settings are known to be good.
    from understudy.daemon.serve import serve as run

    raise typer.Exit(run(settings))
