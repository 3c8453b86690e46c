"""Pages of sessions and runs over HTTP: what they show to whom, and where their forms lead."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN, idle_daemon
from tests.console.conftest import OURS, URL, client_of
from tests.support.factories import ALICE, NOW, make_run
from tests.support.learning_factories import keep, make_learning
from understudy.agents.service import AgentFields
from understudy.console.live import newest_place, signal_of, signals
from understudy.daemon.wiring import Daemon
from understudy.runs.lifecycle import run_event
from understudy.runs.model import RunRequest, RunStatus, require_run
from understudy.runs.remembered import remembered_event
from understudy.sessions.creation import NewSession
from understudy.sessions.journal import EventKind, NewEvent

TABS = ("conversation", "journal", "scopes", "persona", "permissions", "tasks", "sidechains")
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def daemon(tmp_path: Path, fresh_database: Path) -> Iterator[Daemon]:
    daemon = idle_daemon(tmp_path / "home", fresh_database)
    yield daemon
    daemon.resources.database.dispose()


@pytest.fixture
def console(daemon: Daemon) -> Iterator[TestClient]:
    with client_of(daemon) as client:
        yield client


def begin(console: TestClient) -> str:
    return str(console.post("/v1/sessions", json={}).json()["session_id"])


def line_up(daemon: Daemon, session: str, *texts: str) -> list[str]:
    """Runs that wait in the line of a session; nothing works on them."""
    runs = [
        make_run(
            session,
            request=RunRequest(text_preview=text),
            accepted_offset=at,
            submitted_at_ms=NOW + at,
        )
        for at, text in enumerate(texts, 2)
    ]
    with daemon.resources.units.write() as unit:
        for run in runs:
            unit.runs.add(run)
    return [run.run_id for run in runs]


@pytest.mark.parametrize("tab", [*TABS, "settings", "nonsense"])
def test_a_tab_of_a_session_answers(console: TestClient, tab: str) -> None:
    page = console.get(f"/sessions/{begin(console)}?tab={tab}")

    assert page.status_code == 200
    assert page.text.count('aria-current="page"') == 2


def test_the_answer_of_a_run_says_what_it_remembered(console: TestClient, daemon: Daemon) -> None:
    session = begin(console)
    [run_id] = line_up(daemon, session, "hello")
    named = keep(daemon.resources.units, *map(make_learning, ("Be <b>brief</b>.", "B", "C", "D")))
    with daemon.resources.units.write() as unit:
        run = replace(require_run(unit, run_id), status=RunStatus.COMPLETED)
        unit.runs.update(run)
        said = {"step": 1, "text": "Hi.", "model": "m"}
        events = [
            run_event(run, "completed", RunStatus.COMPLETED),
            remembered_event(run, named, ()),
            NewEvent(kind=EventKind.MESSAGE, run_id=run_id, data=said),
        ]
        unit.journal.append(session, [it for it in events if it], at_ms=NOW)

    for path in (f"/sessions/{session}", f"/runs/{run_id}"):
        page = console.get(path).text
        assert f'remembered: <a href="/learnings/{named[0]}">Be &lt;b&gt;brief' in page
        assert named[3] not in page
        assert f'<a href="/runs/{run_id}?tab=memory">+1 more</a>' in page


@pytest.mark.parametrize(
    "tab", ["timeline", "steps", "prompt", "memory", "learned", "journal", "details"]
)
def test_a_view_of_a_run_that_has_not_begun_answers(
    console: TestClient, daemon: Daemon, tab: str
) -> None:
    [run_id] = line_up(daemon, begin(console), f"say {HOSTILE}")
    page = console.get(f"/runs/{run_id}?tab={tab}")

    assert page.status_code == 200
    assert HOSTILE not in page.text
    assert 'action="/act/runs.cancel"' in page.text


@pytest.mark.parametrize("query", ["after=x", "cursor=x", "kind=x", "after=-1"])
def test_a_wrong_place_in_a_journal_is_a_mistake_of_the_address(
    console: TestClient, query: str
) -> None:
    assert console.get(f"/sessions/{begin(console)}?tab=journal&{query}").status_code == 400


def test_a_session_is_listed_by_its_first_input_and_shows_the_line(
    console: TestClient, daemon: Daemon
) -> None:
    session = begin(console)
    [_, run_id] = line_up(daemon, session, "plan the trip", "book it")

    listed = console.get("/sessions").text
    assert "plan the trip" in listed
    assert "2 queued" in listed
    page = console.get(f"/sessions/{session}").text
    assert "place 2 in the queue" in page
    console.post("/act/runs.cancel", data={"run_id": run_id}, headers=OURS)
    assert "book it" not in console.get(f"/runs?session_id={session}&status=queued").text


def test_a_new_session_is_where_its_form_leads(console: TestClient) -> None:
    form = {"agent_id": "default", "_to": "/sessions/{session_id}?x={nothing}"}
    made = console.post("/act/sessions.create", data=form, headers=OURS)

    [session] = console.get("/v1/sessions").json()["items"]
    assert made.headers["location"] == f"/sessions/{session['session_id']}?x="


def test_a_session_without_a_message_is_titled_by_its_age(console: TestClient) -> None:
    made = begin(console)
    console.post("/v1/sessions", json={"session_id": "launch"})
    listed, own = console.get("/sessions").text, console.get(f"/sessions/{made}").text
    assert f'<a href="/sessions/{made}">New conversation, 0 s ago</a>' in listed
    assert f">{made}<" not in listed
    assert '<a href="/sessions/launch">launch</a>' in listed
    assert "<h1>New conversation, " in own
    assert "<title>New conversation, " in own
    picker = console.get("/memory").text
    assert re.search(rf'<option value="session:{made}"[^>]*>New conversation, ', picker)


def test_the_journal_says_in_words_what_happened(console: TestClient, daemon: Daemon) -> None:
    session = begin(console)
    data = {"what": "candidate_created", "candidate_id": "cand_1", "state": "pending"}
    note = NewEvent(kind=EventKind.LEARNING, data=data)
    with daemon.resources.units.write() as unit:
        unit.journal.append(session, (note,), at_ms=NOW)
    for language, words in (
        ("en", "candidate proposed · pending"),
        ("vi", "đã có đề xuất · đang chờ"),
        ("zh", "已提出候选 · 待定"),
    ):
        headers = {"Accept-Language": language}
        page = console.get(f"/sessions/{session}?tab=journal", headers=headers).text
        lines = [
            " ".join(line.split())
            for line in re.findall(r"<summary>(.*?)</summary>", page, re.DOTALL)
        ]
        assert words in lines
        assert not [line for line in lines if "_" in line]


def test_a_form_that_leads_to_its_own_page_adds_no_step_back(console: TestClient) -> None:
    here = f"/sessions/{begin(console)}"
    htmx = {**OURS, "HX-Request": "true", "HX-Current-URL": URL + here}
    form = {"session_id": here.rpartition("/")[2], "_to": here}

    sent = console.post("/act/runs.interrupt", data=form, headers=htmx)

    leads = json.loads(sent.headers["hx-location"])
    assert (leads["path"], leads["replace"]) == (here, "true")


def test_a_viewer_reads_a_conversation_and_changes_nothing(
    tmp_path: Path, fresh_database: Path
) -> None:
    daemon = idle_daemon(tmp_path / "guarded", fresh_database, UNDERSTUDY_ADMIN_TOKEN=ADMIN)
    with client_of(daemon) as guarded:
        bearer = {"Authorization": f"Bearer {ADMIN}"}
        guarded.post("/v1/sessions", json={"session_id": "talk"}, headers=bearer)
        [run_id] = line_up(daemon, "talk", "hi")
        token = {"user_id": "ann", "role": "viewer"}
        secret = guarded.post("/v1/tokens", json=token, headers=bearer).json()["token"]
        guarded.post("/signin", data={"token": secret}, headers=OURS)

        for path in ("/sessions", "/sessions/talk", "/sessions/talk?tab=settings", "/runs"):
            page = guarded.get(path)
            assert page.status_code == 200
            assert 'action="/act/' not in page.text
        # Requests of a run may hold anything: only admins are shown them.
        assert "Only admins" in guarded.get(f"/runs/{run_id}?tab=prompt").text
        refused = guarded.post("/act/runs.cancel", data={"run_id": run_id}, headers=OURS)
        assert refused.status_code == 403
    daemon.resources.database.dispose()


async def test_what_happens_between_a_page_and_its_stream_is_signalled(daemon: Daemon) -> None:
    place = newest_place(daemon.services)
    sessions = daemon.services.sessions
    made = sessions.create(ALICE, NewSession())
    stream = signals(daemon.services, str(place))

    assert await anext(stream) == f"id: {place}\n\n".encode()
    assert signal_of(made.session_id).encode() in await anext(stream)
    assert b"anything-changed" in await anext(stream)


async def test_what_is_changed_without_a_session_is_signalled_at_once(daemon: Daemon) -> None:
    daemon.resources.bell.attach(asyncio.get_running_loop())
    stream = signals(daemon.services, "")
    await anext(stream)
    waiting = asyncio.ensure_future(anext(stream))
    # It looks once and finds nothing, so that only a ring makes it look again.
    assert not (await asyncio.wait({waiting}, timeout=0.3))[0]
    agents = daemon.services.agents.service
    agents.create(ALICE, "writer", AgentFields(display_name="Writer"))
    # As the worker of a daemon that runs does once it hears of the commit.
    assert daemon.resources.units.seal()

    # Far below the time after which the daemon looks without being told.
    assert b"review-changed" in await asyncio.wait_for(waiting, 5)


@pytest.mark.parametrize("since", ["", "x", "-1", "9" * 30, "999999"])
async def test_a_stream_without_a_place_begins_now(daemon: Daemon, since: str) -> None:
    place = newest_place(daemon.services)

    assert await anext(signals(daemon.services, since)) == f"id: {place}\n\n".encode()
