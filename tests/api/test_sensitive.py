"""What is sensitive, viewers do not see: on no operation that could tell of it."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN, idle_daemon
from tests.api.skill_users import Person
from tests.api.test_isolation import FIXED, OPERATIONS, person
from tests.support.factories import make_background_task, make_new_event, make_run
from understudy.api.app import create_app
from understudy.api.sse import Position, RunStreamState, all_events, stream_run
from understudy.background_tasks.model import OutputPiece
from understudy.core.visibility import RowVisibility, current_visibility
from understudy.daemon.wiring import Daemon
from understudy.runs.model import RunRequest
from understudy.sessions.journal import EventKind, FeedPlace
from understudy.wire.masking import masked, quotations_near

MARK = "zanzibar"
LEARNED = f"The door code is {MARK} 4711"
PROPOSED = f"The spare code is {MARK} 4712"
HARMLESS = "The door code alone is no secret."
# That something was learned is told; what, is not.
NAMING = frozenset({"audit.list", "sessions.events"})
READS = sorted(
    name
    for name, (method, _) in OPERATIONS.items()
    if method == "GET" and not name.endswith(".stream")
)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, fresh_database: Path) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("sensitive") / "home"
    daemon = idle_daemon(home, fresh_database, UNDERSTUDY_ADMIN_TOKEN=ADMIN)
    yield daemon
    daemon.resources.database.dispose()


@pytest.fixture(scope="module")
def client(daemon: Daemon) -> Iterator[TestClient]:
    with TestClient(create_app(daemon.services), base_url="http://127.0.0.1:4600") as client:
        yield client


@pytest.fixture(scope="module")
def root(client: TestClient) -> Person:
    return Person(client, {"Authorization": f"Bearer {ADMIN}"})


@pytest.fixture(scope="module")
def viewer(client: TestClient) -> Person:
    return person(client, "vera", "viewer")


@pytest.fixture(scope="module")
def ids(daemon: Daemon, root: Person) -> Mapping[str, str]:
    """A session whose run says two sensitive things: one was published, one waits."""
    root.ok("POST", "/v1/sessions", {"session_id": "s1"})
    said = f"remember:  the DOOR code\nis {MARK} 4711. And {PROPOSED}!"
    run = make_run("s1", user_id="admin", request=RunRequest(text_preview=said))
    with daemon.resources.units.write() as unit:
        unit.runs.add(run)
        events = [
            make_new_event(EventKind.RUN, data={"status": "queued"}, run_id=run.run_id),
            make_new_event(EventKind.OUTPUT, data={"text": said}, run_id=run.run_id),
        ]
        unit.journal.append("s1", events, at_ms=run.submitted_at_ms)
        task = make_background_task(run, command=f"echo {said}", output_chars=len(said))
        unit.background_tasks.add(task)
        unit.background_tasks.append(task.task_id, OutputPiece(start=0, text=said))
    made = {}
    for name, content in (("learning", f"{LEARNED}."), ("candidate", f"{PROPOSED}.")):
        wanted = {
            "scope": {"kind": "workspace", "id": "default"},
            "kind": "fact",
            "content": content,
            "sensitivity": "sensitive",
            "source": {"run_id": run.run_id, "session_id": "s1"},
        }
        made[name] = root.ok("POST", "/v1/learning-candidates", wanted)["candidate_id"]
    path = f"/v1/learning-candidates/{made['learning']}/publish"
    learning_id = root.ok("POST", path, {})["learning_id"]
    return {
        **quoting_records(root, said),
        "session_id": "s1",
        "run_id": run.run_id,
        "task_id": task.task_id,
        "candidate_id": made["candidate"],
        "learning_id": learning_id,
    }


def quoting_records(root: Person, said: str) -> dict[str, str]:
    """Records for all that quote what is sensitive."""
    member = {"member_id": "admin", "member_kind": "human_actor", "actor_id": "admin"}
    room = root.ok("POST", "/v1/channels", {"title": "Room", "members": [member]})["channel_id"]
    sent = root.ok("POST", f"/v1/channels/{room}/messages", {"content": said})
    project = root.ok("POST", "/v1/projects", {"display_name": "Board"})["project_id"]
    task = root.ok("POST", f"/v1/projects/{project}/tasks", {"title": "X", "description": said})
    return {
        "channel_id": room,
        "message_id": sent["message_id"],
        "project_id": project,
        "project_task_id": task["project_task_id"],
        "persona_id": root.ok("POST", "/v1/personas", {"soul": said})["persona_id"],
    }


def answers(caller: Person, name: str, ids: Mapping[str, str]) -> Iterator[Any]:
    """What an operation says, asked plainly and asked for the very words."""
    _, path = OPERATIONS[name]
    for field in re.findall(r"{(\w+)(?::path)?}", path):
        path = re.sub(rf"{{{field}(:path)?}}", ids.get(field, FIXED.get(field, "x")), path)
    yield caller.call("GET", path)
    yield caller.call("GET", path, params={"query": "code 4711 4712"})
    yield caller.call("GET", path, params={"query": MARK})


@pytest.mark.parametrize("name", READS)
def test_a_viewer_is_told_nothing_sensitive(
    name: str, ids: Mapping[str, str], viewer: Person
) -> None:
    for answer in answers(viewer, name, ids):
        # What was asked may be repeated.
        text = answer.text.replace(f'"{MARK}"', "")
        assert MARK not in text
        if name not in NAMING:
            assert ids["learning_id"] not in text or answer.status_code == 404
            assert ids["candidate_id"] not in text or answer.status_code == 404


TOLD = (
    "learnings.get",
    "learning_candidates.get",
    "learnings.list",
    "runs.events",
    "inbox.list",
    "background_tasks.list",
    "background_tasks.output",
    "channels.messages",
    "project_tasks.get",
    "personas.get",
)


@pytest.mark.parametrize("name", TOLD)
def test_an_operator_is(name: str, ids: Mapping[str, str], client: TestClient) -> None:
    [plain, *_] = answers(person(client, "olga"), name, ids)

    assert MARK in plain.text


def test_the_rest_of_what_a_run_says_stays(ids: Mapping[str, str], viewer: Person) -> None:
    said = viewer.ok("GET", "/v1/sessions/s1/events")

    [text] = [it["data"]["text"] for it in said["items"] if "text" in it.get("data", {})]
    assert text == "remember:  [sensitive]. And [sensitive]!"


@pytest.mark.parametrize("step", [1, 7, 40])
def test_parts_of_an_output_put_together_tell_nothing_sensitive(
    step: int, ids: Mapping[str, str], root: Person, viewer: Person
) -> None:
    path = f"/v1/background-tasks/{ids['task_id']}/output"
    whole = root.ok("GET", path)["text"]

    parts = (
        viewer.ok("GET", path, params={"offset": offset, "limit": step})["text"]
        for offset in range(0, len(whole), step)
    )

    told = "".join(parts)
    assert MARK not in told
    assert len(told) == len(whole)
    assert told.startswith("remember:  [sensitive]")
    assert told.endswith("!")


@pytest.fixture(scope="module")
def elsewhere(daemon: Daemon, root: Person, ids: Mapping[str, str]) -> Mapping[str, str]:
    """A run of another session, which repeats what was learned here."""
    root.ok("POST", "/v1/sessions", {"session_id": "s2"})
    said = f"Somebody told me: {LEARNED}, so go in. {HARMLESS}"
    run = make_run("s2", user_id="admin", request=RunRequest(text_preview=said))
    with daemon.resources.units.write() as unit:
        unit.runs.add(run)
        events = [make_new_event(EventKind.OUTPUT, data={"text": said}, run_id=run.run_id)]
        unit.journal.append("s2", events, at_ms=run.submitted_at_ms)
        task = make_background_task(run, command=f"echo {said}", output_chars=len(said))
        unit.background_tasks.add(task)
        unit.background_tasks.append(task.task_id, OutputPiece(start=0, text=said))
    return {"session_id": "s2", "run_id": run.run_id, "task_id": task.task_id}


SAYING = (
    "background_tasks.list",
    "background_tasks.output",
    "runs.events",
    "runs.get",
    "runs.list",
    "sessions.events",
)


@pytest.mark.parametrize("name", SAYING)
def test_a_run_of_another_session_tells_a_viewer_nothing_sensitive(
    name: str, elsewhere: Mapping[str, str], viewer: Person, root: Person
) -> None:
    [told, *_], [whole, *_] = answers(viewer, name, elsewhere), answers(root, name, elsewhere)

    assert "4711" in whole.text
    assert "4711" not in told.text
    assert HARMLESS in told.text


def test_few_words_are_masked_only_where_they_were_said(
    daemon: Daemon, root: Person, viewer: Person, ids: Mapping[str, str]
) -> None:
    wanted = {
        "scope": {"kind": "workspace", "id": "default"},
        "kind": "fact",
        "content": "session_id",
        "sensitivity": "sensitive",
        "source": {"run_id": ids["run_id"], "session_id": "s1"},
    }
    made = root.ok("POST", "/v1/learning-candidates", wanted)["candidate_id"]
    shown = root.ok("POST", "/v1/sessions", {"session_id": "s3"})
    assert viewer.ok("GET", "/v1/sessions/s3")["session_id"] == shown["session_id"]

    root.ok("POST", f"/v1/learning-candidates/{made}/reject", {})


STREAMED = f"The cellar code is {MARK} 4713"
SAID = f"Well. {STREAMED}, as you know. Bye!"


@pytest.mark.parametrize(
    ("sees_sensitive", "is_own"), [(False, True), (False, False), (True, True)]
)
def test_a_sensitive_sentence_is_not_streamed_in_parts(
    daemon: Daemon, root: Person, sees_sensitive: bool, is_own: bool
) -> None:
    # A session of its own: others count what is said in theirs.
    session_id = root.ok("POST", "/v1/sessions", {})["session_id"]
    run = make_run(session_id, user_id="admin")

    def append(kind: EventKind, **data: object) -> None:
        with daemon.resources.units.write() as unit:
            event = make_new_event(kind, data=data, run_id=run.run_id)
            unit.journal.append(session_id, [event], at_ms=1)

    async def stream() -> list[dict[str, Any]]:
        current_visibility.set(RowVisibility(sees_sensitive=sees_sensitive))
        deltas = daemon.resources.deltas
        daemon.resources.bell.attach(asyncio.get_running_loop())
        deltas.begin(run.run_id, 1)
        state = RunStreamState(position=Position())
        frames = stream_run(daemon.services, run.run_id, session_id, state)
        got = [await anext(frames)]
        deltas.say(run.run_id, SAID[:12])
        reading = asyncio.ensure_future(anext(frames))
        # Nothing comes of it for who may not see the rest.
        await asyncio.wait({reading}, timeout=5 if sees_sensitive else 0.3)
        assert reading.done() == sees_sensitive
        deltas.say(run.run_id, SAID[12:30])
        append(EventKind.MESSAGE, text=SAID, step=1)
        append(EventKind.RUN, status="completed")
        deltas.end(run.run_id)
        got.append(await reading)
        got += [frame async for frame in frames]
        lines = b"".join(got).decode().splitlines()
        return [json.loads(it[len("data: ") :]) for it in lines if it.startswith("data: ")]

    with daemon.resources.units.write() as unit:
        unit.runs.add(run)
    said = {
        "scope": {"kind": "session", "id": session_id},
        "kind": "fact",
        "content": f"{STREAMED}.",
        "sensitivity": "sensitive",
        "source": {"run_id": run.run_id, "session_id": session_id} if is_own else {},
    }
    root.ok("POST", "/v1/learning-candidates", said)
    append(EventKind.RUN, status="in_progress")
    told = [it["text"] for it in asyncio.run(stream()) if "step" in it and "text" in it]

    whole = "".join(told)
    assert len(whole) == len(SAID)
    if sees_sensitive:
        assert (told[0], whole) == (SAID[:12], SAID)
    else:
        assert whole.startswith("Well. [sensitive]")
        assert whole.endswith(", as you know. Bye!")
        assert MARK not in whole


@pytest.mark.parametrize("sees_sensitive", [False, True])
def test_events_of_streams_quote_nothing_sensitive(
    daemon: Daemon, ids: Mapping[str, str], sees_sensitive: bool
) -> None:
    reset = current_visibility.set(RowVisibility(sees_sensitive=sees_sensitive))
    try:
        shown = str([event.data for event in all_events(daemon.services)(FeedPlace())])
    finally:
        current_visibility.reset(reset)

    assert (MARK in shown) == sees_sensitive
    assert ("[sensitive]" in shown) != sees_sensitive


def test_what_was_said_long_before_is_streamed_at_once(
    daemon: Daemon, root: Person, ids: Mapping[str, str]
) -> None:
    """Only so much is held back as a sensitive statement may take."""
    assert ids
    session_id = root.ok("POST", "/v1/sessions", {})["session_id"]
    run = make_run(session_id, user_id="admin")
    with daemon.resources.units.write() as unit:
        unit.runs.add(run)
    quotations = quotations_near(daemon.resources.units, (session_id, run.run_id))
    text = "word " * 2_000

    async def first() -> str:
        current_visibility.set(RowVisibility(sees_sensitive=False))
        deltas = daemon.resources.deltas
        daemon.resources.bell.attach(asyncio.get_running_loop())
        deltas.begin(run.run_id, 1)
        deltas.say(run.run_id, text)
        state = RunStreamState(position=Position())
        frames = stream_run(daemon.services, run.run_id, session_id, state)
        [line] = [it for it in (await anext(frames)).decode().splitlines() if "data: " in it]
        deltas.end(run.run_id)
        return str(json.loads(line[len("data: ") :])["text"])

    ready = quotations.settled(text)
    assert 0 < ready < len(text)
    assert asyncio.run(first()) == text[:ready]
    # Blanks between the words of a statement make it longer.
    spread = text.replace(" ", " " * 50)
    assert len(" ".join(spread[quotations.settled(spread) :].split())) >= len(LEARNED)


@pytest.mark.parametrize("content", ["session_id", "true", "null", "1234", '", "', '"x": [ {'])
def test_a_statement_that_looks_like_json_leaves_the_json_whole(
    daemon: Daemon, root: Person, ids: Mapping[str, str], content: str
) -> None:
    wanted = {
        "scope": {"kind": "workspace", "id": "default"},
        "kind": "fact",
        "content": content,
        "sensitivity": "sensitive",
        "source": {"run_id": ids["run_id"], "session_id": "s1"},
    }
    made = root.ok("POST", "/v1/learning-candidates", wanted)["candidate_id"]
    shown = {"session_id": "s1", "list": ["a", "b"], "x": [{"t": True, "n": None, "at": 1712345}]}
    reset = current_visibility.set(RowVisibility(sees_sensitive=False))
    try:
        seen = masked(daemon.resources.units, {**shown, "said": f"it is {content}"})
    finally:
        current_visibility.reset(reset)
        root.ok("POST", f"/v1/learning-candidates/{made}/reject", {})
    assert seen == {**shown, "said": "it is [sensitive]"}


def test_an_export_of_a_skill_is_masked_for_viewers_alone(
    ids: Mapping[str, str], root: Person, viewer: Person
) -> None:
    said = f"---\nname: doors\ndescription: How to open doors.\n---\nKnow: {LEARNED}.\n"
    made = root.ok("POST", "/v1/skills", {"content": said})
    root.ok("PUT", f"/v1/skills/{made['id']}", {"visibility": "public"})

    def exported(caller: Person) -> dict[str, bytes]:
        archive = caller.call("GET", f"/v1/skills/{made['id']}/export")
        with ZipFile(BytesIO(archive.content)) as files:
            return {name: files.read(name) for name in files.namelist()}

    whole, masked = exported(root), exported(viewer)

    assert LEARNED.encode() in whole["doors/SKILL.md"]
    assert MARK.encode() not in b"".join(masked.values())
    assert b"Know: [sensitive]" in masked["doors/SKILL.md"]
