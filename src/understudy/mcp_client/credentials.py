"""Whether somebody put a credential where everybody can read it."""

from collections.abc import Iterator

from understudy.mcp_client.model import SessionServer
from understudy.redaction.opaque import is_sensitive_key
from understudy.redaction.scrub import scrub


def credential_in(server: SessionServer) -> str | None:
    """The field that holds a credential, by its name or by its look; None: there is none."""
    for field, name, value in _fields(server):
        if value and (is_sensitive_key(name) or scrub(value) != value):
            return field
    return None


def _fields(server: SessionServer) -> Iterator[tuple[str, str, str]]:
    """Where, under which name, what."""
    for name, value in server.env.items():
        yield f"env/{name}", name, value
    for name, value in server.headers.items():
        yield f"headers/{name}", name, value
    before = ""
    for number, value in enumerate(server.args):
        # `--token=…` says in itself what it holds, `--token` what comes next.
        name, _, given = value.partition("=")
        yield f"args/{number}", name if given else before, value
        before = "" if given else value
    yield "command", "", server.command or ""
    yield "url", "", server.url or ""
