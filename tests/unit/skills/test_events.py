"""Telling what happens to skills."""

import threading

from tests.support.skill_factories import make_skill
from understudy.skills.events import SkillEvent, SkillEventName, SkillEvents


def test_everybody_who_listens_hears_what_is_told() -> None:
    events = SkillEvents()
    first: list[SkillEvent] = []
    second: list[SkillEvent] = []
    events.subscribe(first.append)
    events.subscribe(second.append)

    events.tell(SkillEventName.DEPS_CHECKED, {"slug": "a-skill", "status": "ok", "missing": []})

    (event,) = first
    assert second == [event]
    assert (event.name, event.slug) == ("skill.deps.checked", "a-skill")


def test_who_leaves_hears_no_more_and_may_leave_twice() -> None:
    events = SkillEvents()
    heard: list[SkillEvent] = []
    leave = events.subscribe(heard.append)
    stays: list[SkillEvent] = []
    events.subscribe(stays.append)

    leave()
    leave()
    events.tell(SkillEventName.DEPS_COMPLETE, {})

    assert heard == []
    assert [event.slug for event in stays] == [None]


def test_one_who_fails_keeps_it_from_nobody() -> None:
    events = SkillEvents()
    heard: list[SkillEvent] = []

    def fail(event: SkillEvent) -> None:
        raise RuntimeError(event.name)

    events.subscribe(fail)
    events.subscribe(heard.append)

    events.tell(SkillEventName.DEPS_INSTALLING, {"count": 2})

    assert [event.payload for event in heard] == [{"count": 2}]


def test_a_change_of_a_skill_stays_within_the_daemon() -> None:
    events = SkillEvents()
    heard: list[SkillEvent] = []
    events.subscribe(heard.append)

    events.changed(make_skill("a-skill"), "patch")

    (event,) = heard
    assert event.name == "cache.invalidate"
    assert event.payload == {"slug": "a-skill", "skill_id": "skl_a-skill", "what": "patch"}


def test_threads_may_tell_and_come_and_go_at_once() -> None:
    events = SkillEvents()
    heard: list[SkillEvent] = []
    events.subscribe(heard.append)

    def work() -> None:
        for _ in range(200):
            leave = events.subscribe(lambda _: None)
            events.tell(SkillEventName.DEPS_COMPLETE, {})
            leave()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(heard) == 800
