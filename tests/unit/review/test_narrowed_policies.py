"""An excerpt of a policy says of a candidate what the whole says."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.factories import NOW
from tests.support.review_factories import RULES, found, policy, proposed, rule
from understudy.learnings.model import Candidate, Kind
from understudy.review.dry_run import NarrowedPolicies
from understudy.review.evaluate import evaluate
from understudy.review.policy import LearningPolicy, PolicyRule
from understudy.sessions.learning_scopes import session_scope

CANDIDATES = st.sampled_from(
    [
        found(),
        proposed(),
        found(kind=Kind.DECISION, scope=session_scope("s1"), confidence=10),
        proposed("api-key: abc" + "123456789", derived_from_untrusted=True),
    ]
)


def said(candidate: Candidate, by: LearningPolicy) -> object:
    """Everything but the trace."""
    evaluation = evaluate(candidate, by, now_ms=NOW)
    return replace(evaluation, trace=replace(evaluation.trace, rules=()))


@given(st.lists(RULES, max_size=6), st.data())
def test_an_excerpt_says_the_same_as_the_whole(
    rules: list[PolicyRule], data: st.DataObject
) -> None:
    names = [it.name for it in rules if it.name]
    out = data.draw(st.sets(st.sampled_from(names))) if names else set()
    whole = policy(*rules, quarantined_rule_names=tuple(out))
    policies = NarrowedPolicies(whole)

    for _ in range(3):
        candidate = data.draw(CANDIDATES)
        assert said(candidate, policies.narrowed_to(candidate)) == said(candidate, whole)


def test_rules_that_have_no_say_are_left_out() -> None:
    others = [rule("reject", kind=Kind.DECISION) for _ in range(3)]
    named, nameless = rule("reject", name="r4"), rule("reject")

    for last, kept in ((named, (named,)), (nameless, (*others, nameless))):
        excerpt = NarrowedPolicies(policy(*others, last)).narrowed_to(found())
        assert excerpt.publication.rules == kept
    assert NarrowedPolicies(policy(*others)).narrowed_to(found()).publication.rules == ()
