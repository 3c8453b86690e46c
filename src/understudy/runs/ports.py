"""What runs need from outside: routes, and the worker that does the work."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from understudy.runs.model import Run, RunStatus
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteInfo:
    """What a submission needs to know of a route."""

    route_id: str
    provider: str
    model: str
    base_url: str | None = None
    context_window: int | None = None
    ready: bool = True
    reason: str | None = None
    # Which kinds of files beside text its model takes: `image`, `document`.
    accepts: frozenset[str] = frozenset()


class RouteCatalogue(Protocol):
    """The configured routes."""

    def find(self, route_id: str) -> RouteInfo | None: ...

    def all(self) -> tuple[RouteInfo, ...]: ...


# Told of a run that has ended, within the transaction that ends it.
EndingHook = Callable[["Unit", Run], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the work of a run ended."""

    status: RunStatus
    error: str | None = None


class Worker(Protocol):
    """Does the work of a run; the agent loop implements it."""

    def prepare(
        self, unit: "Unit", run: Run, session: Session, *, input_offset: int
    ) -> Mapping[str, Any]:
        """What the prompt is built from, fixed when the run starts."""
        ...

    def leftover(self, snapshot: Mapping[str, Any]) -> Mapping[str, Any]:
        """What of that is still kept once the run has ended."""
        ...
