"""What sidechains may do, how many there may be, and how they end and are listed."""

from dataclasses import replace

import pytest

from tests.support.factories import ALICE
from tests.support.model_scripts import play
from tests.support.sidechain_runs import WAIT, SidechainRuns, spawn
from understudy.core.errors import Conflict, NotFound
from understudy.core.page import PageRequest
from understudy.runs.model import RunStatus
from understudy.sessions.creation import NewSession
from understudy.sessions.model import MAX_DEPTH, MAX_LIVE, SessionStatus
from understudy.sessions.persona import PersonaFields, PersonaService
from understudy.sessions.scopes import effective_capability_scope
from understudy.sessions.service import SessionService
from understudy.testing.fake_model import FakeModel


@pytest.fixture
def sessions(sidechain_runs: SidechainRuns) -> SessionService:
    return SessionService(sidechain_runs.units, sidechain_runs.harness.clock, lambda _: True)


# Limits and scopes


async def test_sidechains_go_only_so_deep(
    sidechain_runs: SidechainRuns, fake: FakeModel, sessions: SessionService
) -> None:
    fake.rule = play({"deep": [spawn("deep"), WAIT]})
    sidechain_runs.harness.submit("deep")

    await sidechain_runs.work()

    line = ["s1"]
    while below := sidechain_runs.children(line[-1]):
        line += below
    assert len(line) == MAX_DEPTH + 1
    [result, _] = sidechain_runs.harness.results(sidechain_runs.run_of(line[-1]).run_id)
    assert "at most 3 levels deep" in result["content"]
    with pytest.raises(Conflict) as refused:
        sessions.create(ALICE, NewSession(parent_session_id=line[-1]))
    assert (refused.value.code, refused.value.params) == ("sidechain_limit", {"depth": MAX_DEPTH})


async def test_a_session_has_only_so_many_at_work(
    sidechain_runs: SidechainRuns, fake: FakeModel, sessions: SessionService
) -> None:
    for _ in range(MAX_LIVE - 1):
        sidechain_runs.grow("s1")
    sidechain_runs.grow("s1", busy=False)
    sessions.create(ALICE, NewSession(parent_session_id="s1"))
    sidechain_runs.grow("s1")
    fake.rule = play({"parent": [spawn("one more")]})
    parent = sidechain_runs.harness.submit("parent")

    await sidechain_runs.work()

    [result] = sidechain_runs.harness.results(parent)
    assert "at most 8 sidechains at work" in result["content"]
    with pytest.raises(Conflict) as refused:
        sessions.create(ALICE, NewSession(parent_session_id="s1"))
    assert (refused.value.code, refused.value.params) == ("sidechain_limit", {"width": MAX_LIVE})


async def test_a_sidechain_keeps_the_persona_and_scope_of_its_spawn(
    sidechain_runs: SidechainRuns, fake: FakeModel, sessions: SessionService
) -> None:
    personas = PersonaService(sidechain_runs.units, sidechain_runs.harness.clock)
    scope = {"skill_allow": ["x", "y"], "mcp_server_allow": ["git"]}
    personas.create(ALICE, "p", PersonaFields(soul="one", capability_scope=scope))
    sessions.create(ALICE, NewSession(session_id="root", persona_id="p"))
    own = {"route_allow": ["a"], "connector_allow": ["slack"], "mcp_server_deny": ["git"]}
    sessions.set_credential_scope(ALICE, "root", own)
    wider = {"skill_allow": ["y", "z"], "mcp_server_allow": ["git", "time"]}
    fake.rule = play({"parent": [spawn("child", capability_scope=wider)]})
    sidechain_runs.harness.submit("parent", session_id="root")
    await sidechain_runs.work()
    personas.update(ALICE, "p", PersonaFields(soul="two", capability_scope={}))
    sessions.bind_persona(ALICE, "root", "p")
    sessions.set_credential_scope(ALICE, "root", None)

    child = sessions.get(sidechain_runs.children("root")[0])
    effective = effective_capability_scope(child)

    assert child.persona is not None
    assert (child.persona.soul, child.persona.persona_version) == ("one", 1)
    assert effective is not None
    assert [skill for skill in "wxyz" if effective.gate("skill").permits(skill)] == ["y"]
    servers = [name for name in ("git", "time") if effective.gate("mcp_server").permits(name)]
    assert servers == ["git"]
    assert child.credential_scope == own
    assert "one" in fake.requests[-1].system


async def test_the_scope_of_a_sidechain_can_be_narrowed_and_not_widened(
    sidechain_runs: SidechainRuns, sessions: SessionService
) -> None:
    sessions.set_capability_scope(ALICE, "s1", {"skill_allow": ["x", "y"]})
    child = sessions.create(ALICE, NewSession(parent_session_id="s1")).session_id

    sessions.set_capability_scope(ALICE, child, {"skill_allow": ["y", "z"]})
    assert sessions.get(child).credential_scope is None
    for servers in (["m", "n"], ["m", "o"]):
        sessions.set_credential_scope(ALICE, child, {"mcp_server_allow": servers})

    kept = sessions.get(child)
    assert kept.capability_scope == {"skill_allow": ["y"]}
    assert kept.credential_scope == {"mcp_server_allow": ["m"]}
    for clear in (sessions.set_capability_scope, sessions.set_credential_scope):
        with pytest.raises(Conflict) as refused:
            clear(ALICE, child, None)
        assert refused.value.code == "sidechain_scope_kept"


async def test_a_sidechain_of_another_agent_takes_that_agents_route(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    with sidechain_runs.units.write() as unit:
        agent = unit.agents.get("default")
        assert agent is not None
        unit.agents.add(replace(agent, agent_id="scout", route="b"))
    fake.rule = play({"parent": [spawn("mine"), spawn("scouts", agent_id="scout")]})
    sidechain_runs.harness.submit("parent", provider="a", generation={"model": "special"})

    await sidechain_runs.work()

    asked = {seen.last_user: seen.model for seen in fake.requests}
    assert asked == {"parent": "special", "mine": "special", "scouts": "model-b"}


# Ending


async def test_ending_a_session_ends_the_idle_ones_below_it(
    sidechain_runs: SidechainRuns, sessions: SessionService
) -> None:
    child = sidechain_runs.grow("s1", busy=False)
    grandchild = sidechain_runs.grow(child, busy=False)

    sessions.end(ALICE, "s1", "done")

    ended = [sessions.get(session_id) for session_id in (child, grandchild)]
    assert [session.status for session in ended] == [SessionStatus.ENDED] * 2
    assert ended[0].ended_reason == "its parent session has ended"
    assert sessions.get("s2").status is SessionStatus.ACTIVE


async def test_a_session_with_work_below_it_is_not_ended(
    sidechain_runs: SidechainRuns, sessions: SessionService
) -> None:
    child = sidechain_runs.grow("s1", busy=False)
    sidechain_runs.grow(child)

    with pytest.raises(Conflict) as refused:
        sessions.end(ALICE, "s1", None)

    assert refused.value.params == {"blockers": ["live_children"]}
    assert sessions.get(child).status is SessionStatus.ACTIVE


async def test_children_are_listed_oldest_first_with_where_they_stand(
    sidechain_runs: SidechainRuns, fake: FakeModel, sessions: SessionService
) -> None:
    fake.rule = play({"parent": [spawn("child", label="digger")]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()
    sidechain_runs.harness.clock.advance()
    made = sessions.create(ALICE, NewSession(parent_session_id="s1")).session_id

    first, second = sidechain_runs.harness.sidechains.page("s1", PageRequest()).items

    assert first.sidechain.spawn is not None
    assert (first.sidechain.spawn.label, first.sidechain.spawn.run_id) == ("digger", parent)
    assert first.run is not None
    assert (first.run.status, first.output, first.is_live) == (RunStatus.COMPLETED, "ok", False)
    assert (second.sidechain.session.session_id, second.run) == (made, None)
    with pytest.raises(NotFound):
        sidechain_runs.harness.sidechains.page("nowhere", PageRequest())
