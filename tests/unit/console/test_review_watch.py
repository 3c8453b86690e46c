"""Who else looks at a thing that waits for review."""

from understudy.console.pages.review import LOOKING_S, MAX_LOOKED_AT, ReviewWatch


class Hands:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_others_are_named_for_a_while_and_never_oneself() -> None:
    clock = Hands()
    watch = ReviewWatch(clock)
    assert watch.others("candidate", "c1", "ann") == []
    assert watch.others("candidate", "c1", "ann") == []
    assert watch.others("candidate", "c1", "bob") == ["ann"]
    assert watch.others("question", "c1", "bob") == []
    clock.now = LOOKING_S
    assert watch.others("candidate", "c1", "cleo") == []


def test_only_so_many_things_are_remembered() -> None:
    watch = ReviewWatch(Hands())
    for number in range(MAX_LOOKED_AT + 1):
        watch.others("candidate", f"c{number}", "ann")
    assert watch.others("candidate", "c0", "bob") == []
    assert watch.others("candidate", f"c{MAX_LOOKED_AT}", "bob") == ["ann"]
