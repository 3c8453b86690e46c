"""Sessions, personas, projects and agents as callers use them."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.factories import ADMIN, ALICE, make_member, make_run
from understudy.agents.built_in import BUILT_IN, VERIFICATION_AGENT_ID
from understudy.agents.model import MAX_CONTEXT_FILE_BYTES, AgentType
from understudy.agents.service import AgentFields, AgentService
from understudy.core.errors import Conflict, Invalid, LimitExceeded, NotFound
from understudy.core.page import PageRequest
from understudy.permissions.model import PermissionDecision
from understudy.permissions.rules import read_document
from understudy.sessions.creation import NewSession
from understudy.sessions.model import RoutePolicy, SessionStatus
from understudy.sessions.persona import PersonaFields, PersonaService
from understudy.sessions.projects import ProjectService
from understudy.sessions.scopes import effective_capability_scope
from understudy.sessions.service import SessionService
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock


@pytest.fixture
def sessions(units: Units) -> SessionService:
    return SessionService(units, FrozenClock(), lambda route_id: route_id in ("a", "b"))


@pytest.fixture
def personas(units: Units) -> PersonaService:
    service = PersonaService(units, FrozenClock())
    scope = {"skill_allow": ["x", "y"]}
    service.create(ALICE, "p1", PersonaFields(soul="A", capability_scope=scope))
    service.create(ALICE, "p2", PersonaFields(soul="other"))
    return service


@pytest.fixture
def projects(units: Units) -> ProjectService:
    return ProjectService(units, FrozenClock())


@pytest.fixture
def agents(units: Units) -> AgentService:
    return AgentService(units, FrozenClock())


# Creating


def test_creating_a_session_again_finds_the_first(sessions: SessionService) -> None:
    first = sessions.create(ALICE, NewSession(session_id="mine"))

    assert sessions.create(ADMIN, NewSession(session_id="mine")) == sessions.get("mine")
    assert sessions.get("mine").owner_id == first.owner_id == "alice"


@pytest.mark.parametrize(
    ("differs", "wanted"),
    [
        ("persona_id", {"persona_id": "p2"}),
        ("capability_scope", {"capability_scope": {"skill_allow": ["z"]}}),
        ("credential_scope", {"credential_scope": {"route_allow": ["a"]}}),
        ("agent_id", {"agent_id": "other"}),
        ("parent_session_id", {"parent_session_id": "s1"}),
    ],
)
def test_creating_it_with_other_wishes_is_a_conflict_and_changes_nothing(
    sessions: SessionService, personas: PersonaService, differs: str, wanted: dict
) -> None:
    sessions.create(
        ALICE,
        NewSession(
            session_id="mine", persona_id="p1", capability_scope={"skill_allow": [" x", "x"]}
        ),
    )
    before = sessions.get("mine")

    with pytest.raises(Conflict) as refused:
        sessions.create(ALICE, NewSession(session_id="mine", **wanted))

    assert refused.value.params == {"differs": [differs]}
    assert sessions.get("mine") == before


def test_the_same_wishes_in_other_words_find_the_session(
    sessions: SessionService, personas: PersonaService
) -> None:
    sessions.create(
        ALICE, NewSession(session_id="mine", capability_scope={"skill_allow": ["b", "a"]})
    )

    again = NewSession(session_id="mine", capability_scope={"skill_allow": ["a ", "b", "b"]})

    assert sessions.create(ALICE, again).session_id == "mine"


@pytest.mark.parametrize("session_id", ["", ".", "..", "a/b", "a b"])
def test_an_impossible_id_is_refused(sessions: SessionService, session_id: str) -> None:
    with pytest.raises(Invalid):
        sessions.create(ALICE, NewSession(session_id=session_id))


@pytest.mark.parametrize(
    "wanted", [{"persona_id": "nobody"}, {"agent_id": "nobody"}, {"parent_session_id": "nobody"}]
)
def test_a_failed_create_leaves_nothing_behind(sessions: SessionService, wanted: dict) -> None:
    with pytest.raises(NotFound):
        sessions.create(ALICE, NewSession(session_id="mine", **wanted))

    with pytest.raises(NotFound):
        sessions.get("mine")


def test_many_who_create_one_session_at_once_all_get_it(
    units: Units, sessions: SessionService
) -> None:
    with ThreadPoolExecutor(8) as pool:
        wanted = [NewSession(session_id="ours")] * 8
        made = list(pool.map(lambda new: sessions.create(ALICE, new), wanted))

    assert {session.session_id for session in made} == {"ours"}
    with units.read() as unit:
        assert len(unit.journal.read(session_id="ours")) == 1


# Personas


def test_a_bound_persona_is_a_copy_that_later_edits_do_not_reach(
    sessions: SessionService, personas: PersonaService
) -> None:
    sessions.create(ALICE, NewSession(session_id="old", persona_id="p1"))
    assert personas.update(ALICE, "p1", PersonaFields(soul="B")).version == 2
    sessions.create(ALICE, NewSession(session_id="new", persona_id="p1"))
    personas.delete(ALICE, "p1")

    old, new = sessions.get("old").persona, sessions.get("new").persona

    assert old is not None
    assert new is not None
    assert (old.soul, old.persona_version) == ("A", 1)
    assert (new.soul, new.persona_version) == ("B", 2)


def test_a_persona_that_did_not_change_keeps_its_version(personas: PersonaService) -> None:
    assert personas.update(ALICE, "p1", PersonaFields(soul="A")).version == 1


def test_a_taken_persona_id_is_a_conflict(personas: PersonaService) -> None:
    with pytest.raises(Conflict) as refused:
        personas.create(ALICE, "p1", PersonaFields())

    assert refused.value.code == "persona_already_exists"


def test_a_busy_session_is_neither_bound_nor_narrowed_nor_ended(
    units: Units, sessions: SessionService, personas: PersonaService
) -> None:
    with units.write() as unit:
        unit.runs.add(make_run("s1"))
    before = sessions.get("s1")

    for change in (
        lambda: sessions.bind_persona(ALICE, "s1", "p1"),
        lambda: sessions.clear_persona(ALICE, "s1"),
        lambda: sessions.set_capability_scope(ALICE, "s1", {}),
        lambda: sessions.set_credential_scope(ALICE, "s1", {}),
        lambda: sessions.end(ALICE, "s1", None),
    ):
        with pytest.raises(Conflict) as refused:
            change()
        assert refused.value.code == "session_not_idle"
        assert refused.value.params == {"blockers": ["queued_runs"]}
    assert sessions.get("s1") == before


def test_route_and_reply_targets_may_change_while_busy(
    units: Units, sessions: SessionService
) -> None:
    with units.write() as unit:
        unit.runs.add(make_run("s1"))

    sessions.set_route_policy(ALICE, "s1", RoutePolicy(provider="b"))
    sessions.set_reply_targets(ALICE, "s1", ())

    assert sessions.get("s1").route_policy == RoutePolicy(provider="b")


def test_a_route_policy_names_a_route_that_exists(sessions: SessionService) -> None:
    with pytest.raises(Invalid) as refused:
        sessions.set_route_policy(ALICE, "s1", RoutePolicy(provider="nowhere"))

    assert refused.value.code == "route_not_found"


# Sidechains


def test_a_sidechain_copies_persona_and_scope_and_never_gets_more(
    sessions: SessionService, personas: PersonaService
) -> None:
    sessions.create(ALICE, NewSession(session_id="parent", persona_id="p1"))
    wanted = {"skill_allow": ["y", "z"]}

    child = sessions.create(
        ALICE, NewSession(session_id="c", parent_session_id="parent", capability_scope=wanted)
    )
    sessions.bind_persona(ALICE, "parent", "p2")

    kept = sessions.get("c")
    scope = effective_capability_scope(kept)
    assert kept == child or kept.persona == child.persona
    assert kept.persona is not None
    assert kept.persona.soul == "A"
    assert scope is not None
    assert [s for s in "xyz" if scope.gate("skill").permits(s)] == ["y"]


def test_a_sidechain_that_asks_for_nothing_it_may_have_gets_nothing(
    sessions: SessionService, personas: PersonaService
) -> None:
    sessions.create(ALICE, NewSession(session_id="parent", persona_id="p1"))
    wanted = {"skill_allow": ["z"]}

    child = sessions.create(
        ALICE, NewSession(session_id="c", parent_session_id="parent", capability_scope=wanted)
    )

    scope = effective_capability_scope(child)
    assert scope is not None
    assert not any(scope.gate("skill").permits(s) for s in "xyz")


def test_a_sidechain_cannot_choose_a_persona(
    sessions: SessionService, personas: PersonaService
) -> None:
    with pytest.raises(Invalid) as refused:
        sessions.create(ALICE, NewSession(parent_session_id="s1", persona_id="p2"))

    assert refused.value.code == "persona_inherited"


# Ending


def test_an_ended_session_stays_ended_and_changes_no_more(sessions: SessionService) -> None:
    sessions.end(ALICE, "s1", "done")

    assert sessions.end(ALICE, "s1", "again").ended_reason == "done"
    assert sessions.get("s1").status is SessionStatus.ENDED
    with pytest.raises(Conflict) as refused:
        sessions.set_route_policy(ALICE, "s1", None)
    assert refused.value.code == "session_ended"


def test_a_member_of_a_project_is_not_ended(
    sessions: SessionService, projects: ProjectService
) -> None:
    projects.create(ALICE, "garden", "Garden", members=(make_member("s1"),))

    with pytest.raises(Conflict) as refused:
        sessions.end(ALICE, "s1", None)

    assert refused.value.code == "session_in_project"


# Projects


def test_a_session_is_in_a_project_once(projects: ProjectService) -> None:
    projects.create(ALICE, "garden", " Garden ", members=(make_member("s1"),))

    for member in (make_member("s1"), make_member("alias", session_id="s1")):
        with pytest.raises(Conflict):
            projects.add_member(ALICE, "garden", member)
    projects.add_member(ALICE, "garden", make_member("s2", session_id=None))

    members = projects.get("garden").members
    assert [member.session_id for member in members] == ["s1", "s2"]
    assert projects.remove_member(ALICE, "garden", "s1").version == 3
    with pytest.raises(NotFound):
        projects.remove_member(ALICE, "garden", "s1")


def test_a_project_with_a_session_that_is_not_there_is_not_made(projects: ProjectService) -> None:
    with pytest.raises(NotFound):
        projects.create(ALICE, "garden", "Garden", members=(make_member("nobody"),))
    with pytest.raises(NotFound):
        projects.get("garden")


# Agents


@pytest.mark.parametrize("agent_id", BUILT_IN)
def test_the_built_in_agents_are_made_once_and_stay(agents: AgentService, agent_id: str) -> None:
    agents.ensure_built_in()
    agents.update(ADMIN, agent_id, AgentFields(display_name="Ours"))
    agents.ensure_built_in()

    agent = agents.get(agent_id)
    assert (agent.agent_type, agent.display_name) == (AgentType.PREDEFINED, "Ours")
    with pytest.raises(Conflict):
        agents.delete(ADMIN, agent_id)


def test_the_agent_that_carries_out_promoted_skills_changes_none(agents: AgentService) -> None:
    agents.ensure_built_in()

    rules = read_document(agents.get(VERIFICATION_AGENT_ID).permissions)

    assert {"skill_manage", "publish_skill"} <= {rule.tool for rule in rules}
    assert {rule.decision for rule in rules} == {PermissionDecision.DENY}


def test_the_agent_that_carries_out_promoted_skills_has_instructions_that_can_be_changed(
    agents: AgentService,
) -> None:
    agents.ensure_built_in()
    files = agents.files(VERIFICATION_AGENT_ID)
    assert [(it.name, it.version, it.actor) for it in files] == [("AGENTS.md", 1, "daemon")]
    assert "verdict" in files[0].content

    agents.write_file(ADMIN, VERIFICATION_AGENT_ID, "AGENTS.md", "")
    agents.ensure_built_in()

    assert [it.content for it in agents.files(VERIFICATION_AGENT_ID) if it.content] == []


def test_an_update_merges_and_an_empty_route_clears(agents: AgentService) -> None:
    fields = AgentFields(route="a", other_config={"x": 1}, max_tool_iterations=5)
    agents.create(ADMIN, "scout", fields)

    agents.update(ADMIN, "scout", AgentFields(other_config={"y": 2}, display_name="Scout"))
    changed = agents.update(ADMIN, "scout", AgentFields(route=""))

    assert changed.other_config == {"x": 1, "y": 2}
    assert (changed.display_name, changed.route, changed.max_tool_iterations) == ("Scout", None, 5)
    assert changed.version == 3
    assert agents.update(ADMIN, "scout", AgentFields(route="")).version == 3


def test_a_taken_agent_id_is_a_conflict(agents: AgentService) -> None:
    with pytest.raises(Conflict) as refused:
        agents.create(ADMIN, "default", AgentFields())

    assert refused.value.code == "agent_already_exists"


def test_a_file_gets_a_version_only_when_it_changed_and_can_be_restored(
    agents: AgentService,
) -> None:
    for content in ("one", "two", "two"):
        agents.write_file(ADMIN, "default", "SOUL.md", content)
    restored = agents.restore_file(ADMIN, "default", "SOUL.md", 1)

    assert (restored.version, restored.content) == (3, "one")
    versions = agents.file_versions("default", "SOUL.md", PageRequest())
    assert [file.content for file in versions.items] == ["one", "two", "one"]


def test_an_emptied_file_is_gone_but_its_versions_are_not(agents: AgentService) -> None:
    agents.write_file(ADMIN, "default", "BOOTSTRAP.md", "begin")
    agents.write_file(ADMIN, "default", "BOOTSTRAP.md", "")

    with pytest.raises(NotFound):
        agents.file("default", "BOOTSTRAP.md")
    assert agents.files("default") == ()
    assert agents.restore_file(ADMIN, "default", "BOOTSTRAP.md", 1).content == "begin"
    with pytest.raises(NotFound):
        agents.restore_file(ADMIN, "default", "BOOTSTRAP.md", 9)


def test_a_file_has_a_limit_in_bytes(agents: AgentService) -> None:
    agents.write_file(ADMIN, "default", "SOUL.md", "x" * MAX_CONTEXT_FILE_BYTES)

    with pytest.raises(LimitExceeded):
        agents.write_file(ADMIN, "default", "SOUL.md", "é" * (MAX_CONTEXT_FILE_BYTES // 2 + 1))


def test_what_was_done_is_in_the_audit(units: Units, agents: AgentService) -> None:
    agents.write_file(ADMIN, "default", "SOUL.md", "x")

    with units.read() as unit:
        [entry] = unit.audit.page(PageRequest(), resource="agents", actor="root").items
    assert (entry.action, entry.resource_id, entry.version) == (
        "agents.write_file",
        "default/SOUL.md",
        1,
    )
