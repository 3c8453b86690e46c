"""`understudy tokens`, `audit` and `webhooks`: tokens, the audit, and the webhook secret."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from understudy.cli import screen
from understudy.cli.connection import Commands, DaemonConnection, command, destination
from understudy.cli.options import Key, Locale, PageOptions
from understudy.cli.output import ExitCode, client_problem, note, print_json, understudy
from understudy.cli.table import Verb, declare

if TYPE_CHECKING:
    from understudy.access.tokens import TokenCreated
    from understudy.core.audit import AuditVerification
    from understudy.wire.replies import WebhookSecretView

tokens = Commands("Tokens: who may call, and in which role.")

LOCK_OUT: Final = (
    "this would be the first token: from then on every call needs one, and nobody could administer"
)


def _show_created(created: "TokenCreated") -> None:
    print(created.token or "")
    lost = "made before under this key; its secret is not shown again"
    told = "shown this once" if created.token else lost
    note(f"{created.token_id}: {created.role} {created.user_id}; {told}")


@tokens("create", show=_show_created)
def create(
    daemon: DaemonConnection,
    user_id: Annotated[str, typer.Argument(metavar="USER", help="Who the token stands for.")],
    role: Annotated[str, typer.Option(help="`viewer`, `operator` or `admin`.")] = "operator",
    locale: Locale = None,
    key: Key = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Make the first token even if it is not an admin's.")
    ] = False,
) -> object:
    """Make a token; it is shown once. From the first one on, every call needs a token."""
    from understudy.wire.access import CreateToken

    fields = {"user_id": user_id, "role": role, "locale": locale}
    wanted = CreateToken.model_validate(fields)
    if wanted.role != "admin" and not yes:
        _refuse_to_lock_out(daemon)
    return daemon.client.tokens.create(wanted.user_id, wanted.role, locale=wanted.locale, key=key)


TOKENS_COLUMNS: Final[screen.Layout] = {
    "token": "token_id",
    "user": "user_id",
    "role": "role",
    "locale": "locale",
    "made": "created_at_ms",
}


@tokens("delete", show="token {token_id} is deleted")
def delete(
    daemon: DaemonConnection,
    token_id: Annotated[str, typer.Argument(metavar="TOKEN_ID", help="Its id, as `list` shows.")],
    leave_no_admin: Annotated[
        bool, typer.Option("--leave-no-admin", help="Delete it even if no other admin has one.")
    ] = False,
) -> None:
    """Refuse calls with a token from now on."""
    daemon.client.tokens.delete(token_id, leave_no_admin=leave_no_admin or None)


def _refuse_to_lock_out(daemon: DaemonConnection) -> None:
    """Refuse to create a first token that is not an admin's, which would lock everybody out."""
    # A caller with a token keeps one that works.
    if daemon.has_token or daemon.client.tokens.page(limit=1).items:
        return
    hint = (
        f"\n  first make one for yourself with `{understudy()} tokens create me --role admin`,"
        " or start the daemon with UNDERSTUDY_ADMIN_TOKEN set; --yes does it all the same"
    )
    if daemon.as_json:
        title = "First token is not an admin's"
        print_json(client_problem("first_token_not_admin", title, LOCK_OUT, status=409))
    note(f"error: {LOCK_OUT}{hint}")
    raise typer.Exit(ExitCode.REFUSED)


class AuditAct(StrEnum):
    """What `audit` can do but list."""

    VERIFY = "verify"


AUDIT_COLUMNS: Final[screen.Layout] = {
    "when": "at_ms",
    "who": "actor",
    "action": "action",
    "outcome": lambda item: f"{item.outcome}: {item.reason}" if item.reason else item.outcome,
    "what": "resource_id",
}


def _tell_verification(answer: "AuditVerification") -> None:
    for name, chain in (("audit", answer.audit), ("skill versions", answer.skill_versions)):
        told = {
            "erased": chain.erased,
            "pruned": chain.pruned,
            "unchained": chain.unchained,
            "to be sealed": chain.unsealed,
        }
        rest = "".join(f", {number} {word}" for word, number in told.items() if number)
        note(f"{name}: {chain.checked} checked{rest}; head {chain.head}")
    bad = answer.first_bad
    if bad is not None:
        where = f" at {bad.place}" if bad.place is not None else ""
        note(f"error: {bad.chain}{where}: {bad.problem}{f' (row {bad.row})' if bad.row else ''}")


@command(show=AUDIT_COLUMNS, empty="Nothing was changed or refused yet.")
def audit(
    daemon: DaemonConnection,
    page: PageOptions,
    act: Annotated[
        AuditAct | None,
        typer.Argument(metavar="[verify]", help="Check that no row was edited or removed."),
    ] = None,
    resource: Annotated[str | None, typer.Option(help="Only one kind, such as `sessions`.")] = None,
    actor: Annotated[str | None, typer.Option(help="Only what somebody did.")] = None,
    head: Annotated[
        str | None, typer.Option(help="With `verify`: a head noted before, still to be found.")
    ] = None,
) -> object:
    """List who did what, and who was told no; newest first. `audit verify` checks the rows."""
    if act is None:
        return daemon.client.audit.page(resource=resource, actor=actor, **page)
    answer = daemon.client.audit.verify(head=head)
    daemon.show(lambda: _tell_verification(answer))
    if not answer.ok:
        raise typer.Exit(ExitCode.REFUSED)
    return None


@command()
def open_console(
    daemon: DaemonConnection,
    ctx: typer.Context,
    show: Annotated[
        bool, typer.Option("--print", help="Print the link instead of opening it.")
    ] = False,
) -> None:
    """Open the console in a browser, where one click signs in; the link works once."""
    import webbrowser

    link = destination(ctx).url.rstrip("/") + daemon.client.console.link().path
    if show or not webbrowser.open(link):
        print(link)


webhooks = Commands("Webhooks: the secret that deliveries are signed with.")


def _show_secret(made: "WebhookSecretView") -> None:
    print(made.secret or "")
    lost = "made before under this key; it is not shown again"
    note("shown this once; give it to every receiver" if made.secret else lost)


declare(
    tokens,
    Verb(
        names="list",
        call="tokens.page",
        show=TOKENS_COLUMNS,
        empty="No tokens. On loopback, calls without one act as admin until"
        " `{understudy} tokens create USER` makes the first.",
    ),
)


declare(
    webhooks,
    Verb(names="rotate-secret", call="webhooks.rotate_secret", show=_show_secret),
)
