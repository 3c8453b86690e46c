"""A learning policy is read whole, and everything that is wrong with it is named by its place."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.review_factories import OPTIONAL_NAMES, RULES
from understudy.core.errors import Invalid
from understudy.learnings.capture_settings import CaptureSettings, ModelChoice
from understudy.learnings.model import Mode, ReviewAction
from understudy.review.policy import (
    CLOSED,
    DEFAULT,
    LEARNING_POLICY,
    MAX_RULES,
    JudgeSettings,
    LearningPolicy,
    PolicyRule,
    PublicationSettings,
    policy_digest,
)

RULE = {"action": "reject"}


def with_rule(**fields: Any) -> dict[str, Any]:
    """A policy whose fourth rule is this one."""
    return {"publication": {"rules": [RULE, RULE, RULE, RULE | fields]}}


def semantic(**fields: Any) -> dict[str, Any]:
    return {"capture": {"semantic_candidates": fields}}


WRONG: dict[str, tuple[Any, str]] = {
    "no object": ([], ""),
    "an unknown field": ({"foo": 1}, "/foo"),
    "a name with a slash": ({"a/b~c": 1}, "/a~1b~0c"),
    "an unknown mode": ({"mode": "off"}, "/mode"),
    "no mode": ({"mode": None}, "/mode"),
    "a list as mode": ({"mode": ["shadow"]}, "/mode"),
    "active by default": (
        {"publication": {"default_action": "publish_active"}},
        "/publication/default_action",
    ),
    "active without a kind": (
        with_rule(action="publish_active"),
        "/publication/rules/3/kind",
    ),
    "active procedures": (
        with_rule(action="publish_active", kind="procedure"),
        "/publication/rules/3/kind",
    ),
    "no action": ({"publication": {"rules": [{}]}}, "/publication/rules/0/action"),
    "an unknown action": (with_rule(action="approve"), "/publication/rules/3/action"),
    "an unknown field of a rule": (with_rule(knid="fact"), "/publication/rules/3/knid"),
    "a rule that is no object": (
        {"publication": {"rules": ["reject"]}},
        "/publication/rules/0",
    ),
    "rules that are no list": ({"publication": {"rules": RULE}}, "/publication/rules"),
    "too many rules": (
        {"publication": {"rules": [RULE] * (MAX_RULES + 1)}},
        "/publication/rules",
    ),
    "too sure": (with_rule(min_confidence=101), "/publication/rules/3/min_confidence"),
    "less than nothing": (with_rule(min_confidence=-1), "/publication/rules/3/min_confidence"),
    "half a confidence": (with_rule(min_confidence=0.5), "/publication/rules/3/min_confidence"),
    "a truth value as number": (
        with_rule(min_confidence=True),
        "/publication/rules/3/min_confidence",
    ),
    "a blank scope id": (with_rule(scope_id="  "), "/publication/rules/3/scope_id"),
    "blanks around a scope id": (with_rule(scope_id=" s1"), "/publication/rules/3/scope_id"),
    "an expiry at once": (with_rule(expires_after_ms=0), "/publication/rules/3/expires_after_ms"),
    "an expiry beyond time": (
        with_rule(expires_after_ms=2**53),
        "/publication/rules/3/expires_after_ms",
    ),
    "a blank name": (with_rule(name=" "), "/publication/rules/3/name"),
    "a long name": (with_rule(name="n" * 201), "/publication/rules/3/name"),
    "a name of two lines": (with_rule(name="a\nb"), "/publication/rules/3/name"),
    "a word as truth value": (
        with_rule(require_evidence="yes"),
        "/publication/rules/3/require_evidence",
    ),
    "a blank name in quarantine": (
        {"publication": {"quarantined_rule_names": [""]}},
        "/publication/quarantined_rule_names/0",
    ),
    "a name twice in quarantine": (
        {"publication": {"quarantined_rule_names": ["a", " A "]}},
        "/publication/quarantined_rule_names/1",
    ),
    "a judge without time": (
        {"judge": {"enabled": True, "timeout_ms": 0}},
        "/judge/timeout_ms",
    ),
    "a judge with all the time": (
        {"judge": {"enabled": True, "timeout_ms": 120_001}},
        "/judge/timeout_ms",
    ),
    "capture without time": (
        semantic(enabled=True, timeout_ms=0),
        "/capture/semantic_candidates/timeout_ms",
    ),
    "no candidates": (
        semantic(enabled=True, max_candidates_per_run=0),
        "/capture/semantic_candidates/max_candidates_per_run",
    ),
    "nine candidates": (
        semantic(enabled=True, max_candidates_per_run=9),
        "/capture/semantic_candidates/max_candidates_per_run",
    ),
    "a model that is a name": ({"judge": {"model": "gpt"}}, "/judge/model"),
    "an unknown field of a model": ({"judge": {"model": {"x": 1}}}, "/judge/model/x"),
    "a blank route": ({"judge": {"model": {"provider": ""}}}, "/judge/model/provider"),
    "too hot": (
        {"judge": {"model": {"generation": {"temperature": 3}}}},
        "/judge/model/generation/temperature",
    ),
    "a stop that is a number": (
        {"judge": {"model": {"generation": {"stop": [1]}}}},
        "/judge/model/generation/stop",
    ),
    "an unknown generation setting": (
        {"judge": {"model": {"generation": {"top_k": 1}}}},
        "/judge/model/generation/top_k",
    ),
    "an unknown field of promotion": ({"promotion": {"x": True}}, "/promotion/x"),
    "no run to verify": ({"promotion": {"min_successes": 0}}, "/promotion/min_successes"),
    "too many runs": ({"promotion": {"min_successes": 101}}, "/promotion/min_successes"),
    "no session": ({"promotion": {"min_sessions": 0}}, "/promotion/min_sessions"),
    "half a session": ({"promotion": {"min_sessions": 1.5}}, "/promotion/min_sessions"),
    "a replay that is a word": (
        {"promotion": {"require_replay": "yes"}},
        "/promotion/require_replay",
    ),
    "a share above all": (
        {"promotion": {"canary_share_percent": 101}},
        "/promotion/canary_share_percent",
    ),
    "a share below none": (
        {"promotion": {"canary_share_percent": -1}},
        "/promotion/canary_share_percent",
    ),
    "a demotion that is a number": (
        {"promotion": {"demote_when_worse": 1}},
        "/promotion/demote_when_worse",
    ),
}


@pytest.mark.parametrize(("given_policy", "pointer"), WRONG.values(), ids=WRONG)
def test_a_wrong_policy_is_refused_and_the_place_is_named(given_policy: Any, pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        LEARNING_POLICY.read(given_policy)

    assert (refused.value.domain, refused.value.code) == ("runtime", "invalid_learning_policy")
    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_every_problem_is_named_at_once() -> None:
    wrong = {
        "mode": "off",
        "judge": {"enabled": 1},
        "publication": {
            "default_action": "publish_active",
            "rules": [{"min_confidence": 101, "action": "publish_active"}],
        },
    }
    with pytest.raises(Invalid) as refused:
        LEARNING_POLICY.read(wrong)

    assert {error.pointer for error in refused.value.errors} == {
        "/mode",
        "/judge/enabled",
        "/publication/default_action",
        "/publication/rules/0/min_confidence",
    }


def test_what_is_wrong_without_end_is_named_with_one() -> None:
    with pytest.raises(Invalid) as refused:
        LEARNING_POLICY.read({f"field {number}": 1 for number in range(10_000)})

    assert len(refused.value.errors) == 50
    assert len(refused.value.detail) < 1000


def test_what_is_left_out_takes_its_documented_default() -> None:
    read = LEARNING_POLICY.read({"publication": {"default_action": "reject"}})

    assert read == LearningPolicy(
        publication=PublicationSettings(default_action=ReviewAction.REJECT)
    )
    assert read.mode is Mode.SHADOW
    assert LEARNING_POLICY.to_json(DEFAULT) == {
        "mode": "shadow",
        "capture": {
            "run_summary_candidates": False,
            "semantic_candidates": {
                "enabled": True,
                "model": None,
                "timeout_ms": None,
                "max_candidates_per_run": 2,
            },
        },
        "publication": {
            "default_action": "manual_review",
            "allow_api_origin_active_publication": False,
            "allow_untrusted_active_publication": False,
            "quarantined_rule_names": [],
            "rules": [],
        },
        "judge": {"enabled": False, "model": None, "timeout_ms": None},
        "promotion": {
            "require_executed_evidence": False,
            "min_successes": 1,
            "min_sessions": 1,
            "require_replay": False,
            "canary_share_percent": 0,
            "demote_when_worse": True,
        },
        "retrieval": {
            "relevance_floor": 0.38,
            "max_standing_entries": 12,
            "max_standing_tokens": 600,
        },
        "conflicts": {"model": None, "timeout_ms": 8_000},
    }


@pytest.mark.parametrize("mode", Mode)
def test_statements_are_captured_by_default_and_run_summaries_are_not(mode: Mode) -> None:
    capture = LEARNING_POLICY.read({"mode": str(mode)}).capture
    assert (capture.semantic_candidates.enabled, capture.run_summary_candidates) == (True, False)


def test_a_stored_policy_keeps_what_it_says() -> None:
    before = {
        "mode": "shadow",
        "capture": {"run_summary_candidates": True, "semantic_candidates": {"enabled": False}},
    }
    capture = LEARNING_POLICY.stored({"learning_policy": before}).capture
    assert (capture.semantic_candidates.enabled, capture.run_summary_candidates) == (False, True)


def test_limits_of_what_is_off_do_not_matter() -> None:
    read = LEARNING_POLICY.read(
        {
            "judge": {"enabled": False, "timeout_ms": 0},
            "capture": {
                "semantic_candidates": {
                    "enabled": False,
                    "timeout_ms": 0,
                    "max_candidates_per_run": 9,
                }
            },
        }
    )
    assert read.judge.timeout_ms == 0


def test_a_model_may_be_told_how_to_answer() -> None:
    settings = {"temperature": 0, "top_p": 0.5, "max_tokens": 10, "seed": -1, "stop": ["\n", "x"]}

    read = LEARNING_POLICY.read({"judge": {"model": {"provider": "b", "generation": settings}}})

    assert read.judge.model == ModelChoice(provider="b", generation=settings)


def test_null_is_the_same_as_leaving_it_out_where_nothing_is_a_choice() -> None:
    read = LEARNING_POLICY.read(with_rule(name=None, kind=None, expires_after_ms=None))

    assert read.publication.rules[3] == PolicyRule(action=ReviewAction.REJECT)


POLICIES = st.builds(
    LearningPolicy,
    mode=st.sampled_from(Mode),
    capture=st.builds(CaptureSettings, run_summary_candidates=st.booleans()),
    publication=st.builds(PublicationSettings, rules=st.lists(RULES, max_size=4).map(tuple)),
    judge=st.builds(
        JudgeSettings,
        enabled=st.booleans(),
        model=st.none() | st.builds(ModelChoice, provider=OPTIONAL_NAMES),
        timeout_ms=st.none() | st.integers(1, 120_000),
    ),
)


@given(POLICIES)
def test_what_is_shown_can_be_sent_back(policy: LearningPolicy) -> None:
    shown = json.loads(json.dumps(LEARNING_POLICY.to_json(policy)))

    assert LEARNING_POLICY.read(shown) == policy
    assert policy_digest(LEARNING_POLICY.read(shown)) == policy_digest(policy)


@given(POLICIES, POLICIES)
def test_two_policies_have_the_same_digest_only_if_they_are_the_same(
    one: LearningPolicy, other: LearningPolicy
) -> None:
    assert (policy_digest(one) == policy_digest(other)) is (one == other)


def test_what_is_asked_of_skills_has_no_candidate_reviewed_again() -> None:
    stricter = LEARNING_POLICY.read({"promotion": {"min_successes": 3, "demote_when_worse": False}})

    assert stricter != DEFAULT
    assert policy_digest(stricter) == policy_digest(DEFAULT)
    # What candidates were reviewed under before there was more to promotion than this.
    executed = LEARNING_POLICY.read({"promotion": {"require_executed_evidence": True}})
    assert policy_digest(executed) != policy_digest(DEFAULT)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [*LEARNING_POLICY.to_json(DEFAULT), "rules", "model", "enabled", "action"]
            )
            | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_whatever_is_given_is_read_or_refused_by_name(anything: Any) -> None:
    refused: Invalid | None = None
    try:
        LEARNING_POLICY.read(anything)
    except Invalid as problem:
        refused = problem
    assert refused is None or refused.errors


@pytest.mark.parametrize("stored", [None, "torn", [], {"mode": "off"}, {"mode": "shadow", "x": 1}])
def test_a_damaged_policy_lets_nothing_happen_by_itself(stored: Any) -> None:
    document = {LEARNING_POLICY.setting: stored}

    with pytest.raises(Invalid):
        LEARNING_POLICY.stored(document)
    assert LEARNING_POLICY.usable(document) == CLOSED
    assert CLOSED.mode is Mode.MANUAL_ONLY
    assert not CLOSED.capture.run_summary_candidates
    assert not CLOSED.capture.semantic_candidates.enabled


def test_a_document_without_one_has_the_default() -> None:
    assert LEARNING_POLICY.stored({"debug_level": "off"}) == DEFAULT
