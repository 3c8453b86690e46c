"""Conversations that a client sends whole are found by what was said in them."""

import pytest

from tests.support.factories import make_run, make_session
from understudy.core.principal import Principal, Role
from understudy.runs.model import Run
from understudy.runs.transcripts import Transcripts, Turn
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock

pytestmark = pytest.mark.every_database

ANN = Principal(user_id="ann", role=Role.OPERATOR)
BOB = Principal(user_id="bob", role=Role.OPERATOR)
SAID: tuple[Turn, ...] = (("user", "hello"), ("assistant", "Hi.\n\nAnd again."))


def stored(units: Units, session_id: str, submitted_at_ms: int) -> Run:
    run = make_run(session_id, submitted_at_ms=submitted_at_ms)
    with units.write() as unit:
        unit.sessions.add(make_session(session_id))
        unit.runs.add(run)
    return run


def test_the_newest_run_of_the_same_words_goes_on(units: Units) -> None:
    transcripts = Transcripts(units, FrozenClock())
    first, second = stored(units, "s1", 1), stored(units, "s2", 2)

    def last(who: Principal = ANN, said: tuple[Turn, ...] = SAID) -> str | None:
        with units.read() as unit:
            run = transcripts.last_run(unit, who, first.agent_id, said)
        return None if run is None else run.run_id

    assert last() is None
    transcripts.keep(ANN, first, SAID)
    assert last() == first.run_id
    # Clients divide and join what one side says; nobody else's words are found.
    parts = (("user", "hello"), ("assistant", "Hi."), ("assistant", "And again."))
    assert last(said=parts) == first.run_id
    assert last(BOB) is None
    assert last(said=SAID[:1]) is None
    transcripts.keep(ANN, second, SAID)
    assert last() == second.run_id
    # The session has gone on without this client.
    stored(units, "s2", 3)
    assert last() is None
