"""The servers that a session has for itself: who may give it which."""

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
# A name that nobody knows yet may be known by the time of the first run.
CHECKED_LATER: Final = "host_unknown"
CREDENTIAL: Final = (
    "this looks like a credential; a server with credentials belongs into the config file"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionServerService:
    """Reads and sets the servers of sessions."""

    units: "Units"
    clock: Clock
    destinations: Destinations
    # Names that the config file has given away.
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
        """A session's own server as it is connected to."""
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
        """Give a session these servers and no others; runs that have begun keep theirs."""
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
    """Whether it runs a program on this machine, or acts without anybody being asked."""
    return server.command is not None or server.approval != "always" or server.trust_annotations


def _pointer(server: SessionServer, field: str) -> str:
    return f"/mcp_servers/{server.name}/{field.replace('~', '~0')}"


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
