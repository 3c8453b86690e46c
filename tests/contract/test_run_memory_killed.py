"""The daemon is killed while it writes the record of a run that is about to end."""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.support.factories import make_agent, make_session
from tests.support.run_harness import RunHarness
from tests.support.run_memory_harness import RunMemoryHarness, safe_file
from tests.support.run_memory_reads import record_of
from understudy.core.bell import Bell
from understudy.memory.record import RunMemoryRecord
from understudy.runs.model import RunStatus
from understudy.settings import Settings
from understudy.storage.engine import open_engine
from understudy.storage.files import LEFTOVER
from understudy.storage.run_memory_files import FileRunMemories
from understudy.storage.unit import Units
from understudy.testing.fake_model import FakeModel


class Killed(BaseException):
    """Nothing is done any more, not even to clean up."""


class Half(FileRunMemories):
    """Dies with half of a record under the name it has until it is whole."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.safe = directory / "__safe"

    def put(self, record: RunMemoryRecord) -> str:
        self.safe.mkdir(parents=True)
        (self.safe / ".new-0123456789abcdef").write_text('{"session_id": "s1", "sco')
        raise Killed


class Whole(FileRunMemories):
    """Dies with the record in its place, before the run is known to have ended."""

    def put(self, record: RunMemoryRecord) -> str:
        super().put(record)
        raise Killed


Process = Callable[[FileRunMemories], RunHarness]


@pytest.fixture
async def process(sqlite_template: Path, settings: Settings) -> AsyncIterator[Process]:
    """Starts one process after another on the same home."""
    shutil.copy(sqlite_template, settings.home / "understudy.db")
    engine = open_engine(f"sqlite:///{settings.home / 'understudy.db'}")
    async with AsyncExitStack() as stack:
        stack.callback(engine.dispose)

        def start(files: FileRunMemories) -> RunHarness:
            units = Units(
                engine, enqueue=lambda *_: None, bell=Bell(), run_memories=lambda _: files
            )
            harness = RunHarness(units, settings)
            stack.push_async_callback(harness.providers.close)
            return harness

        yield start


@pytest.mark.parametrize("dying", [Half, Whole])
async def test_a_run_whose_record_was_being_written_goes_on_and_has_its_record(
    process: Process,
    settings: Settings,
    fake: FakeModel,
    dying: Callable[[Path], FileRunMemories],
) -> None:
    directory = settings.home / "run-memories"
    safe = directory / "__safe"
    killed = process(dying(directory))
    with killed.units.write() as unit:
        unit.agents.add(make_agent())
        unit.sessions.add(make_session("s1"))
    fake.queue("done", "done")
    run_id = killed.submit("inspect")
    with pytest.raises(Killed):
        await killed.executor.execute(run_id)
    assert killed.stored(run_id).status is RunStatus.RUNNING

    again = process(FileRunMemories(directory))
    report = RunMemoryHarness(again.units, again.clock).start()

    assert (report.pruned_orphan_file_count, report.is_failed) == (1, False)
    assert list(safe.iterdir()) == []
    await again.execute(run_id)
    assert again.stored(run_id).status is RunStatus.COMPLETED
    assert list(safe.iterdir()) == [safe_file(settings.home, run_id)]
    kept = record_of(again.units, run_id)
    assert kept is not None
    assert kept.memory.summary == "Request: inspect\nResult: done"
    assert not RunMemoryHarness(again.units, again.clock).start().diagnostics


def test_half_a_record_has_the_name_that_writing_gives_it() -> None:
    assert LEFTOVER.fullmatch(".new-0123456789abcdef")
