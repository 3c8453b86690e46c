"""What a policy says of a candidate, and the trace that tells why."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.factories import NOW
from tests.support.review_factories import RULES, found, policy, proposed, rule
from understudy.learnings.model import (
    Candidate,
    CapturePath,
    EvidenceRef,
    Kind,
    LearningSource,
    Origin,
    ReviewAction,
    Sensitivity,
)
from understudy.review.evaluate import Evaluation, evaluate
from understudy.review.policy import LearningPolicy, PolicyRule
from understudy.review.rule_match import Mismatch
from understudy.sessions.learning_scopes import ScopeKind, session_scope


def judged(candidate: Candidate, by: LearningPolicy) -> Evaluation:
    return evaluate(candidate, by, now_ms=NOW)


def test_without_a_rule_the_default_counts() -> None:
    said = judged(proposed(), policy())

    assert (said.action, said.matched_rule_name) == (ReviewAction.MANUAL_REVIEW, None)
    assert said.reason == "no rule matched, and the default is manual_review"
    assert (
        judged(proposed(), policy(default_action=ReviewAction.REJECT)).action is ReviewAction.REJECT
    )


def test_the_first_rule_that_matches_wins() -> None:
    said = judged(
        proposed(),
        policy(
            rule("manual_review", name="other", kind=Kind.DECISION),
            rule("reject", name="first", kind=Kind.FACT),
            rule("publish_provisional", name="second", kind=Kind.FACT),
        ),
    )
    assert (said.action, said.matched_rule_name) == (ReviewAction.REJECT, "first")
    assert said.reason == "rule 'first' says reject"
    assert [(it.matched, it.decided) for it in said.trace.rules] == [
        (False, False),
        (True, True),
        (True, False),
    ]
    assert said.trace.rules[0].mismatches == (
        Mismatch(field="kind", wanted="decision", had="fact"),
    )


@pytest.mark.parametrize("name", ["r1", " R1 "])
def test_a_rule_in_quarantine_has_no_say(name: str) -> None:
    rules = (rule("reject", name="R1"), rule("publish_provisional"), rule("reject", name="r2"))

    said = judged(proposed(), policy(*rules, quarantined_rule_names=(name,)))

    assert (said.action, said.matched_rule_name) == (ReviewAction.PUBLISH_PROVISIONAL, None)
    assert said.reason == "rule 2 says publish_provisional"
    assert [(it.quarantined, it.matched) for it in said.trace.rules] == [
        (True, True),
        (False, True),
        (False, True),
    ]


# One field of a rule, a candidate that meets it, and one that does not.
FIELDS: dict[str, tuple[dict[str, Any], Candidate, Candidate]] = {
    "scope_kind": (
        {"scope_kind": ScopeKind.SESSION},
        proposed(scope=session_scope("s1")),
        proposed(),
    ),
    "scope_id": (
        {"scope_id": "s1"},
        proposed(scope=session_scope("s1")),
        proposed(scope=session_scope("s2")),
    ),
    "kind": ({"kind": Kind.FACT}, proposed(), proposed(kind=Kind.PREFERENCE)),
    "sensitivity": (
        {"sensitivity": Sensitivity.SENSITIVE},
        proposed(sensitivity=Sensitivity.SENSITIVE),
        proposed(),
    ),
    "min_confidence": ({"min_confidence": 95}, proposed(confidence=95), proposed(confidence=94)),
    "derived_from_untrusted": (
        {"derived_from_untrusted": True},
        proposed(derived_from_untrusted=True),
        proposed(),
    ),
    "not derived_from_untrusted": (
        {"derived_from_untrusted": False},
        proposed(),
        proposed(derived_from_untrusted=True),
    ),
    "require_evidence": ({"require_evidence": True}, found(), found(evidence_refs=())),
    "require_source_run": (
        {"require_source_run": True},
        found(),
        found(source=LearningSource(session_id="s1")),
    ),
    "require_source_session": (
        {"require_source_session": True},
        found(),
        found(source=LearningSource(run_id="run_1")),
    ),
}


@pytest.mark.parametrize(("fields", "meets", "misses"), FIELDS.values(), ids=FIELDS)
def test_each_field_of_a_rule_narrows_it(
    fields: dict[str, Any], meets: Candidate, misses: Candidate
) -> None:
    narrow = policy(rule("reject", **fields))
    [name] = fields

    assert judged(meets, narrow).action is ReviewAction.REJECT
    said = judged(misses, narrow)
    assert said.action is ReviewAction.MANUAL_REVIEW
    assert [it.field for it in said.trace.rules[0].mismatches] == [name]


def test_what_the_api_says_of_provenance_does_not_count() -> None:
    strict = rule(
        "publish_provisional",
        require_evidence=True,
        require_source_run=True,
        require_source_session=True,
    )
    claimed = replace(found(), origin=Origin.API)

    assert judged(found(), policy(strict)).action is ReviewAction.PUBLISH_PROVISIONAL
    said = judged(claimed, policy(strict))
    assert said.action is ReviewAction.MANUAL_REVIEW
    assert {it.had for it in said.trace.rules[0].mismatches} == {
        "from the api, which anybody can write"
    }


def test_a_candidate_from_the_api_becomes_provisional_at_most() -> None:
    active = rule("publish_active", kind=Kind.FACT)

    said = judged(proposed(), policy(active))

    assert said.action is ReviewAction.PUBLISH_PROVISIONAL
    assert "from the API is not published as active" in said.reason
    assert [it.code for it in said.trace.adjustments] == ["api_origin"]
    allowed = policy(active, allow_api_origin_active_publication=True)
    assert judged(proposed(), allowed).action is ReviewAction.PUBLISH_ACTIVE
    assert judged(found(), policy(active)).action is ReviewAction.PUBLISH_ACTIVE


def test_what_comes_from_tools_or_strangers_becomes_provisional_at_most() -> None:
    active = rule("publish_active", kind=Kind.FACT)
    tainted = found(derived_from_untrusted=True)

    said = judged(tainted, policy(active))

    assert said.action is ReviewAction.PUBLISH_PROVISIONAL
    assert [it.code for it in said.trace.adjustments] == ["derived_from_untrusted"]
    allowed = policy(active, allow_untrusted_active_publication=True)
    assert judged(tainted, allowed).action is ReviewAction.PUBLISH_ACTIVE


@pytest.mark.parametrize("action", ["publish_provisional", "publish_active"])
@pytest.mark.parametrize(
    ("candidate", "code"),
    [
        (found(declined_before=True), "declined_before"),
        (found(declined_before=True, derived_from_untrusted=True), "declined_before"),
        (found("The p\u0430yment account is EVIL"), "mixed_scripts"),
    ],
)
def test_what_a_person_declined_or_may_misread_no_rule_publishes(
    candidate: Candidate, code: str, action: str
) -> None:
    allowed = policy(
        rule(action, name="all"),
        allow_untrusted_active_publication=True,
        allow_api_origin_active_publication=True,
    )

    said = judged(candidate, allowed)

    assert (said.action, said.matched_rule_name) == (ReviewAction.MANUAL_REVIEW, "all")
    assert [it.code for it in said.trace.adjustments] == [code]
    assert judged(candidate, policy(rule("reject"))).action is ReviewAction.REJECT


def test_a_procedure_that_would_be_active_is_left_to_a_person() -> None:
    # No policy can be configured so, but a stored one may be older than that rule.
    active = rule("publish_active", kind=Kind.PROCEDURE)

    assert judged(found(kind=Kind.PROCEDURE), policy(active)).action is ReviewAction.MANUAL_REVIEW
    provisional = policy(rule("publish_provisional", kind=Kind.PROCEDURE))
    assert (
        judged(found(kind=Kind.PROCEDURE), provisional).action is ReviewAction.PUBLISH_PROVISIONAL
    )


@pytest.mark.parametrize("kind", [Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.PROCEDURE])
def test_a_secret_is_rejected_before_any_rule_is_asked(kind: Kind) -> None:
    leak = found("api-key: " + "sk-proj-" + "abcdefgh12345678", kind=kind)

    said = judged(leak, policy(rule("publish_active", kind=Kind.FACT)))

    assert (said.action, said.matched_rule_name) == (ReviewAction.REJECT, None)
    assert "secret classifier" in said.reason
    assert "sk-proj" not in said.reason
    assert said.trace.refused is not None
    assert [it.decided for it in said.trace.rules] == [False]


def test_a_summary_with_markers_is_no_secret() -> None:
    summary = found("Request: mail <redacted:email>", kind=Kind.RUN_SUMMARY)

    assert judged(summary, policy()).action is ReviewAction.MANUAL_REVIEW


@pytest.mark.parametrize(
    ("of_candidate", "of_rule", "expected"),
    [
        (None, None, None),
        (NOW + 50, None, NOW + 50),
        (None, 100, NOW + 100),
        (NOW + 50, 100, NOW + 50),
        (NOW + 500, 100, NOW + 100),
    ],
)
def test_the_earlier_end_counts(
    of_candidate: int | None, of_rule: int | None, expected: int | None
) -> None:
    lasting = policy(rule("publish_provisional", expires_after_ms=of_rule))

    said = judged(proposed(expires_at_ms=of_candidate), lasting)

    assert said.expires_at_ms == expected


CANDIDATES = st.builds(
    found,
    st.just("Preferred editor is Helix"),
    origin=st.sampled_from(Origin),
    scope=st.sampled_from([session_scope("s1"), session_scope("A"), proposed().scope]),
    kind=st.sampled_from(Kind),
    sensitivity=st.sampled_from(Sensitivity),
    confidence=st.integers(0, 100),
    derived_from_untrusted=st.booleans(),
    evidence_refs=st.sampled_from([(), (EvidenceRef(run_id="run_1"),)]),
    source=st.sampled_from([LearningSource(), LearningSource(run_id="run_1", session_id="s1")]),
)
SOME_RULES = st.lists(
    RULES | st.just(rule("publish_active", kind=Kind.FACT)) | st.builds(rule, st.just("reject")),
    max_size=6,
)


def fits(given_rule: PolicyRule, candidate: Candidate) -> bool:
    """The same question, asked plainly."""
    wanted = (
        given_rule.scope_kind in (None, candidate.scope.kind)
        and given_rule.scope_id in (None, candidate.scope.id)
        and given_rule.kind in (None, candidate.kind)
        and given_rule.sensitivity in (None, candidate.sensitivity)
        and (given_rule.min_confidence or 0) <= candidate.confidence
        and given_rule.derived_from_untrusted in (None, candidate.derived_from_untrusted)
    )
    is_ours = candidate.origin is Origin.DAEMON
    return (
        wanted
        and (not given_rule.require_evidence or (is_ours and bool(candidate.evidence_refs)))
        and (not given_rule.require_source_run or (is_ours and bool(candidate.source.run_id)))
        and (
            not given_rule.require_source_session or (is_ours and bool(candidate.source.session_id))
        )
    )


@given(CANDIDATES, SOME_RULES)
def test_the_trace_has_every_rule_once_and_the_first_that_fits_decides(
    candidate: Candidate, rules: list[PolicyRule]
) -> None:
    said = judged(candidate, policy(*rules))

    assert [it.index for it in said.trace.rules] == list(range(len(rules)))
    matching = [at for at, it in enumerate(rules) if fits(it, candidate)]
    assert [it.index for it in said.trace.rules if it.matched] == matching
    assert [it.index for it in said.trace.rules if it.decided] == matching[:1]
    assert said.matched_rule_name == (rules[matching[0]].name if matching else None)
    assert said.reason.strip()


@given(CANDIDATES, SOME_RULES, st.data())
def test_the_order_of_rules_that_do_not_match_changes_nothing(
    candidate: Candidate, rules: list[PolicyRule], data: st.DataObject
) -> None:
    others = [it for it in rules if not fits(it, candidate)]
    mixed = iter(data.draw(st.permutations(others)))
    permuted = [it if fits(it, candidate) else next(mixed) for it in rules]

    one, other = judged(candidate, policy(*rules)), judged(candidate, policy(*permuted))

    assert (one.action, one.matched_rule_name, one.expires_at_ms) == (
        other.action,
        other.matched_rule_name,
        other.expires_at_ms,
    )


@given(CANDIDATES, SOME_RULES)
def test_nothing_doubtful_ever_becomes_active(
    candidate: Candidate, rules: list[PolicyRule]
) -> None:
    said = judged(candidate, policy(*rules))

    is_doubtful = (
        candidate.kind is Kind.PROCEDURE
        or candidate.origin is Origin.API
        or candidate.derived_from_untrusted
    )
    assert not (is_doubtful and said.action is ReviewAction.PUBLISH_ACTIVE)


@pytest.mark.parametrize("path", [CapturePath.USAGE, CapturePath.ROLLOUT])
@pytest.mark.parametrize("action", ["publish_active", "publish_provisional"])
def test_no_rule_publishes_what_was_suggested_from_counting(action: str, path: CapturePath) -> None:
    counted = replace(found(), capture_path=path)

    said = judged(counted, policy(rule(action)))

    assert said.action is ReviewAction.MANUAL_REVIEW
    assert [it.code for it in said.trace.adjustments] == [str(path)]
    assert judged(counted, policy(rule("reject"))).action is ReviewAction.REJECT
