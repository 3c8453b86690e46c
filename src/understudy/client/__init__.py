"""The typed SDK: `Client` and `AsyncClient` talk to a running daemon, with retries where they are safe."""

from typing import TYPE_CHECKING, Any

from understudy.client.client import Client as Client
from understudy.client.errors import ClientError as ClientError
from understudy.client.errors import ConflictError as ConflictError
from understudy.client.errors import ForbiddenError as ForbiddenError
from understudy.client.errors import InvalidError as InvalidError
from understudy.client.errors import NotFoundError as NotFoundError
from understudy.client.errors import ProblemError as ProblemError
from understudy.client.errors import RefusedError as RefusedError
from understudy.client.errors import UnauthorizedError as UnauthorizedError
from understudy.client.errors import UnavailableError as UnavailableError
from understudy.client.errors import UnreachableError as UnreachableError
from understudy.client.errors import UnsafeError as UnsafeError
from understudy.client.streams import StreamEvent as StreamEvent
from understudy.client.transport import AsyncRetries as AsyncRetries
from understudy.client.transport import Retries as Retries

if TYPE_CHECKING:
    from understudy.client.async_client import AsyncClient as AsyncClient


def __getattr__(name: str) -> Any:
    """`AsyncClient`, imported when it is asked for: most callers need one client."""
    if name == "AsyncClient":
        from understudy.client.async_client import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
