"""Rules of the daemon, the agent and the session, from where they are stored to the verdict."""

from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN, ALICE, NOW, make_agent, make_run
from tests.support.run_harness import Probe, RunHarness
from understudy.agent.gate import DaemonRules, Gatekeeper, audit_entry
from understudy.agent.offers import ToolOffers
from understudy.agents.service import AgentFields, AgentService
from understudy.core.audit import AuditOutcome
from understudy.core.errors import (
    Conflict,
    DamagedRecord,
    Invalid,
    NotFound,
    Rejected,
    StaleVersion,
)
from understudy.core.page import PageRequest
from understudy.permissions.model import CallRule, CallVerdict, Level, PermissionDecision
from understudy.permissions.rules import read_session_rules
from understudy.runs.model import RunStatus
from understudy.runtime.service import RuntimeService
from understudy.sessions.creation import NewSession
from understudy.sessions.journal import EventKind
from understudy.sessions.service import SessionService
from understudy.storage.unit import Units
from understudy.testing.answers import call
from understudy.testing.clock import FrozenClock
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Approval

ALLOW = CallRule(tool="probe", decision=PermissionDecision.ALLOW)
ASK = CallRule(tool="probe", decision=PermissionDecision.ASK, arguments={"label": "a*"})
DENY = CallRule(
    tool="*", decision=PermissionDecision.DENY, arguments={"label": "secret*"}, reason="private"
)
AGENT_DENY = {"rules": [{"tool": "probe", "decision": "deny"}]}


class Careful(Probe):
    """A tool that asks by itself."""

    approval = Approval.ALWAYS


@pytest.fixture
def sessions(units: Units) -> SessionService:
    return SessionService(units, FrozenClock(), lambda _: True)


@pytest.fixture
def agents(units: Units) -> AgentService:
    return AgentService(units, FrozenClock())


@pytest.fixture
def daemon_rules(units: Units) -> DaemonRules:
    return DaemonRules(RuntimeService(units, FrozenClock()))


@pytest.fixture
def offers(units: Units) -> ToolOffers:
    tools = (Probe(), Careful("careful"), Probe("files/read"))
    return ToolOffers(units, FrozenClock(), Gatekeeper(), lambda _: tools)


def judged(units: Units, label: str = "", *, session_id: str = "s1") -> CallVerdict:
    """The verdict on one call of the probe."""
    with units.read() as unit:
        [verdict] = Gatekeeper().judge(unit, make_run(session_id), [(Probe(), {"label": label})])
    return verdict


def damage(database: UnitsOnDatabase, statement: str, value: str) -> None:
    with database.engine.begin() as connection:
        assert connection.execute(sa.text(statement), {"value": value}).rowcount == 1


# Judging


def test_without_rules_a_tool_keeps_its_own_default(units: Units) -> None:
    calls: list[tuple[Any, Any]] = [(Probe(), {}), (Careful("careful"), {})]
    with units.read() as unit:
        verdicts = Gatekeeper().judge(unit, make_run("s1"), calls)

    assert [verdict.decision for verdict in verdicts] == [
        PermissionDecision.ALLOW,
        PermissionDecision.ASK,
    ]
    assert {verdict.level for verdict in verdicts} == {Level.TOOL}


def test_rules_of_all_levels_are_read_and_a_deny_wins(
    units: Units, sessions: SessionService, agents: AgentService, daemon_rules: DaemonRules
) -> None:
    daemon_rules.replace(ADMIN, (DENY,))
    agents.update(
        ADMIN, "default", AgentFields(permissions={"rules": [{"tool": "*", "decision": "ask"}]})
    )
    sessions.set_permissions(ALICE, "s1", (ALLOW,))

    assert judged(units).level is Level.SESSION
    refused = judged(units, "secret plans")
    assert (refused.decision, refused.level, refused.rule) == (
        PermissionDecision.DENY,
        Level.DAEMON,
        DENY,
    )
    assert judged(units, session_id="s2").level is Level.AGENT
    assert [line.placed.level for line in judged(units).trace] == ["daemon", "agent", "session"]


def test_a_change_is_seen_by_the_next_call(units: Units, sessions: SessionService) -> None:
    assert judged(units, "a").decision is PermissionDecision.ALLOW

    sessions.set_permissions(ALICE, "s1", (ASK,))

    assert judged(units, "a").decision is PermissionDecision.ASK
    assert judged(units, "b").decision is PermissionDecision.ALLOW


@pytest.mark.parametrize(
    ("level", "statement"),
    [
        (Level.SESSION, "UPDATE sessions SET permissions = :value WHERE session_id = 's1'"),
        (Level.AGENT, "UPDATE agents SET permissions = :value WHERE agent_id = 'default'"),
        (Level.DAEMON, "UPDATE runtime_revisions SET document = :value"),
    ],
)
@pytest.mark.parametrize(
    "value", ['{"rules": "all"}', '{"rules": [{"tool": "probe"}]}', "[]", '{"half":']
)
def test_rules_that_cannot_be_read_deny_every_call(
    database: UnitsOnDatabase, daemon_rules: DaemonRules, level: Level, statement: str, value: str
) -> None:
    daemon_rules.replace(ADMIN, (ALLOW,))
    stored = f'{{"permissions": {value}}}' if level is Level.DAEMON else value
    damage(database, statement, stored)

    verdict = judged(database.units)

    assert (verdict.decision, verdict.level, verdict.rule) == (PermissionDecision.DENY, level, None)
    assert "cannot be read" in verdict.reason


def test_rules_of_the_daemon_that_cannot_be_read_are_told_as_such(
    database: UnitsOnDatabase, daemon_rules: DaemonRules
) -> None:
    daemon_rules.replace(ADMIN, (ALLOW,))
    damage(database, "UPDATE runtime_revisions SET document = :value", '{"permissions": 3}')

    with pytest.raises(DamagedRecord):
        daemon_rules.current()
    daemon_rules.replace(ADMIN, (ALLOW,))

    assert judged(database.units).decision is PermissionDecision.ALLOW


def test_a_decision_is_audited_without_what_the_call_was_about(
    units: Units, sessions: SessionService
) -> None:
    sessions.set_permissions(ALICE, "s1", (DENY,))
    run = make_run("s1")

    with units.write() as unit:
        for label in ("hello there", "secret plans"):
            [verdict] = Gatekeeper().judge(unit, run, [(Probe(), {"label": label})])
            unit.audit.add(audit_entry(verdict, run, "probe", at_ms=NOW))
        found = unit.audit.page(PageRequest(), resource="tools", actor=None).items

    assert [entry.outcome for entry in found] == [AuditOutcome.REFUSED, AuditOutcome.DONE]
    assert {(entry.action, entry.resource_id, entry.actor) for entry in found} == {
        ("tools.call", "probe", "alice")
    }
    refused = found[0].reason or ""
    assert refused.startswith(f"deny by the session in {run.run_id}: rule 1 of the session")
    assert "plans" not in refused


async def test_a_run_that_has_started_loses_a_tool_that_is_switched_off(
    harness: RunHarness, fake: FakeModel, probe: Probe, offers: ToolOffers
) -> None:
    calls = [call("probe", {"label": label}) for label in ("one", "two")]
    fake.queue(*calls, "done")
    probe.hold("one")
    run_id = harness.submit()
    working = harness.begin(run_id)
    await probe.reached()

    offers.switch(ADMIN, "probe", enabled=False)
    probe.go_on.set()
    await working

    first, second = harness.results(run_id)
    assert (first["status"], second["status"]) == ("ok", "denied")
    assert "switched off" in second["content"]
    assert probe.labels == ["one"]


# The daemon


def test_rules_of_the_daemon_are_a_revision_that_can_be_rolled_back(
    units: Units, daemon_rules: DaemonRules
) -> None:
    daemon_rules.runtime.change(ADMIN, {"debug_level": "full"})
    revision, rules = daemon_rules.replace(ADMIN, (DENY, ALLOW), expected_revision=2)

    assert (revision.revision, rules) == (3, (DENY, ALLOW))
    assert daemon_rules.current() == (revision, (DENY, ALLOW))
    with pytest.raises(StaleVersion):
        daemon_rules.replace(ADMIN, (), expected_revision=2)

    daemon_rules.runtime.roll_back(ADMIN, None)

    assert daemon_rules.current()[1] == ()
    with units.read() as unit:
        [newest, change, *_] = unit.audit.page(PageRequest(), resource="runtime", actor=None).items
    assert (newest.action, change.action, change.resource_id) == (
        "runtime.rollback",
        "runtime.change",
        "permissions",
    )


# Agents


def test_rules_of_an_agent_are_checked_and_kept_in_normal_form(agents: AgentService) -> None:
    given = {"rules": [{"tool": "probe", "decision": "ask", "arguments": {}, "reason": " "}]}

    agent = agents.create(ADMIN, "scout", AgentFields(permissions=given))

    assert agent.permissions == {"rules": [{"tool": "probe", "decision": "ask"}]}
    with pytest.raises(Invalid) as refused:
        agents.update(ADMIN, "scout", AgentFields(permissions={"rules": [{"tool": "probe"}]}))
    assert refused.value.errors[0].pointer == "/permissions/rules/0/decision"
    assert agents.get("scout") == agent


def test_an_agent_whose_rules_cannot_be_read_can_be_changed(
    database: UnitsOnDatabase, agents: AgentService
) -> None:
    damage(
        database,
        "UPDATE agents SET permissions = :value WHERE agent_id = 'default'",
        '{"rules": 1}',
    )

    agents.update(ADMIN, "default", AgentFields(display_name="Ada"))
    assert judged(database.units).decision is PermissionDecision.DENY
    agents.update(ADMIN, "default", AgentFields(permissions={}))

    assert judged(database.units).decision is PermissionDecision.ALLOW


# Sessions


def test_a_busy_session_takes_rules_and_its_journal_and_the_audit_tell(
    units: Units, sessions: SessionService
) -> None:
    with units.write() as unit:
        unit.runs.add(make_run("s1", status=RunStatus.RUNNING))

    changed = sessions.set_permissions(ALICE, "s1", (ASK,))

    assert read_session_rules(sessions.get("s1").permissions).own == (ASK,)
    assert changed.version == 2
    with units.read() as unit:
        [event] = unit.journal.read(session_id="s1", kinds=[EventKind.SESSION])
        [entry] = unit.audit.page(PageRequest(), resource="sessions", actor="alice").items
    assert event.data == {"type": "set_permissions"}
    assert (entry.action, entry.resource_id, entry.version) == ("sessions.set_permissions", "s1", 2)


def test_a_session_without_rules_stores_none(sessions: SessionService) -> None:
    sessions.set_permissions(ALICE, "s1", (ASK,))

    assert sessions.set_permissions(ALICE, "s1", ()).permissions is None


def test_an_ended_or_unknown_session_takes_no_rules(sessions: SessionService) -> None:
    sessions.end(ALICE, "s1", None)

    with pytest.raises(Conflict):
        sessions.set_permissions(ALICE, "s1", ())
    with pytest.raises(NotFound):
        sessions.set_permissions(ALICE, "nobody", ())


def test_a_sidechain_begins_with_its_parents_rules_and_keeps_them(
    units: Units, sessions: SessionService
) -> None:
    sessions.set_permissions(ALICE, "s1", (DENY, ALLOW))
    sessions.create(ALICE, NewSession(session_id="child", parent_session_id="s1"))
    sessions.set_permissions(ALICE, "s1", ())

    assert judged(units, "secret", session_id="child").decision is PermissionDecision.DENY
    with pytest.raises(Rejected):
        sessions.set_permissions(
            ALICE, "child", (CallRule(tool="*", decision=PermissionDecision.ALLOW),)
        )
    sessions.set_permissions(ALICE, "child", (ALLOW, ASK))
    sessions.create(ALICE, NewSession(session_id="grandchild", parent_session_id="child"))
    sessions.set_permissions(ALICE, "child", ())

    kept = read_session_rules(sessions.get("child").permissions)
    assert (kept.inherited, kept.own) == ((DENY, ALLOW), ())
    below = read_session_rules(sessions.get("grandchild").permissions)
    assert (below.inherited, below.own) == ((DENY, ALLOW, ASK), ())


def test_another_agent_in_a_sidechain_is_bound_by_what_bound_the_first(
    units: Units, sessions: SessionService, agents: AgentService
) -> None:
    agents.update(ADMIN, "default", AgentFields(permissions=AGENT_DENY))
    agents.create(ADMIN, "scout", AgentFields())

    wanted = NewSession(session_id="child", parent_session_id="s1", agent_id="scout")
    child = sessions.create(ALICE, wanted)

    with units.read() as unit:
        run = make_run("child", agent_id="scout")
        [verdict] = Gatekeeper().judge(unit, run, [(Probe(), {})])
    assert verdict.decision is PermissionDecision.DENY
    assert child.permissions == {"inherited": AGENT_DENY["rules"]}


def test_a_parents_agent_whose_rules_cannot_be_read_leaves_the_sidechain_nothing(
    units: Units, sessions: SessionService
) -> None:
    with units.write() as unit:
        unit.agents.add(make_agent("scout"))
        unit.agents.update(make_agent(permissions={"x": 1}, version=2), expected_version=1)

    wanted = NewSession(session_id="child", parent_session_id="s1", agent_id="scout")
    sessions.create(ALICE, wanted)

    with units.read() as unit:
        run = make_run("child", agent_id="scout")
        [verdict] = Gatekeeper().judge(unit, run, [(Probe(), {})])
    assert verdict.decision is PermissionDecision.DENY


# What people see


def test_a_session_shows_what_is_gated_and_why(
    offers: ToolOffers, sessions: SessionService
) -> None:
    sessions.set_capability_scope(ALICE, "s1", {"mcp_server_deny": ["files"]})
    sessions.set_permissions(ALICE, "s1", (ASK,))
    offers.switch(ADMIN, "careful", enabled=False)

    probe, careful, hidden = offers.in_session("s1")

    assert (probe.verdict.decision, probe.depends_on_arguments) == (PermissionDecision.ALLOW, True)
    assert (careful.enabled, careful.verdict.decision) == (False, PermissionDecision.DENY)
    assert "switched off" in careful.verdict.reason
    assert (hidden.enabled, hidden.verdict.level) == (True, Level.SESSION)
    assert "hides" in hidden.verdict.reason
    assert not hidden.depends_on_arguments
    # Also one that no server was ever asked about.
    assert offers.check("files/unheard", {}, session_id="s1") == hidden.verdict


def test_a_check_explains_what_the_call_would_get(
    units: Units, offers: ToolOffers, sessions: SessionService
) -> None:
    sessions.set_permissions(ALICE, "s1", (ASK, DENY))

    for label in ("", "a", "secret"):
        explained = offers.check("probe", {"label": label}, session_id="s1")

        assert explained == judged(units, label)
    assert offers.check("probe", {"label": "secret"}).decision is PermissionDecision.ALLOW


def test_a_check_fills_in_what_a_call_would_get_by_default(
    offers: ToolOffers, sessions: SessionService
) -> None:
    empty = CallRule(tool="probe", decision=PermissionDecision.DENY, arguments={"label": ""})
    sessions.set_permissions(ALICE, "s1", (empty,))

    assert offers.check("probe", {}, session_id="s1").decision is PermissionDecision.DENY
    assert offers.check("probe", {"label": 3}, session_id="s1").decision is PermissionDecision.ALLOW


def test_a_check_of_what_is_not_there_is_not_found(offers: ToolOffers) -> None:
    for arguments in ({"session_id": "nobody"}, {"agent_id": "nobody"}):
        with pytest.raises(NotFound):
            offers.check("probe", {}, **arguments)
    with pytest.raises(NotFound) as refused:
        offers.check("nothing", {})
    assert (refused.value.domain, refused.value.code) == ("tools", "tool_not_found")


def test_rules_that_cannot_be_read_are_shown_as_such(
    database: UnitsOnDatabase, offers: ToolOffers
) -> None:
    damage(
        database,
        "UPDATE agents SET permissions = :value WHERE agent_id = 'default'",
        '{"rules": 1}',
    )

    assert {tool.verdict.decision for tool in offers.in_session("s1")} == {PermissionDecision.DENY}
    assert "cannot be read" in offers.check("probe", {}).reason
