"""The records of flows, and their evaluation: status, phases and contract."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final

from understudy.core.records import HIDDEN, OMIT, JsonObject
from understudy.playbooks.manifest import PlaybookEvidence, PlaybookManifest
from understudy.playbooks.model import PlaybookRef
from understudy.runs.lifecycle import TERMINAL, WAITING
from understudy.runs.model import Run, RunStatus
from understudy.runs.requests import PersonRequest, RequestKind
from understudy.sessions.tasks import Task, TaskStatus

MAX_EVIDENCE: Final = 500
# Evidence kinds that are records of the daemon; people attest all others.
DAEMON_KINDS: Final = (
    "run",
    "task",
    "agent",
    "session",
    "approval",
    "question",
    "schedule",
    "output",
    "flow",
)


class FlowStatus(StrEnum):
    """The status of a flow, computed from its scope on every read."""

    UNKNOWN = "unknown"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


FLOW_ENDED: Final = frozenset(
    {FlowStatus.SUCCEEDED, FlowStatus.FAILED, FlowStatus.CANCELLED, FlowStatus.INTERRUPTED}
)


class PhaseStatus(StrEnum):
    """Whether a phase has its evidence, and whether it may still appear."""

    SATISFIED = "satisfied"
    PENDING = "pending"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attestation:
    """Evidence given by a person, with user and time."""

    kind: str
    id: str
    given_by: str
    given_at_ms: int
    description: Annotated[str | None, OMIT] = None

    @property
    def name(self) -> tuple[str, str]:
        """The identity of the evidence."""
        return self.kind, self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRecord:
    """One start of one version of a playbook: its run, and the evidence attested since."""

    flow_id: str
    playbook_ref: PlaybookRef
    session_id: str
    run_id: str
    input_digest: str
    correlation_nonce: str
    created_by: str
    created_at_ms: int
    updated_at_ms: int
    # When all runs in its scope had first ended; later records are not part of the flow.
    ended_at_ms: Annotated[int | None, HIDDEN] = None
    cancelled_at_ms: Annotated[int | None, OMIT] = None
    metadata: JsonObject = field(default_factory=dict)
    evidence_refs: tuple[Attestation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedTool:
    """The start of a tool in a session."""

    session_id: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowScope:
    """The records that descend from the run of a flow."""

    runs: tuple[Run, ...] = ()
    tasks: tuple[Task, ...] = ()
    requests: tuple[PersonRequest, ...] = ()
    tool_uses: tuple[StartedTool, ...] = ()
    output_ids: tuple[str, ...] = ()
    schedule_ids: tuple[str, ...] = ()

    def ids(self, flow: FlowRecord) -> Mapping[str, tuple[str, ...]]:
        """The ids of the records in scope, by kind of evidence."""
        asked = {
            kind: tuple(each.request_id for each in self.requests if each.kind is of)
            for kind, of in (("approval", RequestKind.APPROVAL), ("question", RequestKind.QUESTION))
        }
        return {
            "run": tuple(run.run_id for run in self.runs),
            "task": tuple(task.task_id for task in self.tasks),
            "agent": tuple(dict.fromkeys(run.agent_id for run in self.runs)),
            "session": tuple(dict.fromkeys(run.session_id for run in self.runs)),
            **asked,
            "schedule": self.schedule_ids,
            "output": self.output_ids,
            "flow": (flow.flow_id,),
        }

    @property
    def have_runs_ended(self) -> bool:
        """Whether all runs have ended."""
        return bool(self.runs) and all(run.status in TERMINAL for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimitiveRefs:
    """The ids of the records in the scope of a flow."""

    run_ids: tuple[str, ...]
    task_ids: tuple[str, ...]
    agent_ids: tuple[str, ...]
    session_ids: tuple[str, ...]
    approval_ids: tuple[str, ...]
    question_ids: tuple[str, ...]
    schedule_ids: tuple[str, ...]
    output_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseState:
    """A phase and the evidence that it lacks."""

    phase_id: str
    status: PhaseStatus
    missing_evidence: tuple[PlaybookEvidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractCheck:
    """One condition of the contract; the details name what is missing or wrong."""

    name: str
    passed: bool
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowContract:
    """The conditions for a flow to succeed."""

    passed: bool
    checks: tuple[ContractCheck, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReading:
    """The evaluation of a flow."""

    status: FlowStatus
    primitive_refs: PrimitiveRefs
    phase_states: tuple[PhaseState, ...]
    contract: FlowContract


_R, _T = RunStatus, TaskStatus
Statuses = Collection[RunStatus | TaskStatus]
# The first match of any run or task decides; without a match, all have completed.
_STATUSES: Final[tuple[tuple[FlowStatus, Statuses], ...]] = (
    (FlowStatus.FAILED, {_R.FAILED, _T.FAILED}),
    (FlowStatus.CANCELLED, {_R.CANCELLED, _T.CANCELLED}),
    (FlowStatus.INTERRUPTED, {_R.INTERRUPTED}),
    (FlowStatus.WAITING, {*WAITING, _T.BLOCKED}),
    (FlowStatus.RUNNING, {_R.QUEUED, _R.RUNNING, _T.PENDING, _T.IN_PROGRESS}),
)


def status_before_contract(scope: FlowScope) -> FlowStatus:
    """The status of a flow by its runs and tasks alone."""
    if not scope.runs:
        return FlowStatus.UNKNOWN
    found = {*(run.status for run in scope.runs), *(task.status for task in scope.tasks)}
    return next((status for status, any_of in _STATUSES if found & {*any_of}), FlowStatus.SUCCEEDED)


def read_flow(flow: FlowRecord, manifest: PlaybookManifest, scope: FlowScope) -> FlowReading:
    """Evaluate a flow. A completed root run hides no failure below it."""
    ids = scope.ids(flow)
    there = {(kind, each) for kind, names in ids.items() for each in names}
    there |= {each.name for each in flow.evidence_refs}
    before = status_before_contract(scope)
    phases = tuple(_phases(manifest, there, before))
    contract = _contract(manifest, there, phases, scope)
    is_broken = before is FlowStatus.SUCCEEDED and not contract.passed
    return FlowReading(
        status=FlowStatus.FAILED if is_broken else before,
        primitive_refs=PrimitiveRefs(
            **{f"{kind}_ids": names for kind, names in ids.items() if kind != "flow"}
        ),
        phase_states=phases,
        contract=contract,
    )


def _phases(
    manifest: PlaybookManifest, there: Collection[tuple[str, str]], before: FlowStatus
) -> Iterator[PhaseState]:
    lacking = PhaseStatus.BLOCKED if before in FLOW_ENDED else PhaseStatus.PENDING
    for phase in manifest.phases:
        missing = tuple(each for each in phase.required_evidence if each.name not in there)
        yield PhaseState(
            phase_id=phase.phase_id,
            status=lacking if missing else PhaseStatus.SATISFIED,
            missing_evidence=missing,
        )


def _contract(
    manifest: PlaybookManifest,
    there: Collection[tuple[str, str]],
    phases: Sequence[PhaseState],
    scope: FlowScope,
) -> FlowContract:
    missing = [each for each in manifest.required_evidence if each.name not in there]
    wrong = {"required_evidence": [_told(each) for each in missing]}
    wrong |= {
        f"phase:{phase.phase_id}:evidence": [_told(each) for each in phase.missing_evidence]
        for phase in phases
    }
    if manifest.tools.enforce:
        wrong["tool_policy"] = violations(manifest, scope)
    checks = tuple(
        ContractCheck(name=name, passed=not details, details=tuple(details))
        for name, details in wrong.items()
    )
    return FlowContract(passed=all(each.passed for each in checks), checks=checks)


def violations(manifest: PlaybookManifest, scope: FlowScope) -> list[str]:
    """The started tools that the policy does not permit, each with its session."""
    return list(
        dict.fromkeys(
            f"{use.session_id}:{use.tool}"
            for use in scope.tool_uses
            if not manifest.tools.permits(use.tool)
        )
    )


def _told(ref: PlaybookEvidence) -> str:
    return f"{ref.kind}:{ref.id}"
