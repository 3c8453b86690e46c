"""`understudy webhooks`: the secret that deliveries are signed with."""

import typer

from understudy.cli.arguments import Key
from understudy.cli.connection import connect
from understudy.cli.options import Commands
from understudy.cli.output import note

commands = Commands("Webhooks: the secret that deliveries are signed with.")


@commands("rotate-secret")
def rotate_secret(ctx: typer.Context, key: Key = None) -> None:
    """Make the secret that signs from now on; it is shown once."""
    with connect(ctx) as daemon:
        made = daemon.client.webhooks.rotate_secret(key=key)
        daemon.show(lambda: print(made.secret or ""))
        if not daemon.as_json:
            lost = "made before under this key; it is not shown again"
            note("shown this once; give it to every receiver" if made.secret else lost)
