"""What becomes of skills when an agent that was granted some is deleted, or a skill is damaged."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Event

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import make_agent
from tests.support.skill_factories import to_agent
from tests.support.skill_service_harness import (
    ALL,
    ANN,
    BOB,
    OK_MD,
    ROOT,
    SLUG,
    SkillServiceHarness,
    run_of,
    skill_md,
)
from understudy.agents.service import AgentFields, AgentService
from understudy.core.errors import DamagedRecord, NotFound
from understudy.skills.model import Visibility
from understudy.storage.schema import skills

ROUNDS = 8


@pytest.fixture
def harness(database: UnitsOnDatabase) -> SkillServiceHarness:
    with database.units.write() as unit:
        unit.agents.add(make_agent("other"))
    harness = SkillServiceHarness(database.units)
    harness.service.create(ANN, OK_MD)
    return harness


def test_an_agent_made_anew_has_none_of_the_skills_of_the_one_that_was_deleted(
    database: UnitsOnDatabase, harness: SkillServiceHarness
) -> None:
    agents = AgentService(database.units, harness.clock, deleted=(harness.service.agent_deleted,))
    harness.service.grant_agent(ANN, SLUG, "other")

    agents.delete(ROOT.principal, "other")
    agents.create(ROOT.principal, "other", AgentFields())

    assert harness.grants() == ([], [])
    assert harness.row().visibility is Visibility.PRIVATE


def test_the_audit_has_one_entry_for_all_that_a_deleted_agent_was_granted(
    database: UnitsOnDatabase, harness: SkillServiceHarness
) -> None:
    agents = AgentService(database.units, harness.clock, deleted=(harness.service.agent_deleted,))
    for name in ("first-one", "second-one", "shared-one"):
        harness.service.create(ANN, skill_md(name))
        harness.service.grant_agent(ANN, name, "other")
    harness.service.grant_user(ANN, "shared-one", "bob")
    revisions = {name: harness.row(name).revision for name in ("first-one", "shared-one")}

    agents.delete(ROOT.principal, "other")

    with database.units.read() as unit:
        entries = unit.audit.page(ALL, resource="agents", actor=None).items
    told = [(one.action, one.resource_id, one.reason) for one in entries][:2]
    assert ("agents.revoke_skills", "other", "3 skills that it was granted") in told
    assert harness.row("first-one").visibility is Visibility.PRIVATE
    assert harness.row("first-one").revision == revisions["first-one"] + 1
    assert harness.row("shared-one").visibility is Visibility.INTERNAL
    assert harness.row("shared-one").revision == revisions["shared-one"]


def test_no_grant_outlives_an_agent_that_is_deleted_at_the_same_moment(
    database: UnitsOnDatabase, harness: SkillServiceHarness
) -> None:
    agents = AgentService(database.units, harness.clock, deleted=(harness.service.agent_deleted,))

    with ThreadPoolExecutor(4) as pool:
        for at in range(ROUNDS):
            agent = f"agent-{at}"
            agents.create(ROOT.principal, agent, AgentFields())
            acts: tuple[Callable[[], object], ...] = (
                partial(harness.service.grant_agent, ANN, SLUG, agent),
                partial(agents.delete, ROOT.principal, agent),
                partial(harness.service.create, run_of(ANN, agent), skill_md(f"made-{at}")),
            )
            for done in [pool.submit(act) for act in acts]:
                with suppress(NotFound):
                    done.result()

    assert harness.grants()[0] == []
    assert [harness.grants(f"made-{at}") for at in range(ROUNDS)] == [([], [])] * ROUNDS


def test_a_grant_that_began_first_is_waited_for_and_taken(
    database: UnitsOnDatabase, harness: SkillServiceHarness
) -> None:
    """On PostgreSQL others write meanwhile: the deletion must not look before they are done."""
    agents = AgentService(database.units, harness.clock, deleted=(harness.service.agent_deleted,))
    skill = harness.row()
    granted, looked = Event(), Event()

    def grant() -> None:
        with database.units.write() as unit:
            unit.skills.lock(SLUG)
            assert unit.agents.get("other") is not None
            granted.set()
            looked.wait(0.3)
            unit.skill_grants.give_agent(to_agent(skill, "other"))

    with ThreadPoolExecutor(2) as pool:
        granting = pool.submit(grant)
        granted.wait(10)
        agents.delete(ROOT.principal, "other")
        granting.result()

    assert harness.grants() == ([], [])


def test_a_damaged_skill_keeps_nobody_from_deleting_its_agent_and_an_admin_can_delete_it(
    database: UnitsOnDatabase, harness: SkillServiceHarness
) -> None:
    agents = AgentService(database.units, harness.clock, deleted=(harness.service.agent_deleted,))
    harness.service.grant_agent(ANN, SLUG, "other")
    skill = harness.row()
    with database.units.write() as unit:
        damaged = sa.update(skills).where(skills.c.slug == SLUG).values(body={"name": 1})
        unit.connection.execute(damaged)

    with database.units.read() as unit:
        assert unit.skills.with_grants(skill.skill_id, agent_id="other", user_id="ann") is None
    agents.delete(ROOT.principal, "other")
    with pytest.raises(DamagedRecord):
        harness.service.delete(ANN, SLUG)
    trashed = harness.service.delete(ROOT, SLUG)

    assert (trashed.skill.name, trashed.skill.owner_id) == (SLUG, "ann")
    assert harness.service.create(BOB, skill_md("Weekly report")).skill.owner_id == "bob"
    harness.service.delete(BOB, SLUG)
    assert harness.service.undelete(ANN, trashed.trash_name).skill_id == skill.skill_id
    assert harness.bundle().manifest_text
