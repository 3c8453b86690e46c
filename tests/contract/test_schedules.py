"""Schedules fire once for each of their times, whatever happens, on both databases."""

import threading
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN, ALICE, NOW
from tests.support.schedule_harness import HOUR, MINUTE, PAGE, Catalogue, Died, ScheduleHarness
from understudy.api.routes.schedules import schedule_view
from understudy.assets.contents import draft_of_bytes
from understudy.core.errors import Conflict, Invalid, NotFound
from understudy.runs.model import RunKind, RunStatus
from understudy.runs.submission import Submission
from understudy.schedules.fire import RetryPolicy
from understudy.schedules.model import (
    KEPT_EXECUTIONS,
    MAX_SCHEDULES,
    Cron,
    IntervalSchedule,
    MisfirePolicy,
    Once,
    OverlapPolicy,
    ScheduleStatus,
)
from understudy.sessions.model import ReplyTarget
from understudy.sessions.service import SessionService
from understudy.storage.schema import schedules as table
from understudy.storage.unit import Units


@pytest.fixture
def almanac(units: Units) -> ScheduleHarness:
    return ScheduleHarness(units)


def sessions(almanac: ScheduleHarness) -> SessionService:
    return SessionService(almanac.units, almanac.clock, lambda _: True)


def actions(almanac: ScheduleHarness) -> list[tuple[str, str]]:
    with almanac.units.read() as unit:
        entries = unit.audit.page(PAGE, resource="schedules", actor=None).items
    return [(entry.actor, entry.action) for entry in reversed(entries)]


def test_a_schedule_comes_back_as_it_was_created(almanac: ScheduleHarness) -> None:
    request = Submission(
        content="report",
        provider="a",
        generation={"temperature": 0.5},
        metadata={"ticket": 7},
        reply_targets=(ReplyTarget(plugin="local", address="desk"),),
        max_tool_iterations=3,
    )
    cadence = Cron(expression="0 0 9 * * MON-FRI", timezone="Europe/Berlin")
    created = almanac.create(cadence, request=request, max_executions=5)

    assert almanac.get(created) == created
    assert created.owner_id == "alice"
    assert created.request.kind is RunKind.SCHEDULED_INPUT
    assert almanac.schedules.page(PAGE).items == (created,)
    assert almanac.schedules.page(PAGE, session_id="s2").items == ()
    assert almanac.schedules.page(PAGE, statuses=(ScheduleStatus.PAUSED,)).items == ()
    assert actions(almanac) == [("alice", "schedules.create")]


def test_a_schedule_fires_at_its_time_and_not_before(database: UnitsOnDatabase) -> None:
    almanac = ScheduleHarness(database.units)
    schedule = almanac.create(IntervalSchedule(every_seconds=60))
    almanac.pass_ms(MINUTE - 1)
    assert almanac.runs() == []

    almanac.pass_ms(1)
    [run] = almanac.runs()
    assert (run.kind, run.user_id) == (RunKind.SCHEDULED_INPUT, "alice")
    assert (run.request.source_plugin, run.input.text) == ("schedules", "hello")
    assert database.queued == [(run.run_id, "s1")]
    [execution] = almanac.executions(schedule)
    assert (execution.status, execution.run_id) == ("submitted", run.run_id)
    assert execution.scheduled_for_ms == NOW + MINUTE
    fired = almanac.get(schedule)
    assert (fired.executions, fired.last_fired_at_ms) == (1, NOW + MINUTE)
    assert fired.next_fire_at_ms == NOW + 2 * MINUTE
    almanac.worker.fire_due()
    assert len(almanac.runs()) == 1


def test_a_fire_uses_the_reply_targets_the_session_has_by_then(almanac: ScheduleHarness) -> None:
    first, second = (ReplyTarget(plugin="local", address=name) for name in ("t1", "t2"))
    sessions(almanac).set_reply_targets(ALICE, "s1", (first,))
    almanac.create(overlap_policy=OverlapPolicy.PARALLEL)
    almanac.create(request=Submission(content="own", reply_targets=(first,)))
    sessions(almanac).set_reply_targets(ALICE, "s1", (second,))
    almanac.pass_ms(MINUTE)

    targets = {run.input.text: run.reply_targets for run in almanac.runs()}
    assert targets == {"hello": (second,), "own": (first,)}
    sessions(almanac).set_reply_targets(ALICE, "s1", ())
    assert {run.reply_targets for run in almanac.runs()} == {(first,), (second,)}


def test_one_moment_fires_once_and_completes(almanac: ScheduleHarness) -> None:
    schedule = almanac.create(Once(fire_at_ms=NOW + 10))
    almanac.pass_ms(10)
    almanac.pass_ms(HOUR)

    assert len(almanac.runs()) == 1
    done = almanac.get(schedule)
    assert (done.status, done.next_fire_at_ms) == (ScheduleStatus.COMPLETED, None)
    assert ("daemon", "schedules.complete") in actions(almanac)


def test_a_schedule_completes_after_its_number_of_executions(almanac: ScheduleHarness) -> None:
    schedule = almanac.create(max_executions=2, overlap_policy=OverlapPolicy.PARALLEL)
    for _ in range(4):
        almanac.pass_ms(MINUTE)

    assert len(almanac.runs()) == 2
    assert almanac.get(schedule).status is ScheduleStatus.COMPLETED


def test_skip_submits_nothing_while_a_run_goes_on(almanac: ScheduleHarness) -> None:
    schedule = almanac.create(max_executions=2)
    almanac.pass_ms(MINUTE)
    [run] = almanac.runs()
    almanac.change(run.run_id, status=RunStatus.WAITING_FOR_APPROVAL)
    almanac.pass_ms(MINUTE)
    assert len(almanac.runs()) == 1
    assert almanac.executions(schedule)[-1].reason == "an earlier run is waiting for approval"

    almanac.end(run.run_id, RunStatus.COMPLETED)
    almanac.pass_ms(MINUTE)
    assert almanac.statuses(schedule) == ["submitted", "skipped", "submitted"]
    assert almanac.get(schedule).status is ScheduleStatus.COMPLETED


def test_a_run_somebody_else_submitted_is_no_overlap(almanac: ScheduleHarness) -> None:
    almanac.create()
    other = almanac.create(session_id="s1")
    almanac.pass_ms(MINUTE)

    assert len(almanac.runs()) == 2
    assert almanac.statuses(other) == ["submitted"]


def test_queue_one_lets_one_wait_and_not_more(almanac: ScheduleHarness) -> None:
    schedule = almanac.create(overlap_policy=OverlapPolicy.QUEUE_ONE)
    almanac.pass_ms(MINUTE)
    almanac.pass_ms(MINUTE)
    assert almanac.statuses(schedule) == ["submitted", "skipped"]

    almanac.change(almanac.runs()[0].run_id, status=RunStatus.RUNNING)
    almanac.pass_ms(MINUTE)
    almanac.pass_ms(MINUTE)
    assert almanac.statuses(schedule)[2:] == ["submitted", "skipped"]
    almanac.end(almanac.runs()[0].run_id, RunStatus.FAILED)
    almanac.change(almanac.runs()[1].run_id, status=RunStatus.RUNNING)
    almanac.pass_ms(MINUTE)
    assert almanac.statuses(schedule)[4:] == ["submitted"]


def test_parallel_submits_all_the_same(almanac: ScheduleHarness) -> None:
    schedule = almanac.create(overlap_policy=OverlapPolicy.PARALLEL)
    for _ in range(3):
        almanac.pass_ms(MINUTE)

    assert almanac.statuses(schedule) == ["submitted"] * 3
    assert len(almanac.runs()) == 3


def test_missed_times_become_one_fire(almanac: ScheduleHarness) -> None:
    schedule = almanac.create()
    almanac.pass_ms(HOUR + 1)

    [execution] = almanac.executions(schedule)
    assert execution.scheduled_for_ms == NOW + MINUTE
    assert execution.at_ms == NOW + HOUR + 1
    assert almanac.get(schedule).next_fire_at_ms == NOW + HOUR + MINUTE


def test_missed_times_are_left_out_where_the_schedule_says_so(almanac: ScheduleHarness) -> None:
    cron = almanac.create(Cron(expression="0 * * * * *"), misfire_policy=MisfirePolicy.SKIP_MISSED)
    interval = almanac.create(misfire_policy=MisfirePolicy.SKIP_MISSED)
    once = almanac.create(Once(fire_at_ms=NOW + 1), misfire_policy=MisfirePolicy.SKIP_MISSED)
    almanac.pass_ms(HOUR)

    assert almanac.runs() == []
    for schedule in (cron, interval, once):
        assert almanac.statuses(schedule) == ["missed"]
    assert almanac.get(once).status is ScheduleStatus.COMPLETED
    upcoming = almanac.get(interval).next_fire_at_ms
    assert upcoming == NOW + HOUR + MINUTE
    almanac.pass_ms(40_000)
    assert almanac.statuses(cron) == ["missed", "submitted"]
    almanac.pass_ms(20_000)
    assert almanac.statuses(interval) == ["missed", "submitted"]


def test_a_little_late_is_not_missed(almanac: ScheduleHarness) -> None:
    schedule = almanac.create(misfire_policy=MisfirePolicy.SKIP_MISSED)
    almanac.pass_ms(MINUTE + 10_000)

    assert almanac.statuses(schedule) == ["submitted"]


def test_several_daemons_fire_each_time_once(almanac: ScheduleHarness) -> None:
    schedules = [
        almanac.create(session_id=f"s{1 + number % 2}", overlap_policy=OverlapPolicy.PARALLEL)
        for number in range(8)
    ]
    daemons = [almanac.beside() for _ in range(3)]
    for _ in range(3):
        almanac.clock.advance(MINUTE)
        start = threading.Barrier(len(daemons))

        def work(daemon: ScheduleHarness, start: threading.Barrier = start) -> None:
            start.wait()
            daemon.worker.fire_due()

        threads = [threading.Thread(target=work, args=(daemon,)) for daemon in daemons]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        almanac.worker.fire_due()

    expected = [NOW + MINUTE, NOW + 2 * MINUTE, NOW + 3 * MINUTE]
    for schedule in schedules:
        found = almanac.executions(schedule)
        assert [execution.scheduled_for_ms for execution in found] == expected
        assert almanac.statuses(schedule) == ["submitted"] * 3
    assert len(almanac.runs("s1")) + len(almanac.runs("s2")) == 24


def test_a_daemon_that_dies_while_it_fires_leaves_nothing_behind(units: Units) -> None:
    def die() -> None:
        raise Died

    dying = ScheduleHarness(units, on_take=die)
    schedule = dying.create()
    with pytest.raises(Died):
        dying.pass_ms(MINUTE)
    assert dying.runs() == []

    restarted = dying.beside()
    restarted.worker.fire_due()
    assert restarted.statuses(schedule) == ["submitted"]
    assert len(restarted.runs()) == 1


def test_what_was_due_while_no_daemon_was_there_fires_after_the_restart(
    almanac: ScheduleHarness,
) -> None:
    schedule = almanac.create(Once(fire_at_ms=NOW + 5))
    almanac.clock.advance(HOUR)
    restarted = almanac.beside()
    restarted.worker.fire_due()

    assert restarted.statuses(schedule) == ["submitted"]


def test_a_fire_that_makes_no_run_is_tried_again_until_it_does(almanac: ScheduleHarness) -> None:
    schedule = almanac.create()
    almanac.catalogue.known.clear()
    almanac.pass_ms(MINUTE)
    waits = []
    for _ in range(8):
        stored = almanac.get(schedule)
        assert stored.due_at_ms is not None
        waits.append(stored.due_at_ms - almanac.clock.now_ms())
        almanac.pass_ms(waits[-1] - 1)
        assert almanac.get(schedule).due_at_ms == stored.due_at_ms
        almanac.pass_ms(1)
    assert waits == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]
    [execution] = almanac.executions(schedule)
    assert (execution.status, execution.attempts) == ("retrying", 9)
    assert execution.reason == "route_not_found: there is no route 'a'"
    assert almanac.runs() == []

    almanac.catalogue.known.add("a")
    almanac.pass_ms(30_000)
    [execution] = almanac.executions(schedule)
    assert (execution.status, execution.attempts) == ("submitted", 10)
    assert execution.scheduled_for_ms == NOW + MINUTE
    upcoming = almanac.get(schedule)
    assert (upcoming.retries, upcoming.retrying_id) == (0, None)
    assert (upcoming.next_fire_at_ms or 0) > almanac.clock.now_ms()


def test_a_fire_is_given_up_after_its_attempts(units: Units) -> None:
    almanac = ScheduleHarness(units, retry=RetryPolicy(attempts=2))
    schedule = almanac.create()
    almanac.catalogue.known.clear()
    almanac.pass_ms(MINUTE)
    almanac.pass_ms(500)

    assert almanac.statuses(schedule) == ["failed"]
    assert almanac.get(schedule).next_fire_at_ms == NOW + 2 * MINUTE


def test_pausing_and_resuming_takes_a_fire_up_again_that_was_being_tried(
    almanac: ScheduleHarness,
) -> None:
    schedule = almanac.create()
    almanac.catalogue.known.clear()
    almanac.pass_ms(MINUTE)
    almanac.schedules.pause(ALICE, schedule.schedule_id)
    almanac.pass_ms(HOUR)
    almanac.catalogue.known.add("a")
    almanac.schedules.resume(ALICE, schedule.schedule_id)
    almanac.worker.fire_due()

    assert almanac.statuses(schedule) == ["submitted"]


def test_a_schedule_whose_session_has_ended_is_canceled(almanac: ScheduleHarness) -> None:
    schedule = almanac.create()
    sessions(almanac).end(ALICE, "s1", None)
    almanac.pass_ms(MINUTE)

    ended = almanac.get(schedule)
    assert (ended.status, ended.ended_reason) == (ScheduleStatus.CANCELED, "session_ended")
    assert almanac.statuses(schedule) == ["failed"]
    assert ("daemon", "schedules.cancel") in actions(almanac)
    with pytest.raises(Conflict, match="ended"):
        almanac.create()


def test_a_schedule_that_crashes_does_not_hold_up_the_others(units: Units) -> None:
    def crash() -> None:
        raise ZeroDivisionError

    crashing = ScheduleHarness(units, on_take=crash)
    bad = crashing.create(Once(fire_at_ms=NOW + 1))
    good = crashing.create(Once(fire_at_ms=NOW + 2))
    crashing.pass_ms(10)
    assert crashing.statuses(bad) == crashing.statuses(good) == ["retrying"]
    assert crashing.executions(bad)[0].reason == (
        "schedule_crashed: the daemon failed unexpectedly (ZeroDivisionError); its log says how"
    )


def test_a_damaged_schedule_is_ended_and_does_not_hold_up_the_others(
    database: UnitsOnDatabase,
) -> None:
    almanac = ScheduleHarness(database.units)
    damaged = almanac.create(Once(fire_at_ms=NOW + 1))
    good = almanac.create(Once(fire_at_ms=NOW + 2))
    with database.engine.begin() as connection:
        connection.execute(
            sa.text("UPDATE schedules SET cadence = '{' WHERE schedule_id = :id"),
            {"id": damaged.schedule_id},
        )
    almanac.pass_ms(10)

    assert almanac.statuses(good) == ["submitted"]
    with database.engine.connect() as connection:
        query = sa.select(table.c.status).where(table.c.schedule_id == damaged.schedule_id)
        assert connection.execute(query).scalar() == "canceled"
    assert [item.schedule_id for item in almanac.schedules.page(PAGE).items] == [good.schedule_id]


def test_a_paused_schedule_does_not_fire_and_leaves_out_what_passed(
    almanac: ScheduleHarness,
) -> None:
    schedule = almanac.create()
    paused = almanac.schedules.pause(ALICE, schedule.schedule_id)
    assert paused.status is ScheduleStatus.PAUSED
    almanac.pass_ms(HOUR + 1)
    assert almanac.runs() == []

    resumed = almanac.schedules.resume(ALICE, schedule.schedule_id)
    assert resumed.next_fire_at_ms == NOW + HOUR + MINUTE
    almanac.worker.fire_due()
    assert almanac.runs() == []
    almanac.pass_ms(MINUTE)
    assert len(almanac.runs()) == 1
    assert [action for _, action in actions(almanac)] == [
        "schedules.create",
        "schedules.pause",
        "schedules.resume",
    ]


def test_one_moment_that_passed_during_a_pause_goes_by_the_misfire_policy(
    almanac: ScheduleHarness,
) -> None:
    policies = {
        MisfirePolicy.COALESCE_ONCE: ["submitted"],
        MisfirePolicy.SKIP_MISSED: ["missed"],
    }
    for policy, expected in policies.items():
        now = almanac.clock.now_ms()
        schedule = almanac.create(Once(fire_at_ms=now + 1), misfire_policy=policy)
        almanac.schedules.pause(ALICE, schedule.schedule_id)
        almanac.pass_ms(HOUR)
        almanac.schedules.resume(ALICE, schedule.schedule_id)
        almanac.worker.fire_due()
        assert almanac.statuses(schedule) == expected


def test_doing_it_again_changes_nothing(almanac: ScheduleHarness) -> None:
    schedule_id = almanac.create().schedule_id
    for change in (almanac.schedules.pause, almanac.schedules.resume, almanac.schedules.cancel):
        assert change(ALICE, schedule_id) == change(ALICE, schedule_id)


def test_what_has_ended_stays_so(almanac: ScheduleHarness) -> None:
    schedule = almanac.create()
    canceled = almanac.schedules.cancel(ALICE, schedule.schedule_id)
    assert (canceled.status, canceled.due_at_ms) == (ScheduleStatus.CANCELED, None)
    almanac.pass_ms(HOUR)
    assert almanac.runs() == []
    for change in (
        almanac.schedules.pause,
        almanac.schedules.resume,
        almanac.schedules.trigger,
    ):
        with pytest.raises(Conflict) as refused:
            change(ALICE, schedule.schedule_id)
        assert refused.value.code == "schedule_state_conflict"


def test_a_trigger_fires_beside_the_cadence_and_for_the_owner(almanac: ScheduleHarness) -> None:
    schedule = almanac.create(overlap_policy=OverlapPolicy.PARALLEL)
    almanac.schedules.pause(ALICE, schedule.schedule_id)
    triggered, execution = almanac.schedules.trigger(ADMIN, schedule.schedule_id)
    assert triggered.status is ScheduleStatus.PAUSED
    assert (execution.status, execution.scheduled_for_ms) == ("submitted", None)
    [run] = almanac.runs()
    assert (run.run_id, run.user_id) == (execution.run_id, "alice")
    assert ("root", "schedules.trigger") in actions(almanac)

    almanac.schedules.resume(ALICE, schedule.schedule_id)
    assert almanac.get(schedule).next_fire_at_ms == NOW + MINUTE


def test_a_trigger_counts_and_keeps_to_the_overlap_policy(almanac: ScheduleHarness) -> None:
    schedule = almanac.create(max_executions=2)
    almanac.schedules.trigger(ALICE, schedule.schedule_id)
    _, execution = almanac.schedules.trigger(ALICE, schedule.schedule_id)
    assert (execution.status, execution.run_id) == ("skipped", None)

    almanac.end(almanac.runs()[0].run_id, RunStatus.COMPLETED)
    done, _ = almanac.schedules.trigger(ALICE, schedule.schedule_id)
    assert (done.status, done.executions) == (ScheduleStatus.COMPLETED, 2)


def test_the_last_executions_are_kept_and_those_whose_runs_go_on(almanac: ScheduleHarness) -> None:
    schedule = almanac.create()
    almanac.pass_ms(MINUTE)
    for _ in range(KEPT_EXECUTIONS + 5):
        almanac.pass_ms(MINUTE)
    # The run that goes on is far back by now, and still keeps others from being submitted.
    kept = almanac.executions(schedule)
    assert len(kept) == KEPT_EXECUTIONS + 1
    assert almanac.statuses(schedule).count("submitted") == 1

    almanac.end(kept[0].run_id, RunStatus.COMPLETED)
    almanac.pass_ms(MINUTE)
    kept = almanac.executions(schedule)
    assert len(kept) == KEPT_EXECUTIONS
    assert kept[-1].status == "submitted"


def test_a_user_has_so_many_schedules_and_no_more(almanac: ScheduleHarness) -> None:
    created = [almanac.create() for _ in range(MAX_SCHEDULES)]
    with pytest.raises(Conflict) as refused:
        almanac.create()
    assert (refused.value.domain, refused.value.code) == ("schedules", "schedule_limit")
    almanac.create(principal=ADMIN)

    almanac.schedules.cancel(ALICE, created[0].schedule_id)
    almanac.create()


def test_two_who_create_at_once_do_not_both_get_the_last_place(almanac: ScheduleHarness) -> None:
    for _ in range(MAX_SCHEDULES - 1):
        almanac.create()
    outcomes: list[str] = []

    def create() -> None:
        try:
            almanac.beside().create()
            outcomes.append("created")
        except Conflict as refused:
            outcomes.append(refused.code)

    threads = [threading.Thread(target=create) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sorted(outcomes) == ["created", "schedule_limit", "schedule_limit"]


@pytest.mark.parametrize(
    ("wanted", "error", "pointer"),
    [
        ({"request": Submission(content=" ")}, "input_empty", "/request/content"),
        (
            {"request": Submission(content="x", provider="nowhere")},
            "route_not_found",
            "/request/provider",
        ),
        (
            {"request": Submission(content="x", max_tool_iterations=0)},
            "invalid_max_tool_iterations",
            "/request/max_tool_iterations",
        ),
        (
            {"request": Submission(attachments=("ast_none",))},
            "asset_not_found",
            "/request/attachments/0",
        ),
        ({"max_executions": 0}, "invalid_max_executions", "/max_executions"),
        ({"cadence": Cron(expression="0 0 0 31 2 *")}, "invalid_cron", "/cadence/expression"),
    ],
    ids=["empty", "route", "limit", "asset", "executions", "cron"],
)
def test_a_schedule_that_could_never_work_is_refused_at_once(
    almanac: ScheduleHarness, wanted: dict[str, Any], error: str, pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        almanac.create(**wanted)

    assert refused.value.code == error
    assert [each.pointer for each in refused.value.errors] == [pointer]
    assert almanac.schedules.page(PAGE).items == ()


def test_what_is_not_there_is_not_found(almanac: ScheduleHarness) -> None:
    with pytest.raises(NotFound, match="no session"):
        almanac.create(session_id="nowhere")
    with pytest.raises(NotFound, match="no schedule"):
        almanac.schedules.get("sch_none")
    with pytest.raises(NotFound, match="no schedule"):
        almanac.schedules.executions("sch_none", PAGE)


def test_a_file_in_the_request_becomes_an_asset_that_stays(almanac: ScheduleHarness) -> None:
    draft = draft_of_bytes(b"a picture of text", file_name="notes.txt")
    schedule = almanac.create(request=Submission(input_items=(draft,)))
    [item] = schedule.request.input_items
    almanac.pass_ms(MINUTE)

    [run] = almanac.runs()
    assert run.input.items == (item,)
    assert (run.input.items[0].file_name, run.input.items[0].given_as) == ("notes.txt", "inline")
    [shown] = schedule_view(schedule).request.input_items
    assert set(shown) == {"type", "asset_id", "file_name", "media_type", "size"}
    with almanac.units.read() as unit:
        references = unit.assets.references(run.input.items[0].asset_id or "", PAGE).items
    assert {reference.ref_id for reference in references} == {schedule.schedule_id, run.run_id}


def test_catalogues_of_routes_are_asked_when_it_fires(units: Units) -> None:
    almanac = ScheduleHarness(units, catalogue=Catalogue({"a", "b"}))
    almanac.create(request=Submission(content="x", provider="b"))
    almanac.pass_ms(MINUTE)

    assert [run.route.model for run in almanac.runs()] == ["model-b"]
