"""The servers of single sessions: validation, permissions and storage."""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.principal import Principal, Role
from understudy.mcp_client.config_servers import base_environment
from understudy.mcp_client.model import HttpServer, McpServer, Program, SessionServer
from understudy.redaction.opaque import is_sensitive_key
from understudy.redaction.scrub import scrub
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import SessionStatus, require_session
from understudy.tools.base import ToolError
from understudy.tools.destinations import Destinations, parse_url

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


ACTION: Final = "sessions.set_mcp_servers"
LOOK_UP_S: Final = 5.0
# A host that does not resolve yet may do so at the first run.
CHECKED_LATER: Final = "host_unknown"
CREDENTIAL: Final = (
    "this looks like a credential; a server with credentials belongs into the config file"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionServerService:
    """Reads and replaces the servers of sessions."""

    units: "Units"
    clock: Clock
    destinations: Destinations
    # Names used by the config file.
    taken: Collection[str]
    environment: Mapping[str, str]

    def get(self, session_id: str) -> tuple[SessionServer, ...]:
        """A session's own servers."""
        with self.units.read() as unit:
            require_session(unit, session_id)
            return unit.mcp_servers.of(session_id)

    def usable(self, session_id: str) -> tuple[McpServer, ...]:
        """The servers of a session that are enabled and whose names the config does not take."""
        with self.units.read() as unit:
            stored = unit.mcp_servers.of(session_id)
        return tuple(
            self.server(each) for each in stored if each.enabled and each.name not in self.taken
        )

    def server(self, own: SessionServer) -> McpServer:
        """The connection settings of a session's own server."""
        target: Program | HttpServer
        if own.command is None:
            target = HttpServer(url=own.url or "", headers=own.headers, public_only=True)
        else:
            target = Program(
                command=own.command,
                args=own.args,
                environment={**base_environment(self.environment), **own.env},
                cwd=Path(own.cwd) if own.cwd else None,
            )
        return McpServer(
            name=own.name,
            target=target,
            timeout_s=own.timeout_s,
            needs_approval=own.approval == "always",
            trusts_annotations=own.trust_annotations,
        )

    async def set(
        self, principal: Principal, session_id: str, servers: Sequence[SessionServer]
    ) -> tuple[SessionServer, ...]:
        """Replace the servers of a session; running runs keep theirs."""
        for server in servers:
            self._check(server)
        await asyncio.gather(*(self._check_address(each) for each in servers if each.url))
        return await asyncio.to_thread(self._store, principal, session_id, tuple(servers))

    def _store(
        self, principal: Principal, session_id: str, servers: tuple[SessionServer, ...]
    ) -> tuple[SessionServer, ...]:
        with self.units.write() as unit:
            session = require_session(unit, session_id, lock=True)
            if session.status is SessionStatus.ENDED:
                raise coded_error("sessions/session_ended")
            stored = unit.mcp_servers.of(session_id)
            if any(_is_dangerous(each) for each in servers if each not in stored):
                principal.require(Role.ADMIN)
            wanted = tuple(sorted(servers, key=lambda each: each.name))
            if wanted != stored:
                self._write(unit, principal, session_id, wanted)
            return wanted

    def _write(
        self,
        unit: "Unit",
        principal: Principal,
        session_id: str,
        servers: tuple[SessionServer, ...],
    ) -> None:
        now = self.clock.now_ms()
        unit.mcp_servers.replace(session_id, servers)
        names = [each.name for each in servers]
        event = NewEvent(kind=EventKind.SESSION, data={"type": "set_mcp_servers", "servers": names})
        unit.journal.append(session_id, (event,), at_ms=now)
        unit.audit.add(audit.done(principal, ACTION, session_id, at_ms=now))

    def _check(self, server: SessionServer) -> None:
        if server.name in self.taken:
            raise coded_error("mcp/mcp_server_name_taken", name=server.name)
        found = credential_in(server)
        if found is not None:
            raise coded_error(
                "mcp/mcp_credential_refused",
                pointer=_pointer(server, found),
                name=server.name,
                credential=CREDENTIAL,
            )

    async def _check_address(self, server: SessionServer) -> None:
        try:
            async with asyncio.timeout(LOOK_UP_S):
                await self.destinations.addresses(parse_url(server.url or ""))
        except TimeoutError:
            return
        except ToolError as problem:
            if problem.code != CHECKED_LATER:
                raise coded_error(
                    "mcp/mcp_url_refused",
                    pointer=_pointer(server, "url"),
                    name=server.name,
                    problem=problem.detail,
                ) from None


def _is_dangerous(server: SessionServer) -> bool:
    """Whether it starts a local program or skips approval, which only an admin may permit."""
    return server.command is not None or server.approval != "always" or server.trust_annotations


def _pointer(server: SessionServer, field: str) -> str:
    return f"/mcp_servers/{server.name}/{field.replace('~', '~0')}"


def credential_in(server: SessionServer) -> str | None:
    """The field with a credential, by its name or its format; None without one."""
    for field, name, value in _fields(server):
        if value and (is_sensitive_key(name) or scrub(value) != value):
            return field
    return None


def _fields(server: SessionServer) -> Iterator[tuple[str, str, str]]:
    """Field path, name and value of everything that may hold a credential."""
    for name, value in server.env.items():
        yield f"env/{name}", name, value
    for name, value in server.headers.items():
        yield f"headers/{name}", name, value
    before = ""
    for number, value in enumerate(server.args):
        # `--token=…` names its own value, `--token` that of the next argument.
        name, _, given = value.partition("=")
        yield f"args/{number}", name if given else before, value
        before = "" if given else value
    yield "command", "", server.command or ""
    yield "url", "", server.url or ""
