"""Deliveries as people read them."""

import time
from typing import Any

from understudy.cli.runs import rows_of
from understudy.core.records import parsed
from understudy.deliveries.model import DeliveryLog


def rows(**more: Any) -> list[tuple[object, ...]]:
    document = {
        "plugin": "http",
        "address": "https://x.test/hook",
        "status": "pending",
        "attempts": 0,
        "delivery_id": "dlv_1",
        **more,
    }
    return rows_of(parsed(DeliveryLog, document))


def soon() -> int:
    return time.time_ns() // 1_000_000 + 10 * 60_000


def test_the_next_try_is_shown_beside_the_last_one() -> None:
    tries = [
        {"attempt": number, "at_ms": 1, "outcome": "retry", "status_code": 503} for number in (1, 2)
    ]

    shown = rows(attempts=2, tries=tries, next_attempt_at_ms=soon())

    assert [row[6] for row in shown] == [None, "in 10m"]
    assert [row[4] for row in shown] == ["retry (503)"] * 2


def test_a_delivery_that_was_not_tried_shows_when_it_will_be() -> None:
    (row,) = rows(next_attempt_at_ms=soon())
    (settled,) = rows(status="skipped")

    assert row[6] == "in 10m"
    assert settled[6] is None
