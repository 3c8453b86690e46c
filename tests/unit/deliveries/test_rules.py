"""Signature, back-off, and what an answer means."""

import hashlib
import hmac
from datetime import UTC, datetime

import pytest

from tests.support.factories import NOW, make_event, make_run
from understudy.core.machine import Machine
from understudy.deliveries.model import (
    DELIVERY,
    MAX_ATTEMPTS,
    WAITS_S,
    TargetAnswer,
    TryOutcome,
    may_retry,
    wait_ms,
)
from understudy.deliveries.webhook import retry_after_s
from understudy.deliveries.worker import headers, judge, message, signature
from understudy.runs.model import DeliveryStatus, RunStatus
from understudy.sessions.journal import EventKind

SECRET = "whsec_" + "for-tests-only"


def test_the_signature_is_an_hmac_over_timestamp_and_body() -> None:
    expected = hmac.new(SECRET.encode(), b'1700000000000.{"a":1}', hashlib.sha256).hexdigest()

    assert signature(SECRET, 1_700_000_000_000, b'{"a":1}') == f"sha256={expected}"


@pytest.mark.parametrize(
    ("secret", "at_ms", "body"),
    [("other" + SECRET, NOW, b"{}"), (SECRET, NOW + 1, b"{}"), (SECRET, NOW, b"{ }")],
    ids=["another secret", "another time", "another body"],
)
def test_whatever_changes_changes_the_signature(secret: str, at_ms: int, body: bytes) -> None:
    assert signature(secret, at_ms, body) != signature(SECRET, NOW, b"{}")


def test_the_headers_name_the_delivery_and_carry_the_signature() -> None:
    sent = headers(SECRET, "dlv_1", NOW, b"{}")

    assert sent["X-Understudy-Delivery"] == "dlv_1"
    assert sent["X-Understudy-Timestamp"] == str(NOW)
    assert sent["X-Understudy-Signature"] == signature(SECRET, NOW, b"{}")
    assert sent["User-Agent"].startswith("understudy/")


def test_the_message_tells_the_end_of_a_run_and_is_the_same_each_time() -> None:
    run = make_run(run_id="run_1", status=RunStatus.FAILED, error="no \ud83d", finished_at_ms=NOW)
    outputs = [make_event(EventKind.OUTPUT, 3, data={"text": "half"})]

    said = message("dlv_1", run, outputs)

    assert said == message("dlv_1", run, outputs)
    assert said == (
        b'{"delivery_id":"dlv_1","run_id":"run_1","session_id":"s1","status":"failed",'
        b'"outputs":[{"text":"half"}],"finished_at_ms":1700000000000,"error":"no \\ud83d"}'
    )


def test_waits_grow_fourfold_up_to_an_hour() -> None:
    assert WAITS_S == (1, 4, 16, 64, 256, 1024, 3600)
    full = [wait_ms(attempt, jitter=1.0) for attempt in range(1, MAX_ATTEMPTS + 1)]
    assert full == [1000, 4000, 16_000, 64_000, 256_000, 1_024_000, 3_600_000, None]


@pytest.mark.parametrize("attempt", range(1, MAX_ATTEMPTS))
def test_half_of_a_wait_is_left_to_chance(attempt: int) -> None:
    whole = wait_ms(attempt, jitter=1.0)

    assert whole is not None
    assert wait_ms(attempt, jitter=0.0) == whole // 2


@pytest.mark.parametrize(
    ("asked", "given"), [(0.0, 1000), (7.0, 7000), (0.2, 1000), (1e9, 3_600_000)]
)
def test_a_target_may_ask_for_a_longer_wait_within_bounds(asked: float, given: int) -> None:
    assert wait_ms(1, jitter=1.0, retry_after_s=asked) == given


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 5 ", 5.0),
        ("", 0.0),
        ("-3", 0.0),
        ("soon", 0.0),
        ("1e9", 0.0),
        ("٣", 0.0),
        ("Mon, 16 Nov 2026 00:01:30 GMT", 90.0),
        ("Mon, 16 Nov 2026 00:01:30", 90.0),
        ("Mon, 16 Nov 2020 00:00:00 GMT", 0.0),
        ("Mon, 99 Nov 2020 99:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(header: str, seconds: float) -> None:
    now = datetime(2026, 11, 16, tzinfo=UTC)

    assert retry_after_s(header, now=now) == seconds


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, TryOutcome.DELIVERED),
        (204, TryOutcome.DELIVERED),
        (299, TryOutcome.DELIVERED),
        (301, TryOutcome.DEAD),
        (302, TryOutcome.DEAD),
        (307, TryOutcome.DEAD),
        (400, TryOutcome.DEAD),
        (401, TryOutcome.DEAD),
        (404, TryOutcome.DEAD),
        (410, TryOutcome.DEAD),
        (429, TryOutcome.RETRY),
        (500, TryOutcome.RETRY),
        (503, TryOutcome.RETRY),
        (600, TryOutcome.DEAD),
        (None, TryOutcome.RETRY),
    ],
)
def test_a_status_means_one_thing(status: int | None, outcome: TryOutcome) -> None:
    answer = TargetAnswer(status_code=status, error=None if status else "gone")

    assert judge(answer, attempt=1, jitter=0.5).outcome is outcome


def test_the_last_attempt_is_not_followed_by_another() -> None:
    verdict = judge(TargetAnswer(status_code=503), attempt=MAX_ATTEMPTS, jitter=0.5)

    assert verdict.outcome is TryOutcome.DEAD
    assert verdict.error == "given up after 8 attempts: the target answered 503"


def test_a_final_answer_is_not_asked_for_again() -> None:
    verdict = judge(TargetAnswer(error="never", is_final=True), attempt=1, jitter=0.5)

    assert (verdict.outcome, verdict.error) == (TryOutcome.DEAD, "never")


def test_only_a_dead_delivery_may_be_tried_again() -> None:
    assert isinstance(DELIVERY, Machine)
    assert {status for status in DeliveryStatus if may_retry(status)} == {DeliveryStatus.DEAD}
