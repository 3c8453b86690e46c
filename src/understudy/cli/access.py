"""`understudy tokens`, `audit` and `webhooks`: who may call, what they did, and what webhooks are signed with."""

from typing import Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import DaemonConnection, connect
from understudy.cli.options import Commands, Cursor, Key, Limit, Locale
from understudy.cli.output import ExitCode, client_problem, note, print_json, understudy

tokens = Commands("Tokens: who may call, and in which role.")

LOCK_OUT: Final = (
    "this would be the first token: from then on every call needs one, and nobody could administer"
)


@tokens("create")
def create(
    ctx: typer.Context,
    user_id: Annotated[str, typer.Argument(metavar="USER", help="Who the token stands for.")],
    role: Annotated[str, typer.Option(help="`viewer`, `operator` or `admin`.")] = "operator",
    locale: Locale = None,
    key: Key = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Make the first token even if it is not an admin's.")
    ] = False,
) -> None:
    """Make a token; it is shown once. From the first one on, every call needs a token."""
    from understudy.wire.access import CreateToken

    with connect(ctx) as daemon:
        fields = {"user_id": user_id, "role": role, "locale": locale}
        wanted = CreateToken.model_validate(fields)
        if wanted.role != "admin" and not yes:
            _refuse_to_lock_out(daemon)
        created = daemon.client.tokens.create(
            wanted.user_id, wanted.role, locale=wanted.locale, key=key
        )
        daemon.show(lambda: print(created.token or ""))
        if not daemon.as_json:
            about = f"{created.token_id}: {created.role} {created.user_id}"
            lost = "made before under this key; its secret is not shown again"
            note(f"{about}; {'shown this once' if created.token else lost}")


TOKENS_COLUMNS: Final[screen.Layout] = {
    "token": "token_id",
    "user": "user_id",
    "role": "role",
    "locale": "locale",
    "made": "created_at_ms",
}


@tokens("list")
def list_tokens(ctx: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List tokens, without their secrets."""
    with connect(ctx) as daemon:
        page = daemon.client.tokens.page(limit=limit, cursor=cursor)
        empty = (
            "No tokens. On loopback, calls without one act as admin until"
            f" `{understudy()} tokens create USER` makes the first."
        )
        daemon.show_page(page, TOKENS_COLUMNS, empty=empty)


@tokens("delete")
def delete(
    ctx: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="TOKEN_ID", help="Its id, as `list` shows.")],
) -> None:
    """Refuse calls with a token from now on."""
    with connect(ctx) as daemon:
        daemon.client.tokens.delete(token_id)
        daemon.show(lambda: note(f"token {token_id} is deleted"))


def _refuse_to_lock_out(daemon: DaemonConnection) -> None:
    """Stop before a token that ends the time without tokens and leaves nobody in charge."""
    # Whoever gets in with a token has one that goes on working.
    if daemon.has_token or daemon.client.tokens.page(limit=1).items:
        return
    if daemon.as_json:
        print_json(
            client_problem(
                "first_token_not_admin", "First token is not an admin's", LOCK_OUT, status=409
            )
        )
    note(f"error: {LOCK_OUT}")
    note(
        f"  first make one for yourself with `{understudy()} tokens create me --role admin`,"
        " or start the daemon with UNDERSTUDY_ADMIN_TOKEN set; --yes does it all the same"
    )
    raise typer.Exit(ExitCode.REFUSED)


AUDIT_COLUMNS: Final[screen.Layout] = {
    "when": "at_ms",
    "who": "actor",
    "action": "action",
    "outcome": lambda item: (
        item.outcome if item.reason is None else f"{item.outcome}: {item.reason}"
    ),
    "what": "resource_id",
}


def audit(
    ctx: typer.Context,
    resource: Annotated[str | None, typer.Option(help="Only one kind, such as `sessions`.")] = None,
    actor: Annotated[str | None, typer.Option(help="Only what somebody did.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List who did what, and who was told no; newest first."""
    with connect(ctx) as daemon:
        page = daemon.client.audit.page(resource=resource, actor=actor, limit=limit, cursor=cursor)
        empty = "Nothing was changed or refused yet."
        daemon.show_page(page, AUDIT_COLUMNS, empty=empty)


webhooks = Commands("Webhooks: the secret that deliveries are signed with.")


@webhooks("rotate-secret")
def rotate_secret(ctx: typer.Context, key: Key = None) -> None:
    """Make the secret that signs from now on; it is shown once."""
    with connect(ctx) as daemon:
        made = daemon.client.webhooks.rotate_secret(key=key)
        daemon.show(lambda: print(made.secret or ""))
        if not daemon.as_json:
            lost = "made before under this key; it is not shown again"
            note("shown this once; give it to every receiver" if made.secret else lost)
