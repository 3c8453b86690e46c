"""The expiry of temporary statements, from their own words."""

from datetime import UTC, datetime

import pytest

from tests.support.cpu_effort import takes_under
from understudy.learnings.expiry_words import proposed_expiry

# A Tuesday.
NOW = int(datetime(2026, 11, 17, 13, tzinfo=UTC).timestamp()) * 1000


def expiry(text: str) -> str | None:
    at_ms = proposed_expiry(text, NOW)
    return None if at_ms is None else f"{datetime.fromtimestamp(at_ms / 1000, tz=UTC):%Y-%m-%d %H}"


TEMPORARY = [
    ("I'm in Lisbon this week", "2026-11-23"),
    ("The office is closed until Friday", "2026-11-21"),
    ("we freeze deploys until next Friday", "2026-11-28"),
    ("Use the old login today", "2026-11-18"),
    ("The kitchen is shut this month", "2026-12-01"),
    ("Budget this quarter is 10k", "2027-01-01"),
    ("I'm on leave until 3 December", "2026-12-04"),
    ("on call through December 5th", "2026-12-06"),
    ("parking is free until 2027-01-15", "2027-01-16"),
    ("I'm away for the next two weeks", "2026-12-02"),
    ("for the next 3 days use Bob's desk", "2026-11-21"),
    ("the lift is out until the end of the month", "2026-12-01"),
    ("until March we share a desk", "2027-04-01"),
    ("我本周在里斯本", "2026-11-23"),
    ("办公室关到周五", "2026-11-21"),
    ("到下周五之前不发布", "2026-11-28"),
    ("今天用旧的登录", "2026-11-18"),
    ("这个月厨房停用", "2026-12-01"),
    ("停车免费到12月5日", "2026-12-06"),
    ("接下来两周我休假", "2026-12-02"),
    ("电梯停到月底", "2026-12-01"),
    ("未来三天用小王的桌子", "2026-11-21"),
    ("Tuần này tôi ở Lisbon", "2026-11-23"),
    ("văn phòng đóng cửa đến thứ Sáu", "2026-11-21"),
    ("không phát hành cho đến thứ Sáu tuần sau", "2026-11-28"),
    ("hôm nay dùng lối vào cũ", "2026-11-18"),
    ("bếp đóng cửa tháng này", "2026-12-01"),
    ("tôi nghỉ đến ngày 5 tháng 12", "2026-12-06"),
    ("trong 3 ngày tới dùng bàn của An", "2026-11-21"),
    ("thang máy hỏng đến cuối tháng", "2026-12-01"),
    ("I am off this Friday", "2026-11-21"),
    ("tôi nghỉ thứ Sáu này", "2026-11-21"),
    ("next week we work from Graz", "2026-11-30"),
]


@pytest.mark.parametrize(("text", "expected"), TEMPORARY)
def test_a_temporary_statement_expires_behind_its_last_day(text: str, expected: str) -> None:
    assert expiry(text) == f"{expected} 00"


def test_hours_are_counted_from_now() -> None:
    assert expiry("For the next 4 hours use host b") == "2026-11-17 17"


LASTING = [
    "We deploy Monday through Friday",
    "logs are kept for 90 days",
    "We decided today to use Kafka",
    "from today on we use Kafka",
    "as of this week the CI runs nightly",
    "营业时间周一到周五",
    "从今天起用 Kafka",
    "本周开始用 Kafka",
    "làm việc từ thứ Hai đến thứ Sáu",
    "từ hôm nay dùng Kafka",
    "I prefer tea",
    "standups are on Friday",
    "weekly report every week",
    "我们今年换了供应商",
    "the shop is open until 5pm",
    "Mai is the CFO",
    "trong 90 ngày nhật ký bị xóa",
    "never reply until asked",
    "the backup runs at the end of the month",
    "until 99 June",
    "until 2027-13-45",
    "",
]


@pytest.mark.parametrize("text", LASTING)
def test_what_lasts_or_begins_has_no_expiry(text: str) -> None:
    assert expiry(text) is None


@pytest.mark.parametrize(
    "part", ["until ", "trong 3 ngày ", "this week from ", "周一到", "到", "from today "]
)
def test_no_statement_takes_long(part: str) -> None:
    assert takes_under(0.3, lambda: proposed_expiry(part * 1_000, NOW))
