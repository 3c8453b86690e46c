"""What the model is saying right now."""

import asyncio

from understudy.agent.model_call import DeltaHub, Spoken, delta_topic
from understudy.core.bell import Bell


def test_pieces_add_up_to_what_was_said() -> None:
    hub = DeltaHub(Bell())
    hub.begin("r1", 3)

    hub.say("r1", "He")
    hub.say("r1", "llo")

    assert hub.current("r1") == Spoken(step=3, text="Hello")


def test_another_try_takes_back_what_was_said() -> None:
    hub = DeltaHub(Bell())
    hub.begin("r1", 1)
    hub.say("r1", "Wrong")

    hub.say("r1", None)
    hub.say("r1", "Right")

    assert hub.current("r1") == Spoken(step=1, text="Right", take=1)


def test_nothing_is_kept_after_the_call() -> None:
    hub = DeltaHub(Bell())
    hub.begin("r1", 1)

    hub.end("r1")
    hub.say("r1", "too late")
    hub.end("r1")

    assert hub.current("r1") is None


def test_runs_do_not_speak_into_each_other() -> None:
    hub = DeltaHub(Bell())
    hub.begin("r1", 1)
    hub.begin("r2", 1)

    hub.say("r1", "one")

    assert hub.current("r2") == Spoken(step=1, text="")


async def test_every_piece_rings_the_bell_of_the_run() -> None:
    bell = Bell()
    bell.attach(asyncio.get_running_loop())
    hub = DeltaHub(bell)
    hub.begin("r1", 1)

    hub.say("r1", "a")
    hub.say("r1", None)
    await asyncio.sleep(0.01)

    assert bell.count(delta_topic("r1")) == 2
    assert bell.count(delta_topic("r2")) == 0
