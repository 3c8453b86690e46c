"""The typed SDK: `Client` talks to a running daemon, with retries where they are safe."""

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
from understudy.client.transport import Retries as Retries
