"""Accessors for routes: the daemon's services, the principal, and path ids."""

from asyncio import Semaphore
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Path, Request

from understudy.api.open_streams import OpenStreams
from understudy.api.scan_queue import ScanQueue
from understudy.core.principal import Principal

if TYPE_CHECKING:
    from understudy.daemon.services import Services as DaemonServices


def open_streams_of(request: Request) -> OpenStreams:
    """The open streams of the app that serves a request."""
    return cast("OpenStreams", request.app.state.open_streams)


def scan_queue_of(request: Request) -> ScanQueue:
    """The scan queue of the app that serves a request."""
    return cast("ScanQueue", request.app.state.scan_queue)


def long_bodies_of(request: Request) -> Semaphore:
    """The turn to parse a long body, of the app that a request came to."""
    return cast("Semaphore", request.app.state.long_bodies)


def services_of(request: Request) -> "DaemonServices":
    """The services of the daemon that serves this request."""
    return cast("DaemonServices", request.app.state.services)


def principal_of(request: Request) -> Principal:
    """The principal of a request, which the gate has authenticated."""
    return cast("Principal", request.state.principal)


async def _services(request: Request) -> "DaemonServices":
    return services_of(request)


async def _principal(request: Request) -> Principal:
    return principal_of(request)


# Dependencies are async: FastAPI runs every other one in a thread, which takes longer than they do.
Services = Annotated["DaemonServices", Depends(_services)]
Caller = Annotated[Principal, Depends(_principal)]
SessionId = Annotated[str, Path(description="id of the session")]
RunId = Annotated[str, Path(description="id of the run")]
AgentId = Annotated[str, Path(description="id of the agent")]
