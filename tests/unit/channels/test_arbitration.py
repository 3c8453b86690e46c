"""Who may speak, in which order, and the reason for each."""

import time

import pytest

from understudy.channels.arbitration import (
    BLOCKERS,
    RANKS,
    Contender,
    Situation,
    arbitrate,
    blocked_by,
)
from understudy.channels.model import ParticipationMode

NOW = 1_000_000
SITUATION = Situation(now_ms=NOW, cooldown_ms=15_000)


def contender(session_id: str = "a", **fields: object) -> Contender:
    values = {"mode": ParticipationMode.SELECTED_ONLY, **fields}
    return Contender(session_id=session_id, member_id=session_id, display_name=session_id, **values)  # type: ignore[arg-type]


BLOCKED = {
    "muted": contender(is_muted=True),
    "manual_only": contender(mode=ParticipationMode.MANUAL_ONLY),
    "has_turn": contender(has_turn=True),
    "cooldown": contender(spoke_in_thread_at_ms=NOW - 14_999),
}


@pytest.mark.parametrize("code", [code for code, _ in BLOCKERS])
def test_each_blocker_keeps_a_member_out_and_says_so(code: str) -> None:
    found = arbitrate([BLOCKED[code]], SITUATION)

    assert found.speakers == ()
    assert found.passed_over[0].reasons == (code,)


def test_who_is_asked_first_need_not_cool_down() -> None:
    asked = Situation(now_ms=NOW, cooldown_ms=15_000, priority=("a",))

    assert blocked_by(BLOCKED["cooldown"], asked) == ()
    assert blocked_by(contender(spoke_in_thread_at_ms=NOW - 15_000), SITUATION) == ()


# For each rule: two members that differ in nothing before it, the first of them in front.
PAIRS = {
    "priority": (contender("z"), contender("a")),
    "has_not_commented": (contender("z"), contender("a", has_commented=True)),
    "has_not_reacted": (contender("z"), contender("a", has_reacted=True)),
    "participation": (contender("z", mode=ParticipationMode.ALWAYS_LISTEN), contender("a")),
    "least_recently_spoken": (
        contender("z", spoke_in_channel_at_ms=1),
        contender("a", spoke_in_channel_at_ms=2),
    ),
    "fewest_runs": (contender("z"), contender("a", active_runs=1)),
    "session_id": (contender("a"), contender("b")),
}


@pytest.mark.parametrize("code", [code for code, _ in RANKS])
def test_each_rule_decides_where_those_before_it_do_not(code: str) -> None:
    first, second = PAIRS[code]
    priority = (first.session_id,) if code == "priority" else ()
    situation = Situation(now_ms=NOW, cooldown_ms=0, priority=priority)
    found = arbitrate([second, first], situation).speakers

    assert [each.session_id for each in found] == [first.session_id, second.session_id]
    assert [each.decided_by for each in found] == [code, None]


def test_who_was_never_heard_comes_before_who_was() -> None:
    heard, silent = contender("a", spoke_in_channel_at_ms=1), contender("b")

    found = arbitrate([heard, silent], SITUATION).speakers
    assert [each.session_id for each in found] == ["b", "a"]
    assert "never_spoken" in found[0].reasons


def test_the_order_of_the_roster_is_no_matter() -> None:
    members = [contender(f"s{number}", active_runs=number % 3) for number in range(20)]

    assert arbitrate(members, SITUATION).speakers == arbitrate(members[::-1], SITUATION).speakers


def test_fifty_candidates_are_ranked_within_twenty_milliseconds_of_cpu() -> None:
    members = [contender(f"s{number}", spoke_in_channel_at_ms=number) for number in range(50)]
    began = time.process_time()
    for _ in range(10):
        assert len(arbitrate(members, SITUATION).speakers) == 50

    assert (time.process_time() - began) / 10 < 0.02
