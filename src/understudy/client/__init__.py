"""The typed SDK: `Client` and `AsyncClient` call a running daemon, with safe retries."""

from importlib import import_module
from typing import TYPE_CHECKING

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
from understudy.client.transport import AsyncRetries as AsyncRetries
from understudy.client.transport import Retries as Retries

if TYPE_CHECKING:
    from understudy.client.async_client import AsyncClient as AsyncClient
    from understudy.client.streams import StreamEvent as StreamEvent
else:

    def __getattr__(name: str) -> object:
        """Import at first use what needs httpx2 or Pydantic; most commands do without them."""
        module = {"AsyncClient": "async_client", "StreamEvent": "streams"}.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{module}"), name)
