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
def shop(house: UnitsOnDatabase) -> SkillServiceHarness:
    with house.units.write() as unit:
        unit.agents.add(make_agent("other"))
    shop = SkillServiceHarness(house.units)
    shop.service.create(ANN, OK_MD)
    return shop


def test_an_agent_made_anew_has_none_of_the_skills_of_the_one_that_was_deleted(
    house: UnitsOnDatabase, shop: SkillServiceHarness
) -> None:
    agents = AgentService(house.units, shop.clock, deleted=(shop.service.agent_deleted,))
    shop.service.grant_agent(ANN, SLUG, "other")

    agents.delete(ROOT.principal, "other")
    agents.create(ROOT.principal, "other", AgentFields())

    assert shop.grants() == ([], [])
    assert shop.row().visibility is Visibility.PRIVATE


def test_the_audit_has_one_entry_for_all_that_a_deleted_agent_was_granted(
    house: UnitsOnDatabase, shop: SkillServiceHarness
) -> None:
    agents = AgentService(house.units, shop.clock, deleted=(shop.service.agent_deleted,))
    for name in ("first-one", "second-one", "shared-one"):
        shop.service.create(ANN, skill_md(name))
        shop.service.grant_agent(ANN, name, "other")
    shop.service.grant_user(ANN, "shared-one", "bob")
    revisions = {name: shop.row(name).revision for name in ("first-one", "shared-one")}

    agents.delete(ROOT.principal, "other")

    with house.units.read() as unit:
        entries = unit.audit.page(ALL, resource="agents", actor=None).items
    told = [(one.action, one.resource_id, one.reason) for one in entries][:2]
    assert ("agents.revoke_skills", "other", "3 skills that it was granted") in told
    assert shop.row("first-one").visibility is Visibility.PRIVATE
    assert shop.row("first-one").revision == revisions["first-one"] + 1
    assert shop.row("shared-one").visibility is Visibility.INTERNAL
    assert shop.row("shared-one").revision == revisions["shared-one"]


def test_no_grant_outlives_an_agent_that_is_deleted_at_the_same_moment(
    house: UnitsOnDatabase, shop: SkillServiceHarness
) -> None:
    agents = AgentService(house.units, shop.clock, deleted=(shop.service.agent_deleted,))

    with ThreadPoolExecutor(4) as pool:
        for at in range(ROUNDS):
            agent = f"agent-{at}"
            agents.create(ROOT.principal, agent, AgentFields())
            acts: tuple[Callable[[], object], ...] = (
                partial(shop.service.grant_agent, ANN, SLUG, agent),
                partial(agents.delete, ROOT.principal, agent),
                partial(shop.service.create, run_of(ANN, agent), skill_md(f"made-{at}")),
            )
            for done in [pool.submit(act) for act in acts]:
                with suppress(NotFound):
                    done.result()

    assert shop.grants()[0] == []
    assert [shop.grants(f"made-{at}") for at in range(ROUNDS)] == [([], [])] * ROUNDS


def test_a_grant_that_began_first_is_waited_for_and_taken(
    house: UnitsOnDatabase, shop: SkillServiceHarness
) -> None:
    """On PostgreSQL others write meanwhile: the deletion must not look before they are done."""
    agents = AgentService(house.units, shop.clock, deleted=(shop.service.agent_deleted,))
    skill = shop.row()
    granted, looked = Event(), Event()

    def grant() -> None:
        with house.units.write() as unit:
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

    assert shop.grants() == ([], [])


def test_a_damaged_skill_keeps_nobody_from_deleting_its_agent_and_an_admin_can_delete_it(
    house: UnitsOnDatabase, shop: SkillServiceHarness
) -> None:
    agents = AgentService(house.units, shop.clock, deleted=(shop.service.agent_deleted,))
    shop.service.grant_agent(ANN, SLUG, "other")
    skill = shop.row()
    with house.units.write() as unit:
        damaged = sa.update(skills).where(skills.c.slug == SLUG).values(body={"name": 1})
        unit.connection.execute(damaged)

    with house.units.read() as unit:
        assert unit.skills.with_grants(skill.skill_id, agent_id="other", user_id="ann") is None
    agents.delete(ROOT.principal, "other")
    with pytest.raises(DamagedRecord):
        shop.service.delete(ANN, SLUG)
    trashed = shop.service.delete(ROOT, SLUG)

    assert (trashed.skill.name, trashed.skill.owner_id) == (SLUG, "ann")
    assert shop.service.create(BOB, skill_md("Weekly report")).skill.owner_id == "bob"
    shop.service.delete(BOB, SLUG)
    assert shop.service.undelete(ANN, trashed.trash_name).skill_id == skill.skill_id
    assert shop.bundle().manifest_text
