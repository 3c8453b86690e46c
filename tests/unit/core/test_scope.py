"""Scopes narrow; nothing that happens to one ever lets more pass."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.core.scope import ALL, CAPABILITY_KINDS, Gate, Scope, normalise

NAMES = ("alpha", "beta", "gamma", "delta")
names = st.lists(st.sampled_from((*NAMES, ALL)), max_size=4).map(normalise)
gates = st.builds(Gate, allow=st.none() | names, deny=names)
scopes = st.builds(Scope, gates=st.dictionaries(st.sampled_from(CAPABILITY_KINDS), gates))


def permitted(gate: Gate) -> set[str]:
    return {name for name in (*NAMES, "somebody else") if gate.permits(name)}


def read(**flat: list[str]) -> Scope:
    return Scope.from_json(flat, CAPABILITY_KINDS)


def test_names_are_trimmed_sorted_and_counted_once() -> None:
    assert normalise([" b ", "a", "", "  ", "b"]) == ("a", "b")


def test_a_star_absorbs_the_list() -> None:
    assert normalise(["a", "*", "b"]) == ("*",)


def test_no_allow_list_lets_everybody_pass_and_an_empty_one_nobody() -> None:
    assert Gate().permits("anyone")
    assert not Gate(allow=()).permits("anyone")


def test_a_star_lets_everybody_pass() -> None:
    assert Gate(allow=("*",)).permits("anyone")


@pytest.mark.parametrize("allow", [None, ("*",), ("alpha",)])
@pytest.mark.parametrize("deny", [("alpha",), ("*",)])
def test_deny_beats_allow(allow: tuple[str, ...] | None, deny: tuple[str, ...]) -> None:
    assert not Gate(allow=allow, deny=deny).permits("alpha")


def test_allow_lists_intersect_and_deny_lists_unite() -> None:
    persona = read(skill_allow=["alpha", "beta"], skill_deny=["x"])
    session = read(skill_allow=["beta", "gamma"], skill_deny=["y"])

    effective = persona.narrowed_by(session)

    assert effective.to_json() == {"skill_allow": ["beta"], "skill_deny": ["x", "y"]}


def test_lists_with_nothing_in_common_leave_nothing_rather_than_everything() -> None:
    effective = read(skill_allow=["alpha"]).narrowed_by(read(skill_allow=["beta"]))

    assert permitted(effective.gate("skill")) == set()


def test_a_star_leaves_the_other_list_as_it_is() -> None:
    for left, right in ((["*"], ["beta"]), (["beta"], ["*"])):
        effective = read(skill_allow=left).narrowed_by(read(skill_allow=right))

        assert effective.gate("skill").allow == ("beta",)


def test_a_kind_that_is_not_mentioned_is_open() -> None:
    assert read(skill_allow=["alpha"]).gate("mcp_tool").permits("anything")


def test_a_kind_that_only_one_side_mentions_stays_as_that_side_has_it() -> None:
    effective = read(skill_allow=["alpha"]).narrowed_by(read(mcp_tool_deny=["rm"]))

    assert effective.to_json() == {"skill_allow": ["alpha"], "mcp_tool_deny": ["rm"]}


def test_a_missing_and_an_empty_allow_list_both_mean_everybody() -> None:
    assert read().gate("skill").permits("alpha")
    assert read(skill_allow=[]).gate("skill").permits("alpha")


def test_nothing_survives_a_round_trip_through_json() -> None:
    nothing = read(skill_allow=["alpha"]).narrowed_by(read(skill_allow=["beta"]))

    flat = json.loads(json.dumps(nothing.to_json()))

    assert permitted(Scope.from_json(flat, CAPABILITY_KINDS).gate("skill")) == set()


@given(scopes)
def test_a_round_trip_through_json_changes_nothing_that_is_permitted(scope: Scope) -> None:
    back = Scope.from_json(json.loads(json.dumps(scope.to_json())), CAPABILITY_KINDS)

    for kind in CAPABILITY_KINDS:
        assert permitted(back.gate(kind)) == permitted(scope.gate(kind))


@given(gates, gates)
def test_narrowing_leaves_exactly_what_both_permit(one: Gate, other: Gate) -> None:
    assert permitted(one.narrowed_by(other)) == permitted(one) & permitted(other)


@given(gates, gates)
def test_narrowing_commutes(one: Gate, other: Gate) -> None:
    assert permitted(one.narrowed_by(other)) == permitted(other.narrowed_by(one))


@given(gates, gates)
def test_narrowing_twice_by_the_same_changes_nothing_more(one: Gate, other: Gate) -> None:
    once = one.narrowed_by(other)

    assert once.narrowed_by(other) == once


@given(scopes, scopes)
def test_a_narrowed_scope_never_permits_more_of_any_kind(one: Scope, other: Scope) -> None:
    narrowed = one.narrowed_by(other)

    for kind in CAPABILITY_KINDS:
        assert permitted(narrowed.gate(kind)) <= permitted(one.gate(kind))
        assert permitted(narrowed.gate(kind)) <= permitted(other.gate(kind))
