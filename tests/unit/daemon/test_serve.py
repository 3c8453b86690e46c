"""What a daemon that cannot start says."""

import asyncio
from typing import Any, cast

import pytest

from understudy.core.errors import DatabaseUnavailable, Unavailable
from understudy.daemon.serve import CannotServe, _start


class Refusing:
    """A daemon that does not start."""

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    async def start(self) -> None:
        """Say why."""
        raise self._problem


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (
            Unavailable("skill_storage_unavailable", domain="skills", detail="/h/s is a link"),
            "the skills cannot be used: /h/s is a link",
        ),
        (
            DatabaseUnavailable("database_unavailable", domain="storage", detail="it is full"),
            "the database cannot be used: it is full",
        ),
    ],
)
def test_what_fails_is_named_and_nothing_else(problem: Exception, said: str) -> None:
    with pytest.raises(CannotServe) as told:
        asyncio.run(_start(cast("Any", Refusing(problem))))

    assert str(told.value) == said
