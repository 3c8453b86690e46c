"""Two daemons on one PostgreSQL: a reader of all sessions who is cut off goes on at the other."""

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

import pytest

from tests.api.live import SentEvent, events_in
from tests.e2e.conftest import routes_to
from tests.support.daemon import PATIENCE_S, DaemonProcess, capture_off
from tests.support.planned_runs import journal_of
from tests.support.postgres import MakeDatabase
from understudy.runs.lifecycle import TERMINAL
from understudy.sessions.journal import FeedPlace
from understudy.testing.fake_model import FakeModel

pytestmark = [pytest.mark.e2e, pytest.mark.postgres]

SESSIONS, RUNS = [f"s{number}" for number in range(4)], 24
# After so many events the reader is cut off.
CUTS = (1, 2, 7, 3, 11)


def test_a_reader_who_is_cut_off_goes_on_at_the_other_daemon(
    tmp_path: Path, model: FakeModel, make_database: MakeDatabase
) -> None:
    url, config = make_database(), routes_to(model)
    one = DaemonProcess(tmp_path / "one", database_url=url, config=config).start()
    two = DaemonProcess(tmp_path / "two", database_url=url, config=config).start()
    with one, two, ThreadPoolExecutor(1) as pool:
        capture_off(one)
        for session in SESSIONS:
            one.post("/v1/sessions", {"session_id": session})
        following = pool.submit(follow, one, two)
        daemons = cycle((one, two, two))
        for number in range(RUNS):
            next(daemons).submit(SESSIONS[number % len(SESSIONS)], f"hello {number}")
        told = following.result(timeout=3 * PATIENCE_S)
        journals = {session: journal_of(one, session) for session in SESSIONS}

    places = [FeedPlace.parse(event.id) for event in told]
    assert places == sorted(set(places))
    assert all(place.tx for place in places)
    seen = defaultdict(list)
    for event in told:
        if event.name == "run_updated":
            seen[event.data["session_id"]].append((event.data["run_id"], event.data["status"]))
    assert seen == {
        session: [
            (event["run_id"], event["data"]["status"]) for event in events if event["kind"] == "run"
        ]
        for session, events in journals.items()
    }


def follow(*daemons: DaemonProcess) -> list[SentEvent]:
    """All events until every run has ended, by one connection after another."""
    told: list[SentEvent] = []
    ended: set[str] = set()
    for daemon, cut in zip(cycle(daemons), cycle(CUTS), strict=False):
        headers = {"Last-Event-ID": told[-1].id if told else "0"}
        with (
            daemon.client() as client,
            client.stream("GET", "/v1/events/stream", headers=headers) as answer,
        ):
            for event in islice(events_in(answer.iter_lines()), cut):
                told.append(event)
                if event.data.get("status") in TERMINAL:
                    ended.add(event.data["run_id"])
                if len(ended) == RUNS:
                    return told
    raise AssertionError("the stream ended before the runs")
