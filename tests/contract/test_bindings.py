"""Keys that stand for sessions: taken once, kept, and free again when their session has ended."""

import threading

import pytest

from tests.support.factories import ADMIN, ALICE, make_session
from tests.support.run_harness import RunHarness
from understudy.core.errors import Conflict, Invalid, LimitExceeded
from understudy.core.page import PageRequest
from understudy.core.visibility import RowVisibility, current_visibility
from understudy.runs.submission import Submission
from understudy.sessions import bindings
from understudy.sessions.bindings import Bindings
from understudy.sessions.service import SessionService
from understudy.storage.unit import Units


def submit(harness: RunHarness, session_id: str, *keys: str) -> str:
    wanted = Submission(content="hello", binding_keys=keys)
    return harness.runs.submit(ALICE, session_id, wanted).run.run_id


def keys_of(units: Units, session_id: str) -> list[str]:
    found = Bindings(units).page(session_id, PageRequest(limit=50)).items
    assert {each.session_id for each in found} <= {session_id}
    return [each.binding_key for each in found]


@pytest.fixture
def two(harness: RunHarness) -> RunHarness:
    with harness.units.write() as unit:
        unit.sessions.add(make_session(session_id="s2"))
    return harness


async def test_a_key_stands_for_the_session_that_took_it_first(two: RunHarness) -> None:
    submit(two, "s1", "slack:C1", " slack:C1 ", "mail:7")
    submit(two, "s1", "slack:C1")

    with pytest.raises(Conflict) as refused:
        submit(two, "s2", "fresh", "slack:C1")

    assert refused.value.code == "binding_conflict"
    assert refused.value.params == {"binding_key": "slack:C1", "session_id": "s1"}
    assert keys_of(two.units, "s1") == ["mail:7", "slack:C1"]
    # Neither the run nor the other key of a refused submit stays.
    assert keys_of(two.units, "s2") == []
    with two.units.read() as unit:
        assert unit.runs.unfinished_in("s2") == 0
        [audited] = [
            it.reason
            for it in unit.audit.page(PageRequest(limit=50), resource=None, actor=None).items
            if it.action == "sessions.bind_keys"
        ]
    assert audited == "2 keys"


async def test_a_session_is_found_by_its_key(two: RunHarness) -> None:
    submit(two, "s2", "slack:C1")
    sessions = SessionService(two.units, two.clock, lambda _: True)

    found = sessions.page(PageRequest(limit=50), binding_key="slack:C1").items

    assert [each.session_id for each in found] == ["s2"]
    assert sessions.page(PageRequest(limit=50), binding_key="slack").items == ()


async def test_the_key_of_an_ended_session_is_free(two: RunHarness) -> None:
    run_id = submit(two, "s1", "slack:C1")
    await two.execute(run_id)
    SessionService(two.units, two.clock, lambda _: True).end(ALICE, "s1", None)

    submit(two, "s2", "slack:C1")

    assert (keys_of(two.units, "s1"), keys_of(two.units, "s2")) == ([], ["slack:C1"])


async def test_whose_session_has_a_key_is_no_news_for_those_who_may_not_know_of_it(
    two: RunHarness,
) -> None:
    submit(two, "s1", "slack:C1")
    with two.units.write() as unit:
        unit.sessions.add(make_session(session_id="s3", owner_id=ADMIN.user_id))
    token = current_visibility.set(RowVisibility(user_id=ADMIN.user_id))
    try:
        with pytest.raises(Conflict) as refused:
            two.runs.submit(ADMIN, "s3", Submission(content="hi", binding_keys=("slack:C1",)))
    finally:
        current_visibility.reset(token)

    assert refused.value.params == {"binding_key": "slack:C1", "session_id": None}
    assert "s1" not in refused.value.detail


async def test_of_many_sessions_that_want_a_key_at_once_one_gets_it(two: RunHarness) -> None:
    won: list[str] = []

    def take(session_id: str) -> None:
        try:
            submit(two, session_id, "slack:C1")
            won.append(session_id)
        except Conflict:
            pass

    threads = [threading.Thread(target=take, args=(each,)) for each in ("s1", "s2") * 4]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len(set(won)) == 1
    assert keys_of(two.units, won[0]) == ["slack:C1"]


@pytest.mark.one_database
@pytest.mark.parametrize("key", ["", "  ", "a\nb", "x" * 201, "sk-" + "ant-api03-" + "A1b2" * 24])
async def test_what_cannot_be_a_key_is_refused(two: RunHarness, key: str) -> None:
    with pytest.raises(Invalid) as refused:
        submit(two, "s1", "good", key)

    assert refused.value.code == "invalid_binding_key"
    assert [it.pointer for it in refused.value.errors] == ["/binding_keys/1"]
    assert keys_of(two.units, "s1") == []


@pytest.mark.one_database
async def test_a_session_has_so_many_keys_and_no_more(
    two: RunHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bindings, "MAX_KEYS", 2)
    submit(two, "s1", "a", "b")
    with pytest.raises(LimitExceeded):
        submit(two, "s1", "c")
    submit(two, "s1", "a", "b")
