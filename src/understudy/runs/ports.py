"""What runs need from outside: stores, routes, and the worker that does the work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from understudy.assets.ports import AssetStore, BlobStore
from understudy.core.errors import NotFound
from understudy.core.page import Page, PageRequest
from understudy.runs.artifacts import ArtifactStore
from understudy.runs.model import Delivery, Run, RunStatus, StopRequest
from understudy.runs.requests import RequestStore
from understudy.runs.signals import SignalStore
from understudy.runtime.service import RevisionStore
from understudy.sessions.model import Session
from understudy.sessions.ports import SessionUnit


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


class RunStore(Protocol):
    """Runs by id."""

    def get(self, run_id: str, *, lock: bool = False) -> Run | None: ...

    def take(self, run_id: str) -> Run | None:
        """The run with its row locked; None as well when somebody else holds it."""
        ...

    def add(self, run: Run) -> None: ...

    def update(self, run: Run) -> None:
        """Replace a run whose row this unit holds locked."""
        ...

    def set_snapshot(self, run_id: str, snapshot: Mapping[str, Any]) -> None:
        """Keep what the prompt of a run is built from: when it starts, and what is left at its end."""
        ...

    def snapshot(self, run_id: str) -> Mapping[str, Any]:
        """What the prompt of a run is built from."""
        ...

    def close(self, run_id: str, status: RunStatus, *, reason: str, at_ms: int) -> str | None:
        """End a run without reading it, for one that cannot be read; its session, if it was open."""
        ...

    def owns(self, run_id: str, attempt: int) -> bool:
        """Whether that attempt is still the one allowed to write, held until the unit ends."""
        ...

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        statuses: Sequence[RunStatus] = (),
    ) -> Page[Run]:
        """Runs, newest first."""
        ...

    def queued_positions(self, session_ids: Sequence[str]) -> dict[str, int]:
        """Place in line of every queued run of some sessions, from 1."""
        ...

    def current(self, session_id: str) -> Run | None:
        """The run of a session that is running or waiting."""
        ...

    def unfinished_in(self, session_id: str) -> int:
        """How many runs of a session have not ended."""
        ...

    def first_in_line(self, session_id: str) -> str | None:
        """The oldest run of a session that has not ended."""
        ...

    def awake(self) -> dict[str, str]:
        """Every run that has not ended and does not sleep: by the id of its work, oldest first."""
        ...

    def left_in_line(self) -> tuple[str, ...]:
        """Sessions in which a queued run sleeps though nothing is before it."""
        ...

    def stop_requests(self, run_ids: Sequence[str]) -> dict[str, StopRequest]:
        """Which of these runs somebody asked to stop."""
        ...

    def park(self, run_ids: Sequence[str]) -> None:
        """Note that the daemon stops in good order while these go on."""
        ...

    def counts(self) -> dict[RunStatus, int]:
        """How many runs have each status."""
        ...

    def has_heard_others(self, run: Run) -> bool:
        """Whether a session, up to the end of a run, holds answers of tools or words passed on to it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugRequest:
    """A provider request as it was sent, scrubbed."""

    run_id: str
    step: int
    attempt: int
    at_ms: int
    request: Mapping[str, Any]
    response: Mapping[str, Any] | None = None


class DebugStore(Protocol):
    """Captured provider requests."""

    def add(self, capture: DebugRequest) -> None: ...

    def answer(self, run_id: str, *, step: int, attempt: int, response: Mapping[str, Any]) -> None:
        """Add the reply to a captured request."""
        ...

    def list(self, run_id: str) -> tuple[DebugRequest, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """That a key was used, for what, and what came of it."""

    key_hash: str
    fingerprint: str
    resource_id: str
    created_at_ms: int


class ReceiptStore(Protocol):
    """Idempotency receipts of submissions."""

    def get(self, key_hash: str) -> Receipt | None: ...

    def add(self, receipt: Receipt) -> bool:
        """Keep a receipt; False when the key is taken."""
        ...


class DeliveryStore(Protocol):
    """What is to be sent to webhooks: an outbox, written in the transaction that ends a run."""

    def add(self, run_id: str, position: int, delivery: Delivery) -> None:
        """Have the end of a run sent to its reply target at that position."""
        ...

    def of_runs(self, run_ids: Sequence[str]) -> dict[str, dict[int, Delivery]]:
        """The deliveries of some runs, by the position of their target."""
        ...


class ToolSwitchStore(Protocol):
    """Which tools an operator switched off."""

    def disabled(self) -> frozenset[str]: ...

    def set(self, name: str, *, enabled: bool) -> None: ...


class RunUnit(SessionUnit, Protocol):
    """One transaction over everything runs touch."""

    @property
    def runs(self) -> RunStore: ...

    @property
    def debug(self) -> DebugStore: ...

    @property
    def assets(self) -> AssetStore: ...

    @property
    def blobs(self) -> BlobStore: ...

    @property
    def receipts(self) -> ReceiptStore: ...

    @property
    def requests(self) -> RequestStore: ...

    @property
    def signals(self) -> SignalStore: ...

    @property
    def artifacts(self) -> ArtifactStore: ...

    @property
    def tool_switches(self) -> ToolSwitchStore: ...

    @property
    def revisions(self) -> RevisionStore: ...

    @property
    def deliveries(self) -> DeliveryStore: ...

    def enqueue(self, run: Run) -> None:
        """Hand the run to the engine; it starts once this unit has committed."""
        ...


# Told of a run that has ended, within the transaction that ends it.
EndingHook = Callable[[RunUnit, Run], None]


def require_run(unit: RunUnit, run_id: str, *, lock: bool = False) -> Run:
    """The run, or `NotFound`."""
    run = unit.runs.get(run_id, lock=lock)
    if run is None:
        raise NotFound("run_not_found", domain="runs", detail=f"no run {run_id!r}")
    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the work of a run ended."""

    status: RunStatus
    error: str | None = None


class Worker(Protocol):
    """Does the work of a run; the agent loop implements it."""

    def prepare(
        self, unit: RunUnit, run: Run, session: Session, *, input_offset: int
    ) -> Mapping[str, Any]:
        """What the prompt is built from, fixed when the run starts."""
        ...

    def leftover(self, snapshot: Mapping[str, Any]) -> Mapping[str, Any]:
        """What of that is still kept once the run has ended."""
        ...
