"""Checks of the fields of candidates and learnings before they are stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Final

from understudy.core.errors import Invalid, UnderstudyError, coded_error
from understudy.core.ids import MAX_ID_LENGTH
from understudy.core.invisible_characters import hidden_in
from understudy.learnings.model import (
    MAX_CONTENT_CHARS,
    EvidenceRef,
    Kind,
    Learning,
    LearningSource,
    LearningStatus,
    Origin,
    Tier,
    Verification,
)
from understudy.learnings.non_statements import says_nothing
from understudy.learnings.secrets import secret_reason
from understudy.sessions.learning_scopes import WORKSPACE, LearningScope, ScopeKind

DOMAIN: Final = "learnings"
MAX_CONFIDENCE: Final = 100
MAX_REASON_CHARS: Final = 400
MAX_NOTE_CHARS: Final = 400
MAX_EVIDENCE_REFS: Final = 32
MAX_NUMBER: Final = 2**53 - 1
# The ids of a source: every field but its number.
SOURCE_IDS: Final = tuple(
    it.name for it in fields(LearningSource) if it.name != "input_event_offset"
)
_TIER_OF: Final = {
    LearningStatus.PROVISIONAL: Tier.PROVISIONAL,
    LearningStatus.ACTIVE: Tier.ACTIVE,
}
# Contradictions between fields of a learning.
_INCONSISTENT: Final[Mapping[str, Callable[[Learning], bool]]] = {
    "a decision needs an actor": lambda it: (
        it.policy_decision is not None and not (it.policy_actor or "").strip()
    ),
    "the tier of a live learning is its status": lambda it: (
        it.publish_tier is not _TIER_OF.get(it.status, it.publish_tier)
    ),
    "what failed verification is not active": lambda it: (
        it.status is LearningStatus.ACTIVE and it.verification_status is Verification.FAILED
    ),
}
_ID_SAYS: Final = (
    f"has 1 to {MAX_ID_LENGTH} printable characters and no blanks at its beginning or end"
)


def check_scope(scope: LearningScope, *, pointer: str = "/scope") -> LearningScope:
    """Refuse a scope whose id is no valid id, or a second workspace."""
    if not _is_id(scope.id):
        raise _invalid("scope", f"{pointer}/id", f"a scope's id {_ID_SAYS}")
    if scope.kind is ScopeKind.WORKSPACE and scope != WORKSPACE:
        raise _invalid("scope", f"{pointer}/id", f"there is one workspace, {WORKSPACE.id!r}")
    return scope


def scope_filter(scope_kind: ScopeKind | None, scope_id: str | None) -> LearningScope | None:
    """The scope that a list is narrowed to."""
    if scope_id is None and scope_kind in (None, ScopeKind.WORKSPACE):
        return None if scope_kind is None else WORKSPACE
    if scope_kind is None:
        raise _invalid("scope", "/scope_id", "scope_id needs a scope_kind")
    if scope_id is None:
        raise _invalid("scope", "/scope_id", f"scope_kind {scope_kind} needs a scope_id")
    scope = LearningScope(kind=scope_kind, id=scope_id)
    try:
        return check_scope(scope)
    except Invalid as problem:
        raise _invalid("scope", "/scope_id", problem.detail) from problem


def check_content(content: str, kind: Kind, *, pointer: str = "/content") -> str:
    """The trimmed content; refuses invisible characters and, except in run summaries, secrets."""
    trimmed = content.replace("\r\n", "\n").strip()
    _check_text(trimmed, "content", pointer, most=MAX_CONTENT_CHARS)
    # A run summary is made of scrubbed text, whose markers look like secrets.
    if kind is not Kind.RUN_SUMMARY:
        _check_secret(trimmed, "secret_content", pointer)
    return trimmed


def check_says_something(content: str, *, pointer: str = "/content") -> None:
    """Refuse a content that is no statement, where nobody reviews it first."""
    if says_nothing(content):
        raise _invalid("content", pointer, "content states nothing; say in words what is so")


def check_reason(text: str | None, *, pointer: str = "/reason") -> str | None:
    """The trimmed reason; None if it is blank."""
    trimmed = (text or "").replace("\r\n", "\n").strip()
    if not trimmed:
        return None
    _check_text(trimmed, "reason", pointer, most=MAX_REASON_CHARS)
    _check_secret(trimmed, "secret_reason", pointer)
    return trimmed


def check_origin(kind: Kind, origin: Origin, *, pointer: str = "/kind") -> None:
    """Refuse a run summary that the daemon did not propose."""
    if kind is Kind.RUN_SUMMARY and origin is not Origin.DAEMON:
        raise _invalid("kind", pointer, "summaries of runs are proposed by the daemon alone")


def check_confidence(confidence: int, *, pointer: str = "/confidence") -> int:
    """Refuse a confidence outside its range."""
    if not 0 <= confidence <= MAX_CONFIDENCE:
        raise _invalid("confidence", pointer, f"confidence is 0 to {MAX_CONFIDENCE}")
    return confidence


def check_expiry(expires_at_ms: int | None, *, pointer: str = "/expires_at_ms") -> int | None:
    """Refuse an expiry outside its range."""
    if expires_at_ms is not None and not 0 < expires_at_ms <= MAX_NUMBER:
        raise _invalid("expiry", pointer, f"expires_at_ms is 1 to {MAX_NUMBER}")
    return expires_at_ms


def check_source(source: LearningSource, *, pointer: str = "/source") -> LearningSource:
    """Refuse a source with invalid ids or an invalid offset."""
    for name in SOURCE_IDS:
        value = getattr(source, name)
        if value is not None and not _is_id(value):
            raise _invalid("source", f"{pointer}/{name}", f"{name} {_ID_SAYS}")
    offset = source.input_event_offset
    if offset is not None and not 0 <= offset <= MAX_NUMBER:
        raise _invalid("source", f"{pointer}/input_event_offset", f"an offset is 0 to {MAX_NUMBER}")
    return source


def check_evidence(
    refs: Sequence[EvidenceRef], *, pointer: str = "/evidence_refs"
) -> tuple[EvidenceRef, ...]:
    """Refuse too many references, and references that are empty or invalid."""
    if len(refs) > MAX_EVIDENCE_REFS:
        raise _invalid("evidence", pointer, f"there may be at most {MAX_EVIDENCE_REFS} references")
    for index, ref in enumerate(refs):
        _check_ref(ref, f"{pointer}/{index}")
    return tuple(refs)


def _check_ref(ref: EvidenceRef, pointer: str) -> None:
    if ref == EvidenceRef():
        raise _invalid("evidence", pointer, "a reference names a run, an artifact or a note")
    for name in ("run_id", "artifact_id"):
        value = getattr(ref, name)
        if value is not None and not _is_id(value):
            raise _invalid("evidence", f"{pointer}/{name}", f"{name} {_ID_SAYS}")
    if ref.note is not None:
        _check_text(ref.note, "evidence", f"{pointer}/note", most=MAX_NOTE_CHARS)
        _check_secret(ref.note, "secret_content", f"{pointer}/note")


def check_learning(learning: Learning) -> None:
    """Refuse a learning that may not be stored, or whose parts contradict each other."""
    check_scope(learning.scope)
    if check_content(learning.content, learning.kind) != learning.content:
        raise _invalid("content", "/content", "content is kept trimmed")
    check_confidence(learning.confidence)
    check_expiry(learning.expires_at_ms)
    check_source(learning.source)
    check_evidence(learning.evidence_refs)
    for says, is_so in _INCONSISTENT.items():
        if is_so(learning):
            raise _invalid("learning", None, says)


def _is_id(value: str) -> bool:
    return (
        0 < len(value) <= MAX_ID_LENGTH
        and value == value.strip()
        and value.isprintable()
        and hidden_in(value) is None
    )


def _check_text(text: str, what: str, pointer: str, *, most: int) -> None:
    if not text.strip():
        raise _invalid(what, pointer, f"{what} must not be blank")
    if len(text) > most:
        raise _invalid(what, pointer, f"{what} has at most {most} characters")
    if hidden := hidden_in(text):
        raise _invalid(
            what, pointer, f"{what} must not hide characters from readers, as U+{ord(hidden):04X}"
        )


def _check_secret(text: str, code: str, pointer: str) -> None:
    reason = secret_reason(text)
    if reason is not None:
        raise coded_error(f"learnings/{code}", pointer=pointer, why=reason)


def _invalid(what: str, pointer: str | None, detail: str) -> UnderstudyError:
    return coded_error(f"learnings/invalid_{what}", pointer=pointer, detail=detail)
