"""Stimuli: said when their time has come, within what the policy allows."""

from typing import Any

import pytest

from tests.support.channel_harness import PAGE, ROOM, ChannelHarness
from tests.support.factories import ADMIN
from understudy.channels.model import AutonomyPolicy, ThreadStatus
from understudy.channels.stimulus_model import NewStimulus, Stimulus, StimulusKind
from understudy.core.errors import Conflict, Invalid
from understudy.storage.unit import Units

MINUTE = 60_000
OPEN = AutonomyPolicy(quiet_period_ms_after_root_post=0, max_active_autonomous_roots=9)


@pytest.fixture
def channels(units: Units) -> ChannelHarness:
    return ChannelHarness(units)


def wish(channels: ChannelHarness, content: str = "An idea", **fields: Any) -> Stimulus:
    values = {"scope": "channel", "kind": StimulusKind.AGENT_IDEA, "sender_session_id": "ann"}
    wanted = NewStimulus(content=content, **{**values, **fields})
    return channels.stimuli.create(ADMIN, ROOM, wanted)


def state(channels: ChannelHarness, stimulus: Stimulus) -> tuple[str, str | None]:
    with channels.units.read() as unit:
        found = unit.stimuli.get(stimulus.stimulus_id)
    assert found is not None
    return str(found.status), found.last_error


def test_an_idea_opens_a_thread_and_another_agent_answers(channels: ChannelHarness) -> None:
    channels.room("ann", "bob")
    stimulus = wish(channels)
    channels.work()

    assert state(channels, stimulus) == ("dispatched", None)
    assert channels.log() == [("ann", "An idea")]
    assert channels.speaking() == ["bob"]
    [thread] = channels.service.threads(ROOM, PAGE).items
    assert (thread.topic_kind, thread.status) == ("autonomous_root", ThreadStatus.PROPOSED)


@pytest.mark.parametrize("kind", [StimulusKind.RESULT_SUMMARY, StimulusKind.SUPERSESSION_NOTICE])
def test_a_summary_or_a_notice_asks_nobody(channels: ChannelHarness, kind: StimulusKind) -> None:
    channels.room("ann", "bob")
    wish(channels, kind=kind)
    channels.work()

    assert channels.leases() == ()
    assert len(channels.log()) == 1


def test_a_stimulus_waits_for_its_time_and_not_beyond_it(channels: ChannelHarness) -> None:
    channels.room("ann", autonomy_policy=OPEN)
    now = channels.clock.now_ms()
    later = wish(channels, available_at_ms=now + MINUTE)
    late = wish(channels, available_at_ms=now + MINUTE, expires_at_ms=now + 1)
    channels.work()
    assert state(channels, later) == ("pending", None)
    channels.work(MINUTE)

    assert state(channels, later)[0] == "dispatched"
    assert state(channels, late) == ("cancelled", "expired")


def test_the_quiet_period_puts_off_and_the_limits_cancel(channels: ChannelHarness) -> None:
    channels.room("ann")
    wish(channels, "one")
    channels.work()
    second = wish(channels, "two")
    channels.work()
    assert state(channels, second) == ("pending", "quiet_period_ms_after_root_post")
    channels.work(5 * MINUTE)

    status, reason = state(channels, second)
    assert status == "cancelled"
    assert (reason or "").startswith("max_active_autonomous_roots")


def test_only_so_many_roots_an_hour(channels: ChannelHarness) -> None:
    channels.room("ann", autonomy_policy=OPEN)
    made = []
    for number in range(5):
        made.append(wish(channels, str(number)))
        channels.work(1)

    assert [state(channels, each)[0] for each in made] == [*["dispatched"] * 4, "cancelled"]


def test_a_paused_channel_keeps_them_waiting(channels: ChannelHarness) -> None:
    channels.room("ann", paused=True)
    stimulus = wish(channels)
    channels.work()
    assert state(channels, stimulus) == ("pending", "paused")
    channels.service.update(ADMIN, ROOM, paused=False)
    channels.work(5_000)

    assert state(channels, stimulus)[0] == "dispatched"


def test_a_key_joins_the_open_thread_and_the_one_that_waits(channels: ChannelHarness) -> None:
    channels.room("ann")
    first = wish(channels, "one", dedupe_key="build")
    alike = wish(channels, "the same", dedupe_key="build")
    channels.work()
    assert [state(channels, each)[0] for each in (first, alike)] == ["dispatched", "coalesced"]
    kind = StimulusKind.TASK_COMPLETED
    wish(channels, "done", dedupe_key="build", kind=kind, progress_key="p")
    channels.work()

    [thread] = channels.service.threads(ROOM, PAGE).items
    assert thread.status is ThreadStatus.REVIEWING
    [_, done] = channels.service.messages(ROOM, PAGE).items
    assert thread.progress == {"p": done.message_id}
    assert done.thread_root_message_id == thread.thread_root_message_id


def test_newer_progress_takes_the_place_of_what_waits(channels: ChannelHarness) -> None:
    channels.room("ann", paused=True)
    old = wish(channels, "10 %", progress_key="p")
    new = wish(channels, "20 %", progress_key="p")

    assert (state(channels, old)[0], state(channels, new)[0]) == ("superseded", "pending")


def test_what_cannot_be_dispatched_is_refused(channels: ChannelHarness) -> None:
    policy = AutonomyPolicy(max_pending_stimuli=1)
    channels.room("ann", autonomy_policy=policy, paused=True)
    root = channels.say("Well?").message_id
    for fields in (
        {"thread_root_message_id": root},
        {"scope": "thread"},
        {"content": " "},
        {"bindings": {"colour": "red"}},
        {"dedupe_key": "a\nb"},
    ):
        with pytest.raises(Invalid):
            wish(channels, **fields)
    wish(channels)
    with pytest.raises(Conflict):
        wish(channels, "two")
