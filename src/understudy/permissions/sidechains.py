"""The rules of a session: its own, and what a sidechain took from its parent and cannot drop."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from understudy.core.errors import DamagedRecord, Invalid, coded_error
from understudy.permissions.model import CallRule, PermissionDecision
from understudy.permissions.rules import read_document, read_rules, write_rules

# Stands for rules that cannot be read: nothing runs where nobody knows what is forbidden.
NOTHING_RUNS: Final = CallRule(
    tool="*",
    decision=PermissionDecision.DENY,
    reason="the rules this sidechain began with cannot be read",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules:
    """The permission rules of one session, beside those of its agent and of the daemon."""

    inherited: tuple[CallRule, ...] = ()
    own: tuple[CallRule, ...] = ()

    @property
    def all(self) -> tuple[CallRule, ...]:
        """Every rule, those of the parent first."""
        return (*self.inherited, *self.own)

    def with_own(self, rules: Iterable[CallRule], *, is_sidechain: bool) -> "SessionRules":
        """Other rules of its own; in a sidechain they may only narrow."""
        new = tuple(rule for rule in rules if rule not in self.inherited)
        if is_sidechain and any(rule.decision is PermissionDecision.ALLOW for rule in new):
            raise coded_error("permissions/sidechain_only_narrows")
        return SessionRules(inherited=self.inherited, own=new)

    def to_json(self) -> dict[str, Any] | None:
        """The rules as they are stored; None where there are none."""
        said = {
            name: write_rules(rules)
            for name, rules in (("inherited", self.inherited), ("rules", self.own))
            if rules
        }
        return said or None


def read_session_rules(stored: Mapping[str, Any] | None) -> SessionRules:
    """The rules of a session from what is stored, or `DamagedRecord`."""
    stored = stored or {}
    try:
        # A chain of sidechains gathers the rules of all above it, so only its own are limited.
        inherited = read_rules(stored.get("inherited", ()), at_most=None)
        own = read_document({key: stored[key] for key in stored if key != "inherited"})
        return SessionRules(inherited=inherited, own=own)
    except Invalid as problem:
        raise coded_error("storage/record_damaged:session_rules") from problem


def changed_rules(
    stored: Mapping[str, Any] | None, rules: Iterable[CallRule], *, is_sidechain: bool
) -> SessionRules:
    """The rules of a session with others of its own; what cannot be read does not block repair."""
    try:
        before = read_session_rules(stored)
    except DamagedRecord:
        before = SessionRules(inherited=(NOTHING_RUNS,) if is_sidechain else ())
    return before.with_own(rules, is_sidechain=is_sidechain)


def rules_for_sidechain(
    parent: Mapping[str, Any] | None, *, of_parents_agent: Iterable[CallRule] = ()
) -> SessionRules:
    """The rules that a sidechain inherits: all rules of its parent's session.

    `of_parents_agent` are rules that would be lost because another agent works in the sidechain;
    those that narrow go along.
    """
    try:
        above = read_session_rules(parent).all
    except DamagedRecord:
        above = (NOTHING_RUNS,)
    lost = [rule for rule in of_parents_agent if rule.decision is not PermissionDecision.ALLOW]
    distinct: list[CallRule] = []
    for rule in (*lost, *above):
        if rule not in distinct:
            distinct.append(rule)
    return SessionRules(inherited=tuple(distinct))
