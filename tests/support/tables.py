"""Tables of hundreds of rows, walked by one test: pytest takes longer for a test than a row takes."""

import functools
import inspect
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def every_row(
    names: str | tuple[str, ...], rows: Iterable[Any], *, ids: Callable[[Any], str] = repr
) -> Callable[[Test], Test]:
    """Call a test with every row, in random order, and fail with all rows that fail; where there is
    more than one name, a row has a value for each. For tests without fixtures."""
    parameters = [names] if isinstance(names, str) else list(names)
    table = list(rows)

    def walking(test: Test) -> Test:
        assert list(inspect.signature(test).parameters) == parameters, "no fixtures, all names"
        assert table, "a table without rows shows nothing"

        @functools.wraps(test)
        def walk() -> None:
            failures: dict[str, BaseException] = {}
            for row in random.sample(table, len(table)):
                try:
                    test(*([row] if isinstance(names, str) else row))
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - told below
                    failures[ids(row)] = failure
            if failures:
                told = "\n".join(f"{name}: {failure!r}" for name, failure in failures.items())
                first = next(iter(failures.values()))
                raise AssertionError(
                    f"{len(failures)} of {len(table)} rows fail:\n{told}"
                ) from first

        # Else pytest would see the parameters of the test, and look for fixtures of these names.
        del walk.__wrapped__
        return walk

    return walking
