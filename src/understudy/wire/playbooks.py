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
    """The manifest."""


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
    """The kind of the evidence."""
    id: str = Field(max_length=500)
    """The id of the evidence."""
    description: str | None = Field(default=None, max_length=2000)
    """The evidence in words."""


class PublishPlaybook(RequestBody):
    """The version to release, its status, and the evidence for it."""

    version: Id
    """The version to release."""
    digest: str = Field(max_length=200)
    """The digest of the version."""
    status: Lax[ReleaseStatus] = ReleaseStatus.ACTIVE
    """The status of the release."""
    evidence_refs: list[EvidenceBody] = Field(default_factory=list, max_length=200)
    """The evidence for the release."""


class RevokePlaybook(RequestBody):
    """The version to revoke, and why."""

    version: Id
    """The version to revoke."""
    digest: str = Field(max_length=200)
    """The digest of the version."""
    reason: str | None = Field(default=None, max_length=2000)
    """The reason of the revocation."""
    evidence_refs: list[EvidenceBody] = Field(default_factory=list, max_length=200)
    """The evidence for the revocation."""


class PlaybookRefBody(RequestBody):
    """One version of a playbook, identified by its digest, too."""

    playbook_id: Id
    """The playbook."""
    version: Id
    """The version."""
    digest: str = Field(max_length=200)
    """The digest of the version."""


class StartFlow(RequestBody):
    """One start of a version, in a session; `request` is what a run of the session takes."""

    playbook_ref: PlaybookRefBody
    """The version to start."""
    session_id: Id
    """The session that the flow runs in."""
    request: SubmitInput
    """The submission of the run."""
    flow_id: str | None = None
    """The id; by default a new one."""
    idempotency_key: str | None = None
    """A repeat with the same key starts nothing more."""
    metadata: Metadata = Field(default_factory=dict)
    """Data of the caller, stored with the flow."""
    evidence_refs: list[EvidenceBody] = Field(default_factory=list, max_length=500)
    """Evidence that is there at the start."""


class AttestFlow(RequestBody):
    """Evidence for a flow."""

    evidence_refs: list[EvidenceBody] = Field(min_length=1, max_length=500)
    """The evidence to add."""


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
