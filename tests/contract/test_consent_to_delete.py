"""No skill is deleted by a model before its user has agreed to that one; patching asks nobody."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.contract.test_consent import CREATE, DELETE, OTHER, SLUG
from tests.support.consent_harness import ACCEPT, DECLINE, ConsentHarness, consent_harness_in
from tests.support.skill_runs import ANN, OK_MD, author
from understudy.runs.requests import RequestState
from understudy.settings import Settings
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel


@pytest.fixture
async def here(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[ConsentHarness]:
    async with consent_harness_in(database, settings, fake) as here:
        yield here


async def test_patching_needs_no_consent_and_deleting_does(here: ConsentHarness) -> None:
    here.skilled.service.create(author(ANN), OK_MD)
    patch = {"action": "patch", "slug": SLUG, "find": "Collect", "replace": "Gather"}

    patched, deleted = await here.told(call("skill_manage", patch), DELETE)

    assert "version 2" in patched
    assert deleted.startswith("approval needed: nothing was deleted")
    assert here.skilled.skill() is not None
    assert "consent_needed" in here.refusals("skills.delete")[0]
    [offer] = here.offers(RequestState.PENDING)
    assert offer.body["purpose"] == "delete"
    assert SLUG in offer.body["reason"]


async def test_consent_to_keep_a_skill_is_none_to_delete_one(here: ConsentHarness) -> None:
    here.skilled.service.create(author(ANN), OK_MD)
    here.answer(await here.offered(CREATE))

    for words in (ACCEPT, "Make a skill of this.", "Delete the skill other-one."):
        [told] = await here.told(DELETE, words=words)
        assert told.startswith("approval needed")
    assert here.skilled.skill() is not None


async def test_an_accepted_deletion_is_of_that_skill_alone(here: ConsentHarness) -> None:
    for name in ("Weekly report", "Other one"):
        here.skilled.service.create(author(ANN), OK_MD.replace("Weekly report", name))
    here.answer(await here.offered(DELETE))
    other = call("skill_manage", {"action": "delete", "slug": "other-one"})

    kept, gone = await here.told(other, DELETE, words="Go on.")

    assert kept.startswith("approval needed")
    assert gone.startswith("Deleted skill weekly-report")


async def test_a_user_deletes_a_skill_by_saying_so(here: ConsentHarness) -> None:
    here.skilled.service.create(author(ANN), OK_MD)

    [told] = await here.told(DELETE, words="Please delete the skill weekly-report.")

    assert told.startswith("Deleted skill weekly-report")


async def test_the_skill_is_the_one_that_an_open_offer_names(here: ConsentHarness) -> None:
    here.skilled.service.create(author(ANN), OK_MD)

    [unnamed] = await here.told(DELETE, words="Please delete the skill.")
    [named] = await here.told(DELETE, words="Please delete the skill.")

    assert unnamed.startswith("approval needed")
    assert named.startswith("Deleted skill weekly-report")


async def test_an_open_deletion_is_confirmed_by_asking_for_it_and_closed_by_skipping(
    here: ConsentHarness,
) -> None:
    here.skilled.service.create(author(ANN), OK_MD)
    declined = await here.offered(DELETE)
    [told] = await here.told(DELETE, words=DECLINE)
    assert told.startswith("the user declined: nothing was deleted")
    # That was about the deletion, and says nothing about keeping things.
    [kept] = await here.told(OTHER)
    assert kept.startswith("approval needed")

    [told] = await here.told(DELETE, words="Delete weekly-report now, please.")

    assert told.startswith("Deleted")
    states = [offer.state for offer in here.offers() if offer.body["purpose"] == "delete"]
    assert states == [RequestState.DENIED, RequestState.ALLOWED]
    assert here.said(declined)["behavior"] == "deny"
