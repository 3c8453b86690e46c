"""One tool of one server, as the agent sees it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from understudy.mcp_client.arguments import arguments_model
from understudy.mcp_client.connection import MAX_WAIT_S, Connection
from understudy.mcp_client.errors import CallFailed, ServerDown
from understudy.mcp_client.model import ListedTool, Server
from understudy.mcp_client.results import bounded, result_text
from understudy.mcp_client.text import tidy
from understudy.tools.base import Approval, Effect, ToolContext, ToolError

if TYPE_CHECKING:
    from pydantic import BaseModel

MIN_SECRET_CHARS: Final = 4
HIDDEN: Final = "<redacted:literal>"
MAX_ERROR_CHARS: Final = 8000


class McpTool:
    """Passes calls on to the server."""

    def __init__(
        self, connection: Connection, listed: ListedTool, secrets: Sequence[str] = ()
    ) -> None:
        server = connection.server
        self.name = f"{server.name}/{listed.name}"
        self.description = listed.description
        self.effect = effect_of(server, listed)
        self.approval = Approval.ALWAYS if server.needs_approval else Approval.NEVER
        self.parameters: type[BaseModel] = arguments_model(listed.schema)
        # The server's own time, and as long as a start may take before.
        self.timeout_s = server.timeout_s + MAX_WAIT_S
        self._connection = connection
        self.listed = listed
        # The longest first: one may be a part of another.
        long_enough = (each for each in secrets if len(each) >= MIN_SECRET_CHARS)
        self._secrets = tuple(sorted(long_enough, key=len, reverse=True))

    async def call(self, arguments: Any, context: ToolContext) -> str:
        """Ask the server; a server that cannot is an error for the model to read."""
        try:
            result = await self._connection.call(self.listed.name, dict(arguments.model_extra))
        except (ServerDown, CallFailed) as problem:
            raise ToolError(self._without_secrets(problem.detail)) from None
        text = self._without_secrets(result_text(result))
        if result.is_error:
            raise ToolError(tidy(text, MAX_ERROR_CHARS))
        return bounded(text)

    def _without_secrets(self, text: str) -> str:
        """A server knows its credentials, and may say them; the model must not know them."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


def effect_of(server: Server, listed: ListedTool) -> Effect:
    """What a repeat would do; a server is believed only where the config says so."""
    if not server.trusts_annotations:
        return Effect.ONCE
    if listed.reads_only:
        return Effect.READ
    return Effect.IDEMPOTENT if listed.is_idempotent else Effect.ONCE
