"""Review mode: what a model would make of its soul waits until somebody has decided."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.context_file_runs import (
    FILES,
    ROOT,
    ContextFileRuns,
    edit,
    make_context_file_runs,
    write,
)
from tests.support.evolving_runs import EVOLVING
from understudy.agents.service import AgentService
from understudy.core.errors import Conflict
from understudy.core.page import PageRequest
from understudy.evolution.proposals import MAX_WAITING, ProposalState
from understudy.settings import Settings
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel

WARM = "Speak warmly.\nUse plain words."


@pytest.fixture
async def files(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[ContextFileRuns]:
    files = make_context_file_runs(database.units, settings, fake)
    yield files
    await files.harness.providers.close()


def read(name: str) -> Answer:
    return call("read_file", {"path": name})


async def test_under_review_a_change_waits_until_somebody_has_decided(
    files: ContextFileRuns,
) -> None:
    files.switch(soul_review=True)
    before = await files.prompt()
    run_id = await files.run(write("SOUL.md", WARM))
    assert await files.prompt() == before

    [waiting] = files.proposals.page(ROOT, EVOLVING, PageRequest()).items
    assert (waiting.state, waiting.actor, waiting.run_id) == (ProposalState.PENDING, "ann", run_id)
    shown = files.proposals.get(ROOT, EVOLVING, waiting.proposal_id)
    assert "-Speak calmly.\n+Speak warmly." in shown.diff

    decided = files.proposals.approve(ROOT, EVOLVING, waiting.proposal_id)

    assert (decided.state, decided.decided_by, decided.file_version) == ("approved", "root", 2)
    assert await files.prompt() == before.replace("calmly", "warmly")
    newest = files.versions()[0]
    assert (newest.actor, newest.run_id) == ("ann", run_id)
    assert files.proposals.approve(ROOT, EVOLVING, waiting.proposal_id) == decided
    assert [entry.actor for entry in files.audited("agents.approve_proposal")] == ["root"]


@pytest.mark.one_database
async def test_what_is_rejected_changes_nothing_and_is_decided(files: ContextFileRuns) -> None:
    files.switch(soul_review=True)
    await files.run(write("SOUL.md", WARM))
    [waiting] = files.proposals.page(ROOT, EVOLVING, PageRequest()).items

    files.proposals.reject(ROOT, EVOLVING, waiting.proposal_id, reason="Too warm.")

    [kept] = files.proposals.page(ROOT, EVOLVING, PageRequest(), state=ProposalState.REJECTED).items
    assert (kept.reason, kept.decided_by) == ("Too warm.", "root")
    assert files.file() == FILES["SOUL.md"]
    with pytest.raises(Conflict) as refused:
        files.proposals.approve(ROOT, EVOLVING, waiting.proposal_id)
    assert refused.value.code == "proposal_state_conflict"


@pytest.mark.one_database
async def test_a_run_goes_on_from_what_it_has_proposed(files: ContextFileRuns) -> None:
    files.switch(soul_review=True)
    told = await files.told(
        edit("SOUL.md", "calmly", "warmly"), read("SOUL.md"), edit("SOUL.md", "plain", "short")
    )

    assert told[1] == WARM
    newest, first = files.proposals.page(ROOT, EVOLVING, PageRequest()).items
    assert newest.content == "Speak warmly.\nUse short words."
    assert [newest.state, first.state] == [ProposalState.PENDING, ProposalState.SUPERSEDED]
    assert await files.told(read("SOUL.md")) == [FILES["SOUL.md"]]


@pytest.mark.one_database
async def test_a_run_that_goes_back_on_its_proposal_takes_it_back(files: ContextFileRuns) -> None:
    files.switch(soul_review=True)
    await files.run(write("SOUL.md", WARM), write("SOUL.md", FILES["SOUL.md"]))

    [taken_back] = files.proposals.page(ROOT, EVOLVING, PageRequest()).items
    assert taken_back.state is ProposalState.SUPERSEDED


@pytest.mark.one_database
async def test_the_same_proposal_again_is_the_one_that_waits(files: ContextFileRuns) -> None:
    files.switch(soul_review=True)
    told = await files.told(write("SOUL.md", WARM), write("SOUL.md", WARM))

    assert told[0] == told[1]
    assert len(files.proposals.page(ROOT, EVOLVING, PageRequest()).items) == 1


async def test_a_proposal_that_was_overtaken_cannot_be_approved(files: ContextFileRuns) -> None:
    files.switch(soul_review=True)
    await files.run(write("SOUL.md", WARM))
    await files.run(write("SOUL.md", "Speak fast.\nUse plain words."))
    second, first = files.proposals.page(ROOT, EVOLVING, PageRequest()).items
    files.proposals.approve(ROOT, EVOLVING, second.proposal_id)

    overtaken = files.proposals.get(ROOT, EVOLVING, first.proposal_id)
    assert overtaken.proposal.state is ProposalState.SUPERSEDED

    await files.run(write("SOUL.md", "Speak slowly.\nUse plain words."))
    AgentService(files.units, files.harness.clock).write_file(ROOT, EVOLVING, "SOUL.md", "By hand.")
    [third] = files.proposals.page(ROOT, EVOLVING, PageRequest(), state=ProposalState.PENDING).items
    assert files.proposals.get(ROOT, EVOLVING, third.proposal_id).is_outdated
    with pytest.raises(Conflict) as refused:
        files.proposals.approve(ROOT, EVOLVING, third.proposal_id)
    assert refused.value.code == "proposal_outdated"
    assert files.file() == "By hand."


@pytest.mark.one_database
async def test_only_so_many_proposals_wait(files: ContextFileRuns) -> None:
    files.switch(soul_review=True)
    await files.run(write("SOUL.md", WARM))
    [waiting] = files.proposals.page(ROOT, EVOLVING, PageRequest()).items
    with files.units.write() as unit:
        for at in range(MAX_WAITING - 1):
            unit.proposals.add(replace(waiting, proposal_id=f"prp_{at:03}", run_id=f"run_{at}"))

    [told] = await files.told(write("SOUL.md", "Speak fast.\nUse plain words."))

    assert f"{MAX_WAITING} proposals for SOUL.md wait already" in told
