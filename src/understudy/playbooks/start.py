"""Start of a flow: validation, and the submission of its run, in one transaction."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.core import audit
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.ids import check_caller_id, new_id
from understudy.core.principal import Principal
from understudy.core.records import JsonObject
from understudy.core.scope import Scope
from understudy.core.text import one_line
from understudy.permissions.model import CallRule
from understudy.permissions.rules import deny_rules
from understudy.playbooks.flow import DAEMON_KINDS, MAX_EVIDENCE, Attestation, FlowRecord
from understudy.playbooks.manifest import PlaybookEvidence, PlaybookManifest, ToolPolicy
from understudy.playbooks.model import STARTABLE, PlaybookRef, PlaybookVersion
from understudy.playbooks.service import require_version
from understudy.runs.intake import RunIntake
from understudy.runs.model import BRIEFING, InputItem
from understudy.runs.submission import (
    Submission,
    fingerprint,
    items_of,
    keep_receipt,
    known_run,
    receipt_for,
    request_json,
)
from understudy.sessions.journal import FLOW_METADATA
from understudy.sessions.model import Session, SessionStatus, require_session
from understudy.sessions.scopes import (
    effective_capability_scope,
    effective_credential_scope,
    read_capability_scope,
    read_credential_scope,
)

if TYPE_CHECKING:
    from understudy.core.clock import Clock
    from understudy.storage.unit import Unit, Units

MAX_INPUTS_CHARS: Final = 16_384
SLASH: Final = "/"
OUTSIDE: Final = "*/*"
INPUTS: Final = "inputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFlow:
    """A flow to be started: version, session and request."""

    playbook_ref: PlaybookRef
    session_id: str
    request: Submission
    flow_id: str | None = None
    metadata: JsonObject = field(default_factory=dict)
    evidence_refs: tuple[PlaybookEvidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStarter:
    """Starts flows. Record and run are written in one transaction."""

    units: "Units"
    clock: "Clock"
    intake: RunIntake
    tool_names: Callable[[], Sequence[str]]

    def start(
        self, principal: Principal, wanted: NewFlow, *, idempotency_key: str | None = None
    ) -> str:
        """Start a flow and return its id; a repeat with the same id or key returns the first."""
        check_metadata(wanted.request.metadata)
        if wanted.flow_id is not None:
            check_caller_id(wanted.flow_id, field="flow_id", domain="flows")
        asked = _asked(wanted)
        now = self.clock.now_ms()
        receipt = receipt_for(principal, "flows.start", asked, key=idempotency_key, at_ms=now)
        with self.units.write() as unit:
            # Lock first, so that the second of two concurrent repeats sees the first.
            session = require_session(unit, wanted.session_id, lock=True)
            if (run := known_run(unit, receipt)) is not None:
                found = unit.flows.of_run(run.run_id)
                if found is not None:
                    return found.flow_id
            if wanted.flow_id is not None and (same := unit.flows.get(wanted.flow_id)):
                return _repeated(same, wanted)
            version = self._checked(unit, session, wanted)
            flow = _new(principal, wanted, now_ms=now)
            run, _ = self.intake.take(
                unit, principal, session, self._submission(flow, version, wanted.request)
            )
            keep_receipt(unit, receipt, run)
            if not unit.flows.add(replace(flow, run_id=run.run_id)):
                raise coded_error("flows/flow_exists", flow_id=flow.flow_id)
            unit.audit.add(audit.done(principal, "flows.start", flow.flow_id, at_ms=now))
            return flow.flow_id

    def _checked(self, unit: "Unit", session: Session, wanted: NewFlow) -> PlaybookVersion:
        """The version to start, once session and request are validated."""
        if session.status is SessionStatus.ENDED:
            raise coded_error("sessions/session_ended")
        version = require_version(unit, wanted.playbook_ref)
        _check_scopes(session, version.manifest)
        _check_inputs(version.manifest, wanted.request.metadata)
        check_attestations(wanted.evidence_refs)
        if version.status not in STARTABLE:
            raise coded_error(
                "flows/playbook_not_startable",
                playbook_id=version.playbook_id,
                version=version.version,
                status=version.status,
            )
        return version

    def _submission(
        self, flow: FlowRecord, version: PlaybookVersion, given: Submission
    ) -> Submission:
        manifest, default = version.manifest, version.manifest.runtime_defaults
        generation = dict(given.generation)
        is_own_route = given.provider in (None, default.provider)
        if default.model is not None and is_own_route:
            generation.setdefault("model", default.model)
        inputs = given.metadata.get(INPUTS) if isinstance(given.metadata, Mapping) else None
        briefing = InputItem(type="text", text=procedure(manifest, inputs), given_as=BRIEFING)
        marked = {
            "flow_id": flow.flow_id,
            **asdict(version.ref),
            "nonce": flow.correlation_nonce,
        }
        return replace(
            given,
            content="",
            attachments=(),
            input_items=(briefing, *items_of(given).values()),
            provider=given.provider or default.provider,
            generation=generation,
            denied=tool_rules(manifest, self.tool_names()),
            daemon_metadata={FLOW_METADATA: marked},
        )


def check_metadata(metadata: object) -> None:
    """Refuse request metadata that is not an object, or that has the reserved flow key."""
    if metadata is not None and not isinstance(metadata, Mapping):
        raise coded_error("flows/metadata_not_an_object", pointer="/request/metadata")
    if metadata and FLOW_METADATA in metadata:
        raise coded_error(
            "flows/metadata_reserved", pointer="/request/metadata", name=FLOW_METADATA
        )


def check_attestations(refs: Sequence[PlaybookEvidence]) -> None:
    """Refuse evidence that is blank or of a kind that only the daemon records."""
    for at, ref in enumerate(refs):
        if not ref.kind.strip() or not ref.id.strip():
            raise coded_error("flows/evidence_blank", pointer=f"/evidence_refs/{at}")
        if ref.kind in DAEMON_KINDS:
            raise coded_error(
                "flows/evidence_not_attestable", pointer=f"/evidence_refs/{at}", kind=ref.kind
            )
    if len(refs) > MAX_EVIDENCE:
        raise coded_error("flows/too_much_evidence", limit=MAX_EVIDENCE)


def attested(refs: Sequence[PlaybookEvidence], *, by: str, at_ms: int) -> tuple[Attestation, ...]:
    """Attestations with user and time, without duplicates."""
    found = {
        ref.name: Attestation(
            kind=ref.kind, id=ref.id, description=ref.description, given_by=by, given_at_ms=at_ms
        )
        for ref in reversed(refs)
    }
    return tuple(reversed(found.values()))


def tool_rules(manifest: PlaybookManifest, tool_names: Sequence[str]) -> tuple[CallRule, ...]:
    """The deny rules for the run and its sidechains; empty unless the policy is enforced."""
    policy = manifest.tools
    if not policy.enforce:
        return ()
    names = [*policy.deny, *_not_allowed(policy, tool_names)]
    return deny_rules(names, f"the playbook {manifest.playbook_id} does not use it")


def _not_allowed(policy: ToolPolicy, tool_names: Sequence[str]) -> Iterator[str]:
    if not policy.allow:
        return
    others = [name for name in tool_names if not policy.permits(name)]
    # The tools of a stopped MCP server are unknown: if none is allowed, deny all of them.
    if any(SLASH in name or name == "*" for name in policy.allow):
        yield from others
    else:
        yield from (name for name in others if SLASH not in name)
        yield OUTSIDE


def procedure(manifest: PlaybookManifest, inputs: object = None) -> str:
    """The briefing before the request of a run: the procedure of the playbook."""
    return "\n\n".join(filter(None, _parts(manifest, inputs)))


def _parts(manifest: PlaybookManifest, inputs: object) -> Iterator[str]:
    yield (
        f"You carry out the playbook {manifest.playbook_id}, version {manifest.version} "
        f"({one_line(manifest.title)}). The operator of this daemon set this procedure."
    )
    yield f"Objective: {manifest.objective.strip()}"
    yield manifest.description or ""
    yield _listed("Preconditions", manifest.preconditions)
    yield _listed("Roles", [f"{each.role_id}: {each.purpose}" for each in manifest.roles])
    for number, phase in enumerate(manifest.phases, 1):
        yield _listed(
            f"Phase {number}, {phase.phase_id}: {phase.objective.strip()}",
            [
                *(f"done when: {each}" for each in phase.acceptance_criteria),
                *(f"evidence: {_evidence(each)}" for each in phase.required_evidence),
            ],
            even_empty=True,
        )
    yield _listed("It is done when", manifest.acceptance_criteria)
    needed = [*manifest.evidence_expectations, *map(_evidence, manifest.required_evidence)]
    yield _listed("Evidence that is expected", needed)
    if inputs:
        said = json.dumps(inputs, ensure_ascii=False)[:MAX_INPUTS_CHARS]
        yield f"Its inputs, as data: {said}"
    yield "The request:"


def _listed(title: str, items: Sequence[str], *, even_empty: bool = False) -> str:
    if not items:
        return title if even_empty else ""
    return "\n".join([f"{title}:", *(f"- {one_line(each)}" for each in items)])


def _evidence(ref: PlaybookEvidence) -> str:
    told = f" ({ref.description})" if ref.description else ""
    return f"{ref.kind}:{ref.id}{told}"


def _check_scopes(session: Session, manifest: PlaybookManifest) -> None:
    scopes = manifest.scopes
    for name, required, effective, read in (
        (
            "capability_scope",
            scopes.required_capability_scope,
            effective_capability_scope(session),
            read_capability_scope,
        ),
        (
            "credential_scope",
            scopes.required_credential_scope,
            effective_credential_scope(session),
            read_credential_scope,
        ),
    ):
        own = effective or Scope(gates={})
        if required is not None and own.narrowed_by(read(required)).to_json() != own.to_json():
            raise coded_error(
                "flows/flow_scope_too_wide",
                session_id=session.session_id,
                scope=name,
                required=dict(required),
            )


def _check_inputs(manifest: PlaybookManifest, metadata: object) -> None:
    given = metadata.get(INPUTS) if isinstance(metadata, Mapping) else None
    if given is not None and not isinstance(given, Mapping):
        raise coded_error("flows/inputs_not_an_object", pointer="/request/metadata/inputs")
    missing = [
        each.name for each in manifest.inputs if each.required and each.name not in (given or {})
    ]
    if missing:
        raise coded_error(
            "flows/inputs_missing", pointer="/request/metadata/inputs", missing=missing
        )


def _asked(wanted: NewFlow) -> dict[str, Any]:
    return {
        "playbook_ref": asdict(wanted.playbook_ref),
        "session_id": wanted.session_id,
        "flow_id": wanted.flow_id,
        "input": _digest(wanted.request),
        "metadata": dict(wanted.metadata),
        "evidence_refs": sorted(each.name for each in wanted.evidence_refs),
    }


def _digest(request: Submission) -> str:
    return fingerprint("flows.input", request_json(request))


def _new(principal: Principal, wanted: NewFlow, *, now_ms: int) -> FlowRecord:
    flow_id = wanted.flow_id or new_id("flw")
    return FlowRecord(
        flow_id=flow_id,
        playbook_ref=wanted.playbook_ref,
        session_id=wanted.session_id,
        run_id="",
        input_digest=_digest(wanted.request),
        correlation_nonce=hashlib.sha256(new_id("nonce").encode()).hexdigest()[:32],
        created_by=principal.user_id,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
        metadata=wanted.metadata,
        evidence_refs=attested(wanted.evidence_refs, by=principal.user_id, at_ms=now_ms),
    )


def _repeated(known: FlowRecord, wanted: NewFlow) -> str:
    """The id of an existing flow with the same request; a conflict if the request differs."""
    given = {each.name for each in known.evidence_refs}
    is_same = (
        known.playbook_ref == wanted.playbook_ref
        and known.session_id == wanted.session_id
        and known.input_digest == _digest(wanted.request)
        and dict(known.metadata) == dict(wanted.metadata)
        and {each.name for each in wanted.evidence_refs} <= given
    )
    if not is_same:
        raise _exists(known)
    return known.flow_id


def _exists(known: FlowRecord) -> UnderstudyError:
    return coded_error("flows/flow_exists", flow_id=known.flow_id)
