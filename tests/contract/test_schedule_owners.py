"""A schedule acts for its owner for as long as the owner may, and not longer."""

import pytest

from tests.support.factories import ADMIN, ALICE
from tests.support.schedule_harness import HOUR, MINUTE, PAGE, ScheduleHarness
from understudy.access.tokens import LOCAL_ADMIN, TOKEN_ADMIN, TokenService
from understudy.core.principal import Principal, Role
from understudy.schedules.model import OverlapPolicy, Schedule, ScheduleExecution, ScheduleStatus
from understudy.storage.unit import Units

BOB_BY_ROOT = Principal(user_id="bob", role=Role.ADMIN, acting_admin="root")


@pytest.fixture
def almanac(units: Units) -> ScheduleHarness:
    return ScheduleHarness(units)


def token(almanac: ScheduleHarness, user_id: str, role: Role) -> str:
    made, _ = almanac.tokens.create(ADMIN, user_id, role)
    return made.token_id


def is_suspended(
    almanac: ScheduleHarness, schedule: Schedule, execution: ScheduleExecution
) -> bool:
    stored = almanac.get(schedule)
    return (
        stored.status is ScheduleStatus.PAUSED
        and stored.due_at_ms is None
        and execution.status == "failed"
        and (execution.reason or "").startswith("owner_may_not: ")
    )


def test_a_schedule_stops_when_its_owner_may_no_longer_submit(almanac: ScheduleHarness) -> None:
    kept = token(almanac, "alice", Role.OPERATOR)
    token(almanac, "bob", Role.OPERATOR)
    schedule = almanac.create(overlap_policy=OverlapPolicy.PARALLEL)
    almanac.pass_ms(MINUTE)
    assert almanac.statuses(schedule) == ["submitted"]

    almanac.tokens.delete(ADMIN, kept)
    almanac.pass_ms(MINUTE)
    almanac.pass_ms(HOUR)

    assert len(almanac.runs()) == 1
    [_, execution] = almanac.executions(schedule)
    assert is_suspended(almanac, schedule, execution)
    with almanac.units.read() as unit:
        [newest, *_] = unit.audit.page(PAGE, resource="schedules", actor=None).items
    assert (newest.actor, newest.action) == ("daemon", "schedules.pause")


def test_it_goes_on_when_the_owner_may_again_and_somebody_resumes_it(
    almanac: ScheduleHarness,
) -> None:
    token(almanac, "bob", Role.ADMIN)
    schedule = almanac.create()
    almanac.pass_ms(MINUTE)
    almanac.schedules.resume(ADMIN, schedule.schedule_id)
    almanac.pass_ms(MINUTE)
    assert almanac.statuses(schedule) == ["failed", "failed"]

    token(almanac, "alice", Role.OPERATOR)
    almanac.schedules.resume(ADMIN, schedule.schedule_id)
    almanac.pass_ms(MINUTE)

    assert almanac.statuses(schedule) == ["failed", "failed", "submitted"]


@pytest.mark.parametrize(
    ("role", "status"),
    [(Role.VIEWER, "failed"), (Role.OPERATOR, "submitted"), (Role.ADMIN, "submitted")],
)
def test_the_owner_needs_the_role_that_submitting_needs(
    almanac: ScheduleHarness, role: Role, status: str
) -> None:
    token(almanac, "alice", Role.VIEWER)
    token(almanac, "alice", role)
    schedule = almanac.create()
    almanac.pass_ms(MINUTE)

    assert almanac.statuses(schedule) == [status]


def test_where_there_are_no_tokens_nobody_needs_one(almanac: ScheduleHarness) -> None:
    schedule = almanac.create(principal=LOCAL_ADMIN)
    almanac.pass_ms(MINUTE)

    assert almanac.statuses(schedule) == ["submitted"]


def test_what_an_admin_created_for_somebody_stands_while_the_admin_does(
    almanac: ScheduleHarness,
) -> None:
    kept = token(almanac, "root", Role.ADMIN)
    token(almanac, "alice", Role.OPERATOR)
    schedule = almanac.create(principal=BOB_BY_ROOT, overlap_policy=OverlapPolicy.PARALLEL)
    assert almanac.get(schedule).acting_admin == "root"
    almanac.pass_ms(MINUTE)
    [run] = almanac.runs()
    assert run.user_id == "bob"

    almanac.tokens.delete(ADMIN, kept, leave_no_admin=True)
    token(almanac, "root", Role.OPERATOR)
    almanac.pass_ms(MINUTE)

    assert almanac.statuses(schedule) == ["submitted", "failed"]


def test_a_trigger_is_held_to_the_owners_rights_and_names_who_pulled_it(
    almanac: ScheduleHarness,
) -> None:
    kept = token(almanac, "alice", Role.OPERATOR)
    token(almanac, "root", Role.ADMIN)
    schedule = almanac.create(overlap_policy=OverlapPolicy.PARALLEL)
    _, by_owner = almanac.schedules.trigger(ALICE, schedule.schedule_id)
    _, by_other = almanac.schedules.trigger(ADMIN, schedule.schedule_id)
    almanac.tokens.delete(ADMIN, kept)
    paused, refused = almanac.schedules.trigger(ADMIN, schedule.schedule_id)
    _, again = almanac.schedules.trigger(ADMIN, schedule.schedule_id)

    assert paused.status is ScheduleStatus.PAUSED
    assert is_suspended(almanac, schedule, refused)
    assert almanac.executions(schedule) == [by_owner, by_other, refused, again]
    named = [execution.triggered_by for execution in almanac.executions(schedule)]
    assert named == ["alice", "root", "root", "root"]
    assert len(almanac.runs()) == 2


def test_a_fire_at_its_time_was_triggered_by_nobody(almanac: ScheduleHarness) -> None:
    schedule = almanac.create()
    almanac.pass_ms(MINUTE)

    [execution] = almanac.executions(schedule)
    assert execution.triggered_by is None


@pytest.mark.parametrize(
    ("admin_token", "is_loopback", "tokens", "user_id", "may"),
    [
        (None, True, False, "anybody", True),
        (None, False, False, "anybody", False),
        (None, True, True, "anybody", False),
        (None, True, True, LOCAL_ADMIN.user_id, False),
        ("secret", False, False, TOKEN_ADMIN.user_id, True),
        ("secret", True, True, LOCAL_ADMIN.user_id, True),
        ("secret", True, False, "anybody", False),
        (None, True, True, "alice", True),
    ],
)
def test_who_would_still_be_let_in(
    almanac: ScheduleHarness,
    admin_token: str | None,
    is_loopback: bool,
    tokens: bool,
    user_id: str,
    may: bool,
) -> None:
    if tokens:
        token(almanac, "alice", Role.OPERATOR)
    service = TokenService(
        almanac.units, almanac.clock, admin_token=admin_token, is_loopback=is_loopback
    )
    with almanac.units.read() as unit:
        assert service.may_still(unit, user_id, Role.OPERATOR) is may
