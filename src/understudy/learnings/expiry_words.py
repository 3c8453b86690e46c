"""The expiry that the words of a temporary statement name: `this week`, `until Friday`, `本周`, `tuần này`."""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import islice
from typing import Final

from understudy.core.clock import DAY_MS
from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.patterns.word_lists import WordLists

_WORDS: Final = WordLists("understudy.learnings", "expiry_words.toml")
_HAN: Final = re.compile(f"[{HAN_AND_KANA}]")
MAX_CHARS: Final = 2_000
MAX_SPAN: Final = 366
# Maximum number of words such as `until` whose context is read.
MAX_BOUNDS: Final = 8
HOUR_MS: Final = DAY_MS // 24
WEEK_DAYS: Final = 7
YEAR_MONTHS: Final = 12
# Months of the periods that begin with a month.
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_UNTIL_GAP: Final = r"\s{0,2}(?P<next>next|下)?(?:the|this|coming|hết|ngày|本|这)?\s{0,2}"
# Something that happened then, and holds on.
_EVENT: Final = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bam )(?<!\bbe )(?<!['’]m )(?<!['’]s )(?<!['’]re )\b(?!need|speed|feed|seed)[a-z]{2,20}ed\b"
    r"|\b(?:was|were|had|went|came|became|chose|began|left|bought|sold|made|took|got|met|told|said|found|wrote|đã|vừa)\b|了(?!解)"
)


def proposed_expiry(text: str, now_ms: int) -> int | None:
    """When a statement said at `now_ms` ceases to hold by its own words, in UTC; None for most."""
    line = " ".join(unicodedata.normalize("NFKC", text[:MAX_CHARS]).casefold().split())
    today = datetime.fromtimestamp(now_ms / 1000, tz=UTC).date()
    try:
        for last in _last_days(line, today):
            end = datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1)
            return int(end.timestamp()) * 1000
        hours = _span(line, "hour")
    except (OverflowError, ValueError):
        return None
    return now_ms + hours * HOUR_MS if hours else None


def _last_days(line: str, today: date) -> Iterator[date]:
    """The last day on which a statement holds, by each rule that finds one; the surest first."""
    yield from _until(line, today)
    for unit, days in (("day", 1), ("week", WEEK_DAYS)):
        if length := _span(line, unit):
            yield today + timedelta(days=length * days)
    for unit in ("month", "year"):
        if length := _span(line, unit):
            yield _plus_months(today, length * _MONTHS[unit])
    if found := _this_weekday().search(line):
        yield _weekday(found, today)
    if not _EVENT.search(line):
        for phrase, last in _periods(today):
            if phrase not in _WORDS.set("bounds.only_after_until") and _is_said(phrase, line):
                yield last


def _until(line: str, today: date) -> Iterator[date]:
    for found in islice(_until_words().finditer(line), MAX_BOUNDS):
        before, rest = line[: found.start()], line[found.end() :]
        if target := re.match(_weekday_group(), rest):
            # From Monday until Friday is every week.
            if not re.search(rf"{_weekday_group()}\s{{0,2}}$", before):
                yield _weekday(
                    target,
                    today,
                    is_next=bool(found["next"]) or _is_next_week(rest[target.end() :]),
                )
            continue
        if last := _date(rest, today):
            yield last
        for phrase, last in _periods(today):
            if re.match(_whole(phrase), rest) or re.match(
                _whole(phrase), f"{found['next'] or ''} {rest}".strip()
            ):
                yield last
                break


def _periods(today: date) -> Iterator[tuple[str, date]]:
    """Phrases for days, weeks, months, quarters and years, with their last days."""
    for days in range(3):
        yield from ((it, today + timedelta(days=days)) for it in _WORDS(f"days.{days}"))
    for which, ahead in (("next", 1), ("this", 0)):
        sunday = today + timedelta(days=WEEK_DAYS - today.isoweekday() + WEEK_DAYS * ahead)
        yield from ((it, sunday) for it in _WORDS(f"{which}.week"))
        for unit, months in _MONTHS.items():
            first = date(today.year, (today.month - 1) // months * months + 1, 1)
            last = _plus_months(first, months * (ahead + 1)) - timedelta(days=1)
            yield from ((it, last) for it in _WORDS(f"{which}.{unit}"))


def _plus_months(day: date, months: int) -> date:
    total = day.year * YEAR_MONTHS + day.month - 1 + months
    year, month = divmod(total, YEAR_MONTHS)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _is_said(phrase: str, line: str) -> bool:
    """Whether a phrase names the time of a statement, and not when it begins."""
    starts, ends = _any(_WORDS("bounds.from")), _any(_WORDS("bounds.from_behind"))
    return any(
        not re.search(rf"{starts}\s{{0,2}}$", line[max(0, found.start() - 24) : found.start()])
        and not re.match(rf"\s{{0,2}}{ends}", line[found.end() :])
        for found in re.finditer(_whole(phrase), line)
    )


def _weekday(found: re.Match[str], today: date, *, is_next: bool = False) -> date:
    number = next(
        it for it in range(1, WEEK_DAYS + 1) if found["day"] in _WORDS.set(f"weekdays.{it}")
    )
    if is_next:
        return today + timedelta(days=WEEK_DAYS - today.isoweekday() + number)
    return today + timedelta(days=(number - today.isoweekday()) % WEEK_DAYS)


def _is_next_week(rest: str) -> bool:
    return rest.lstrip().startswith(_WORDS("next.week"))


def _date(rest: str, today: date) -> date | None:
    """The date at the start of a text; without a year the next one, without a day its month's last."""
    found = next(filter(None, (form.match(rest) for form in _dates())), None)
    if found is None:
        return None
    parts = found.groupdict()
    month = _month(parts["month"])
    year = int(parts["year"] or today.year)
    last = monthrange(year, month)[1]
    day = date(year, month, int(parts.get("day") or last))
    return day if parts["year"] or day >= today else day.replace(year=year + 1)


def _month(said: str) -> int:
    if said.isdecimal():
        return int(said)
    return next(it for it in range(1, YEAR_MONTHS + 1) if said in _WORDS.set(f"months.{it}"))


def _span(line: str, unit: str) -> int | None:
    """How many units `for the next …` names."""
    for found in _spans(unit).finditer(line):
        is_vietnamese = found["before"].startswith("trong")
        if is_vietnamese and not re.match(
            rf"\s{_any(_WORDS('spans.behind'))}", line[found.end() :]
        ):
            continue
        said = found["number"]
        number = int(said) if said.isdecimal() else _number(said)
        if 0 < number <= MAX_SPAN:
            return number
    return None


def _number(said: str) -> int:
    return next((it for it in range(1, 11) if said in _WORDS.set(f"numbers.{it}")), 0)


def _whole(phrase: str) -> str:
    """A pattern for a phrase as whole words; Chinese has no gaps between words."""
    escaped = re.escape(phrase)
    return escaped if _HAN.match(phrase) else rf"(?<!\w){escaped}(?!\w)"


@cache
def _any(phrases: tuple[str, ...]) -> str:
    return f"(?:{'|'.join(map(_whole, sorted(phrases, key=len, reverse=True)))})"


@cache
def _until_words() -> re.Pattern[str]:
    return re.compile(_any(_WORDS("bounds.until")) + _UNTIL_GAP)


@cache
def _weekday_group() -> str:
    days = tuple(it for number in range(1, WEEK_DAYS + 1) for it in _WORDS(f"weekdays.{number}"))
    return f"(?P<day>{_any(days)})"


@cache
def _this_weekday() -> re.Pattern[str]:
    return re.compile(
        rf"(?:\b(?:this|coming) |[本这]|(?=[^\d\W]{{2,4}} \S{{1,4}} này\b)){_weekday_group()}"
    )


@cache
def _dates() -> tuple[re.Pattern[str], ...]:
    names = _any(
        tuple(it for number in range(1, YEAR_MONTHS + 1) for it in _WORDS(f"months.{number}"))
    )
    year = r"(?:,?\s(?P<year>\d{4}))?"
    return tuple(
        map(
            re.compile,
            (
                r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})",
                rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{names}){year}",
                rf"(?P<month>{names}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d){year}",
                rf"(?:end of |mid-?)?(?P<month>{names}){year}",
                r"(?:(?P<year>\d{4})\s?年)?(?P<month>\d{1,2})\s?月(?:(?P<day>\d{1,2})\s?[日号])?",
                r"(?:ngày )?(?P<day>\d{1,2}) tháng (?P<month>\d{1,2})(?: năm (?P<year>\d{4}))?",
                r"(?:ngày )?(?P<day>\d{1,2})/(?P<month>\d{1,2})(?:/(?P<year>\d{4}))?(?<=\d)(?![\d/])(?=.*[à-ỹ])",
                r"(?:cuối |hết )?tháng (?P<month>\d{1,2})(?: năm (?P<year>\d{4}))?",
            ),
        )
    )


@cache
def _spans(unit: str) -> re.Pattern[str]:
    numbers = _any(tuple(it for number in range(1, 11) for it in _WORDS(f"numbers.{number}")))
    return re.compile(
        rf"(?P<before>{_any(_WORDS('spans.before'))})\s{{0,2}}(?P<number>\d{{1,3}}|{numbers})\s{{0,2}}"
        rf"{_any(_WORDS(f'spans.{unit}'))}"
    )
