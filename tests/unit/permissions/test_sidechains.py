"""A sidechain takes its parent's rules, keeps them, and only narrows."""

from typing import Any

import pytest

from understudy.core.errors import DamagedRecord, Rejected
from understudy.permissions.model import CallRule, PermissionDecision
from understudy.permissions.rules import (
    NOTHING_RUNS,
    SessionRules,
    changed_rules,
    read_session_rules,
    rules_for_sidechain,
)

ALLOW = CallRule(tool="shell", decision=PermissionDecision.ALLOW)
ASK = CallRule(tool="note", decision=PermissionDecision.ASK)
DENY = CallRule(tool="*", decision=PermissionDecision.DENY, reason="no")
DAMAGED = [
    {"rules": "all"},
    {"rules": [{}]},
    {"inherited": {}},
    {"inherited": [{"tool": "x"}]},
    {"more": []},
]


def test_nothing_is_stored_where_there_are_no_rules() -> None:
    assert SessionRules().to_json() is None
    assert read_session_rules(None) == SessionRules()
    assert rules_for_sidechain(None).to_json() is None


def test_rules_come_back_as_they_were_stored() -> None:
    kept = SessionRules(inherited=(ALLOW, DENY), own=(ASK,))

    assert read_session_rules(kept.to_json()) == kept
    assert kept.all == (ALLOW, DENY, ASK)


def test_a_sidechain_begins_with_all_that_holds_above_it() -> None:
    parent = SessionRules(inherited=(ALLOW,), own=(ASK, ALLOW))

    assert rules_for_sidechain(parent.to_json()) == SessionRules(inherited=(ALLOW, ASK))


def test_what_narrowed_the_parents_agent_goes_along_to_another_agent() -> None:
    begun = rules_for_sidechain(None, of_parents_agent=(ALLOW, ASK, DENY))

    assert begun == SessionRules(inherited=(ASK, DENY))


def test_a_sidechain_adds_ask_and_deny_and_cannot_drop_what_it_inherited() -> None:
    begun = SessionRules(inherited=(ALLOW,))

    changed = begun.with_own((ASK, DENY, ALLOW), is_sidechain=True)

    assert changed == SessionRules(inherited=(ALLOW,), own=(ASK, DENY))
    assert changed.with_own((), is_sidechain=True) == begun


def test_a_sidechain_adds_no_allow() -> None:
    with pytest.raises(Rejected) as refused:
        SessionRules().with_own((ALLOW,), is_sidechain=True)

    assert (refused.value.domain, refused.value.code) == ("permissions", "sidechain_only_narrows")
    assert SessionRules().with_own((ALLOW,), is_sidechain=False).own == (ALLOW,)


@pytest.mark.parametrize("stored", DAMAGED)
def test_rules_that_cannot_be_read_leave_a_sidechain_nothing(stored: dict[str, Any]) -> None:
    with pytest.raises(DamagedRecord):
        read_session_rules(stored)

    assert rules_for_sidechain(stored).all == (NOTHING_RUNS,)
    assert changed_rules(stored, (ASK,), is_sidechain=True).all == (NOTHING_RUNS, ASK)


@pytest.mark.parametrize("stored", DAMAGED)
def test_rules_that_cannot_be_read_can_be_replaced(stored: dict[str, Any]) -> None:
    assert changed_rules(stored, (ALLOW,), is_sidechain=False).all == (ALLOW,)
