"""A candidate is made whole: trimmed, keyed, and only of what may be kept."""

from typing import Any

import pytest

from tests.support.factories import NOW
from understudy.core.errors import Invalid
from understudy.learnings.model import (
    Candidate,
    CandidateState,
    CapturePath,
    EvidenceRef,
    Kind,
    LearningSource,
    Origin,
    Sensitivity,
)
from understudy.learnings.proposal import NewCandidate, make_candidate
from understudy.sessions.learning_scopes import WORKSPACE, session_scope


def wanted(**fields: Any) -> NewCandidate:
    values: dict[str, Any] = {
        "scope": WORKSPACE,
        "kind": Kind.FACT,
        "content": " Project codename is Atlas.\n",
    }
    return NewCandidate(**(values | fields))


def made(origin: Origin = Origin.API, **fields: Any) -> Candidate:
    return make_candidate(wanted(**fields), origin=origin, now_ms=NOW)


def test_a_candidate_has_its_key_and_the_usual_defaults() -> None:
    candidate = made()

    assert candidate == Candidate(
        candidate_id=candidate.candidate_id,
        origin=Origin.API,
        scope=WORKSPACE,
        kind=Kind.FACT,
        content="Project codename is Atlas.",
        semantic_key="project codename=atlas",
        subject_key="project codename",
        created_at_ms=NOW,
    )
    assert candidate.candidate_id.startswith("cand_")
    assert (candidate.state, candidate.confidence) == (CandidateState.PENDING, 80)


def test_what_is_known_of_a_candidate_is_kept() -> None:
    fields: dict[str, Any] = {
        "scope": session_scope("s1"),
        "kind": Kind.PREFERENCE,
        "sensitivity": Sensitivity.SENSITIVE,
        "confidence": 98,
        "source": LearningSource(run_id="run_1", session_id="s1"),
        "evidence_refs": (EvidenceRef(run_id="run_1", note="source run artifact"),),
        "expires_at_ms": NOW + 1,
        "capture_path": CapturePath.LABELS,
        "derived_from_untrusted": True,
        "reproposal_of": "cand_0",
        "evidence_digest": "abc",
    }

    candidate = make_candidate(
        wanted(**fields), origin=Origin.DAEMON, now_ms=NOW, candidate_id="cand_1"
    )

    assert candidate.candidate_id == "cand_1"
    assert {name: getattr(candidate, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"kind": Kind.RUN_SUMMARY}, "invalid_kind"),
        ({"content": ""}, "invalid_content"),
        ({"content": "password: " + "opense" + "same"}, "secret_content"),
        ({"scope": session_scope("")}, "invalid_scope"),
        ({"confidence": 101}, "invalid_confidence"),
        ({"expires_at_ms": -1}, "invalid_expiry"),
        ({"source": LearningSource(session_id=" ")}, "invalid_source"),
        ({"evidence_refs": (EvidenceRef(),)}, "invalid_evidence"),
    ],
)
def test_what_may_not_be_kept_is_not_made(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(Invalid) as refused:
        made(**fields)

    assert refused.value.code == code


def test_the_daemon_may_sum_up_a_run() -> None:
    summary = made(Origin.DAEMON, kind=Kind.RUN_SUMMARY, content="Done; <redacted:email> was told.")

    assert summary.kind is Kind.RUN_SUMMARY


@pytest.mark.parametrize("path", CapturePath)
def test_what_a_person_says_ends_when_it_says_so(path: CapturePath) -> None:
    said = {CapturePath.API, CapturePath.LABELS, CapturePath.MODEL}
    candidate = made(content="I am in Rome until tomorrow", capture_path=path)

    assert (candidate.expires_at_ms is not None) is (path in said)


def test_an_expiry_that_is_given_stays() -> None:
    assert (
        made(content="I am in Rome until tomorrow", expires_at_ms=NOW + 5).expires_at_ms == NOW + 5
    )
