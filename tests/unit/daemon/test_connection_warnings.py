"""What is said when the daemons may open more connections than PostgreSQL has."""

import pytest

from understudy.daemon.status import connection_warnings


def warned(daemons: int, of_each: int = 35, room: int = 97, reserved: int = 3) -> str | None:
    load = {
        "daemons": daemons,
        "of_each": of_each,
        "room": room,
        "max_connections": room + reserved,
    }
    found = connection_warnings(load)
    return found[0]["action"] if found else None


@pytest.mark.parametrize("daemons", [0, 1, 2])
def test_as_long_as_there_is_room_nothing_is_said(daemons: int) -> None:
    assert warned(daemons) is None
    assert connection_warnings(None) == []


def test_what_to_set_would_be_enough() -> None:
    action = warned(3)

    assert action == (
        "set max_connections of PostgreSQL to 108 or more, or database.pool_size and "
        "database.max_overflow of each daemon to 29 together"
    )
    assert warned(3, room=105) is None
    assert warned(3, of_each=29 + 3) is None


def test_a_pool_that_no_daemon_could_have_is_not_proposed() -> None:
    action = warned(20)

    assert action == "set max_connections of PostgreSQL to 703 or more"


def test_behind_a_pooler_only_direct_connections_count() -> None:
    assert warned(30, of_each=3) is None
    assert warned(40, of_each=3) == "set max_connections of PostgreSQL to 123 or more"
