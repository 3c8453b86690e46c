"""Several who act at the same time, each on a thread of its own."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from understudy.core.errors import UnderstudyError


def together(acts: Sequence[Callable[[], object]]) -> list[Any]:
    """What each comes to, or the conflict that it met, when all begin at once."""
    start = threading.Barrier(len(acts))
    answers: list[Any] = [None] * len(acts)

    def run(index: int) -> None:
        start.wait()
        try:
            answers[index] = acts[index]()
        except UnderstudyError as problem:
            answers[index] = problem

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    return answers
