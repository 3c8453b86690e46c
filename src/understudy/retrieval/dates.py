"""Periods of time that a question names, and how well the time of a record fits."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from understudy.core.clock import DAY_MS

_MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH: Final = "|".join(f"{name}|{name[:3]}" for name in _MONTHS)
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_NAMED: Final = rf"(?P<name>{_MONTH})\.?"
# Every written date has a year; most questions have none.
_HAS_YEAR: Final = re.compile(r"(?:19|20)\d\d")
# The most precise first; the first match is the period of the question.
_WRITTEN: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})\b",
        rf"\b{_DAY}(?: of)? {_NAMED},? ?{_YEAR}\b",
        rf"\b{_NAMED} {_DAY},? ?{_YEAR}\b",
        rf"(?:\bngày )?(?P<day>\d{{1,2}}) tháng (?P<month>\d{{1,2}}),? năm {_YEAR}\b",
        rf"{_YEAR}年(?P<month>\d{{1,2}})月(?P<day>\d{{1,2}})[日号]",
        rf"\b{_NAMED},? {_YEAR}\b",
        rf"\btháng (?P<month>\d{{1,2}})(?: năm |/){_YEAR}\b",
        rf"{_YEAR}年(?P<month>\d{{1,2}})月",
        rf"(?<![a-z0-9_.]){_YEAR}(?![a-z0-9_])",
    )
)
# The weight of a period of this kind, and how many days after it still match.
_DAY_SPAN: Final = (6.0, 7)
_MONTH_SPAN: Final = (4.0, 30)
_YEAR_SPAN: Final = (1.0, 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A period of time, its weight, and the words that named it."""

    start_ms: int
    end_ms: int
    points: float
    slack_ms: int
    words: str

    def holds(self, at_ms: int) -> bool:
        """Whether a time is within the period."""
        return self.start_ms <= at_ms < self.end_ms

    def fit(self, at_ms: int) -> float:
        """1 within the period, decreasing in the days after it, 0 otherwise."""
        if at_ms < self.start_ms:
            return 0.0
        return max(0.0, 1.0 - max(0, at_ms - self.end_ms) / self.slack_ms)


def period_of(text: str, now_ms: int | None = None) -> Period | None:
    """The period that a text names; a word like `yesterday` is relative to `now_ms`."""
    for pattern in _WRITTEN if _HAS_YEAR.search(text) else ():
        if (found := pattern.search(text)) and (period := _written(found)):
            return period
    return None if now_ms is None else _relative(text, now_ms)


def _written(found: re.Match[str]) -> Period | None:
    said = found.groupdict()
    name = (said.get("name") or "").casefold()[:3]
    month = next((at for at, it in enumerate(_MONTHS, 1) if it[:3] == name), None) if name else None
    month = month or int(said.get("month") or 0)
    year, day = int(said["year"]), int(said.get("day") or 0)
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
    except ValueError:
        return None
    if day:
        return _period(start, start + timedelta(days=1), _DAY_SPAN, found[0])
    if month:
        return _period(start, _month_after(start), _MONTH_SPAN, found[0])
    return _period(start, start.replace(year=year + 1), _YEAR_SPAN, found[0])


def _period(start: datetime, end: datetime, span: tuple[float, int], words: str) -> Period:
    points, days = span
    return Period(
        start_ms=round(start.timestamp() * 1000),
        end_ms=round(end.timestamp() * 1000),
        points=points,
        slack_ms=days * DAY_MS,
        words=words,
    )


def _month_after(day: datetime) -> datetime:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def _month_before(day: datetime) -> datetime:
    return (day.replace(day=1) - timedelta(days=1)).replace(day=1)


# The first day relative to today, and the number of days.
_RELATIVE: Final[tuple[tuple[str, Callable[[datetime], datetime], int, tuple[float, int]], ...]] = (
    (r"\btoday\b|hôm nay|今天", lambda day: day, 1, _DAY_SPAN),
    (r"\byesterday\b|hôm qua|昨天", lambda day: day - timedelta(days=1), 1, _DAY_SPAN),
    (
        r"\blast week\b|tuần trước|上周",
        lambda day: day - timedelta(days=day.weekday() + 7),
        7,
        _MONTH_SPAN,
    ),
    (
        r"\bthis week\b|tuần này|本周",
        lambda day: day - timedelta(days=day.weekday()),
        7,
        _MONTH_SPAN,
    ),
    (r"\blast month\b|tháng trước|上个月", _month_before, 31, _MONTH_SPAN),
    (r"\bthis month\b|tháng này|这个月", lambda day: day.replace(day=1), 31, _MONTH_SPAN),
)


def _relative(text: str, now_ms: int) -> Period | None:
    try:
        now = datetime.fromtimestamp(now_ms / 1000, tz=UTC)
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        for pattern, begin, days, span in _RELATIVE:
            if found := re.search(pattern, text, re.IGNORECASE):
                start = begin(today)
                return _period(start, start + timedelta(days=days), span, found[0])
    except (OverflowError, ValueError, OSError):
        return None
    return None
