"""The limit per user on runs in flight: what begins, what waits its turn, and who is not held up."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.approval_harness import ApprovalRuns, Approver
from tests.support.factories import ALICE, make_session
from tests.support.run_harness import RunHarness, arrived, restarted
from understudy.core.principal import Principal, Role
from understudy.runs.model import Run, RunStatus
from understudy.runs.sleep import let_in, step_aside
from understudy.runs.submission import Submission
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

BOB = Principal(user_id="bob", role=Role.OPERATOR)
MANY = 12


Limited = Callable[[RunHarness, int | None], RunHarness]


@pytest.fixture
async def limited() -> AsyncIterator[Limited]:
    """Starts daemons that let so many runs of a user be in flight."""
    started = []

    def start(harness: RunHarness, most: int | None) -> RunHarness:
        settings = replace(harness.settings, max_runs_in_flight_per_user=most)
        started.append(restarted(harness, settings=settings))
        return started[-1]

    yield start
    for daemon in started:
        await daemon.providers.close()


def submit(harness: RunHarness, principal: Principal, session_id: str) -> str:
    """A run in a session of its own."""
    with harness.units.write() as unit:
        unit.sessions.add(make_session(session_id, owner_id=principal.user_id))
    harness.clock.advance()
    return harness.runs.submit(principal, session_id, Submission(content="hello")).run.run_id


def stored(harness: RunHarness, *run_ids: str) -> Mapping[str, Run]:
    return {run_id: harness.stored(run_id) for run_id in run_ids}


def running(harness: RunHarness, run_ids: list[str]) -> list[str]:
    found = stored(harness, *run_ids)
    return [run_id for run_id in run_ids if found[run_id].status is RunStatus.RUNNING]


async def work_off(harness: RunHarness, database: UnitsOnDatabase) -> None:
    """Execute whatever is handed to the engine, until nothing more is."""
    while database.queued:
        await harness.execute(database.queued.pop(0)[0])


async def test_a_users_backlog_waits_and_another_users_run_begins_before_it(
    harness: RunHarness, database: UnitsOnDatabase, fake: FakeModel, limited: Limited
) -> None:
    # Two daemons, and all of them begin at once.
    daemons = [limited(harness, 3), limited(harness, 3)]
    of_alice = [submit(daemons[0], ALICE, f"a{number}") for number in range(MANY)]
    of_bob = submit(daemons[0], BOB, "b")
    database.queued.clear()
    fake.hold()

    tasks = {
        run_id: daemons[number % 2].begin(run_id)
        for number, run_id in enumerate([*of_alice, of_bob])
    }
    for run_id in of_alice[3:]:
        await tasks[run_id]
    await arrived(fake, 4)

    assert running(harness, of_alice) == of_alice[:3]
    assert running(harness, [of_bob]) == [of_bob]
    waiting = stored(harness, *of_alice[3:]).values()
    assert all(run.status is RunStatus.QUEUED and run.asleep for run in waiting)
    assert database.queued == []
    fake.release()
    for run_id in [*of_alice[:3], of_bob]:
        await tasks[run_id]
    await work_off(daemons[0], database)
    ended = stored(harness, *of_alice)
    assert {run.status for run in ended.values()} == {RunStatus.COMPLETED}
    assert len(fake.requests) == MANY + 1


async def test_each_end_lets_in_the_oldest_that_waits(
    harness: RunHarness, database: UnitsOnDatabase, fake: FakeModel, limited: Limited
) -> None:
    daemon = limited(harness, 1)
    first, second, third = (submit(daemon, ALICE, f"a{number}") for number in range(3))
    fake.hold()
    task = daemon.begin(first)
    await arrived(fake, 1)
    await daemon.execute(third)
    await daemon.execute(second)
    database.queued.clear()
    fake.release()

    await task
    assert [run_id for run_id, _ in database.queued] == [second]
    database.queued.clear()
    await daemon.execute(second)
    assert [run_id for run_id, _ in database.queued] == [third]


async def test_a_run_that_waits_for_a_person_makes_room_and_goes_on_above_the_limit(
    guarded: ApprovalRuns,
    approver: Approver,
    database: UnitsOnDatabase,
    fake: FakeModel,
    limited: Limited,
) -> None:
    daemon = limited(guarded, 1)
    asking, other = submit(daemon, ALICE, "a0"), submit(daemon, ALICE, "a1")
    fake.queue(call("probe", {"label": "x"}))
    await daemon.execute(asking)
    assert daemon.stored(asking).asleep

    fake.hold()
    task = daemon.begin(other)
    await arrived(fake, 2)
    approver.allow(asking, *approver.asked(asking))
    again = daemon.begin(asking)
    await arrived(fake, 3)

    assert running(daemon, [asking, other]) == [asking, other]
    fake.release()
    await task
    await again
    ended = stored(daemon, asking, other).values()
    assert {run.status for run in ended} == {RunStatus.COMPLETED}


async def test_a_long_line_in_one_session_counts_as_one(
    harness: RunHarness, fake: FakeModel, limited: Limited
) -> None:
    daemon = limited(harness, 2)
    line = [submit(daemon, ALICE, "a0")]
    line += [daemon.submit(session_id="a0") for _ in range(5)]
    elsewhere = submit(daemon, ALICE, "a1")
    fake.hold()
    tasks = [daemon.begin(line[0]), daemon.begin(elsewhere)]

    await arrived(fake, 2)

    assert running(daemon, [*line, elsewhere]) == [line[0], elsewhere]
    fake.release()
    for task in tasks:
        await task


async def test_without_a_limit_all_of_them_work(
    harness: RunHarness, fake: FakeModel, limited: Limited
) -> None:
    daemon = limited(harness, None)
    runs = [submit(daemon, ALICE, f"a{number}") for number in range(MANY)]
    fake.hold()
    tasks = [daemon.begin(run_id) for run_id in runs]

    await arrived(fake, MANY)

    fake.release()
    for task in tasks:
        await task


@pytest.mark.parametrize("most", [1, None])
async def test_who_stepped_aside_unseen_is_let_in_later(
    harness: RunHarness, database: UnitsOnDatabase, most: int | None
) -> None:
    run_id = submit(harness, ALICE, "a0")
    with harness.units.write() as unit:
        run = unit.runs.get(run_id, lock=True)
        assert run is not None
        step_aside(unit, run)
    database.queued.clear()

    with harness.units.read() as unit:
        left = unit.runs.left_in_line()
    assert left == (run_id,)
    let_in(harness.units, left[0], most=most, clock=harness.clock)

    assert [queued for queued, _ in database.queued] == [run_id]
    assert not harness.stored(run_id).asleep
