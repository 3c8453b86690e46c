"""Reads that many want at once are made once."""

import asyncio

import pytest

from understudy.core.shared_reads import SharedReads
from understudy.core.visibility import RowVisibility, current_visibility


async def test_readers_of_one_place_share_a_read() -> None:
    reads, made = SharedReads(), list[int]()

    def read() -> int:
        made.append(1)
        return len(made)

    answers = await asyncio.gather(*(reads.once("place", 7, read) for _ in range(600)))

    assert set(answers) == {1}
    assert await reads.once("place", 8, read) == 2, "a later ring reads again"
    assert await reads.once("elsewhere", 8, read) == 3


async def test_callers_who_see_different_things_share_nothing() -> None:
    reads = SharedReads()

    async def read_as(user_id: str) -> str | None:
        current_visibility.set(RowVisibility(user_id=user_id))
        return await reads.once("place", 1, lambda: current_visibility.get().user_id)

    assert [await read_as("ann"), await read_as("bob")] == ["ann", "bob"]


async def test_a_failed_read_is_made_again() -> None:
    reads = SharedReads()

    def fail() -> None:
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        await reads.once("place", 1, fail)
    await asyncio.sleep(0)
    assert await reads.once("place", 1, lambda: "there") == "there"
