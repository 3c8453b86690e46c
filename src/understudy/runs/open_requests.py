"""Finds open requests, and the run that an answer is for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest
from understudy.runs.expiry import expire_due
from understudy.runs.model import Run, require_run
from understudy.runs.requests import PersonRequest, RequestKind, RequestState
from understudy.sessions.model import require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """The run that is meant: by its id, or the current one of a session."""

    run_id: str | None = None
    session_id: str | None = None

    def find(self, unit: "Unit", request_ids: Sequence[str]) -> Run | None:
        """The run with its row locked; for a session the one that asked, else the current one."""
        if self.run_id is not None:
            return require_run(unit, self.run_id, lock=True)
        session_id = self.session_id or ""
        require_session(unit, session_id)
        asked = [unit.requests.get(request_id) for request_id in request_ids[:1]]
        for request in asked:
            if request is not None and request.session_id == session_id:
                return require_run(unit, request.run_id, lock=True)
        current = unit.runs.current(session_id)
        return None if current is None else require_run(unit, current.run_id, lock=True)

    def asked(self) -> dict[str, Any]:
        """The fields that its receipt is fingerprinted with."""
        return {"run_id": self.run_id} if self.run_id else {"session_id": self.session_id}


@dataclass(frozen=True, slots=True)
class RequestReader:
    """Reads the requests of one kind; due ones are expired first."""

    units: "Units"
    clock: Clock
    kind: RequestKind
    # Further kinds that this reader includes.
    also: frozenset[RequestKind] = frozenset()

    @property
    def kinds(self) -> frozenset[RequestKind]:
        """All kinds that it reads."""
        return self.also | {self.kind}

    @property
    def domain(self) -> str:
        """The domain of its error codes."""
        return f"{self.kind}s"

    def get(self, request_id: str) -> PersonRequest:
        """One request, or `NotFound`."""
        expire_due(self.units, self.clock)
        with self.units.read() as unit:
            return self.require(unit, request_id)

    def require(self, unit: "Unit", request_id: str) -> PersonRequest:
        """One request or `NotFound`, within a transaction."""
        request = unit.requests.get(request_id)
        if request is None or request.kind not in self.kinds:
            raise coded_error(f"{self.domain}/{self.kind}_not_found", request_id=request_id)
        return request

    def page(
        self,
        request: PageRequest,
        *,
        state: RequestState | None = RequestState.PENDING,
        session_id: str | None = None,
        run_id: str | None = None,
    ) -> Page[PersonRequest]:
        """Requests, oldest first; `NotFound` if the session or run does not exist."""
        expire_due(self.units, self.clock)
        with self.units.read() as unit:
            if session_id is not None:
                require_session(unit, session_id)
            if run_id is not None:
                require_run(unit, run_id)
            return unit.requests.page(
                request, kinds=self.kinds, state=state, session_id=session_id, run_id=run_id
            )

    def waiting_run(self, unit: "Unit", place: RunPlace, request_ids: Sequence[str]) -> Run:
        """The locked run that an answer is for; a conflict if the session has no current run."""
        run = place.find(unit, request_ids)
        if run is None:
            raise coded_error(
                f"{self.domain}/{self.kind}_state_conflict",
                detail="nothing in this session waits for it",
            )
        return run
