"""What a run leaves behind when it ends, on both databases."""

from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import uuid4

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, ODD_TEXTS, bound, make_member, make_persona, make_project
from tests.support.model_scripts import ask, play
from tests.support.run_harness import Probe, RunHarness, arrived, restarted, until
from tests.support.run_memory_reads import evidence_of, indexed, record_of, set_policy
from tests.support.sidechain_runs import WAIT, SidechainRuns, spawn
from understudy.agent.loop import AgentLoop
from understudy.assets.contents import draft_of_bytes
from understudy.core.errors import Unavailable
from understudy.memory.policy import stored_policy
from understudy.memory.record import RunMemory, RunMemoryRecord, SemanticCapture
from understudy.redaction.scrub import scrub_counted
from understudy.runs.model import InputItem, RunKind, RunStatus
from understudy.settings import Settings
from understudy.storage.run_memory_index import RunMemoryIndex
from understudy.storage.run_memory_rows import SqlRunMemories
from understudy.storage.schema import runs, sessions
from understudy.storage.unit import Units
from understudy.storage.visible_connection import VisibleConnection
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Approval

pytestmark = pytest.mark.one_database

KEY = "sk-" + "proj-" + "ABCDEFGHIJKLMNOP1234"


def record(harness: RunHarness, run_id: str) -> RunMemoryRecord:
    found = record_of(harness.units, run_id)
    assert found is not None
    return found


def memory(harness: RunHarness, run_id: str) -> RunMemory:
    return record(harness, run_id).memory


def counters(harness: RunHarness) -> dict[str, int]:
    return harness.keeper.counters.snapshot()


@pytest.mark.every_database
async def test_a_completed_run_leaves_a_record(harness: RunHarness, fake: FakeModel) -> None:
    fake.queue("done")

    run = (await harness.run("inspect the repo")).run

    found = record(harness, run.run_id)
    assert found.session_id == "s1"
    assert found.scope_keys == ("session:s1", "workspace:default")
    assert found.semantic_capture is SemanticCapture.SKIPPED
    assert found.memory == RunMemory(
        run_id=run.run_id,
        recorded_at_ms=run.finished_at_ms or 0,
        status=RunStatus.COMPLETED,
        summary="Request: inspect the repo\nResult: done",
        request_preview="inspect the repo",
        outcome_preview="done",
    )
    evidence = evidence_of(harness.units, run.run_id)
    assert evidence is not None
    assert (evidence.request, evidence.outcome) == ("inspect the repo", "done")
    assert counters(harness)["stored_total"] == 1


async def test_a_failed_run_leaves_its_error(harness: RunHarness, fake: FakeModel) -> None:
    fake.queue(
        Answer(text="so far so good", calls=(FakeCall(name="probe"),)),
        Answer(status=400, error="boom"),
    )

    run = (await harness.run("try it")).run

    found = memory(harness, run.run_id)
    assert found.status is RunStatus.FAILED
    assert found.failure_markers[0] == "failed"
    assert "boom" in found.failure_markers[1]
    assert found.failure_markers[1].startswith("error: ")
    assert found.outcome_preview == "so far so good"
    assert found.summary.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize(
    ("stop", "status"),
    [("cancel", RunStatus.CANCELLED), ("interrupt", RunStatus.INTERRUPTED)],
)
async def test_a_run_that_is_stopped_leaves_a_record(
    harness: RunHarness, fake: FakeModel, probe: Probe, stop: str, status: RunStatus
) -> None:
    fake.queue(call("probe"))
    probe.hold()
    run_id = harness.submit("wait for it")
    task = harness.begin(run_id)
    await probe.reached()
    assert record_of(harness.units, run_id) is None

    if stop == "cancel":
        harness.runs.cancel(ALICE, run_id)
    else:
        harness.runs.interrupt(ALICE, "s1")
    probe.go_on.set()
    await task

    found = memory(harness, run_id)
    assert found.status is status
    assert found.failure_markers == (str(status),)
    assert str(status) in found.summary


async def test_a_queued_run_that_is_cancelled_leaves_a_record(harness: RunHarness) -> None:
    run_id = harness.submit("never begun")

    harness.runs.cancel(ALICE, run_id)

    found = memory(harness, run_id)
    assert found.summary == "Request: never begun\nStatus: cancelled before it was done."


@pytest.mark.every_database
async def test_a_run_that_waits_leaves_nothing_yet(
    harness: RunHarness, fake: FakeModel, probe: Probe
) -> None:
    probe.approval = Approval.ALWAYS
    waiting = restarted(harness)
    fake.queue(call("probe"))

    run_id = waiting.submit("ask me first")
    await waiting.execute(run_id)

    assert waiting.stored(run_id).status is RunStatus.WAITING_FOR_APPROVAL
    assert record_of(harness.units, run_id) is None
    assert indexed(harness.units) == 0


async def test_a_run_that_cannot_begin_leaves_a_record(harness: RunHarness) -> None:
    run_id = harness.submit("use what is gone")
    broken = replace(harness.executor, worker=_CannotPrepare())

    await broken.execute(run_id)

    found = memory(harness, run_id)
    assert found.failure_markers == ("failed", "error: the agent is gone")


class _CannotPrepare(AgentLoop):
    def __init__(self) -> None:
        """It comes to nothing."""

    def prepare(self, *_: Any, **__: Any) -> Any:
        raise Unavailable("gone", detail="the agent is gone")

    def leftover(self, _: Any) -> Any:
        raise AssertionError

    async def work(self, _: Any) -> Any:
        raise AssertionError


@pytest.mark.every_database
async def test_a_run_that_cannot_even_be_read_ends_without_a_record(harness: RunHarness) -> None:
    run_id = harness.submit("torn")
    with harness.units.write() as unit:
        torn = sa.update(runs).where(runs.c.run_id == run_id).values(wanted=sa.text("'{'"))
        unit.connection.execute(torn)

    await harness.executor.execute(run_id)

    with harness.units.read() as unit:
        status = unit.connection.execute(
            sa.select(runs.c.status).where(runs.c.run_id == run_id)
        ).scalar_one()
    assert status == RunStatus.FAILED
    assert record_of(harness.units, run_id) is None


@pytest.mark.every_database
async def test_the_runs_of_sidechains_leave_records_of_their_own_session(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT], "child": []})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work()

    [child] = sidechain_runs.children()
    found = record(sidechain_runs.harness, sidechain_runs.run_of(child).run_id)
    assert found.session_id == child
    assert f"session:{child}" in found.scope_keys
    assert record(sidechain_runs.harness, parent).session_id == "s1"


@pytest.mark.every_database
async def test_queued_runs_below_a_cancelled_one_leave_records_too(
    sidechain_runs: SidechainRuns, fake: FakeModel
) -> None:
    fake.rule = play({"parent": [spawn("child"), WAIT], "child": [ask("Shall I?")]})
    parent = sidechain_runs.harness.submit("parent")
    await sidechain_runs.work(only="s1")
    [child] = sidechain_runs.children()
    below = sidechain_runs.run_of(child).run_id

    sidechain_runs.harness.runs.cancel(ALICE, parent)
    await sidechain_runs.work(only="s1")
    await until(lambda: not sidechain_runs.harness.family.catch_up())

    assert memory(sidechain_runs.harness, below).status is RunStatus.CANCELLED
    assert memory(sidechain_runs.harness, parent).status is RunStatus.CANCELLED


@pytest.mark.parametrize("kind", [RunKind.INPUT, RunKind.SCHEDULED_INPUT, RunKind.MAILBOX_DELIVERY])
async def test_the_whole_request_is_scrubbed_before_it_is_cut(
    harness: RunHarness, fake: FakeModel, kind: RunKind
) -> None:
    fake.queue("ok")
    filler = ("filler " * 30)[:150]

    run = (await harness.run(f"{filler} {KEY} " + "and more " * 50, kind=kind)).run

    found = record(harness, run.run_id)
    assert "sk-" not in str(found)
    assert "ABCDEF" not in str(evidence_of(harness.units, run.run_id))
    assert counters(harness)["redacted_fields_total"] == 1


async def test_secrets_and_personal_data_reach_no_part_of_the_record(
    harness: RunHarness, fake: FakeModel
) -> None:
    secrets = ("alice@example.com", "4111-1111-1111-1111", KEY, "hunter22")
    text = " and ".join(secrets)
    fake.queue(text)

    run = (await harness.run(text)).run

    kept = f"{record(harness, run.run_id)} {evidence_of(harness.units, run.run_id)}"
    assert not [secret for secret in secrets if secret in kept]
    assert "<redacted:email>" in kept
    # Two texts with secrets in them, each with an address and a card.
    assert counters(harness)["redacted_fields_total"] == 6
    # The journal is the conversation as it was.
    assert text in str(harness.journal(run.run_id))


@pytest.mark.every_database
async def test_personal_data_stays_where_the_policy_says_so(
    harness: RunHarness, fake: FakeModel
) -> None:
    set_policy(harness.units, redact_pii=False)
    fake.queue("ok")

    run = (await harness.run(f"mail alice@example.com with {KEY}")).run

    found = memory(harness, run.run_id)
    assert "alice@example.com" in found.summary
    assert KEY not in found.summary


@pytest.mark.every_database
async def test_files_that_were_given_and_made_are_named_once(
    harness: RunHarness, fake: FakeModel, probe: Probe
) -> None:
    fake.queue(call("probe", {"label": "x" * 40_000}), "made it")
    draft, again = (draft_of_bytes(b"hello", file_name=name) for name in ("a.txt", "b.txt"))
    first = InputItem(type="text", text="look at")

    run = (await harness.run("", input_items=(first, draft, again))).run

    found = memory(harness, run.run_id)
    asset_id = run.input.items[1].asset_id
    forms = (f"[inline_asset:{name} text/plain]" for name in ("a.txt", "b.txt"))
    assert found.request_preview == f"look at {' '.join(forms)}"
    assert found.artifact_ids[0] == asset_id
    assert [each[:4] for each in found.artifact_ids[1:]] == ["art_"]


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
async def test_odd_characters_do_not_keep_a_run_from_ending(
    harness: RunHarness, fake: FakeModel, text: str
) -> None:
    fake.queue(text)

    run = (await harness.run(text)).run

    assert run.status is RunStatus.COMPLETED
    assert memory(harness, run.run_id).summary


@pytest.mark.every_database
async def test_the_scopes_are_those_of_the_session(harness: RunHarness, fake: FakeModel) -> None:
    fake.queue("ok")
    with harness.units.write() as unit:
        session = unit.sessions.get("s1")
        assert session is not None
        unit.sessions.update(replace(session, **bound(make_persona())), expected_version=1)
        unit.projects.add(replace(make_project(), members=(make_member("s1"),)))

    run = (await harness.run()).run

    assert record(harness, run.run_id).scope_keys == (
        "session:s1",
        "persona:helper",
        "project:garden",
        "workspace:default",
    )


def tear_session(harness: RunHarness) -> None:
    torn = sa.update(sessions).where(sessions.c.session_id == "s1")
    with harness.units.write() as unit:
        unit.connection.execute(torn.values(reply_targets=sa.text("'{'")))


async def test_of_a_session_that_cannot_be_read_only_its_own_scope_is_known(
    harness: RunHarness,
) -> None:
    run_id = harness.submit()
    tear_session(harness)

    harness.runs.cancel(ALICE, run_id)

    assert record(harness, run_id).scope_keys == ("session:s1",)


@pytest.mark.every_database
async def test_what_cannot_be_made_now_goes_to_the_end_of_the_line(harness: RunHarness) -> None:
    first, second = harness.submit(), harness.submit()
    with harness.units.write() as unit:
        for at_ms, run_id in enumerate((first, second)):
            unit.run_memory_index.postpone(run_id, reason="x", at_ms=at_ms)
        unit.connection.execute(
            sa.update(runs).where(runs.c.run_id == first).values(status=str(RunStatus.FAILED))
        )
    tear_session(harness)

    assert harness.capture.catch_up() == 1

    with harness.units.read() as unit:
        assert unit.run_memory_index.postponed(limit=10) == (first,)


async def test_nothing_is_kept_while_the_policy_is_off(
    harness: RunHarness, fake: FakeModel
) -> None:
    set_policy(harness.units, enabled=False)
    fake.queue("ok")

    run = (await harness.run()).run

    assert record_of(harness.units, run.run_id) is None
    assert (indexed(harness.units), counters(harness)["stored_total"]) == (0, 0)


async def test_the_record_is_there_before_the_run_is_seen_to_have_ended(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.hold()
    run_id = harness.submit("slow")
    task = harness.begin(run_id)
    await arrived(fake, 1)
    seen: list[bool] = []

    def look() -> bool:
        with harness.units.read() as unit:
            run = unit.runs.get(run_id)
            assert run is not None
            if run.status is not RunStatus.COMPLETED:
                return False
            seen.append(unit.run_memories.get(run_id) is not None)
            return True

    fake.release()
    await until(look)
    await task

    assert seen == [True]


@dataclass
class Disk:
    """Keeps records in rows, while it is not full."""

    is_full: bool = False

    def __call__(self, connection: VisibleConnection) -> SqlRunMemories:
        if self.is_full:
            raise Unavailable("run_memories_unavailable", detail="the disk is full")
        return SqlRunMemories(connection)


async def test_a_store_that_fails_postpones_the_record_and_the_run_ends(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> None:
    disk = Disk(is_full=True)
    units = Units(database.engine, enqueue=lambda *_: None, bell=database.bell, run_memories=disk)
    harness = RunHarness(units, settings)
    fake.queue("done")

    run = (await harness.run("inspect")).run

    assert run.status is RunStatus.COMPLETED
    assert harness.capture.catch_up() == 1
    disk.is_full = False
    assert harness.capture.catch_up() == 0
    assert memory(harness, run.run_id).summary == "Request: inspect\nResult: done"
    assert memory(harness, run.run_id).recorded_at_ms == run.finished_at_ms
    with units.read() as unit:
        assert unit.run_memory_index.postponed(limit=10) == ()
    await harness.providers.close()


async def test_what_is_postponed_is_given_up_where_there_is_nothing_to_remember(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.queue("done")
    set_policy(harness.units, enabled=False)
    ended = (await harness.run()).run.run_id
    queued = harness.submit()
    torn = harness.submit()
    with harness.units.write() as unit:
        for run_id in (ended, queued, torn):
            unit.run_memory_index.postpone(run_id, reason="x", at_ms=1)
        statement = sa.update(runs).where(runs.c.run_id == torn).values(wanted=sa.text("'{'"))
        unit.connection.execute(statement)

    assert harness.capture.catch_up() == 0

    with harness.units.read() as unit:
        assert unit.run_memory_index.postponed(limit=10) == ()
    assert indexed(harness.units) == 0


async def test_a_run_whose_texts_break_the_making_ends_and_is_given_up_later(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> None:
    harness = RunHarness(database.units, settings)
    # Nothing that a person or a model sends does this; a literal that is no text stands for a bug.
    broken = replace(harness.capture, literals=cast("tuple[str, ...]", (7,)))
    harness.executor = replace(harness.executor, run_ended=broken.ended)
    fake.queue("done")

    run = (await harness.run()).run

    assert run.status is RunStatus.COMPLETED
    with harness.units.read() as unit:
        assert unit.run_memory_index.postponed(limit=10) == (run.run_id,)
    assert broken.catch_up() == 0
    with harness.units.read() as unit:
        assert unit.run_memory_index.postponed(limit=10) == ()
    await harness.providers.close()


@pytest.mark.every_database
async def test_one_that_cannot_be_made_yet_does_not_stop_the_others(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.queue("one", "two")
    first, second = [(await harness.run(each)).run.run_id for each in ("a", "b")]
    with harness.units.write() as unit:
        unit.run_memory_index.forget([first, second])
        unit.run_memory_index.postpone(first, reason="x", at_ms=1)
        unit.run_memory_index.postpone(second, reason="x", at_ms=2)
        torn = {"wanted": sa.text("'{'")}
        unit.connection.execute(sa.update(runs).where(runs.c.run_id == first).values(torn))

    assert harness.capture.catch_up() == 0

    assert memory(harness, second).summary == "Request: b\nResult: two"


@pytest.mark.every_database
async def test_a_settled_receipt_is_not_unsettled(harness: RunHarness, fake: FakeModel) -> None:
    fake.queue("done")
    run_id = (await harness.run()).run.run_id
    with harness.units.write() as unit:
        unit.run_memory_index.postpone(run_id, reason="again", at_ms=1)
        unit.run_memory_index.settle(run_id, SemanticCapture.COMPLETED)

    harness.capture.catch_up()

    with harness.units.read() as unit:
        pointer = unit.run_memory_index.get(run_id)
    assert pointer is not None
    assert pointer.semantic_capture is SemanticCapture.COMPLETED


async def test_long_texts_are_scrubbed_before_the_transaction_that_ends_the_run(
    harness: RunHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of each text that was scrubbed: how long it was, and whether a unit was open meanwhile.
    scrubbed: list[tuple[int, bool]] = []

    def watched(text: str, *rest: Any, **more: Any) -> Any:
        scrubbed.append((len(text), getattr(harness.units._here, "is_open", False)))
        return scrub_counted(text, *rest, **more)

    monkeypatch.setattr("understudy.memory.texts.scrub_counted", watched)
    # Its own in every run of this test: a text that was scrubbed a moment ago is not again.
    await harness.run(f"{uuid4()} {'a long story ' * 1000}")

    assert [is_open for chars, is_open in scrubbed if chars > 10_000] == [False]


async def test_a_policy_that_is_set_while_a_run_ends_is_kept_to(
    harness: RunHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0

    def counted_policy(unit: Any) -> Any:
        nonlocal looked
        looked += 1
        return stored_policy(unit)

    monkeypatch.setattr("understudy.memory.capture.stored_policy", counted_policy)
    held: list[int] = []
    hold = RunMemoryIndex.hold

    def noted(self: RunMemoryIndex) -> None:
        held.append(looked)
        hold(self)

    monkeypatch.setattr(RunMemoryIndex, "hold", noted)
    await harness.run("hello")

    # The policy is read once nobody can change what is kept any more.
    assert held[0] == 0
    assert looked == 1
