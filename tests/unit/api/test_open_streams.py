"""Streams that are counted, and end when their caller may no longer read."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.responses import StreamingResponse

from understudy.api import open_streams
from understudy.api.open_streams import OpenStreams
from understudy.core.errors import UnderstudyError, coded_error


async def ticking() -> AsyncIterator[bytes]:
    while True:
        yield b"tick"


def stream() -> StreamingResponse:
    return StreamingResponse(ticking())


async def test_a_stream_ends_when_its_caller_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_streams, "FRESH_S", -1.0)
    streams, asked = OpenStreams(), list[int]()

    def admit() -> None:
        asked.append(1)
        if len(asked) > 3:
            raise coded_error("auth/unauthorized")

    answer = stream()
    streams.watch(answer, "ann", admit, caller="ann")

    assert [chunk async for chunk in answer.body_iterator] == [b"tick"] * 3
    assert not streams.by_user


async def test_one_caller_may_open_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_streams, "MAX_STREAMS_OF_ONE", 2)
    streams = OpenStreams()
    kept = [stream(), stream()]
    for each in kept:
        streams.watch(each, "ann", lambda: None, caller="ann")
        await anext(aiter(each.body_iterator))

    with pytest.raises(UnderstudyError, match="2 streams are open"):
        streams.watch(stream(), "ann", lambda: None, caller="ann")
    streams.watch(stream(), "bob", lambda: None, caller="bob")
    await asyncio.gather(*(each.body_iterator.aclose() for each in kept))  # type: ignore[attr-defined]
    streams.watch(stream(), "ann", lambda: None, caller="ann")


async def test_streams_of_one_caller_ask_for_it_together() -> None:
    streams, asked = OpenStreams(), list[str]()

    async def admit(name: str) -> None:
        await streams._admit(lambda: asked.append(name), name)

    await asyncio.gather(*(admit("ann") for _ in range(50)), admit("bob"))

    assert sorted(asked) == ["ann", "bob"]
