"""What holds of every set of rules: deny wins, and the rule that is explained is the one applied."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cmp_to_key
from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from understudy.permissions.decide import decide
from understudy.permissions.model import (
    CallRule,
    CallVerdict,
    Level,
    PermissionDecision,
    PlacedRule,
)
from understudy.permissions.rules import SessionRules, read_session_rules, rules_for_sidechain
from understudy.permissions.sidechain_verdict import SessionRuleSource, decide_in_all, readings

ORDER = [PermissionDecision.ALLOW, PermissionDecision.ASK, PermissionDecision.DENY]
NEARNESS = [Level.DAEMON, Level.AGENT, Level.SESSION]

# Few letters, so that patterns often match and often tie.
patterns = st.one_of(
    st.sampled_from(["*", "ab", "a*", "a?", "*b", "ab*", "abc", "a*c"]),
    st.text("ab*?", min_size=1, max_size=4),
)
names = st.sampled_from(["x", "y", "y.z"])
calls = st.tuples(
    st.sampled_from(["ab", "abc", "b", "a/b"]),
    st.fixed_dictionaries(
        {},
        optional={
            "x": st.text("abc", max_size=3),
            "y": st.text("abc", max_size=3) | st.fixed_dictionaries({"z": st.sampled_from("ab")}),
        },
    ),
)
defaults = st.sampled_from([PermissionDecision.ALLOW, PermissionDecision.ASK])
narrowing = st.sampled_from([PermissionDecision.ASK, PermissionDecision.DENY])


def rules(decisions: st.SearchStrategy[PermissionDecision]) -> st.SearchStrategy[list[CallRule]]:
    rule = st.builds(
        CallRule,
        tool=patterns,
        decision=decisions,
        arguments=st.dictionaries(names, patterns, max_size=2),
    )
    return st.lists(rule, max_size=6)


any_rules = rules(st.sampled_from(PermissionDecision))
no_deny = rules(
    st.sampled_from([PermissionDecision.ALLOW, PermissionDecision.ALLOW, PermissionDecision.ASK])
)


def at(level: Level, given_rules: Sequence[CallRule]) -> list[PlacedRule]:
    return [
        PlacedRule(rule=rule, level=level, index=index) for index, rule in enumerate(given_rules)
    ]


def placing(some: st.SearchStrategy[list[CallRule]]) -> st.SearchStrategy[list[PlacedRule]]:
    """Rules at all levels, each with its place."""
    return st.tuples(some, some, some).map(
        lambda sets: [
            placed for level, each in zip(NEARNESS, sets, strict=True) for placed in at(level, each)
        ]
    )


# Many sets without a deny, for else it nearly always wins.
placed_rules = placing(any_rules) | placing(no_deny)


# An oracle that shares nothing with the code: regular expressions, and one criterion at a time.


def fits(pattern: str, text: str) -> bool:
    spelled = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern)
    return re.fullmatch(spelled, text, re.DOTALL) is not None


def value_of(arguments: dict, name: str) -> str | None:
    if name == "y.z":
        inner = arguments.get("y")
        return inner["z"] if isinstance(inner, dict) else None
    value = arguments.get(name)
    return f'{{"z":"{value["z"]}"}}' if isinstance(value, dict) else value


def applies(rule: CallRule, tool: str, arguments: dict) -> bool:
    if not fits(rule.tool, tool):
        return False
    values = {name: value_of(arguments, name) for name in rule.arguments}
    return all(
        value is not None and fits(rule.arguments[name], value) for name, value in values.items()
    )


def goes_before(left: PlacedRule, right: PlacedRule) -> int:
    def criteria(placed: PlacedRule) -> list[int]:
        tool, arguments = placed.rule.tool, placed.rule.arguments
        spelled = tool.replace("*", "").replace("?", "")
        return [
            1 if spelled == tool else 0,
            len(re.split(r"[*?]", tool)[0]),
            len(spelled),
            len(arguments),
            len("".join(arguments.values()).replace("*", "").replace("?", "")),
            NEARNESS.index(placed.level),
            ORDER.index(placed.rule.decision),
            placed.index,
        ]

    for mine, theirs in zip(criteria(left), criteria(right), strict=True):
        if mine != theirs:
            return mine - theirs
    return 0


def oracle(
    call: tuple[str, dict], placed: list[PlacedRule], default: PermissionDecision
) -> tuple[PermissionDecision, PlacedRule | None]:
    matching = [each for each in placed if applies(each.rule, *call)]
    denying = [each for each in matching if each.rule.decision == "deny"]
    if not matching:
        return default, None
    best = max(denying or matching, key=cmp_to_key(goes_before))
    return best.rule.decision, best


@given(calls, placed_rules, defaults)
def test_the_decision_is_that_of_the_oracle(
    call: tuple[str, dict], placed: list[PlacedRule], default: PermissionDecision
) -> None:
    verdict = decide(*call, placed, default)

    assert (verdict.decision, verdict.applied) == oracle(call, placed, default)


@given(calls, placed_rules, defaults)
def test_a_matching_deny_always_wins(
    call: tuple[str, dict], placed: list[PlacedRule], default: PermissionDecision
) -> None:
    alone = [decide(*call, [each], default).decision for each in placed]

    assert (decide(*call, placed, default).decision is PermissionDecision.DENY) is (
        PermissionDecision.DENY in alone
    )


@given(calls, placed_rules, defaults)
def test_the_explained_rule_is_the_one_applied(
    call: tuple[str, dict], placed: list[PlacedRule], default: PermissionDecision
) -> None:
    verdict = decide(*call, placed, default)
    if verdict.applied is None:
        assert not any(line.matched for line in verdict.trace)
        assert (verdict.decision, verdict.level) == (default, Level.TOOL)
        return

    alone = decide(*call, [verdict.applied], default)
    assert (alone.decision, alone.applied) == (verdict.decision, verdict.applied)
    assert (verdict.level, verdict.decision) == (
        verdict.applied.level,
        verdict.applied.rule.decision,
    )
    assert str(verdict.applied) in verdict.reason
    # The others change nothing, whichever of them is taken away.
    for other in placed:
        if other != verdict.applied:
            rest = [each for each in placed if each != other]
            assert decide(*call, rest, default).applied == verdict.applied


@given(calls, placed_rules, defaults, st.randoms(use_true_random=False))
def test_the_order_in_which_levels_are_read_does_not_matter(
    call: tuple[str, dict], placed: list[PlacedRule], default: PermissionDecision, random: Random
) -> None:
    shuffled = random.sample(placed, len(placed))

    first, second = decide(*call, placed, default), decide(*call, shuffled, default)

    assert replace(first, trace=()) == replace(second, trace=())
    assert set(map(str, first.trace)) == set(map(str, second.trace))


def is_no_wider(verdict: CallVerdict, than: CallVerdict) -> bool:
    return ORDER.index(verdict.decision) >= ORDER.index(than.decision)


@st.composite
def families(draw: st.DrawFn) -> tuple[list[CallRule], list[SessionRuleSource]]:
    """The rules of a daemon, and of a session with up to three others below it, the lowest first.

    Each is made with what it inherits then; afterwards every one of them may change.
    """
    agents = {name: tuple(draw(any_rules | no_deny)) for name in ("one", "two")}
    kept = SessionRules(own=tuple(draw(any_rules | no_deny)))
    chain = [standpoint(0, draw(st.sampled_from(["one", "two"])), agents, kept)]
    for depth in range(1, draw(st.integers(2, 4))):
        above = chain[0]
        agent_id = draw(st.sampled_from(["one", "two"]))
        lost = () if agent_id == above.agent_id else above.agent_rules
        kept = rules_for_sidechain(above.session_rules.to_json(), of_parents_agent=lost)
        assert read_session_rules(kept.to_json()) == kept
        kept = kept.with_own(draw(rules(narrowing)), is_sidechain=True)
        chain.insert(0, standpoint(depth, agent_id, agents, kept))
    if draw(st.booleans()):
        agents = {name: tuple(draw(any_rules | no_deny)) for name in agents}
        top = replace(chain[-1].session_rules, own=tuple(draw(any_rules | no_deny)))
        chain[-1] = replace(chain[-1], session_rules=top)
        chain = [replace(each, agent_rules=agents[each.agent_id]) for each in chain]
    return draw(any_rules | no_deny), chain


def standpoint(
    depth: int, agent_id: str, agents: dict[str, tuple[CallRule, ...]], kept: SessionRules
) -> SessionRuleSource:
    return SessionRuleSource(
        session_id=f"s{depth}", agent_id=agent_id, agent_rules=agents[agent_id], session_rules=kept
    )


@given(calls, families(), defaults)
def test_a_sidechain_is_never_wider_than_its_parent(
    call: tuple[str, dict],
    family: tuple[list[CallRule], list[SessionRuleSource]],
    default: PermissionDecision,
) -> None:
    daemon, chain = family
    verdicts = [
        decide_in_all(*call, readings(daemon, chain[place:]), default)
        for place in range(len(chain))
    ]

    for below, above in pairwise(verdicts):
        assert is_no_wider(below, than=above)
    # What it was given when it began holds as well, whatever its parent has become.
    for place, each in enumerate(chain[:-1]):
        inherited = at(Level.SESSION, each.session_rules.inherited)
        agent = at(Level.AGENT, chain[place + 1].agent_rules)
        as_it_was = decide(*call, at(Level.DAEMON, daemon) + agent + inherited, default)
        assert is_no_wider(verdicts[place], than=as_it_was)


@given(calls, families(), defaults)
def test_the_verdict_on_a_sidechain_is_one_of_those_it_is_made_of(
    call: tuple[str, dict],
    family: tuple[list[CallRule], list[SessionRuleSource]],
    default: PermissionDecision,
) -> None:
    held = readings(*family)
    verdict = decide_in_all(*call, held, default)

    single = [(each.above, decide(*call, each.placed, default)) for each in held]
    assert (verdict.above, verdict.decision, verdict.applied) in [
        (above, each.decision, each.applied) for above, each in single
    ]
    assert verdict.above is None or verdict.above in verdict.reason
    told = [line.placed for line in verdict.trace]
    assert len({(each.level, each.owner, each.index) for each in told}) == len(told)
    for reading in held:
        assert all(placed in told for placed in reading.placed)


@given(calls, placed_rules, defaults)
def test_a_session_with_none_above_it_is_judged_by_its_own_rules_alone(
    call: tuple[str, dict], placed: list[PlacedRule], default: PermissionDecision
) -> None:
    by_level = {level: [each.rule for each in placed if each.level is level] for level in NEARNESS}
    alone = SessionRuleSource(
        agent_id="one",
        agent_rules=tuple(by_level[Level.AGENT]),
        session_rules=SessionRules(own=tuple(by_level[Level.SESSION])),
    )

    verdict = decide_in_all(*call, readings(by_level[Level.DAEMON], [alone]), default)

    assert verdict == decide(*call, placed, default)
