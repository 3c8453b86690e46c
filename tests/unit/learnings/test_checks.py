"""What may be kept is checked before it is, and what is wrong is named."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.factories import NOW
from understudy.core.errors import Invalid
from understudy.learnings.checks import (
    MAX_EVIDENCE_REFS,
    MAX_NOTE_CHARS,
    MAX_REASON_CHARS,
    check_confidence,
    check_content,
    check_evidence,
    check_expiry,
    check_learning,
    check_origin,
    check_reason,
    check_scope,
    check_source,
    scope_filter,
)
from understudy.learnings.model import (
    MAX_CONTENT_CHARS,
    EvidenceRef,
    Kind,
    Learning,
    LearningSource,
    LearningStatus,
    Origin,
    PolicyDecision,
    Tier,
    Verification,
)
from understudy.sessions.learning_scopes import WORKSPACE, LearningScope, ScopeKind, session_scope

SECRET = "api-key: " + "abc1234" + "56789"


def make_learning(**fields: Any) -> Learning:
    values: dict[str, Any] = {
        "learning_id": "lrn_1",
        "scope": WORKSPACE,
        "kind": Kind.FACT,
        "content": "Project codename is Atlas.",
        "semantic_key": "project codename=atlas",
        "subject_key": "project codename",
        "created_at_ms": NOW,
        "published_at_ms": NOW,
        "status": LearningStatus.ACTIVE,
    }
    return Learning(**(values | fields))


def scope(kind: ScopeKind, scope_id: str) -> LearningScope:
    return LearningScope(kind=kind, id=scope_id)


def fact(content: str) -> str:
    return check_content(content, Kind.FACT)


# What is refused, with the code and the place that are named.
WRONG: dict[str, tuple[Callable[[], object], str, str]] = {
    "a workspace of another name": (lambda: check_scope(scope(ScopeKind.WORKSPACE, "foo")), "invalid_scope", "/scope/id"),
    "a blank scope": (lambda: check_scope(session_scope("  ")), "invalid_scope", "/scope/id"),
    "no scope id": (lambda: check_scope(session_scope("")), "invalid_scope", "/scope/id"),
    "blanks around a scope": (lambda: check_scope(session_scope(" s1")), "invalid_scope", "/scope/id"),
    "a long scope": (lambda: check_scope(session_scope("s" * 201)), "invalid_scope", "/scope/id"),
    "a scope with a line break": (lambda: check_scope(session_scope("s\n1")), "invalid_scope", "/scope/id"),
    "a filter by id alone": (lambda: scope_filter(None, "s1"), "invalid_scope", "/scope_id"),
    "a filter by session without id": (lambda: scope_filter(ScopeKind.SESSION, None), "invalid_scope", "/scope_id"),
    "a filter by persona without id": (lambda: scope_filter(ScopeKind.PERSONA, None), "invalid_scope", "/scope_id"),
    "a filter by project without id": (lambda: scope_filter(ScopeKind.PROJECT, None), "invalid_scope", "/scope_id"),
    "a filter by another workspace": (lambda: scope_filter(ScopeKind.WORKSPACE, "foo"), "invalid_scope", "/scope_id"),
    "blank content": (lambda: fact(" \n\t"), "invalid_content", "/content"),
    "too much content": (lambda: fact("a" * (MAX_CONTENT_CHARS + 1)), "invalid_content", "/content"),
    "NUL": (lambda: fact("a\0b"), "invalid_content", "/content"),
    "half a character": (lambda: fact("a\ud83d"), "invalid_content", "/content"),
    "an escape": (lambda: fact("\x1b[31mred"), "invalid_content", "/content"),
    "a hidden character": (lambda: fact("see\u200b this"), "invalid_content", "/content"),
    "turned text": (lambda: fact("txt\u202eexe"), "invalid_content", "/content"),
    "a secret fact": (lambda: fact(SECRET), "secret_content", "/content"),
    "a secret preference": (lambda: check_content(SECRET, Kind.PREFERENCE), "secret_content", "/content"),
    "a secret decision": (lambda: check_content(SECRET, Kind.DECISION), "secret_content", "/content"),
    "a secret procedure": (lambda: check_content(SECRET, Kind.PROCEDURE), "secret_content", "/content"),
    "a summary by a caller": (lambda: check_origin(Kind.RUN_SUMMARY, Origin.API), "invalid_kind", "/kind"),
    "more than sure": (lambda: check_confidence(101), "invalid_confidence", "/confidence"),
    "less than unsure": (lambda: check_confidence(-1), "invalid_confidence", "/confidence"),
    "no time to live": (lambda: check_expiry(0), "invalid_expiry", "/expires_at_ms"),
    "for ever and a day": (lambda: check_expiry(2**53), "invalid_expiry", "/expires_at_ms"),
    "a source with a blank id": (lambda: check_source(LearningSource(run_id=" ")), "invalid_source", "/source/run_id"),
    "a source with a long id": (lambda: check_source(LearningSource(derivation_id="d" * 201)), "invalid_source", "/source/derivation_id"),
    "a source before the first": (lambda: check_source(LearningSource(input_event_offset=-1)), "invalid_source", "/source/input_event_offset"),
    "too much evidence": (
        lambda: check_evidence([EvidenceRef(run_id="run_1")] * (MAX_EVIDENCE_REFS + 1)), "invalid_evidence", "/evidence_refs",
    ),
    "evidence of nothing": (
        lambda: check_evidence([EvidenceRef(run_id="run_1"), EvidenceRef()]), "invalid_evidence", "/evidence_refs/1",
    ),
    "evidence with a wrong id": (
        lambda: check_evidence([EvidenceRef(artifact_id="a\tb")]), "invalid_evidence", "/evidence_refs/0/artifact_id",
    ),
    "a long note": (
        lambda: check_evidence([EvidenceRef(note="n" * (MAX_NOTE_CHARS + 1))]), "invalid_evidence", "/evidence_refs/0/note",
    ),
    "a secret note": (lambda: check_evidence([EvidenceRef(note=SECRET)]), "secret_content", "/evidence_refs/0/note"),
    "a long reason": (lambda: check_reason("r" * (MAX_REASON_CHARS + 1)), "invalid_reason", "/reason"),
    "a hiding reason": (lambda: check_reason("so\u200b"), "invalid_reason", "/reason"),
    "a secret reason": (lambda: check_reason("api-key: sk-" + "proj-x1"), "secret_reason", "/reason"),
}  # fmt: skip
INCONSISTENT: dict[str, dict[str, Any]] = {
    "decided by nobody": {"policy_decision": PolicyDecision.MANUAL},
    "decided by a blank": {"policy_decision": PolicyDecision.MANUAL, "policy_actor": " "},
    "active and provisional": {"publish_tier": Tier.PROVISIONAL},
    "provisional and active": {"status": LearningStatus.PROVISIONAL},
    "active though it failed": {"verification_status": Verification.FAILED},
}
CONSISTENT: dict[str, dict[str, Any]] = {
    "plain": {},
    "decided": {"policy_decision": PolicyDecision.AUTOMATIC, "policy_actor": "daemon"},
    "provisional": {"status": LearningStatus.PROVISIONAL, "publish_tier": Tier.PROVISIONAL},
    "provisional and failed": {
        "status": LearningStatus.PROVISIONAL,
        "publish_tier": Tier.PROVISIONAL,
        "verification_status": Verification.FAILED,
    },
    "revoked in any tier": {"status": LearningStatus.REVOKED, "publish_tier": Tier.PROVISIONAL},
    "superseded in any tier": {"status": LearningStatus.SUPERSEDED},
}
WRONG_PARTS: dict[str, dict[str, Any]] = {
    "scope": {"scope": session_scope(" ")},
    "content": {"content": SECRET},
    "content that is not trimmed": {"content": " Atlas "},
    "confidence": {"confidence": 101},
    "expiry": {"expires_at_ms": 0},
    "source": {"source": LearningSource(run_id="")},
    "evidence": {"evidence_refs": (EvidenceRef(),)},
}


@pytest.mark.parametrize(("check", "code", "pointer"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_and_named(
    check: Callable[[], object], code: str, pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        check()

    assert (refused.value.domain, refused.value.code) == ("learnings", code)
    assert [error.pointer for error in refused.value.errors] == [pointer]
    assert SECRET not in refused.value.detail


@pytest.mark.parametrize("fields", INCONSISTENT.values(), ids=INCONSISTENT)
def test_a_learning_does_not_contradict_itself(fields: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        check_learning(make_learning(**fields))

    assert refused.value.code == "invalid_learning"


@pytest.mark.parametrize("fields", CONSISTENT.values(), ids=CONSISTENT)
def test_a_learning_that_fits_may_be_kept(fields: dict[str, Any]) -> None:
    check_learning(make_learning(**fields))


@pytest.mark.parametrize("fields", WRONG_PARTS.values(), ids=WRONG_PARTS)
def test_each_part_of_a_learning_is_checked(fields: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        check_learning(make_learning(**fields))


def test_content_is_trimmed_and_may_fill_its_room() -> None:
    assert fact("  Atlas\r\nis\tit \n") == "Atlas\nis\tit"
    assert len(fact(" " + "a " * (MAX_CONTENT_CHARS // 2 - 1) + "aa ")) == MAX_CONTENT_CHARS


def test_a_summary_of_a_run_may_show_what_was_taken_out() -> None:
    summary = "Asked with <redacted:api-key>; done."

    assert check_content(summary, Kind.RUN_SUMMARY) == summary
    check_origin(Kind.RUN_SUMMARY, Origin.DAEMON)


def test_the_edges_are_fine() -> None:
    assert [check_confidence(0), check_confidence(100)] == [0, 100]
    assert [check_expiry(None), check_expiry(1)] == [None, 1]
    assert check_source(LearningSource(run_id="run_1", input_event_offset=0)).run_id == "run_1"
    assert check_evidence([EvidenceRef(note="seen twice")]) == (EvidenceRef(note="seen twice"),)


def test_a_reason_that_says_nothing_is_none() -> None:
    assert [check_reason(None), check_reason(" \n")] == [None, None]
    assert check_reason(" outdated ") == "outdated"


def test_a_list_is_narrowed_to_a_scope() -> None:
    assert scope_filter(None, None) is None
    assert scope_filter(ScopeKind.WORKSPACE, None) == WORKSPACE
    assert scope_filter(ScopeKind.WORKSPACE, "default") == WORKSPACE
    assert scope_filter(ScopeKind.SESSION, "s1") == session_scope("s1")
