"""Printing figures: what was measured, against what, and whether it is within its target."""

from collections.abc import Sequence
from statistics import quantiles


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that `percent` of the values do not exceed."""
    return (
        quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]
    )


def heading(text: str) -> None:
    """A title over the figures that follow."""
    print(f"\n{text}\n{'-' * len(text)}")


def figure(
    name: str,
    value: float,
    unit: str,
    *,
    baseline: float | None = None,
    at_most: float | None = None,
    at_least: float | None = None,
) -> bool:
    """One line: the figure, its ratio to the baseline, its target; answers whether that is met."""
    line = f"  {name:<58} {value:>10.2f} {unit:<7}"
    if baseline:
        line += f" {value / baseline:6.2f} x baseline"
    if at_most is not None:
        line += f"  target <= {at_most:g}: {'met' if value <= at_most else 'MISSED'}"
    if at_least is not None:
        line += f"  target >= {at_least:g}: {'met' if value >= at_least else 'MISSED'}"
    print(line, flush=True)
    return (at_most is None or value <= at_most) and (at_least is None or value >= at_least)
