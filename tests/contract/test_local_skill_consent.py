"""A SKILL.md in a folder that everybody's skills are looked for in needs consent like any skill."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.consent_harness import ACCEPT, DECLINE, ConsentHarness, consent_harness_in
from tests.support.run_memory_reads import system_text
from tests.support.skill_runs import BOB, OK_MD
from understudy.runs.requests import RequestState
from understudy.settings import Settings
from understudy.skills.local.roots import USUAL_FOLDERS, Root
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel

PATH = "skills/want/SKILL.md"


def write(path: str = PATH) -> Answer:
    return call("write_file", {"path": path, "content": OK_MD})


@pytest.fixture
async def here(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[ConsentHarness]:
    roots = tuple(Root(path=settings.workspace / name) for name in USUAL_FOLDERS)
    async with consent_harness_in(database, settings, fake, roots) as here:
        yield here


async def prompt(here: ConsentHarness, fake: FakeModel, **more: Any) -> str:
    """What the next run is told of skills."""
    here.skilled.harness.clock.advance(60_000)
    here.skilled.catalogue.refresh()
    await here.skilled.run(words="And now?", **more)
    return system_text(fake)


# The built-in agent has every switch off.
@pytest.mark.parametrize("session_id", ["learner", "s1"])
async def test_nobody_is_given_a_skill_that_its_user_did_not_agree_to(
    here: ConsentHarness, fake: FakeModel, session_id: str
) -> None:
    [told] = await here.told(write(), words="Tidy up.", session_id=session_id)

    assert told.startswith("approval needed")
    assert not (here.skilled.harness.settings.workspace / PATH).exists()
    assert "consent_needed" in here.refusals("skills.write")[0]
    [offer] = here.offers(RequestState.PENDING, session_id=session_id)
    assert offer.body["input"] == {"path": PATH}
    assert PATH in offer.body["reason"]
    assert "Weekly report" not in await prompt(here, fake, session_id=session_id)


async def test_after_a_no_nothing_of_it_reaches_the_next_prompt(
    here: ConsentHarness, fake: FakeModel
) -> None:
    await here.offered(write())

    at_once = await here.told(write(), write("Skills/want/SKILL.md"), words=DECLINE)
    later = await here.told(write(".agents/skills/x/y/SKILL.md"), words="What else is there?")

    assert all(text.startswith("the user declined") for text in (*at_once, *later))
    assert "Weekly report" not in await prompt(here, fake)
    assert "Weekly report" not in await prompt(here, fake, who=BOB)


async def test_a_user_who_agrees_has_it_in_the_next_prompt(
    here: ConsentHarness, fake: FakeModel
) -> None:
    await here.offered(write())

    [told] = await here.told(write(), words=ACCEPT)

    assert told.startswith("created")
    assert "Weekly report" in await prompt(here, fake)


async def test_drafts_and_other_files_are_as_free_as_before(here: ConsentHarness) -> None:
    told = await here.told(
        write("drafts/want/SKILL.md"),
        write("skills/want/notes.md"),
        words="Tidy up.",
    )

    assert [text.split()[0] for text in told] == ["created", "created"]
    assert here.offers() == ()


async def test_where_no_folders_are_looked_into_nothing_is_asked(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> None:
    async with consent_harness_in(database, settings, fake) as here:
        [told] = await here.told(write(), words="Tidy up.")

        assert told.startswith("created")
        assert here.offers() == ()
