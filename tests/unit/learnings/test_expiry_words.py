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
    ("The kitchen is shut this month", "2026-12-01"),
    ("parking is free until 2027-01-15", "2027-01-16"),
    ("the lift is out until the end of the month", "2026-12-01"),
    ("办公室关到周五", "2026-11-21"),
    ("电梯停到月底", "2026-12-01"),
    ("văn phòng đóng cửa đến thứ Sáu", "2026-11-21"),
    ("thang máy hỏng đến cuối tháng", "2026-12-01"),
    ("Tôi nghỉ hôm nay", "2026-11-18"),
    ("I am in Rome until tomorrow.", "2026-11-19"),
    ("直到明天", "2026-11-19"),
    ("the desk is free till Tuesday", "2026-11-18"),
]


@pytest.mark.parametrize(("text", "expected"), TEMPORARY)
def test_a_temporary_statement_expires_behind_its_last_day(text: str, expected: str) -> None:
    assert expiry(text) == f"{expected} 00"


# No word of the closed list, or more behind it: a model or a person names the end.
UNREAD = [
    "we freeze deploys until next Friday",
    "I'm on leave until 3 December",
    "I'm away for the next two weeks",
    "next week we work from Graz",
    "本周我在里斯本",
    "到下周五之前不发布",
    "Tuần này tôi ở Lisbon",
    "không phát hành cho đến thứ Sáu tuần sau",
]


@pytest.mark.parametrize("text", UNREAD)
def test_an_end_in_other_words_is_left_to_a_model_or_a_person(text: str) -> None:
    assert expiry(text) is None


LASTING = [
    "We deploy Monday through Friday",
    "logs are kept for 90 days",
    "We decided today to use Kafka",
    "We decided to use Kafka this week",
    "We bought a boat this month",
    "hôm qua chúng tôi quyết định dùng Kafka tuần này",
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
    "Closed until 2027-02-30",
    "Closed until 9999-12-31",
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
