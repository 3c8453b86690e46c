"""The typed SDK: `Client` and `AsyncClient` call a running daemon, with safe retries."""

from typing import TYPE_CHECKING

from understudy.core.lazy import lazy_names

if TYPE_CHECKING:
    from understudy.client.async_client import AsyncClient as AsyncClient
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

# Most callers need one client, and few its streams.
__getattr__ = lazy_names(
    __name__,
    {
        "async_client": "AsyncClient",
        "client": "Client",
        "errors": "ClientError ConflictError ForbiddenError InvalidError NotFoundError ProblemError"
        " RefusedError UnauthorizedError UnavailableError UnreachableError UnsafeError",
        "streams": "StreamEvent",
        "transport": "AsyncRetries Retries",
    },
)
