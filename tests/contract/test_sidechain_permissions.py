"""What a sidechain may do: never more than any session above it, whoever works in it."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN, ALICE, make_run
from tests.support.run_harness import Probe
from understudy.agent.gate import DaemonRules, Gatekeeper
from understudy.agent.offers import ToolOffers
from understudy.agents.service import AgentFields, AgentService
from understudy.permissions.model import CallRule, CallVerdict, Level, PermissionDecision
from understudy.permissions.rules import write_document
from understudy.runtime.service import RuntimeService
from understudy.sessions.creation import NewSession
from understudy.sessions.service import SessionService
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock
from understudy.tools.base import Approval

ASK_PREFIX = CallRule(tool="pro*", decision=PermissionDecision.ASK)
ASK_ALL = CallRule(tool="*", decision=PermissionDecision.ASK)
ALLOW = CallRule(tool="probe", decision=PermissionDecision.ALLOW)


class Careful(Probe):
    """A tool that asks by itself."""

    approval = Approval.ALWAYS


class Home:
    """Sessions and agents, and what becomes of a call of the probe in them."""

    def __init__(self, units: Units) -> None:
        clock = FrozenClock()
        self.units = units
        self.sessions = SessionService(units, clock, lambda _: True)
        self.agents = AgentService(units, clock)
        self.daemon = DaemonRules(RuntimeService(units, clock))
        self.tools: tuple[Probe, ...] = (Probe(), Careful("careful"))
        self.offers = ToolOffers(units, clock, Gatekeeper(), lambda _: self.tools)

    def agent(self, agent_id: str, *rules: CallRule) -> None:
        fields = AgentFields(permissions=write_document(rules))
        if agent_id == "default":
            self.agents.update(ADMIN, agent_id, fields)
        else:
            self.agents.create(ADMIN, agent_id, fields)

    def child(self, session_id: str, parent_id: str = "s1", agent_id: str | None = None) -> None:
        wanted = NewSession(session_id=session_id, parent_session_id=parent_id, agent_id=agent_id)
        self.sessions.create(ALICE, wanted)

    def judged(self, session_id: str, tool: str = "probe") -> CallVerdict:
        """By the gate; people who ask are told the same."""
        session = self.sessions.get(session_id)
        [called] = [each for each in self.tools if each.name == tool]
        run = make_run(session_id, agent_id=session.agent_id)
        with self.units.read() as unit:
            [verdict] = Gatekeeper().judge(unit, run, [(called, {"label": ""})])
        assert self.offers.check(tool, {}, session_id=session_id) == verdict
        [shown] = [each for each in self.offers.in_session(session_id) if each.tool.name == tool]
        assert shown.verdict.decision is verdict.decision
        return verdict


@pytest.fixture
def home(units: Units) -> Home:
    return Home(units)


def test_an_agent_with_more_rights_brings_none_of_them_into_a_sidechain(home: Home) -> None:
    home.agent("default", ASK_ALL)
    home.sessions.set_permissions(ALICE, "s1", (ASK_PREFIX,))
    home.agent("free", ALLOW)
    home.child("child", agent_id="free")
    home.child("grandchild", "child", agent_id="free")

    for session_id in ("s1", "child", "grandchild"):
        assert home.judged(session_id).decision is PermissionDecision.ASK
    verdict = home.judged("child")
    assert (verdict.level, verdict.above, verdict.rule) == (Level.SESSION, "s1", ASK_PREFIX)
    assert verdict.reason == ("by the rules for session s1 above: rule 2 of the session (ask pro*)")
    owners = [(line.placed.level, line.placed.owner) for line in verdict.trace]
    assert ("agent", None) in owners
    assert ("agent", "default") in owners
    assert ("session", "s1") in owners


def test_what_a_tool_asks_by_itself_it_asks_in_a_sidechain_too(home: Home) -> None:
    home.agent("free", CallRule(tool="careful", decision=PermissionDecision.ALLOW))
    home.child("child", agent_id="free")

    verdict = home.judged("child", "careful")

    assert (verdict.decision, verdict.level, verdict.above) == (
        PermissionDecision.ASK,
        Level.TOOL,
        "s1",
    )
    assert "s1 above: no rule matches" in verdict.reason


def test_what_all_above_allow_a_sidechain_may_do(home: Home) -> None:
    allow = CallRule(tool="careful", decision=PermissionDecision.ALLOW)
    home.sessions.set_permissions(ALICE, "s1", (allow,))
    home.child("child")
    home.child("grandchild", "child")

    verdict = home.judged("grandchild", "careful")

    assert (verdict.decision, verdict.above) == (PermissionDecision.ALLOW, None)


def test_a_parent_that_becomes_stricter_binds_the_sidechains_it_has(home: Home) -> None:
    home.agent("free", ALLOW)
    home.child("child", agent_id="free")
    home.child("grandchild", "child", agent_id="free")
    assert home.judged("grandchild").decision is PermissionDecision.ALLOW

    home.agent("default", CallRule(tool="*", decision=PermissionDecision.DENY))

    verdict = home.judged("grandchild")
    assert (verdict.decision, verdict.level, verdict.above) == (
        PermissionDecision.DENY,
        Level.AGENT,
        "s1",
    )


def test_a_parent_that_becomes_looser_does_not_loosen_the_sidechains_it_has(home: Home) -> None:
    home.sessions.set_permissions(ALICE, "s1", (ASK_PREFIX,))
    home.agent("free", ALLOW)
    home.child("child", agent_id="free")
    home.child("grandchild", "child", agent_id="free")
    home.sessions.set_permissions(ALICE, "s1", ())

    assert home.judged("s1").decision is PermissionDecision.ALLOW
    for session_id in ("child", "grandchild"):
        assert home.judged(session_id).decision is PermissionDecision.ASK


@pytest.mark.parametrize("value", ['{"rules": 1}', "[]", '{"half":'])
def test_a_session_above_that_cannot_be_read_leaves_the_sidechain_nothing(
    database: UnitsOnDatabase, home: Home, value: str
) -> None:
    home.child("child")
    with database.engine.begin() as connection:
        statement = sa.text("UPDATE sessions SET permissions = :value WHERE session_id = 's1'")
        connection.execute(statement, {"value": value})

    verdict = home.judged("child")

    assert (verdict.decision, verdict.level, verdict.above) == (
        PermissionDecision.DENY,
        Level.SESSION,
        "s1",
    )
    assert "for session s1 above cannot be read" in verdict.reason


def test_sessions_above_cost_few_queries(database: UnitsOnDatabase, home: Home) -> None:
    for depth in range(1, 4):
        home.child(f"d{depth}", f"d{depth - 1}" if depth > 1 else "s1")
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    def queries(session_id: str) -> int:
        nonlocal counted
        counted = 0
        with database.units.read() as unit:
            Gatekeeper().judge(unit, make_run(session_id), [(Probe(), {})] * 50)
        return counted

    sa.event.listen(database.engine, "after_cursor_execute", count)
    try:
        alone, deep = queries("s1"), queries("d3")
    finally:
        sa.event.remove(database.engine, "after_cursor_execute", count)

    assert deep == alone + 3


def test_sessions_that_claim_to_be_above_each_other_are_judged_all_the_same(
    home: Home,
) -> None:
    home.child("child")
    home.agent("default", ASK_ALL)
    with home.units.write() as unit:
        top = unit.sessions.get("s1")
        assert top is not None
        looped = replace(top, parent_session_id="child", version=2)
        unit.sessions.update(looped, expected_version=1)

    assert home.judged("child").decision is PermissionDecision.ASK


# Switches and scopes


def test_a_tool_that_is_switched_off_is_refused_at_the_next_call(home: Home) -> None:
    assert home.judged("s1").decision is PermissionDecision.ALLOW

    home.offers.switch(ADMIN, "probe", enabled=False)

    verdict = home.judged("s1")
    assert (verdict.decision, verdict.level) == (PermissionDecision.DENY, Level.DAEMON)
    assert "switched off" in verdict.reason
    home.offers.switch(ADMIN, "probe", enabled=True)
    assert home.judged("s1").decision is PermissionDecision.ALLOW


def test_a_tool_that_a_scope_hides_is_refused_at_the_next_call(home: Home) -> None:
    home.tools = (Probe("files/read"),)
    assert home.judged("s1", "files/read").decision is PermissionDecision.ALLOW

    home.sessions.set_capability_scope(ALICE, "s1", {"mcp_server_deny": ["files"]})

    verdict = home.judged("s1", "files/read")
    assert (verdict.decision, verdict.level) == (PermissionDecision.DENY, Level.SESSION)


def test_a_scope_that_cannot_be_read_shows_nothing(database: UnitsOnDatabase, home: Home) -> None:
    with database.engine.begin() as connection:
        statement = "UPDATE sessions SET capability_scope = '{\"what\": 1}'"
        connection.execute(sa.text(statement))

    with database.units.read() as unit:
        calls = [(Probe("files/read"), {"label": ""})]
        [verdict] = Gatekeeper().judge(unit, make_run("s1"), calls)

    assert verdict.decision is PermissionDecision.DENY
