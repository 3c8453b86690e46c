"""Who may see what a run was given to remember."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN, idle_daemon
from tests.api.live import Live
from tests.api.skill_users import Person
from tests.api.test_isolation import CONFIG, person
from tests.support.command_line_in_process import typed
from tests.support.factories import make_run
from tests.support.learning_factories import keep, make_learning
from understudy.api.app import create_app
from understudy.daemon.wiring import Daemon
from understudy.learnings.model import Sensitivity
from understudy.runs.remembered import remembered_event
from understudy.sessions.learning_scopes import session_scope

SHARED, SECRET, OWN = "We close at five.", "The safe is behind the clock.", "Ada likes tea."


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, fresh_database: Path) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("remembered") / "home"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(CONFIG)
    daemon = idle_daemon(home, fresh_database, UNDERSTUDY_ADMIN_TOKEN=ADMIN)
    yield daemon
    daemon.resources.database.dispose()


@pytest.fixture(scope="module")
def client(daemon: Daemon) -> Iterator[TestClient]:
    app = create_app(daemon.services)
    with TestClient(app, base_url="http://127.0.0.1:4600") as client:
        yield client


@pytest.fixture(scope="module")
def root(client: TestClient) -> Person:
    return Person(client, {"Authorization": f"Bearer {ADMIN}"})


@pytest.fixture(scope="module")
def runs(daemon: Daemon, root: Person) -> dict[str, str]:
    """A run of each person, whose prompt had something shared, something sensitive, and Ada's."""
    units = daemon.resources.units
    for user in ("ada", "bob", "vera"):
        headers = {"X-Understudy-User-Id": user}
        answer = root.call("POST", "/v1/sessions", {"session_id": f"of-{user}"}, headers=headers)
        assert answer.is_success, answer.text
    named = keep(
        units,
        make_learning(SHARED),
        make_learning(SECRET, sensitivity=Sensitivity.SENSITIVE),
        make_learning(OWN, scope=session_scope("of-ada")),
    )
    made = {}
    for user in ("ada", "bob", "vera"):
        run = make_run(f"of-{user}", user_id=user)
        event = remembered_event(run, named, ["run_that_is_gone"])
        assert event is not None
        with units.write() as unit:
            unit.runs.add(run)
            unit.journal.append(run.session_id, [event], at_ms=run.submitted_at_ms)
        made[user] = run.run_id
    return made


@pytest.mark.parametrize(
    ("user", "role", "seen"),
    [
        ("ada", "operator", [SHARED, SECRET, OWN]),
        ("bob", "operator", [SHARED, SECRET]),
        ("vera", "viewer", [SHARED]),
    ],
)
def test_everybody_is_told_only_what_they_may_see(
    client: TestClient, runs: dict[str, str], user: str, role: str, seen: list[str]
) -> None:
    who = person(client, user, role)
    run = who.ok("GET", f"/v1/runs/{runs[user]}")
    (listed,) = who.ok("GET", "/v1/runs")["items"]
    (event,) = [
        each
        for each in who.ok("GET", f"/v1/sessions/of-{user}/events")["items"]
        if each["kind"] == "remembered"
    ]

    assert [each["content"] for each in run["remembered"]] == seen
    assert listed["remembered"] == run["remembered"]
    assert event["data"]["remembered"] == run["remembered"]


def test_a_run_of_others_tells_nothing(client: TestClient, runs: dict[str, str]) -> None:
    assert person(client, "bob").call("GET", f"/v1/runs/{runs['ada']}").status_code == 404


def test_a_stream_tells_what_a_run_was_given_once(live: Live) -> None:
    live.session("given")
    said = {"content": "I prefer the metric system", "kind": "preference", "applies": "always"}
    learning_id = live.ok("POST", "/v1/learnings", said)["learning_id"]
    try:
        run_id = live.run("given", "How far is it?")["run_id"]
        events = live.told(run_id)
        (event,) = [each for each in events if each.name == "remembered"]
        rest = live.told(run_id, event.id)
        shown = typed("--url", str(live.client.base_url), "chat", "--session", "given", "And now?")
    finally:
        live.ok("POST", f"/v1/learnings/{learning_id}/revoke", {"reason": "over"})

    told = {"id": learning_id, "kind": "learning", "content": said["content"]}
    assert event.data["remembered"] == [told]
    assert event.data["run_id"] == run_id
    assert "remembered" not in [each.name for each in rest]
    (line,) = [it for it in shown.stderr.splitlines() if it.startswith("remembered: ")]
    assert line.startswith(
        f"remembered: {said['content']} ({learning_id}); Request: How far is it?"
    )
