"""When the dispatcher of a daemon that is alone on its database looks at the queue."""

from understudy.engine.durable import (
    LOOK_EVERY_S,
    START_LOOKS,
    Nudge,
    dispatch,
)
from understudy.work.worker import LONGEST_DOZE_S


class Counted(Nudge):
    """A nudge that waits for nothing, notes for how long it was asked to, and ends the thread."""

    def __init__(self, ends_after: int) -> None:
        super().__init__()
        self.waits: list[float | None] = []
        self._ends_after = ends_after

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        return len(self.waits) > self._ends_after


def test_it_looks_often_after_the_start_and_then_seldom() -> None:
    nudge = Counted(ends_after=START_LOOKS)
    dispatch(lambda: None, LONGEST_DOZE_S, nudge)

    assert nudge.waits == [LOOK_EVERY_S] * START_LOOKS + [LONGEST_DOZE_S]


def test_it_looks_often_again_after_a_claim_that_failed() -> None:
    nudge = Counted(ends_after=START_LOOKS + 1)

    def claim() -> None:
        if len(nudge.waits) > START_LOOKS:
            raise OSError("the database is locked")

    dispatch(claim, LONGEST_DOZE_S, nudge)

    assert nudge.waits[-2:] == [LONGEST_DOZE_S, LOOK_EVERY_S]
