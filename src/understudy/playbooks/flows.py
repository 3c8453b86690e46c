"""Use cases of flows: get, list, attest, cancel; and the hook at the end of a run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest, encode_cursor
from understudy.core.principal import Principal
from understudy.core.text import quoted
from understudy.playbooks.flow import (
    DAEMON_KINDS,
    FLOW_ENDED,
    MAX_EVIDENCE,
    FlowReading,
    FlowRecord,
    FlowScope,
    FlowStatus,
    StartedTool,
    read_flow,
    status_before_contract,
)
from understudy.playbooks.manifest import PlaybookEvidence
from understudy.playbooks.start import attested
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run, RunKind, RunTrace
from understudy.runs.service import RunDetail, detail_of
from understudy.sessions.journal import JournalEvent
from understudy.sessions.task_service import TaskService
from understudy.sessions.tasks import STOPPED
from understudy.tools.registry import wire_name

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# The most flows evaluated to fill one page of a status filter.
MAX_READ: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowDetail:
    """A flow with its evaluation."""

    flow: FlowRecord
    reading: FlowReading
    run: RunDetail | None = None

    @property
    def completed_at_ms(self) -> int | None:
        """When the flow ended; None before."""
        return self.flow.ended_at_ms if self.reading.status in FLOW_ENDED else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowService:
    """The operations on existing flows."""

    units: "Units"
    clock: Clock
    tasks: TaskService
    cancel_run: Callable[[Principal, str], object]
    # The names of all tools, as policies spell them.
    tool_names: Callable[[], Sequence[str]]

    def get(self, flow_id: str) -> FlowDetail:
        """One flow with its current status."""
        with self.units.read() as unit:
            return self._detail(unit, _require(unit, flow_id))

    def page(
        self,
        request: PageRequest,
        *,
        playbook_id: str | None = None,
        session_id: str | None = None,
        status: FlowStatus | None = None,
    ) -> Page[FlowDetail]:
        """Flows, newest first; the status filter applies after evaluation."""
        items: list[FlowDetail] = []
        with self.units.read() as unit:
            for flow in _newest(unit, request, playbook_id, session_id):
                detail = self._detail(unit, flow)
                if status in (None, detail.reading.status):
                    items.append(detail)
                if len(items) > request.limit:
                    break
        shown = items[: request.limit]
        more = len(items) > request.limit
        last = shown[-1].flow if more else None
        cursor = None if last is None else encode_cursor((last.created_at_ms, last.flow_id))
        return Page(items=tuple(shown), next_cursor=cursor)

    def attest(
        self, principal: Principal, flow_id: str, refs: Sequence[PlaybookEvidence]
    ) -> FlowDetail:
        """Attest evidence; duplicates are ignored."""
        with self.units.write() as unit:
            flow = _require(unit, flow_id, lock=True)
            ids = collect(unit, flow).ids(flow)
            for at, ref in enumerate(refs):
                _check_evidence(ref, ids.get(ref.kind, ()), f"/evidence_refs/{at}")
            now = self.clock.now_ms()
            known = {each.name for each in flow.evidence_refs}
            given = attested(refs, by=principal.user_id, at_ms=now)
            new = tuple(each for each in given if each.name not in known)
            if len(flow.evidence_refs) + len(new) > MAX_EVIDENCE:
                raise coded_error("flows/too_much_evidence", limit=MAX_EVIDENCE)
            if new:
                refs_now = (*flow.evidence_refs, *new)
                flow = replace(flow, evidence_refs=refs_now, updated_at_ms=now)
                unit.flows.update(flow)
                unit.audit.add(audit.done(principal, "flows.evidence", flow_id, at_ms=now))
            return self._detail(unit, flow)

    def cancel(self, principal: Principal, flow_id: str) -> FlowDetail:
        """Cancel the runs and tasks of a flow, sidechains first; an ended flow is unchanged."""
        with self.units.write() as unit:
            flow = _require(unit, flow_id, lock=True)
            scope = collect(unit, flow)
            if status_before_contract(scope) not in FLOW_ENDED and flow.cancelled_at_ms is None:
                now = self.clock.now_ms()
                unit.flows.update(replace(flow, cancelled_at_ms=now, updated_at_ms=now))
                unit.audit.add(audit.done(principal, "flows.cancel", flow_id, at_ms=now))
        # The scope lists parents first, so cancel children first.
        for run in reversed(scope.runs):
            if run.status not in TERMINAL:
                self.cancel_run(principal, run.run_id)
        for task in scope.tasks:
            if task.status not in STOPPED:
                self.tasks.stop(principal, task.session_id, task.task_id)
        return self.get(flow_id)

    def _detail(self, unit: "Unit", flow: FlowRecord) -> FlowDetail:
        ref = flow.playbook_ref
        version = unit.playbooks.get(ref.playbook_id, ref.version)
        if version is None:
            raise coded_error("playbooks/version_not_found", version=quoted(ref.version))
        scope = collect(unit, flow)
        # Models know the tools of MCP servers under their wire names.
        named = {wire_name(name): name for name in self.tool_names()} if scope.tool_uses else {}
        uses = tuple(replace(use, tool=named.get(use.tool, use.tool)) for use in scope.tool_uses)
        return FlowDetail(
            flow=flow,
            reading=read_flow(flow, version.manifest, replace(scope, tool_uses=uses)),
            run=detail_of(unit, scope.runs[0]) if scope.runs else None,
        )

    def ended(self, unit: "Unit", run: Run) -> None:
        """Record the end of the last run of a flow, in the transaction that ends it."""
        if not {RunTrace.FLOW, RunTrace.SPAWN} & unit.traces(run):
            return
        flow = _flow_of(unit, run)
        if flow is None or flow.ended_at_ms is not None:
            return
        scope = collect(unit, flow)
        if scope.have_runs_ended:
            ended_at_ms = max(each.finished_at_ms or 0 for each in scope.runs)
            unit.flows.update(
                replace(flow, ended_at_ms=ended_at_ms, updated_at_ms=self.clock.now_ms())
            )


def collect(unit: "Unit", flow: FlowRecord) -> FlowScope:
    """Collect the scope of a flow: its runs in order of creation, and their records."""
    root = unit.runs.get(flow.run_id)
    if root is None:
        return FlowScope()
    runs, level = [root], [root]
    while level:
        sessions = unit.sidechains.spawned_by(*(run.run_id for run in level))
        from_ms, until_ms = flow.created_at_ms, flow.ended_at_ms
        found = unit.runs.submitted_in(sessions, from_ms=from_ms, until_ms=until_ms)
        level = list(found) if sessions else []
        runs += level
    ids = [run.run_id for run in runs]
    outputs = unit.journal.outputs(ids)
    return FlowScope(
        runs=tuple(runs),
        tasks=unit.tasks.of_runs(ids),
        requests=unit.requests.of_runs(ids),
        tool_uses=tuple(
            StartedTool(session_id=each.session_id, tool=str(each.data.get("name", "")))
            for each in unit.journal.tool_calls(ids)
        ),
        output_ids=tuple(output_id(each) for run_id in ids for each in outputs.get(run_id, ())),
        schedule_ids=unit.schedules.of_runs(
            [run.run_id for run in runs if run.kind is RunKind.SCHEDULED_INPUT]
        ),
    )


def output_id(event: JournalEvent) -> str:
    """The id of an output: session and journal offset."""
    return f"{event.session_id}:{event.offset}"


def _newest(
    unit: "Unit", request: PageRequest, playbook_id: str | None, session_id: str | None
) -> Iterator[FlowRecord]:
    after, left = request, MAX_READ
    while left > 0:
        page = unit.flows.page(after, playbook_id=playbook_id, session_id=session_id)
        yield from page.items
        left -= len(page.items)
        if page.next_cursor is None:
            return
        after = PageRequest.parse(limit=request.limit, cursor=page.next_cursor)


def _flow_of(unit: "Unit", run: Run) -> FlowRecord | None:
    """The flow of a run: as its root, or through the sidechains that lead to it."""
    run_id, session_id, seen = run.run_id, run.session_id, set[str]()
    while session_id not in seen:
        seen.add(session_id)
        flow = unit.flows.of_run(run_id)
        if flow is not None:
            return flow
        spawn = unit.sidechains.spawn_of(session_id)
        above = None if spawn is None else unit.runs.get(spawn.run_id)
        if above is None:
            return None
        run_id, session_id = above.run_id, above.session_id
    return None


def _check_evidence(ref: PlaybookEvidence, there: Sequence[str], where: str) -> None:
    if not ref.kind.strip() or not ref.id.strip():
        raise coded_error("flows/evidence_blank", pointer=where)
    if ref.kind in DAEMON_KINDS and ref.id not in there:
        raise coded_error(
            "flows/evidence_not_in_flow", pointer=where, kind=ref.kind, id=quoted(ref.id)
        )


def _require(unit: "Unit", flow_id: str, *, lock: bool = False) -> FlowRecord:
    flow = unit.flows.get(flow_id, lock=lock)
    if flow is None:
        raise coded_error("flows/flow_not_found", flow_id=quoted(flow_id))
    return flow
