"""When schedules fire: as it is typed, and as it is shown."""

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import typer

if TYPE_CHECKING:
    from understudy.wire.schedules import CadenceView

SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def cadence_of(
    *, at: str | None, every: str | None, cron: str | None, timezone: str | None
) -> dict[str, Any]:
    """The cadence that was typed, in one of three ways."""
    if sum(option is not None for option in (at, every, cron)) != 1:
        raise typer.BadParameter("give one of --at, --every and --cron")
    if timezone is not None and cron is None:
        raise typer.BadParameter("--timezone goes with --cron")
    if at is not None:
        return {"type": "once", "fire_at_ms": moment(at)}
    if every is not None:
        return {"type": "interval", "every_seconds": span(every)}
    return {"type": "cron", "expression": cron, "timezone": timezone or "UTC"}


def moment(text: str) -> int:
    """A point in time: ISO 8601, local unless it says otherwise, or milliseconds since 1970."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise typer.BadParameter(f"--at takes a time like 2030-01-31T09:00; got {text!r}") from None


def span(text: str) -> int:
    """A span such as `90`, `30s`, `15m`, `2h` or `1d`, in seconds."""
    number, unit = (text, "s") if text[-1:].isdigit() else (text[:-1], text[-1:])
    if not (number.isascii() and number.isdigit()) or unit not in SECONDS:
        raise typer.BadParameter(f"--every takes a span like 30s, 15m, 2h or 1d; got {text!r}")
    return int(number) * SECONDS[unit]


def span_words(seconds: int) -> str:
    """A span as it would be typed, such as `2h` or `1h 30m`."""
    parts: list[str] = []
    for unit, length in reversed(SECONDS.items()):
        number, seconds = divmod(seconds, length)
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts) or "0s"


def cadence_words(cadence: "CadenceView") -> str:
    """When a schedule fires."""
    match cadence.type:
        case "once":
            return "once"
        case "interval":
            return f"every {span_words(cadence.every_seconds or 0)}"
        case "cron":
            return f"{cadence.expression} ({cadence.timezone})"


def when(at_ms: int | None, zone: str | None = None) -> str | None:
    """A moment in the time zone of a schedule, and which that is; UTC where it has none."""
    if at_ms is None:
        return None
    name, place = _place(zone)
    try:
        time = datetime.fromtimestamp(at_ms / 1000, tz=UTC).astimezone(place)
    except (ValueError, OverflowError, OSError):
        return str(at_ms)
    return f"{time:{'%Y-%m-%d %H:%M:%S' if time.second else '%Y-%m-%d %H:%M'}} {name}"


def _place(zone: str | None) -> tuple[str, tzinfo]:
    try:
        return (zone, ZoneInfo(zone)) if zone else ("UTC", UTC)
    except (ValueError, LookupError, OSError):
        # A zone that this machine does not know.
        return "UTC", UTC
