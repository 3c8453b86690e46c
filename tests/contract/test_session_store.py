"""Sessions are kept whole, found again, and never overwritten blindly."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import (
    NOW,
    ODD_TEXTS,
    bound,
    make_new_event,
    make_persona,
    make_run,
    make_session,
)
from understudy.core.errors import DamagedRecord, Invalid, StaleVersion
from understudy.core.page import PageRequest, decode_cursor
from understudy.runs.model import RunRequest, RunStatus
from understudy.sessions.model import (
    DefaultSkill,
    ReplyTarget,
    RoutePolicy,
    Session,
    SessionActivity,
    SessionStanding,
    SessionStatus,
)
from understudy.storage.unit import Units

FULL = make_session(
    "full",
    thread_id="t",
    parent_session_id="s1",
    status=SessionStatus.ENDED,
    ended_reason="over",
    capability_scope={"skill_allow": ["a"]},
    credential_scope={"route_deny": ["b"]},
    permissions={"inherited": [{"tool": "*", "decision": "ask"}], "rules": []},
    route_policy=RoutePolicy(provider="a", generation={"temperature": 0.5}),
    reply_targets=(ReplyTarget(plugin="http", address="http://here"),),
    version=7,
    **bound(make_persona(soul="A", default_skills=(DefaultSkill(name="greet"),))),
)


def add(units: Units, *sessions: Session) -> None:
    with units.write() as unit:
        for session in sessions:
            assert unit.sessions.add(session)


def get(units: Units, session_id: str) -> Session | None:
    with units.read() as unit:
        return unit.sessions.get(session_id)


@pytest.mark.parametrize("session", [FULL, make_session("plain")], ids=["full", "plain"])
def test_a_session_comes_back_as_it_was_stored(units: Units, session: Session) -> None:
    add(units, session)

    assert get(units, session.session_id) == session


def test_an_unknown_session_is_none(units: Units) -> None:
    assert get(units, "nobody") is None


def test_a_taken_id_is_not_overwritten(units: Units) -> None:
    with units.write() as unit:
        assert not unit.sessions.add(make_session("s1", owner_id="mallory"))

    stored = get(units, "s1")
    assert stored is not None
    assert stored.owner_id == "alice"


def test_a_change_of_an_older_copy_is_refused(units: Units) -> None:
    mine = replace(make_session("s1"), thread_id="mine", version=2)
    with units.write() as unit:
        unit.sessions.update(mine, expected_version=1)

    with pytest.raises(StaleVersion), units.write() as unit:
        unit.sessions.update(replace(mine, thread_id="theirs"), expected_version=1)

    assert get(units, "s1") == mine


def test_a_change_of_the_session_leaves_the_length_of_its_journal_alone(units: Units) -> None:
    with units.write() as unit:
        unit.journal.append("s1", [make_new_event()] * 3, at_ms=NOW)
        unit.sessions.update(make_session("s1", version=2), expected_version=1)

    stored = get(units, "s1")
    assert stored is not None
    assert stored.journal_length == 3


def test_pages_go_through_all_sessions_newest_first_and_once(units: Units) -> None:
    # Several of one millisecond, as a busy daemon makes them.
    made = [make_session(f"p{n}", created_at_ms=NOW + 1 + n // 3) for n in range(10)]
    add(units, *made)
    seen: list[str] = []
    cursor = None
    while True:
        request = PageRequest.parse(limit=3, cursor=cursor)
        with units.read() as unit:
            page = unit.sessions.page(request)
        seen += [session.session_id for session in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break

    expected = sorted((*made, make_session("s1"), make_session("s2")), key=_newest, reverse=True)
    assert seen == [session.session_id for session in expected]


def _newest(session: Session) -> tuple[int, str]:
    return session.created_at_ms, session.session_id


def test_a_cursor_stays_valid_while_sessions_are_added(units: Units) -> None:
    add(units, *(make_session(f"p{n}", created_at_ms=NOW + n) for n in range(1, 5)))
    with units.read() as unit:
        first = unit.sessions.page(PageRequest(limit=2))
    add(units, make_session("new", created_at_ms=NOW + 99))

    assert first.next_cursor is not None
    with units.read() as unit:
        second = unit.sessions.page(PageRequest(limit=2, after=decode_cursor(first.next_cursor)))

    assert [s.session_id for s in (*first.items, *second.items)] == ["p4", "p3", "p2", "p1"]


@pytest.mark.parametrize(
    "after",
    [("s1",), (1,), (1, 2), ("a", "b"), (1, "s1", "x"), (2**63, "s1"), (-(2**63) - 1, "s1")],
)
def test_a_cursor_of_another_list_is_the_callers_mistake(
    units: Units, after: tuple[int | str, ...]
) -> None:
    with pytest.raises(Invalid), units.read() as unit:
        unit.sessions.page(PageRequest(after=after))


def test_sessions_are_found_by_persona_and_status(units: Units) -> None:
    add(units, make_session("p", **bound(make_persona("ada"))))
    add(units, make_session("e", status=SessionStatus.ENDED))

    with units.read() as unit:
        by_persona = unit.sessions.page(PageRequest(), persona_id="ada")
        by_status = unit.sessions.page(PageRequest(), status="ended")

    assert [s.session_id for s in by_persona.items] == ["p"]
    assert [s.session_id for s in by_status.items] == ["e"]


def test_sessions_are_counted(units: Units) -> None:
    with units.read() as unit:
        assert unit.sessions.count() == 2


def test_an_idle_session_has_no_blockers(units: Units) -> None:
    with units.write() as unit:
        unit.runs.add(make_run("s1", status=RunStatus.COMPLETED, finished_at_ms=NOW))
        unit.runs.add(make_run("s2"))

        assert unit.sessions.activity("s1") == SessionActivity()
        assert unit.sessions.activity("s1").blockers == ()


def test_what_keeps_a_session_busy_is_counted(units: Units) -> None:
    add(units, make_session("child", parent_session_id="s1"))
    with units.write() as unit:
        for status in (RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.QUEUED):
            unit.runs.add(make_run("s1", status=status))
        unit.runs.add(make_run("s1", status=RunStatus.WAITING_FOR_APPROVAL))
        unit.runs.add(make_run("child"))

        activity = unit.sessions.activity("s1")

    assert activity == SessionActivity(
        active_runs=1, queued_runs=2, waiting_runs=1, live_children=1
    )
    assert activity.blockers == ("active_runs", "queued_runs", "waiting_runs", "live_children")


def test_the_standings_of_sessions_are_their_first_input_current_run_and_line(
    units: Units,
) -> None:
    add(units, make_session("quiet"), make_session("asked"))
    first = make_run(
        "s1",
        status=RunStatus.COMPLETED,
        finished_at_ms=NOW,
        request=RunRequest(text_preview="plan the trip"),
    )
    waiting = make_run(
        "s1",
        status=RunStatus.WAITING_FOR_APPROVAL,
        accepted_offset=3,
        submitted_at_ms=NOW + 1,
        request=RunRequest(text_preview="book it"),
    )
    with units.write() as unit:
        for run in (waiting, first):
            unit.runs.add(run)
        unit.runs.add(make_run("s1", accepted_offset=4, submitted_at_ms=NOW + 2))
        unit.runs.add(make_run("asked", request=RunRequest(text_preview=None)))

    with units.read() as unit:
        found = unit.sessions.standings(["s1", "quiet", "asked"])

    assert found == {
        "s1": SessionStanding(
            title="plan the trip",
            active_run_id=waiting.run_id,
            active_run_status="waiting_for_approval",
            queued_runs=1,
        ),
        "quiet": SessionStanding(),
        "asked": SessionStanding(queued_runs=1),
    }


def test_a_live_grandchild_keeps_a_session_busy(units: Units) -> None:
    add(units, make_session("child", parent_session_id="s1"))
    add(units, make_session("grandchild", parent_session_id="child"))
    with units.write() as unit:
        unit.runs.add(make_run("grandchild", status=RunStatus.RUNNING))

        assert unit.sessions.activity("s1").live_children == 1
        assert unit.sessions.activity("s2").live_children == 0


@pytest.mark.parametrize("odd", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_odd_characters_in_a_soul_and_in_settings_survive(units: Units, odd: str) -> None:
    session = make_session(
        "odd",
        route_policy=RoutePolicy(generation={odd: odd}),
        **bound(make_persona(soul=odd, display_name=odd)),
    )
    add(units, session)

    assert get(units, "odd") == session


@pytest.mark.parametrize(
    "column",
    [
        "reply_targets",
        "route_policy",
        "persona",
        "capability_scope",
        "credential_scope",
        "permissions",
    ],
)
def test_a_damaged_session_is_skipped_in_lists_and_named_when_asked_for(
    database: UnitsOnDatabase, column: str
) -> None:
    add(database.units, make_session("bad", **bound(make_persona())))
    with database.engine.begin() as connection:
        statement = f"UPDATE sessions SET {column} = :torn WHERE session_id = 'bad'"
        connection.execute(sa.text(statement), {"torn": '{"half":'})

    with database.units.read() as unit:
        page = unit.sessions.page(PageRequest())
        named = unit.sessions.named("", limit=10)
        with pytest.raises(DamagedRecord, match="session bad"):
            unit.sessions.get("bad")

    assert {session.session_id for session in page.items} == {"s1", "s2"}
    assert {session.session_id for session in named} == {"s1", "s2"}
