"""How much of its soul one run may change: however many calls, attempts or sidechains it takes."""

from collections.abc import AsyncIterator, Callable

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.context_file_runs import (
    ANN,
    ROOT,
    ContextFileRuns,
    edit,
    make_context_file_runs,
    write,
)
from tests.support.evolving_runs import EVOLVING
from tests.support.model_scripts import play
from tests.support.run_harness import Probe, RunHarness, die
from understudy.agents.service import AgentService
from understudy.evolution.context_files import AgentContextFiles
from understudy.evolution.file_checks import FileChecks
from understudy.evolution.run_settings import settings_in
from understudy.evolution.soul import SoulLimits
from understudy.runs.sidechains import SidechainWish
from understudy.runs.submission import Submission
from understudy.settings import Settings
from understudy.testing.answers import Answer, call
from understudy.testing.fake_model import FakeModel
from understudy.tools.edit import EditFile

LINES = 50


@pytest.fixture
async def files(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[ContextFileRuns]:
    files = make_context_file_runs(database.units, settings, fake)
    AgentService(files.units, files.harness.clock).write_file(ROOT, EVOLVING, "SOUL.md", soul(0))
    yield files
    await files.harness.providers.close()


def soul(changed: int, word: str = "gently") -> str:
    """A soul of fifty lines, the first so many of which are no longer what they were."""
    return "".join(f"{word if at < changed else 'calmly'} {at}\n" for at in range(LINES))


def is_refused(told: str) -> bool:
    return "of SOUL.md. In one run at most 40% of it may change" in told


async def test_many_calls_of_one_run_change_no_more_than_one_may(files: ContextFileRuns) -> None:
    told = await files.told(*(write("SOUL.md", soul(changed)) for changed in (18, 20, 36, 50)))

    assert [is_refused(each) for each in told] == [False, False, True, True]
    assert told[2].startswith("this would change 72% of SOUL.md.")
    # It says how to go on, and that works.
    assert "10 lines may always" in told[2]
    assert "with edit_file" in told[2]
    assert files.file() == soul(20)

    [later] = await files.told(write("SOUL.md", soul(36)))
    assert later.startswith("replaced")


@pytest.mark.one_database
async def test_ten_lines_may_change_in_every_run_whatever_their_share(
    files: ContextFileRuns,
) -> None:
    short = "".join(f"short {at}\n" for at in range(12))
    AgentService(files.units, files.harness.clock).write_file(ROOT, EVOLVING, "SOUL.md", short)
    edits = (edit("SOUL.md", f"short {at}\n", f"brief {at}\n") for at in range(11))

    told = await files.told(*edits)

    assert [is_refused(each) for each in told] == [False] * 10 + [True]


@pytest.mark.one_database
async def test_a_run_may_always_go_back_to_what_it_began_with(files: ContextFileRuns) -> None:
    told = await files.told(write("SOUL.md", soul(20)), write("SOUL.md", soul(0)))

    assert not any(map(is_refused, told))
    assert files.file() == soul(0)


@pytest.mark.one_database
async def test_what_somebody_wrote_meanwhile_is_not_replaced_as_a_whole(
    files: ContextFileRuns,
) -> None:
    def meanwhile(_: object) -> Answer:
        agents = AgentService(files.units, files.harness.clock)
        agents.write_file(ROOT, EVOLVING, "SOUL.md", soul(LINES, "firmly"))
        return write("SOUL.md", soul(5))

    [told] = await files.told(meanwhile)

    assert is_refused(told)
    assert files.file() == soul(LINES, "firmly")


@pytest.mark.one_database
async def test_under_review_it_counts_from_the_start_as_well(files: ContextFileRuns) -> None:
    files.switch(soul_review=True)
    told = await files.told(write("SOUL.md", soul(20)), write("SOUL.md", soul(40)))

    assert [is_refused(each) for each in told] == [False, True]


@pytest.mark.one_database
async def test_where_there_was_no_soul_the_first_one_is_free(files: ContextFileRuns) -> None:
    AgentService(files.units, files.harness.clock).delete_file(ROOT, EVOLVING, "SOUL.md")

    told = await files.told(write("SOUL.md", soul(0)), write("SOUL.md", soul(LINES)))

    assert [is_refused(each) for each in told] == [False, True]


@pytest.mark.one_database
async def test_the_share_can_be_set(files: ContextFileRuns) -> None:
    checks = FileChecks(limits=SoulLimits(max_change=1))
    keeper = AgentContextFiles(files.units, files.harness.clock, checks)
    harness = shop_like(files, keeper)
    files.fake.rule = play({"go": [write("SOUL.md", soul(LINES))]})

    await harness.run("go", session_id=EVOLVING)

    assert files.file() == soul(LINES)


def shop_like(files: ContextFileRuns, keeper: AgentContextFiles, *tools: Probe) -> RunHarness:
    """Another process, with these tools beside those for files; it shares the connections."""
    harness = RunHarness(
        files.units,
        files.harness.settings,
        tools=(EditFile(keeper), *tools),
        coach=files.harness.coach,
        context_files=keeper,
        clock=files.harness.clock,
    )
    harness.providers = files.harness.providers
    harness.executor = harness._executor()
    return harness


@pytest.fixture
def held(files: ContextFileRuns) -> tuple[Probe, Callable[[], RunHarness]]:
    """A tool that waits, and processes that have it."""
    probe = Probe()
    probe.hold()
    return probe, lambda: shop_like(files, files.keeper, probe)


async def test_a_run_that_is_taken_up_again_goes_by_the_same_start(
    files: ContextFileRuns, held: tuple[Probe, Callable[[], RunHarness]]
) -> None:
    probe, start = held
    lines = [write("SOUL.md", soul(18)), call("probe", {}), write("SOUL.md", soul(36))]
    files.fake.rule = play({"go": lines})
    harness = start()
    run_id = harness.submit("go", session_id=EVOLVING)
    task = harness.begin(run_id)
    await probe.reached()
    await die(task)
    probe.go_on.set()

    again = start()
    await again.execute(run_id)

    assert is_refused(again.results(run_id)[-1]["content"])
    assert files.file() == soul(18)
    with files.units.read() as unit:
        kept = settings_in(unit.runs.reports(run_id)).soul_version
    assert kept == 2


async def test_its_sidechains_are_no_way_round(
    files: ContextFileRuns, held: tuple[Probe, Callable[[], RunHarness]]
) -> None:
    probe, start = held
    files.fake.rule = play(
        {
            "go": [write("SOUL.md", soul(18)), call("probe", {})],
            "more": [write("SOUL.md", soul(36))],
        }
    )
    harness = start()
    run_id = harness.runs.submit(ANN, EVOLVING, Submission(content="go")).run.run_id
    task = harness.begin(run_id)
    await probe.reached()

    spawn = harness.sidechains.spawn(ANN, run_id, "call", SidechainWish(task="more"))
    await harness.execute(spawn.first_run_id)
    [within] = harness.results(spawn.first_run_id)
    probe.go_on.set()
    await task

    assert is_refused(within["content"])
    # Once nobody waits for it, what it does is its own; but its session has heard another agent,
    # so a person decides.
    on_its_own = harness.runs.submit(ANN, spawn.session_id, Submission(content="more")).run.run_id
    await harness.execute(on_its_own)
    assert harness.results(on_its_own)[0]["content"].startswith("proposed as ")
