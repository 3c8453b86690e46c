"""What callers give is looked at wherever they give it, also for secrets that only the operator knows."""

from typing import Any

import pytest

from tests.support.candidate_factories import make_candidate
from understudy.core.errors import Invalid
from understudy.learnings.guard import SecretGuard, texts_of, texts_of_changes
from understudy.learnings.model import CandidateState, EvidenceRef, Kind, LearningSource
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.publication import PublishChanges
from understudy.sessions.learning_scopes import WORKSPACE, session_scope

TOKEN = "gh" + "p_" + "a1B2c3D4e5" * 3 + "f6G7h8"
# Nothing shows that this is one.
LITERAL = "blue" + "heron"
GUARD = SecretGuard((LITERAL,))


def proposal(**fields: Any) -> NewCandidate:
    values: dict[str, Any] = {"scope": WORKSPACE, "kind": Kind.FACT, "content": "The sky is blue"}
    return NewCandidate(**(values | fields))


PLACES: dict[str, NewCandidate] = {
    "/content": proposal(content=f"We use {TOKEN}"),
    "/scope/id": proposal(scope=session_scope(TOKEN)),
    "/source/run_id": proposal(source=LearningSource(run_id=TOKEN)),
    "/source/session_id": proposal(source=LearningSource(session_id=TOKEN)),
    "/source/agent_id": proposal(source=LearningSource(agent_id=TOKEN)),
    "/source/observation_id": proposal(source=LearningSource(observation_id=TOKEN)),
    "/source/derivation_id": proposal(source=LearningSource(derivation_id=TOKEN)),
    "/evidence_refs/0/run_id": proposal(evidence_refs=(EvidenceRef(run_id=TOKEN),)),
    "/evidence_refs/1/artifact_id": proposal(
        evidence_refs=(EvidenceRef(note="seen"), EvidenceRef(artifact_id=TOKEN))
    ),
    "/evidence_refs/0/note": proposal(evidence_refs=(EvidenceRef(note=f"see {TOKEN}"),)),
}


@pytest.mark.parametrize(("pointer", "given"), PLACES.items(), ids=PLACES)
def test_a_secret_is_refused_wherever_it_is_given(pointer: str, given: NewCandidate) -> None:
    with pytest.raises(Invalid) as refused:
        SecretGuard().check(texts_of(given))

    assert refused.value.code == "secret_content"
    assert [error.pointer for error in refused.value.errors] == [pointer]
    assert TOKEN not in refused.value.detail


@pytest.mark.parametrize(
    "name",
    [
        "run_01a1e371ed1f76fd8858bf436d82dc28", "lrn_01a1e371f1fb7025853ff6cca1e0a3c7",
        "cand_01a1e371f1a3705782d366b1df93e540", "agt_01a1e371f1a3705782d366b1df93e541", "s1", "3f0c1d2e-aaaa-4bbb-8ccc-123456789abc",
        "01J8ZQ4Y7M3N5P9R2S6T8V0WXY", "call_" + "Ab3dEf6hIj9kLm2nOp5q", "telegram:123456789", "acme/site#42",
        "ann@example.com", "9f2c1a7d4e" * 4, "password-reset", "auth:session1",
    ],
)  # fmt: skip
def test_an_ordinary_name_of_a_thing_is_fine(name: str) -> None:
    source = LearningSource(run_id=name, derivation_id=name)
    refs = (EvidenceRef(artifact_id=name),)

    GUARD.check(texts_of(proposal(scope=session_scope(name), source=source, evidence_refs=refs)))


def test_what_whoever_publishes_says_anew_is_looked_at() -> None:
    GUARD.check(texts_of_changes(PublishChanges()))
    for wanted in (
        PublishChanges(content=f"We use {TOKEN}"),
        PublishChanges(scope=session_scope(TOKEN)),
        PublishChanges(evidence_refs=(EvidenceRef(artifact_id=TOKEN),)),
    ):
        with pytest.raises(Invalid):
            GUARD.check(texts_of_changes(wanted))


@pytest.mark.parametrize("said", [f"The bird is a {LITERAL}", "The bird is a blue\u200bheron"])
def test_what_the_operator_named_is_a_secret_whatever_it_looks_like(said: str) -> None:
    assert GUARD.reason(said) == "known_secret"
    assert SecretGuard().reason(said) is None


def test_a_reason_that_holds_a_literal_secret_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        GUARD.checked_reason(f"The bird is a {LITERAL}")
    assert refused.value.code == "secret_reason"


def test_what_was_let_pass_before_a_secret_was_named_is_not_published() -> None:
    candidate = make_candidate(f"The bird is a {LITERAL}")
    with pytest.raises(Invalid):
        GUARD.check_stored(candidate)
    GUARD.check_stored(make_candidate(candidate.content, state=CandidateState.PUBLISHED))
    SecretGuard().check_stored(candidate)
