"""The expiry that a statement names by a closed list: `until Friday`, `this week`, `到周五`, `tuần này`."""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Final

from understudy.learnings.phrases import LANGUAGES, any_of
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.learnings", "expiry_words.toml")
MAX_CHARS: Final = 2_000
WEEK_DAYS: Final = 7
BARE: Final = ("today", "week", "month")
DAYS: Final = ("today", "tomorrow", "week", "month", "end_of_week", "end_of_month")
_DATE: Final = r"\d{4}-\d{2}-\d{2}"
_CLAUSE_END: Final = r"[.,;:!)\u3002]"


def proposed_expiry(text: str, now_ms: int) -> int | None:
    """When a statement said at `now_ms` ceases to hold by its own words, in UTC; None for most."""
    line = " ".join(unicodedata.normalize("NFKC", text[:MAX_CHARS]).casefold().split())
    today = datetime.fromtimestamp(now_ms / 1000, tz=UTC).date()
    try:
        last = _last_day(line.replace("\u2019", "'").rstrip(" .!\u3002"), today)
        if last is None:
            return None
        end = datetime.combine(last, time.min, UTC) + timedelta(days=1)
    except (OverflowError, ValueError):
        return None
    return int(end.timestamp()) * 1000


def names_a_time(line: str) -> bool:
    """Whether a text in lower case has a day, a week or a month of the lists, or an end."""
    return bool(_named(DAYS).search(line) or _until().search(line))


def _last_day(line: str, today: date) -> date | None:
    if until := _until().search(line):
        # From Monday until Friday is every week.
        is_weekly = _named(("weekdays",)).search(line[: until.start()])
        return None if is_weekly else _day(until["until"], today)
    bare = _bare().search(line)
    return _day(bare[0], today) if bare and _named(("state",)).search(line) else None


def _day(said: str, today: date) -> date:
    if re.fullmatch(_DATE, said):
        return date.fromisoformat(said)
    for language in LANGUAGES:
        weekdays = WORDS(f"{language}.weekdays")
        if said in weekdays:
            return today + timedelta(
                days=(weekdays.index(said) + 1 - today.isoweekday()) % WEEK_DAYS
            )
    role = next(it for it in DAYS for at in LANGUAGES if said in WORDS(f"{at}.{it}"))
    if role.endswith("month"):
        return today.replace(day=monthrange(today.year, today.month)[1])
    ahead = {"today": 0, "tomorrow": 1}.get(role, WEEK_DAYS - today.isoweekday())
    return today + timedelta(days=ahead)


def _words(roles: Iterable[str]) -> str:
    return any_of([it for role in roles for at in LANGUAGES for it in WORDS(f"{at}.{role}")])


@cache
def _named(roles: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(_words(roles))


@cache
def _until() -> re.Pattern[str]:
    days = _words(("weekdays", *DAYS))
    return re.compile(rf"{_words(['until'])}\s?(?P<until>{days}|{_DATE})(?=$|\s?{_CLAUSE_END})")


@cache
def _bare() -> re.Pattern[str]:
    return re.compile(rf"{_words(BARE)}$")
