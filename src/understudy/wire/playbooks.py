"""Playbooks and flows on the wire."""

from dataclasses import dataclass

from pydantic import Field

from understudy.playbooks.flow import (
    Attestation,
    FlowContract,
    FlowStatus,
    PhaseState,
    PrimitiveRefs,
)
from understudy.playbooks.model import PlaybookRef, ReleaseStatus
from understudy.wire.base import Id, JsonObject, Lax, Metadata, Omitted, RequestBody, View
from understudy.wire.runs import RunView, SubmitInput


class ManifestBody(RequestBody):
    """A manifest; it is validated as a whole, and every mistake is reported."""

    manifest: JsonObject


class ManifestProblem(View):
    """An error or a warning about a manifest."""

    pointer: str
    code: str
    detail: str


class ManifestVerdict(View):
    """Whether a manifest can be stored, and the digest that it would have."""

    valid: bool
    digest: Omitted[str] = None
    errors: list[ManifestProblem] = Field(default_factory=list)
    warnings: list[ManifestProblem] = Field(default_factory=list)


class EvidenceBody(RequestBody):
    """One piece of evidence."""

    kind: str = Field(max_length=100)
    id: str = Field(max_length=500)
    description: str | None = Field(default=None, max_length=2000)


class PublishPlaybook(RequestBody):
    """The version to release, its status, and the evidence for it."""

    version: Id
    digest: str = Field(max_length=200)
    status: Lax[ReleaseStatus] = ReleaseStatus.ACTIVE
    evidence_refs: list[EvidenceBody] = Field(default_factory=list, max_length=200)


class RevokePlaybook(RequestBody):
    """The version to revoke, and why."""

    version: Id
    digest: str = Field(max_length=200)
    reason: str | None = Field(default=None, max_length=2000)
    evidence_refs: list[EvidenceBody] = Field(default_factory=list, max_length=200)


class PlaybookRefBody(RequestBody):
    """One version of a playbook, identified by its digest, too."""

    playbook_id: Id
    version: Id
    digest: str = Field(max_length=200)


class StartFlow(RequestBody):
    """One start of a version, in a session; `request` is what a run of the session takes."""

    playbook_ref: PlaybookRefBody
    session_id: Id
    request: SubmitInput
    flow_id: str | None = None
    idempotency_key: str | None = None
    metadata: Metadata = Field(default_factory=dict)
    evidence_refs: list[EvidenceBody] = Field(default_factory=list, max_length=500)


class AttestFlow(RequestBody):
    """Evidence for a flow."""

    evidence_refs: list[EvidenceBody] = Field(min_length=1, max_length=500)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowView:
    """The state of a flow: computed from its run, its sidechains, their tasks and requests."""

    flow_id: str
    status: FlowStatus
    playbook_ref: PlaybookRef
    session_id: str
    run_id: str
    run: Omitted[RunView] = None
    primitive_refs: PrimitiveRefs
    phase_states: tuple[PhaseState, ...] = ()
    contract: FlowContract
    run_stream_url: str
    input_digest: str
    correlation_nonce: str
    created_by: str
    created_at_ms: int
    updated_at_ms: int
    completed_at_ms: Omitted[int] = None
    cancelled_at_ms: Omitted[int] = None
    metadata: JsonObject
    evidence_refs: tuple[Attestation, ...] = ()
    actions: tuple[str, ...] = ()
