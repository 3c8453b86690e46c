"""Isolation per user around what is shared: rooms and boards name nobody else's sessions and runs."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN, idle_daemon
from tests.api.skill_users import Person
from tests.api.test_isolation import CONFIG, FIXED, OPERATIONS, person
from tests.support.factories import make_run
from understudy.api.app import create_app
from understudy.core.ids import new_id
from understudy.daemon.wiring import Daemon
from understudy.playbooks.flow import FlowRecord
from understudy.playbooks.model import PlaybookRef
from understudy.runs.model import RunRequest

MARK = "zanzibar"
READS = sorted(
    name
    for name, (method, path) in OPERATIONS.items()
    if method == "GET" and not path.endswith("/stream")
)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, fresh_database: Path) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("shared") / "home"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(CONFIG)
    daemon = idle_daemon(home, fresh_database, UNDERSTUDY_ADMIN_TOKEN=ADMIN)
    yield daemon
    daemon.resources.database.dispose()


@pytest.fixture(scope="module")
def client(daemon: Daemon) -> Iterator[TestClient]:
    with TestClient(create_app(daemon.services), base_url="http://127.0.0.1:4600") as client:
        yield client


@pytest.fixture(scope="module")
def ada(client: TestClient) -> Person:
    return person(client, "ada")


@pytest.fixture(scope="module")
def root(client: TestClient) -> Person:
    return Person(client, {"Authorization": f"Bearer {ADMIN}"})


@pytest.fixture(scope="module")
def own(daemon: Daemon, ada: Person, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What is Ada's alone: sessions, runs, a flow, a root."""
    made = {"session_id": f"{MARK}-room"}
    ada.ok("POST", "/v1/sessions", {"session_id": made["session_id"]})
    run = make_run(made["session_id"], user_id="ada", request=RunRequest(text_preview=MARK))
    playbook = PlaybookRef(playbook_id="books", version="1.0.0", digest="0" * 64)
    flow = FlowRecord(
        flow_id=new_id("flow"),
        playbook_ref=playbook,
        session_id=run.session_id,
        run_id=run.run_id,
        input_digest="0" * 64,
        correlation_nonce=MARK,
        created_by="ada",
        created_at_ms=run.submitted_at_ms,
        updated_at_ms=run.submitted_at_ms,
    )
    with daemon.resources.units.write() as unit:
        unit.runs.add(run)
        unit.flows.add(flow)
    made |= {"run_id": run.run_id, "flow_id": flow.flow_id}
    folder = tmp_path_factory.mktemp(MARK)
    made["root_id"] = ada.ok("POST", "/v1/skills/roots", {"path": str(folder)})["root_id"]
    return made


@pytest.fixture(scope="module")
def shared(ada: Person, own: Mapping[str, str]) -> Mapping[str, str]:
    """What Ada made for all: a room and a board in which her session has a part."""
    session_id = own["session_id"]
    made = {}
    member = {"member_id": session_id, "session_id": session_id}
    channel = {"title": "Room", "members": [member]}
    made["channel_id"] = ada.ok("POST", "/v1/channels", channel)["channel_id"]
    room = f"/v1/channels/{made['channel_id']}"
    said = {
        "content": "hello",
        "addressed_member_ids": [session_id],
        "sender_session_id": session_id,
    }
    made["message_id"] = ada.ok("POST", f"{room}/messages", said)["message_id"]
    made["project_id"] = ada.ok("POST", "/v1/projects", {"display_name": "Board"})["project_id"]
    board = f"/v1/projects/{made['project_id']}"
    ada.ok("POST", f"{board}/members", {"member_id": session_id, "session_id": session_id})
    task = {"title": "Do it", "assignment": {"assignee_session_id": session_id}}
    made["project_task_id"] = ada.ok("POST", f"{board}/tasks", task)["project_task_id"]
    return made


def told(caller: Person, name: str, ids: Mapping[str, str]) -> Any:
    path = OPERATIONS[name][1]
    for field in re.findall(r"{(\w+)(?::path)?}", path):
        path = re.sub(rf"{{{field}(:path)?}}", ids.get(field, FIXED.get(field, "x")), path)
    return caller.call("GET", path)


@pytest.mark.parametrize("name", READS)
def test_what_is_shared_names_nothing_of_somebody_elses(
    name: str, client: TestClient, own: Mapping[str, str], shared: Mapping[str, str]
) -> None:
    answer = told(person(client, "bob"), name, shared)

    assert answer.status_code < 500, answer.text
    assert MARK not in answer.text
    assert not [each for each in own.values() if each in answer.text]


@pytest.mark.parametrize("name", ["channels.members", "channels.messages", "project_tasks.get"])
def test_its_owner_is_told(
    name: str, ada: Person, own: Mapping[str, str], shared: Mapping[str, str]
) -> None:
    assert MARK in told(ada, name, shared).text


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/v1/flows/{flow_id}", "flow_not_found"),
        ("POST", "/v1/flows/{flow_id}/cancel", "flow_not_found"),
        ("DELETE", "/v1/skills/roots/{root_id}", "root_not_found"),
    ],
)
def test_flows_and_roots_of_others_do_not_exist(
    method: str, path: str, code: str, client: TestClient, own: Mapping[str, str]
) -> None:
    body: dict[str, str] | None = {} if method == "POST" else None

    # Not Bob, whose audit would name what was asked for.
    assert person(client, "eve").refused(method, path.format(**own), body) == (404, code)


def test_keys_are_the_daemons_and_show_nothing_of_a_user(
    client: TestClient, root: Person, own: Mapping[str, str]
) -> None:
    root.ok("POST", "/v1/keys", {"name": "The team"})

    [key] = person(client, "bob").ok("GET", "/v1/keys")["items"]

    assert "PRIVATE" not in str(key)
    assert person(client, "bob").refused("POST", "/v1/keys", {"name": "Mine"})[0] == 403
