"""Writers of one process go in the order they came."""

import threading
from contextlib import suppress
from functools import partial

from tests.support.daemon import wait_for
from understudy.core.errors import DatabaseUnavailable
from understudy.storage.engine import WriteTurns


def has_waiting(turns: WriteTurns, number: int) -> bool:
    return len(turns._line) == number + 1


def test_who_came_first_goes_first() -> None:
    turns, went = WriteTurns(), list[int]()

    def write(number: int) -> None:
        with turns.turn():
            went.append(number)

    writers = [threading.Thread(target=write, args=[number]) for number in range(5)]
    with turns.turn():
        for number, writer in enumerate(writers, 1):
            writer.start()
            wait_for(partial(has_waiting, turns, number), what="it to stand in line")
    for writer in writers:
        writer.join()

    assert went == [0, 1, 2, 3, 4]


def test_a_writer_that_comes_back_at_once_waits_for_who_stands_in_line() -> None:
    """A plain lock goes to the thread that has just released it, before another wakes up."""
    turns, went = WriteTurns(), list[str]()

    def write() -> None:
        with turns.turn():
            went.append("other")

    other = threading.Thread(target=write)
    with turns.turn():
        other.start()
        wait_for(partial(has_waiting, turns, 1), what="it to stand in line")
    with turns.turn():
        assert went == ["other"]
    other.join()


def test_a_writer_that_fails_passes_its_turn_on() -> None:
    turns = WriteTurns()
    with suppress(ValueError), turns.turn():
        raise ValueError

    with turns.turn():
        assert len(turns._line) == 1
    assert not turns._line


def test_a_writer_that_waits_too_long_leaves_the_line() -> None:
    turns, refused = WriteTurns(timeout_s=0.001), list[Exception]()

    def write() -> None:
        try:
            with turns.turn():
                pass
        except DatabaseUnavailable as problem:
            refused.append(problem)

    with turns.turn():
        late = threading.Thread(target=write)
        late.start()
        late.join()
        assert len(refused) == len(turns._line) == 1
    with turns.turn():
        assert len(turns._line) == 1
