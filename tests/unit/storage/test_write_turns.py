"""Writers of one process go in the order they came."""

import threading
from functools import partial

from tests.support.daemon import wait_for
from understudy.storage.engine import WriteTurns


def has_waiting(turns: WriteTurns, number: int) -> bool:
    return len(turns._waiting) == number


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


def test_a_writer_that_fails_passes_its_turn_on() -> None:
    turns = WriteTurns()
    try:
        with turns.turn():
            raise ValueError
    except ValueError:
        pass

    with turns.turn():
        assert turns._is_taken
    assert not turns._is_taken
