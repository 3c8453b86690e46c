"""The outbox of webhooks: claimed once, tried again, given up, and never lost."""

import asyncio
import hashlib
import hmac
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from threading import Barrier, Thread
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN, ALICE, NOW, make_new_event, make_run
from tests.support.receiver import Receiver
from tests.support.run_harness import until
from understudy.core.bell import Bell
from understudy.core.errors import Conflict, NotFound
from understudy.core.page import PageRequest
from understudy.deliveries.model import MAX_ATTEMPTS, ClaimedDelivery, Try, TryOutcome
from understudy.deliveries.service import DeliveryService, WebhookSecret
from understudy.deliveries.webhook import WebhookSender
from understudy.deliveries.worker import LEASE_MS, DeliveryDuty
from understudy.runs.deliveries import queue_deliveries, shown_deliveries
from understudy.runs.model import Delivery, DeliveryStatus, Run, RunStatus
from understudy.runs.service import detail_of
from understudy.runs.sleep import fail_unread
from understudy.sessions.model import ReplyTarget
from understudy.storage.schema import deliveries, runs
from understudy.storage.unit import Units
from understudy.telemetry.metrics import Metrics
from understudy.testing.clock import FrozenClock
from understudy.work.worker import Worker

pytestmark = pytest.mark.anyio

ADDRESS = "http://127.0.0.1:9/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver
        receiver.release()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(NOW)


def worker_on(units: Units, clock: FrozenClock, **parts: object) -> DeliveryDuty:
    known = {
        "units": units,
        "clock": clock,
        "secret": WebhookSecret(units=units, clock=clock),
        "sender": WebhookSender(timeout_s=5),
        "observer": Metrics(),
        "jitter": lambda: 1.0,
    }
    return DeliveryDuty(**(known | parts))  # type: ignore[arg-type]


def end_run(
    units: Units, *addresses: str, status: RunStatus = RunStatus.COMPLETED, **fields: Any
) -> Run:
    """A run with webhooks that has just ended, its deliveries in the outbox."""
    run = make_run(
        status=status,
        reply_targets=tuple(ReplyTarget(plugin="http", address=each) for each in addresses),
        **({"started_at_ms": NOW, "finished_at_ms": NOW} | fields),
    )
    with units.write() as unit:
        unit.runs.add(run)
        event = make_new_event(run_id=run.run_id, data={"text": "done", "step": 1})
        unit.journal.append("s1", (event,), at_ms=NOW)
        queue_deliveries(unit, run)
    return run


def sent(units: Units, run: Run) -> list[Delivery]:
    with units.read() as unit:
        return list(unit.deliveries.of_runs([run.run_id]).get(run.run_id, {}).values())


async def work(worker: DeliveryDuty, limit: int = 100) -> int:
    """Try everything that is due, once."""
    claimed = worker.claim(limit).items
    for each in claimed:
        await worker.deliver(each)
    return len(claimed)


async def test_the_end_of_a_run_is_posted_and_signed(
    units: Units, clock: FrozenClock, receiver: Receiver
) -> None:
    run = end_run(units, receiver.url)
    worker = worker_on(units, clock)

    assert await work(worker) == 1

    [request], [delivery] = receiver.requests, sent(units, run)
    assert receiver.told == [
        {
            "delivery_id": delivery.delivery_id,
            "run_id": run.run_id,
            "session_id": "s1",
            "status": "completed",
            "outputs": [{"text": "done"}],
            "finished_at_ms": NOW,
        }
    ]
    assert request.headers["x-understudy-delivery"] == delivery.delivery_id
    signed = request.headers["x-understudy-timestamp"].encode() + b"." + request.body
    expected = hmac.new(worker.secret.current().encode(), signed, hashlib.sha256).hexdigest()
    assert request.headers["x-understudy-signature"] == f"sha256={expected}"
    assert (delivery.status, delivery.attempts) == ("delivered", 1)
    assert delivery.delivered_at_ms == NOW
    assert await work(worker) == 0


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.CANCELLED])
async def test_whatever_way_a_run_ended_is_told(
    units: Units, clock: FrozenClock, receiver: Receiver, status: RunStatus
) -> None:
    end_run(units, receiver.url, status=status, error="it broke")

    await work(worker_on(units, clock))

    [told] = receiver.told
    assert (told["status"], told["error"]) == (str(status), "it broke")


def test_a_run_cancelled_in_the_queue_sends_nothing_and_says_so(units: Units) -> None:
    run = end_run(units, ADDRESS, status=RunStatus.CANCELLED, started_at_ms=None)

    assert sent(units, run) == []
    assert [delivery.status for delivery in shown_deliveries(run, {})] == ["skipped"]


def test_before_its_end_a_delivery_is_pending(units: Units) -> None:
    run = end_run(units, ADDRESS, status=RunStatus.RUNNING, finished_at_ms=None)

    assert sent(units, run) == []
    assert [delivery.status for delivery in shown_deliveries(run, {})] == ["pending"]


def test_a_run_that_could_not_begin_tells_its_webhook(units: Units) -> None:
    run = make_run(reply_targets=(ReplyTarget(plugin="http", address=ADDRESS),))
    with units.write() as unit:
        unit.runs.add(run)
    with units.write() as unit:
        fail_unread(unit, run.run_id, reason="the agent is gone", at_ms=NOW)

    assert [delivery.status for delivery in sent(units, run)] == ["pending"]
    with units.read() as unit:
        stored = unit.runs.get(run.run_id)
        assert stored is not None
        detail = detail_of(unit, stored)
    assert [each.address for each in shown_deliveries(detail.run, detail.sent)] == [ADDRESS]


def test_a_run_that_cannot_be_read_ends_all_the_same(database: UnitsOnDatabase) -> None:
    run = make_run(reply_targets=(ReplyTarget(plugin="http", address=ADDRESS),))
    with database.units.write() as unit:
        unit.runs.add(run)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE runs SET wanted = 'torn'")
    with database.units.write() as unit:
        fail_unread(unit, run.run_id, reason="torn", at_ms=NOW)

    assert sent(database.units, run) == []


async def test_two_workers_share_the_work_and_send_nothing_twice(
    units: Units, clock: FrozenClock, receiver: Receiver
) -> None:
    for _ in range(6):
        end_run(units, receiver.url, receiver.url)
    workers = [worker_on(units, clock) for _ in range(2)]
    claimed: list[tuple[ClaimedDelivery, ...]] = []
    ready = Barrier(2)

    def claim(worker: DeliveryDuty) -> None:
        ready.wait(10)
        claimed.extend(iter([worker.claim(8).items]))

    threads = [Thread(target=claim, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [each.delivery_id for batch in claimed for each in batch]
    rest = [each.delivery_id for each in workers[0].claim(100).items]

    assert len(ids + rest) == len(set(ids + rest)) == 12


async def test_a_target_that_fails_is_tried_again_after_a_wait(
    units: Units, clock: FrozenClock, receiver: Receiver
) -> None:
    receiver.statuses.extend([503, 429])
    run = end_run(units, receiver.url)
    worker = worker_on(units, clock)

    await work(worker)
    [waiting] = sent(units, run)
    assert (waiting.status, waiting.attempts) == ("pending", 1)
    assert waiting.next_attempt_at_ms == NOW + 1000
    assert waiting.last_error == "the target answered 503"
    assert await work(worker) == 0
    clock.advance(1000)
    assert await work(worker) == 1
    clock.advance(4000)
    assert await work(worker) == 1

    [delivered] = sent(units, run)
    assert (delivered.status, delivered.attempts) == ("delivered", 3)
    assert delivered.last_error is None
    assert len({told["delivery_id"] for told in receiver.told}) == 1


async def test_after_eight_attempts_a_delivery_is_dead_and_can_be_revived(
    units: Units, clock: FrozenClock, receiver: Receiver
) -> None:
    receiver.statuses.extend([500] * MAX_ATTEMPTS)
    run = end_run(units, receiver.url)
    worker, service = worker_on(units, clock), DeliveryService(units, clock)

    for _ in range(MAX_ATTEMPTS + 2):
        await work(worker)
        clock.advance(3_600_000)
    [log] = service.of_run(run.run_id)
    assert (log.status, log.attempts) == ("dead", MAX_ATTEMPTS)
    assert log.next_attempt_at_ms is None
    assert log.last_error == "given up after 8 attempts: the target answered 500"
    assert [tried.outcome for tried in log.tries] == [TryOutcome.RETRY] * 7 + [TryOutcome.DEAD]

    again = service.retry(ALICE, run.run_id, log.delivery_id or "")
    assert again.status == "pending"
    assert await work(worker) == 1
    [log] = service.of_run(run.run_id)
    assert (log.status, log.attempts) == ("delivered", MAX_ATTEMPTS + 1)
    assert [tried.status_code for tried in log.tries] == [500] * 8 + [200]
    with units.read() as unit:
        [entry, *_] = unit.audit.page(PageRequest(), resource="deliveries", actor=None).items
    assert (entry.action, entry.resource_id) == ("deliveries.retry", log.delivery_id)


async def test_a_revived_delivery_has_as_many_attempts_as_a_new_one(
    units: Units, clock: FrozenClock, receiver: Receiver
) -> None:
    receiver.statuses.extend([500] * 16)
    run = end_run(units, receiver.url)
    worker, service = worker_on(units, clock), DeliveryService(units, clock)
    for _ in range(2):
        for _ in range(MAX_ATTEMPTS):
            await work(worker)
            clock.advance(3_600_000)
        [dead] = sent(units, run)
        assert dead.status == "dead"
        service.retry(ALICE, run.run_id, dead.delivery_id or "")

    assert len(receiver.requests) == 16


@pytest.mark.parametrize("status", [301, 400, 410])
async def test_a_refusal_is_final(
    units: Units, clock: FrozenClock, receiver: Receiver, status: int
) -> None:
    receiver.statuses.append(status)
    run = end_run(units, receiver.url)

    await work(worker_on(units, clock))

    [delivery] = sent(units, run)
    assert (delivery.status, delivery.attempts) == ("dead", 1)


async def test_only_the_dead_are_revived(units: Units, clock: FrozenClock) -> None:
    run, other = end_run(units, ADDRESS), end_run(units, ADDRESS)
    service = DeliveryService(units, clock)
    [delivery] = sent(units, run)

    with pytest.raises(Conflict) as refused:
        service.retry(ALICE, run.run_id, delivery.delivery_id or "")
    assert refused.value.code == "delivery_state_conflict"
    for run_id, delivery_id in [(other.run_id, delivery.delivery_id or ""), (run.run_id, "dlv_0")]:
        with pytest.raises(NotFound) as unknown:
            service.retry(ALICE, run_id, delivery_id)
        assert unknown.value.code == "delivery_not_found"
    with pytest.raises(NotFound):
        service.of_run("run_0")


async def test_a_crash_between_the_post_and_the_writing_repeats_it_under_the_same_id(
    units: Units, clock: FrozenClock, receiver: Receiver
) -> None:
    run = end_run(units, receiver.url)
    worker = worker_on(units, clock)
    receiver.hold()
    [claimed] = worker.claim(1).items
    task = asyncio.create_task(worker.deliver(claimed))
    await asyncio.to_thread(receiver.wait_for, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    receiver.release()

    other = worker_on(units, clock)
    assert await work(other) == 0
    clock.advance(LEASE_MS)
    assert await work(other) == 1

    [delivery] = sent(units, run)
    assert (delivery.status, delivery.attempts) == ("delivered", 2)
    assert [told["delivery_id"] for told in receiver.told] == [delivery.delivery_id] * 2


async def test_a_worker_that_comes_back_late_changes_nothing(
    units: Units, clock: FrozenClock, receiver: Receiver
) -> None:
    run = end_run(units, receiver.url)
    worker = worker_on(units, clock)
    [late] = worker.claim(1).items
    clock.advance(LEASE_MS)
    await work(worker)
    tried = Try(attempt=late.attempt, at_ms=NOW, outcome=TryOutcome.DEAD, error="too late")

    with units.write() as unit:
        is_ours = unit.deliveries.settle(late, tried, DeliveryStatus.DEAD, due_at_ms=None)

    assert not is_ours
    assert [delivery.status for delivery in sent(units, run)] == ["delivered"]


async def test_crashes_use_up_the_attempts_as_well(units: Units, clock: FrozenClock) -> None:
    run = end_run(units, ADDRESS)
    worker = worker_on(units, clock)
    for _ in range(MAX_ATTEMPTS):
        assert len(worker.claim(1).items) == 1
        clock.advance(LEASE_MS)

    assert worker.claim(1).items == ()
    [delivery] = sent(units, run)
    assert (delivery.status, delivery.attempts) == ("dead", MAX_ATTEMPTS)


async def test_a_run_that_can_no_longer_be_read_ends_its_deliveries(
    database: UnitsOnDatabase, clock: FrozenClock
) -> None:
    run = end_run(database.units, ADDRESS)
    with database.engine.begin() as connection:
        connection.execute(sa.update(runs).values(state=["torn"]))

    await work(worker_on(database.units, clock))

    [delivery] = sent(database.units, run)
    assert (delivery.status, delivery.last_error) == ("dead", "the run can no longer be read")


async def test_an_address_that_can_no_longer_be_read_ends_its_delivery(
    database: UnitsOnDatabase, clock: FrozenClock
) -> None:
    run = end_run(database.units, ADDRESS)
    with database.engine.begin() as connection:
        connection.execute(sa.update(deliveries).values(address={"torn": 1}))

    await work(worker_on(database.units, clock))

    [delivery] = sent(database.units, run)
    assert (delivery.address, delivery.status) == ("", "dead")


async def test_a_slow_target_does_not_hold_up_the_others(units: Units, clock: FrozenClock) -> None:
    with ExitStack() as stack:
        slow, quick = (stack.enter_context(Receiver()) for _ in range(2))
        slow.hold()
        held = end_run(units, slow.url)
        run = end_run(units, quick.url)
        task = asyncio.create_task(
            Worker(duty=worker_on(units, clock), clock=clock, bell=Bell()).run()
        )
        await asyncio.to_thread(slow.wait_for, 1)
        await asyncio.to_thread(quick.wait_for, 1)
        await until(lambda: [each.status for each in sent(units, run)] == ["delivered"])
        assert [each.status for each in sent(units, held)] == ["pending"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        slow.release()


def test_a_secret_is_made_at_its_first_use_and_stays(units: Units, clock: FrozenClock) -> None:
    first = WebhookSecret(units=units, clock=clock).current()

    assert len(first) > 32
    assert WebhookSecret(units=units, clock=clock).current() == first


def test_a_rotated_secret_replaces_the_old_one(units: Units, clock: FrozenClock) -> None:
    secret = WebhookSecret(units=units, clock=clock)
    first, made = secret.current(), secret.rotate(ADMIN)

    assert made != first
    assert secret.current() == made
    assert made not in repr(secret)
    with units.read() as unit:
        [entry] = unit.audit.page(PageRequest(), resource="webhooks", actor=None).items
    assert entry.action == "webhooks.rotate_secret"


def test_a_configured_secret_is_used_and_not_rotated_here(units: Units, clock: FrozenClock) -> None:
    secret = WebhookSecret(units=units, clock=clock, configured="from-the-settings")

    assert secret.current() == "from-the-settings"
    assert "from-the-settings" not in repr(secret)
    with pytest.raises(Conflict) as refused:
        secret.rotate(ADMIN)
    assert refused.value.code == "webhook_secret_configured"


def test_what_is_shown_joins_the_outbox_with_the_run(units: Units) -> None:
    local = ReplyTarget(plugin="local", address="here")
    web = ReplyTarget(plugin="http", address=ADDRESS)
    run = make_run(
        status=RunStatus.COMPLETED,
        started_at_ms=NOW,
        finished_at_ms=NOW,
        reply_targets=(local, web, local),
    )
    with units.write() as unit:
        unit.runs.add(run)
        queue_deliveries(unit, run)
        detail = detail_of(unit, replace(run))

    shown = shown_deliveries(detail.run, detail.sent)
    assert [each.plugin for each in shown] == ["local", "http", "local"]
    assert [each.delivery_id is not None for each in shown] == [False, True, False]
