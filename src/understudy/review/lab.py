"""The lab: tries redaction, guard, statements and the policy on a text; nothing is stored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from understudy.core.clock import Clock
from understudy.core.errors import Invalid
from understudy.core.records import OMIT
from understudy.guard.rule import Finding
from understudy.learnings.checks import check_content
from understudy.learnings.conflicts import conflict_with, duplicate_of
from understudy.learnings.guard import SecretGuard
from understudy.learnings.keys import obvious_relation
from understudy.learnings.model import Applies, Candidate, CapturePath, Kind, Origin, Relation
from understudy.learnings.proposal import NewCandidate, make_candidate
from understudy.redaction.scrub import scrub_counted
from understudy.review.dry_run import CandidateOutlook, outlook
from understudy.review.evaluate import evaluate
from understudy.review.policy import in_force
from understudy.review.rule_match import Trace
from understudy.sessions.learning_scopes import WORKSPACE
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.limits import MANIFEST

if TYPE_CHECKING:
    from understudy.storage.unit import Units

MAX_LAB_CHARS: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LabText:
    """A text to try, and the circumstances it would have as a candidate."""

    text: str
    # A second statement to compare it with.
    other: str | None = None
    kind: Kind = Kind.FACT
    confidence: int = 80
    # Whether a person sent it to the API, rather than a run having found it.
    from_api: bool = False
    derived_from_untrusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRedaction:
    """A redacted text, with the number of redactions by kind."""

    text: str
    secrets: int
    pii: int
    kinds: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabGuard:
    """The findings of the content guard if the text were a SKILL.md."""

    allowed: bool
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabStatement:
    """A text as a statement: whether it may be stored, its keys and related learnings."""

    accepted: bool
    # Why it may not be stored.
    refused: Annotated[str | None, OMIT] = None
    semantic_key: Annotated[str | None, OMIT] = None
    subject_key: Annotated[str | None, OMIT] = None
    # `always` for a standing instruction.
    applies: Annotated[Applies | None, OMIT] = None
    # The learnings of the workspace that say the same, or contradict it.
    duplicate_of: Annotated[str | None, OMIT] = None
    conflicts_with: Annotated[str | None, OMIT] = None
    # How it relates to the second text.
    relation: Annotated[Relation | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabVerdict:
    """The result of the policy in force for the statement."""

    policy_revision: int
    outlook: CandidateOutlook
    trace: Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class LabReport:
    """The results of all parts for a text."""

    redaction: LabRedaction
    guard: LabGuard
    statement: LabStatement
    # Absent for a text that may not be stored.
    policy: Annotated[LabVerdict | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Laboratory:
    """Tries texts on redaction, guard, statements and policy; nothing is stored."""

    units: "Units"
    clock: Clock
    secrets: SecretGuard
    scan: Callable[[Bundle], tuple[Finding, ...]]

    def inspect(self, given: LabText) -> LabReport:
        """The results of all parts for a text."""
        found = self.scan(Bundle({MANIFEST: given.text.encode(errors="replace")}))
        redacted = redaction_of(given.text, self.secrets.literals)
        guard = LabGuard(allowed=not found, findings=found)
        refused = refusal_of(given.text, given.kind, self.secrets)
        if refused is not None:
            statement = LabStatement(accepted=False, refused=refused)
            return LabReport(redaction=redacted, guard=guard, statement=statement)
        candidate = _candidate(given, now_ms=self.clock.now_ms())
        statement, verdict = self._judged(candidate, given.other)
        return LabReport(redaction=redacted, guard=guard, statement=statement, policy=verdict)

    def _judged(self, candidate: Candidate, other: str | None) -> tuple[LabStatement, LabVerdict]:
        now = self.clock.now_ms()
        with self.units.read() as unit:
            policy = in_force(unit)
            same = duplicate_of(unit, candidate, now_ms=now)
            against = conflict_with(unit, candidate, now_ms=now)
        statement = LabStatement(
            accepted=True,
            semantic_key=candidate.semantic_key,
            subject_key=candidate.subject_key,
            applies=candidate.applies,
            duplicate_of=same.learning_id if same else None,
            conflicts_with=against.learning_id if against else None,
            relation=obvious_relation(candidate.content, other) if other else None,
        )
        verdict = LabVerdict(
            policy_revision=policy.revision,
            outlook=outlook(candidate, policy.policy, now_ms=now),
            trace=evaluate(candidate, policy.policy, now_ms=now).trace,
        )
        return statement, verdict


def redaction_of(text: str, literals: tuple[str, ...] = ()) -> LabRedaction:
    """A text with secrets and personal data redacted."""
    clean = scrub_counted(text, literals, pii=True)
    return LabRedaction(text=clean.text, secrets=clean.secrets, pii=clean.pii, kinds=clean.kinds)


def refusal_of(text: str, kind: Kind, secrets: SecretGuard | None = None) -> str | None:
    """Why a text may not be stored as a statement; None where it may."""
    try:
        check_content(text, kind)
        if secrets is not None:
            secrets.check({"/text": text})
    except Invalid as refused:
        return refused.detail
    return None


def _candidate(given: LabText, *, now_ms: int) -> Candidate:
    wanted = NewCandidate(
        scope=WORKSPACE,
        kind=given.kind,
        content=given.text,
        confidence=given.confidence,
        capture_path=CapturePath.API if given.from_api else CapturePath.LABELS,
        derived_from_untrusted=given.derived_from_untrusted,
    )
    origin = Origin.API if given.from_api else Origin.DAEMON
    return make_candidate(wanted, origin=origin, now_ms=now_ms, candidate_id="")
