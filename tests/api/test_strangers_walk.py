"""A stranger reads everything there is, with isolation per user, and meets nothing of the others.

The sample workspace is an admin's, and Ada has one of each record; the ids of both that Bob must not
meet are read from the tables themselves. What Ada says has a word of its own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from html import unescape
from itertools import islice, product
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from tests.api.furniture import MAKERS
from tests.api.live import CONFIG, Live, live_daemon
from tests.api.skill_users import Person
from tests.console.conftest import OURS
from tests.support.factories import make_background_task, make_new_event
from tests.support.openapi import committed_document
from tests.support.postgres import MakeDatabase
from tests.support.rollout_factories import make_event, make_evidence, make_rollout, make_trial
from tests.support.rpc import rpc
from understudy.background_tasks.model import OutputPiece
from understudy.console.live import signal_of
from understudy.console.site_map import PAGES
from understudy.core.ids import MADE_ID, new_id
from understudy.core.visibility import RowVisibility, current_visibility
from understudy.playbooks.flow import FlowRecord
from understudy.playbooks.model import PlaybookRef
from understudy.runs.artifacts import Artifact
from understudy.runs.requests import PersonRequest, RequestKind
from understudy.sessions.journal import EventKind
from understudy.sessions.learning_scopes import LearningScope, ScopeKind
from understudy.storage import schema
from understudy.storage.unit import Unit
from understudy.storage.visibility import OWNED, OWNED_FOR_READERS

ADMIN = "admin-secret"
# In everything that Ada says, and in the ids that she chooses.
MARK = "zanzibar"
ID = re.compile(MADE_ID)
LINK = re.compile(r'<a [^>]*?href="(/[^"#]*)')
# So many records of a table are asked for, of the first and of the last ones.
EACH = 3
STREAMS = "text/event-stream"


def reads() -> Iterator[tuple[str, str]]:
    """Every operation that reads, and its path; streams do not end, and have tests of their own."""
    for path, methods in committed_document()["paths"].items():
        if "get" in methods and STREAMS not in methods["get"]["responses"]["200"].get(
            "content", {}
        ):
            yield methods["get"]["operationId"], path


READS = dict(reads())


@dataclass(frozen=True, eq=False)
class Walk:
    """A daemon with what everybody has on it, and who reads it."""

    live: Live
    root: Person
    ada: Person
    bob: Person
    bob_token: str
    # A run of Bob's, one of Ada's, and the room of both.
    own: Mapping[str, str]

    @property
    def named(self) -> dict[str, object]:
        """Data of an event that names what is Ada's."""
        return {"source": {"run_id": self.own["adas_run"], "session_id": f"{MARK}-session"}}

    @cached_property
    def planted(self) -> frozenset[str]:
        """What is hidden once everybody has everything."""
        return self.hidden()

    def hidden(self) -> frozenset[str]:
        """The ids of all records that exist and that Bob does not see."""
        units = self.live.daemon.resources.units
        existing = [_ids(units, table) for table in (*OWNED, *OWNED_FOR_READERS)]
        reset = current_visibility.set(RowVisibility(user_id="bob"))
        try:
            visible = [_ids(units, table) for table in schema.metadata.sorted_tables]
        finally:
            current_visibility.reset(reset)
        return frozenset[str]().union(*existing).difference(*visible)

    def leaked(
        self, text: str, asked: Iterable[str] = (), hidden: frozenset[str] | None = None
    ) -> list[str]:
        """What a text has of somebody else's; what was asked for may be repeated."""
        for each in asked:
            text = text.replace(each, "")
        sought = (*(hidden or self.planted), MARK)
        return [text[max(0, text.index(it) - 40) :][:120] for it in sought if it in text]

    @cache  # noqa: B019 - there are two
    def rows(self, *names: str) -> list[tuple[str, ...]]:
        """Values of these fields as they stand in the tables, of hidden and of shared records."""
        tables = [it for it in schema.metadata.sorted_tables if set(names) <= set(it.c.keys())]
        found: list[tuple[str, ...]] = []
        with self.live.daemon.resources.units.read() as unit:
            for table in tables:
                query = sa.select(*(table.c[name] for name in names)).distinct()
                rows = [tuple(map(str, row)) for row in unit.connection.execute(query)]
                found += [*rows[:EACH], *rows[-EACH:]]
        if not found and len(names) > 1:
            return list(islice(product(*(self.values(name) for name in names)), 4 * EACH))
        return list(dict.fromkeys(found))

    def values(self, name: str) -> list[str]:
        return [row[0] for row in self.rows(CALLED.get(name, name))] or ["x"]


# What a path calls otherwise than the table.
CALLED = {"member_id": "session_id", "path": "name"}


def _ids(units: Any, table: sa.Table) -> frozenset[str]:
    with units.read() as unit:
        rows = unit.connection.execute(sa.select(*table.primary_key.columns)).all()
    is_name = table is schema.sessions
    values = {value for row in rows for value in row if isinstance(value, str)}
    return frozenset(value for value in values if is_name or ID.fullmatch(value))


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def walk(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Walk]:
    environment = {"UNDERSTUDY_ADMIN_TOKEN": ADMIN}
    if request.param == "postgresql":
        make: MakeDatabase = request.getfixturevalue("make_module_database")
        environment["UNDERSTUDY_DATABASE_URL"] = make()
    home: Path = tmp_path_factory.mktemp("walk") / "home"
    with live_daemon(home, config='isolation = "per_user"\n' + CONFIG, **environment) as live:
        yield furnished(live)


def furnished(live: Live) -> Walk:
    root = Person(live.client, {"Authorization": f"Bearer {ADMIN}"})
    live.client.headers.update(root.headers)
    live.ok("POST", "/v1/sample", {}, timeout=120)
    tokens = {
        user: root.ok("POST", "/v1/tokens", {"user_id": user, "role": "operator"})["token"]
        for user in ("ada", "bob")
    }
    ada, bob = (
        Person(live.client, {"Authorization": f"Bearer {tokens[user]}"}) for user in ("ada", "bob")
    )
    made = plant_owned(live, ada)
    own = plant_shared(live, ada, bob, made)
    return Walk(live=live, root=root, ada=ada, bob=bob, bob_token=tokens["bob"], own=own)


def ended(live: Live, caller: Person, session_id: str, text: str) -> str:
    run = caller.ok("POST", f"/v1/sessions/{session_id}/runs", {"content": text})
    live.finished(run["run_id"])
    return str(run["run_id"])


def plant_owned(live: Live, ada: Person) -> dict[str, str]:
    """One of each record that is Ada's alone."""
    session_id = f"{MARK}-session"
    made = {"session_id": session_id}
    ada.ok("POST", "/v1/sessions", made)
    made["run_id"] = ended(live, ada, session_id, f"Please remember: the word is {MARK}.")
    ada.ok("POST", f"/v1/sessions/{session_id}/tasks", {"title": MARK})
    ada.ok("POST", "/v1/mailboxes", {"session_id": session_id, "content": MARK})
    MAKERS["schedule_id"](ada, made)
    ada.ok("POST", "/v1/assets", {"file_name": f"{MARK}.txt", "content_base64": "emFuemliYXI="})
    ada.ok("PUT", "/v1/agents/default/users/ada/files/USER.md", {"content": f"I like {MARK}."})
    said = {
        "scope": {"kind": "session", "id": session_id},
        "kind": "fact",
        "content": f"The town is {MARK}.",
        "source": {"run_id": made["run_id"], "session_id": session_id},
    }
    ada.ok("POST", "/v1/learning-candidates", said)
    other = {**said, "content": f"The river is {MARK}."}
    candidate = ada.ok("POST", "/v1/learning-candidates", other)["candidate_id"]
    path = f"/v1/learning-candidates/{candidate}/publish"
    made["learning_id"] = ada.ok("POST", path, {"scope": said["scope"]})["learning_id"]
    flow = FlowRecord(
        flow_id=new_id("flow"),
        playbook_ref=PlaybookRef(playbook_id="books", version="1.0.0", digest="0" * 64),
        session_id=session_id,
        run_id=made["run_id"],
        input_digest="0" * 64,
        correlation_nonce=MARK,
        created_by="ada",
        created_at_ms=1,
        updated_at_ms=1,
    )
    where: dict[str, Any] = {"run_id": made["run_id"], "call_key": MARK, "created_at_ms": 1}
    body = {"tool_name": "shell", "arguments": {"command": MARK}, "reason": MARK}
    with live.daemon.resources.units.write() as unit:
        run = unit.runs.get(made["run_id"])
        assert run is not None
        unit.flows.add(flow)
        task = make_background_task(run, command=MARK)
        unit.background_tasks.add(task)
        unit.background_tasks.append(task.task_id, OutputPiece(start=0, text=MARK))
        for kind in (RequestKind.APPROVAL, RequestKind.QUESTION):
            asked = {"session_id": session_id, "body": body, **where, "call_key": f"{MARK} {kind}"}
            unit.requests.add(PersonRequest(request_id=new_id("req"), kind=kind, **asked))
        artifact = Artifact(
            artifact_id=new_id("art"), tool_name="shell", size=8, content=MARK, **where
        )
        unit.artifacts.add(artifact)
        unit.journal.append(
            session_id, [make_new_event(data={"text": MARK}, run_id=run.run_id)], at_ms=1
        )
    return made


def plant_shared(live: Live, ada: Person, bob: Person, made: Mapping[str, str]) -> dict[str, str]:
    """What Ada made for all, each naming what is hers; and a session, a run and a word of Bob's."""
    session_id, run_id = made["session_id"], made["run_id"]
    said = {
        "scope": {"kind": "workspace", "id": "default"},
        "kind": "procedure",
        "content": "Before a release, read the log.",
        "source": {"run_id": run_id, "session_id": session_id},
    }
    candidate = ada.ok("POST", "/v1/learning-candidates", said)["candidate_id"]
    learning = ada.ok("POST", f"/v1/learning-candidates/{candidate}/publish", {})["learning_id"]
    body = {"skill_name": "read-logs", "instructions": "Read the log."}
    ada.ok("POST", f"/v1/learnings/{learning}/promote-skill", body)
    rollout = make_rollout(
        "from-ada",
        source_learning_id=made["learning_id"],
        source_scope=LearningScope(kind=ScopeKind.SESSION, id=session_id),
    )
    with live.daemon.resources.units.write() as unit:
        unit.rollouts.add(rollout)
        unit.rollouts.add_event(make_event(rollout, run_id=run_id, session_id=session_id))
        unit.rollouts.add_evidence(make_evidence(rollout, run_id, session_id=session_id))
        unit.rollout_trials.add(make_trial(rollout, run_id=run_id, session_id=session_id))
    members = [
        {"member_id": session_id, "session_id": session_id},
        {"member_id": "bob", "member_kind": "human_actor", "actor_id": "bob"},
    ]
    room = {"title": "Room", "members": members}
    channel_id = ada.ok("POST", "/v1/channels", room)["channel_id"]
    messages = f"/v1/channels/{channel_id}/messages"
    ada.ok("POST", messages, {"content": "Hello.", "sender_session_id": session_id})
    project_id = ada.ok("POST", "/v1/projects", {"display_name": "Board"})["project_id"]
    board = f"/v1/projects/{project_id}"
    ada.ok("POST", f"{board}/members", {"member_id": session_id, "session_id": session_id})
    task = {
        "title": "Do it",
        "assignment": {"assignee_session_id": session_id},
        # What a run said for a task is the board's.
        "latest_run_id": ended(live, ada, session_id, "do it"),
    }
    ada.ok("POST", f"{board}/tasks", task)
    bob.ok("POST", "/v1/sessions", {"session_id": "bobs"})
    bob.ok("POST", messages, {"content": "Good morning."})
    bobs = ended(live, bob, "bobs", "hello")
    return {"run_id": bobs, "channel_id": channel_id, "adas_run": run_id}


def append_hint(unit: Unit, session_id: str, run_id: str, data: Mapping[str, object]) -> None:
    unit.journal.append(
        session_id, [make_new_event(EventKind.HINT, data=data, run_id=run_id)], at_ms=1
    )


@pytest.mark.parametrize("name", sorted(READS))
def test_no_operation_tells_a_stranger_of_others(walk: Walk, name: str) -> None:
    path = READS[name]
    fields = re.findall(r"{(\w+)(?::path)?}", path)
    for values in walk.rows(*(CALLED.get(it, it) for it in fields)) if fields else [()]:
        filled = path
        for field, value in zip(fields, values, strict=True):
            filled = re.sub(rf"{{{field}(:path)?}}", value, filled)
        for params in ({}, {"query": MARK}):
            answer = walk.bob.call("GET", filled, params=params)
            assert answer.status_code < 500, answer.text
            # What is missing may be named as it was asked for.
            asked = (*values, MARK) if answer.is_error else params.values()
            assert walk.leaked(answer.text, asked) == [], answer.url


@contextmanager
def browser_of(walk: Walk) -> Iterator[httpx2.Client]:
    """Bob's browser, signed in."""
    with httpx2.Client(base_url=walk.live.client.base_url, timeout=60, trust_env=False) as http:
        url = str(http.base_url).rstrip("/")
        headers = {**OURS, "Origin": url, "Accept": "text/html"}
        sent = http.post("/signin", data={"token": walk.bob_token}, headers=headers)
        assert sent.status_code == 303, sent.text
        yield http


def filled_pages(walk: Walk) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every page, for every kind of record that it shows."""
    for page in PAGES:
        fields = re.findall(r"{(\w+)(?::path)?}", page.path)
        named = re.findall(r"{(\w+)}", READS.get(page.twin, ""))[: len(fields)]
        if len(named) < len(fields):
            named = [*named, *fields[len(named) :]]
        for values in walk.rows(*named) if fields else [()]:
            path = page.path
            for field, value in zip(fields, values, strict=True):
                path = re.sub(rf"{{{field}(:path)?}}", value, path)
            yield path, values


def links_in(page: str) -> Iterator[tuple[str, str]]:
    """The links of a page, and the kind of each: its path and fields without the values."""
    for link in map(unescape, LINK.findall(page)):
        path, _, query = link.partition("?")
        if not path.startswith(("/docs", "/v1", "/openapi", "/static", "/json")):
            kind = re.sub(r"(?<=.)/[^/]*[\d_-][^/]*", "/*", path)
            yield link, kind + " ".join(re.findall(r"(\w+)=", query))


def test_no_page_tells_a_stranger_of_others(walk: Walk) -> None:
    leaked: dict[str, list[str]] = {}
    ahead = list(filled_pages(walk))
    known: set[str] = set()
    shown = 0
    with browser_of(walk) as http:
        while ahead:
            path, values = ahead.pop()
            for address in (path, f"/json{path}"):
                answer = http.get(address, headers={"Accept": "text/html"}, follow_redirects=True)
                assert answer.status_code < 500, address
                shown += answer.is_success
                if found := walk.leaked(answer.text, values if answer.is_error else ()):
                    leaked[address] = found
                for link, kind in links_in(answer.text):
                    if kind not in known:
                        known.add(kind)
                        ahead.append((link, ()))
    assert leaked == {}
    assert shown > len(known) > len(PAGES)


def read_until(walk: Walk, path: str, end: str) -> str:
    """What a stream says from its beginning up to an event that has the words of its end."""
    lines: list[str] = []
    stream = walk.live.client.stream("GET", path, headers=walk.bob.headers, timeout=60)
    with stream as answer:
        assert answer.status_code == 200, answer.read()
        for line in answer.iter_lines():
            lines.append(line)
            if end in line:
                break
    return "\n".join(lines)


def test_no_stream_tells_a_stranger_of_others(walk: Walk) -> None:
    ada_again = ended(walk.live, walk.ada, f"{MARK}-session", f"once more: {MARK}")
    with walk.live.daemon.resources.units.write() as unit:
        append_hint(unit, "bobs", walk.own["run_id"], walk.named)
    bobs = ended(walk.live, walk.bob, "bobs", "once more")
    messages = f"/v1/channels/{walk.own['channel_id']}/messages"
    last = walk.bob.ok("POST", messages, {"content": "Good night."})["message_id"]
    streams = {
        "/v1/events/stream?cursor=0": bobs,
        "/v1/sessions/bobs/stream?cursor=0": bobs,
        f"/v1/runs/{bobs}/stream": "completed",
        f"/v1/channels/{walk.own['channel_id']}/stream?cursor=0": last,
    }
    hidden = walk.hidden()
    assert ada_again in hidden
    for path, end in streams.items():
        text = read_until(walk, path, end)
        assert end in text
        assert walk.leaked(text, hidden=hidden) == [], path


def test_no_signal_of_a_page_tells_a_stranger_of_others(walk: Walk) -> None:
    ended(walk.live, walk.ada, f"{MARK}-session", "live")
    ended(walk.live, walk.bob, "bobs", "live")
    with browser_of(walk) as http, http.stream("GET", "/live?since=0.0") as answer:
        assert answer.status_code == 200
        for line in answer.iter_lines():
            assert signal_of(f"{MARK}-session") not in line
            if signal_of("bobs") in line:
                break


def test_no_frame_of_the_socket_tells_a_stranger_of_others(walk: Walk) -> None:
    url = str(walk.live.client.base_url).rstrip("/").replace("http", "ws", 1)
    with rpc(url, walk.bob_token) as socket:
        answers = [
            socket.ok("skills.list"),
            socket.ok("agents.files.list", {"agentId": "default"}),
        ]
        with walk.live.daemon.resources.units.write() as unit:
            append_hint(unit, f"{MARK}-session", walk.own["adas_run"], {"text": MARK})
            append_hint(unit, "bobs", walk.own["run_id"], walk.named)
        frames = [str(answers)]
        while walk.own["run_id"] not in frames[-1]:
            try:
                frames.append(str(socket.event()))
            except TimeoutError:
                print(walk.bob.ok("GET", "/v1/sessions/bobs/events"), frames)
                raise
    assert walk.leaked("".join(frames), hidden=walk.hidden()) == []


def test_the_walk_would_see_what_is_shown(walk: Walk) -> None:
    """Ada and an admin are shown what Bob is not."""
    assert walk.leaked(walk.ada.call("GET", "/v1/sessions").text)
    assert walk.leaked(walk.root.call("GET", "/v1/learning-skills/from-ada").text)
    assert walk.leaked(walk.ada.call("GET", f"/v1/channels/{walk.own['channel_id']}").text)
    assert {each.partition("_")[0] for each in walk.hidden()} >= {"run", "art", "bgt", "flow"}
