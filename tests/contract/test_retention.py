"""Records that are kept for a while: pruned in batches, by the settings, and only when nobody needs them."""

from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.factories import NOW, make_entry, make_letter, make_run
from understudy.core.clock import DAY_MS
from understudy.mailboxes.model import MessageStatus
from understudy.runs.model import DeliveryStatus, RunStatus
from understudy.settings.config_file import RetentionConfig
from understudy.storage import schema
from understudy.storage.retention import AUDIT, RETAINED
from understudy.storage.unit import Unit, Units
from understudy.testing.clock import FrozenClock
from understudy.work import retention
from understudy.work.retention import RetentionDuty

OLD = NOW - 30 * DAY_MS
YOUNG = NOW - DAY_MS


def duty(units: Units, **days: int) -> RetentionDuty:
    return RetentionDuty(units=units, clock=FrozenClock(NOW), days=days)


def stored(unit: Unit, table: sa.Table, **values: Any) -> None:
    unit.connection.execute(sa.insert(table).values(values))


def count(units: Units, table: sa.Table) -> int:
    with units.read() as unit:
        return unit.connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


@pytest.fixture
def runs(units: Units) -> Mapping[str, str]:
    """A run that has ended, and one that has not."""
    ended = make_run(run_id="run_ended", status=RunStatus.COMPLETED, finished_at_ms=OLD)
    with units.write() as unit:
        unit.runs.add(ended)
        unit.runs.add(make_run(run_id="run_open"))
    return {"ended": "run_ended", "open": "run_open"}


def test_the_settings_name_every_kind_that_is_pruned() -> None:
    assert set(RetentionConfig.model_fields) == {*RETAINED, AUDIT}


def test_captures_go_when_they_are_old(units: Units, runs: Mapping[str, str]) -> None:
    table = schema.debug_requests
    with units.write() as unit:
        for at in (OLD, OLD, YOUNG):
            row = {"run_id": runs["ended"], "step": 1, "attempt": 1, "at_ms": at, "request": {}}
            stored(unit, table, **row)

    duty(units, captures_days=0).claim(1)
    assert count(units, table) == 3, "0 is for ever"
    duty(units, captures_days=7).claim(1)
    assert count(units, table) == 1


def test_artifacts_stay_while_their_run_goes_on(units: Units, runs: Mapping[str, str]) -> None:
    table = schema.artifacts
    with units.write() as unit:
        for name, run_id in runs.items():
            row = {"run_id": run_id, "call_key": name, "tool_name": "shell", "size": 1}
            stored(unit, table, artifact_id=name, created_at_ms=OLD, content=b"", **row)

    duty(units, artifacts_days=7).claim(1)

    with units.read() as unit:
        left = unit.connection.execute(sa.select(table.c.artifact_id)).scalars().all()
    assert left == ["open"]


def test_receipts_go_when_they_are_old(units: Units) -> None:
    with units.write() as unit:
        for name, at in (("a", OLD), ("b", YOUNG)):
            row = {"key_hash": name, "fingerprint": "f", "resource_id": "r", "created_at_ms": at}
            stored(unit, schema.receipts, **row)

    duty(units, receipts_days=7).claim(1)
    assert count(units, schema.receipts) == 1


def test_deliveries_go_with_their_tries_once_they_are_delivered(
    units: Units, runs: Mapping[str, str]
) -> None:
    with units.write() as unit:
        for place, status in enumerate((DeliveryStatus.DELIVERED, DeliveryStatus.DEAD)):
            row = {"run_id": runs["ended"], "position": place, "plugin": "webhook", "address": {}}
            counts = {"attempts": 1, "attempts_before": 0, "delivered_at_ms": OLD}
            stored(
                unit, schema.deliveries, delivery_id=status.value, status=status, **row, **counts
            )
            tried = {"attempt": 1, "at_ms": OLD, "outcome": "delivered"}
            stored(unit, schema.delivery_tries, delivery_id=status.value, **tried)

    duty(units, deliveries_days=7).claim(1)

    assert (count(units, schema.deliveries), count(units, schema.delivery_tries)) == (1, 1)


def test_mail_goes_once_it_was_read(units: Units) -> None:
    with units.write() as unit:
        for status in (MessageStatus.ACKED, MessageStatus.PENDING):
            letter = make_letter(message_id=f"msg_{status}", status=status, updated_at_ms=OLD)
            unit.messages.add(letter)

    duty(units, messages_days=7).claim(1)
    assert count(units, schema.messages) == 1


def test_the_audit_is_shortened_at_its_start_and_still_verifies(units: Units) -> None:
    for at in (OLD, OLD, YOUNG):
        with units.write() as unit:
            unit.audit.add(make_entry(at_ms=at))
    assert units.seal()

    duty(units, audit_days=7).claim(1)

    assert count(units, schema.audit) == 1
    with units.read() as unit:
        assert unit.chains.verify().ok


def test_a_batch_is_small_and_the_next_one_is_due_soon(
    units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    with units.write() as unit:
        for number in range(5):
            row = {"fingerprint": "f", "resource_id": "r", "created_at_ms": OLD}
            stored(unit, schema.receipts, key_hash=str(number), **row)

    left, due = [], []
    for _ in range(3):
        due.append(duty(units, receipts_days=7).claim(1).due_at_ms is not None)
        left.append(count(units, schema.receipts))
    assert (left, due) == ([3, 1, 0], [True, True, False])
