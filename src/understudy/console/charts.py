"""Charts as shapes for SVG: columns of stacked parts, one for each day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

# The SVG coordinate space; a template scales it to its place.
WIDTH: Final = 1000
HEIGHT: Final = 100
# The share of a column's width that is left empty as a gap.
GAP: Final = 0.25
LEAST_HEIGHT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPart:
    """One part of a column: its series, its amount and its position."""

    name: str
    amount: int
    tone: str
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartColumn:
    """One day of a chart."""

    day_at_ms: int
    x: float
    width: float
    parts: tuple[ChartPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Columns scaled to the largest; `series` names each part and its tone."""

    series: Mapping[str, str]
    columns: tuple[ChartColumn, ...]
    most: int

    @property
    def totals(self) -> dict[str, int]:
        """The sum of each part over all columns."""
        return {
            name: sum(
                part.amount for column in self.columns for part in column.parts if part.name == name
            )
            for name in self.series
        }


def stacked(days: Sequence[Mapping[str, Any]], series: Mapping[str, str]) -> Chart:
    """A chart of some counters per day, stacked with the first at the bottom."""
    most = max((sum(int(day[name]) for name in series) for day in days), default=0)
    step = WIDTH / max(len(days), 1)
    columns = tuple(
        ChartColumn(
            day_at_ms=day["day_at_ms"],
            x=round(place * step + step * GAP / 2, 2),
            width=round(step * (1 - GAP), 2),
            parts=tuple(_parts(day, series, most)),
        )
        for place, day in enumerate(days)
    )
    return Chart(series=series, columns=columns, most=most)


def _parts(day: Mapping[str, Any], series: Mapping[str, str], most: int) -> list[ChartPart]:
    parts, top = [], float(HEIGHT)
    for name, tone in series.items():
        amount = int(day[name])
        # A small count stays visible next to a large one.
        height = max(amount * HEIGHT / most, LEAST_HEIGHT) if amount else 0.0
        top = max(top - height, 0.0)
        parts.append(
            ChartPart(name=name, amount=amount, tone=tone, y=round(top, 2), height=round(height, 2))
        )
    return parts
