"""Who hears over a WebSocket of what happens, and what one person alone cannot change there."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.candidate_factories import make_candidate
from tests.support.factories import NOW, make_agent, make_run, make_session
from tests.support.rpc import Rpc
from tests.support.ws_skill_server import WsSkillServer, ws_skill_server
from understudy.access.tokens import TOKEN_ADMIN
from understudy.core.principal import Role
from understudy.learnings.model import LearningSource, Sensitivity
from understudy.runtime.service import INITIAL
from understudy.sessions.journal import EventKind, NewEvent
from understudy.skills.events import SkillEventName
from understudy.skills.model import Skill, Visibility
from understudy.storage.engine import open_engine
from understudy.ws.connection import AUDIENCES, is_admin

FOR_ADMINS = [name for name, audience in AUDIENCES.items() if audience is is_admin]


@pytest.fixture
def home(tmp_path: Path, sqlite_template: Path) -> Iterator[WsSkillServer]:
    shutil.copy(sqlite_template, tmp_path / "understudy.db")
    engine = open_engine(f"sqlite:///{tmp_path / 'understudy.db'}")
    with ws_skill_server(engine, tmp_path) as opened:
        yield opened
    engine.dispose()


def heard(
    home: WsSkillServer, *events: tuple[SkillEventName, Mapping[str, object]]
) -> dict[str, list[str]]:
    """What each of the people hears when something happens."""
    with ExitStack() as stack:
        clients = {who: stack.enter_context(home.rpc(who)) for who in home.tokens}
        for name, payload in events:
            home.services.skills.events.tell(name, payload)
        # An event that everybody hears comes last, because they come in their order.
        home.services.skills.events.tell(SkillEventName.DEPS_CHECKED, {"slug": "everybodys"})
        return {who: names_until_last(client) for who, client in clients.items()}


def names_until_last(client: Rpc) -> list[str]:
    names: list[str] = []
    while (event := client.event())["payload"] != {"slug": "everybodys"}:
        names.append(event["event"])
    return names


@pytest.fixture
def everybodys(home: WsSkillServer) -> Skill:
    skill = home.skill("everybodys")
    with home.rpc("root") as client:
        client.ok("skills.update", {"name": "everybodys", "updates": {"visibility": "public"}})
    return skill


def test_an_event_has_a_name_a_payload_and_a_number(home: WsSkillServer, everybodys: Skill) -> None:
    payload = {"slug": everybodys.slug, "status": "archived", "missing": ["pip:x"]}
    with home.rpc("vic") as client:
        for number in (1, 2):
            home.services.skills.events.tell(SkillEventName.DEPS_CHECKED, payload)
            assert client.event() == {
                "type": "event",
                "event": "skill.deps.checked",
                "payload": payload,
                "seq": number,
                "stateVersion": {"presence": 0, "health": 0},
            }


@pytest.mark.usefixtures("everybodys")
def test_of_a_private_skill_only_its_owner_and_admins_hear(home: WsSkillServer) -> None:
    home.skill("secret-plan")

    told = heard(home, (SkillEventName.DEPS_CHECKED, {"slug": "secret-plan", "status": "active"}))

    assert told == {
        "root": ["skill.deps.checked"],
        "ann": ["skill.deps.checked"],
        "bob": [],
        "vic": [],
    }


@pytest.mark.usefixtures("everybodys")
def test_of_what_is_installed_only_admins_hear(home: WsSkillServer) -> None:
    told = heard(home, *((name, {"dep": "pip:x"}) for name in FOR_ADMINS))

    assert told == {"root": [str(name) for name in FOR_ADMINS], "ann": [], "bob": [], "vic": []}


@pytest.mark.usefixtures("everybodys")
def test_what_only_the_daemon_needs_stays_there(home: WsSkillServer) -> None:
    told = heard(home, (SkillEventName.INVALIDATE, {"slug": "everybodys", "what": "update"}))

    assert set(map(tuple, told.values())) == {()}


def test_somebody_who_is_not_known_hears_nothing(home: WsSkillServer, everybodys: Skill) -> None:
    with home.rpc(None) as client:
        home.services.skills.events.tell(SkillEventName.DEPS_CHECKED, {"slug": everybodys.slug})
        client.ok("connect", {"token": home.tokens["vic"]})
        home.services.skills.events.tell(
            SkillEventName.DEPS_CHECKED, {"slug": everybodys.slug, "status": "ok"}
        )
        assert client.event()["payload"]["status"] == "ok"


@pytest.mark.usefixtures("everybodys")
def test_an_event_that_no_frame_can_hold_is_left_out(home: WsSkillServer) -> None:
    big = (SkillEventName.DEPS_INSTALLED, {"result": "x" * 600_000})

    assert heard(home, big)["root"] == []


def test_every_event_has_an_audience_or_stays_inside() -> None:
    assert set(SkillEventName) - set(AUDIENCES) == {SkillEventName.INVALIDATE}


@pytest.mark.parametrize("session_id", ["s1", "s2"], ids=["where it was said", "elsewhere"])
def test_a_viewer_hears_no_sensitive_words(home: WsSkillServer, session_id: str) -> None:
    said = "The alarm code is four green frogs."
    with home.units.write() as unit:
        unit.agents.add(make_agent("default"))
        for each in ("s1", "s2"):
            unit.sessions.add(make_session(each))
            unit.runs.add(make_run(each, run_id=f"run_{each[1]}"))
        source = LearningSource(run_id="run_1", session_id="s1")
        unit.candidates.add(make_candidate(said, source=source, sensitivity=Sensitivity.SENSITIVE))
    with home.rpc("vic") as viewer, home.rpc("ann") as operator:
        for client in (viewer, operator):
            client.ok("skills.list")
        told = {"text": f"You said: {said}"}
        hint = NewEvent(kind=EventKind.HINT, run_id=f"run_{session_id[1]}", data=told)
        with home.units.write() as unit:
            unit.journal.append(session_id, [hint], at_ms=NOW)
        assert viewer.event()["payload"]["text"] == "You said: [sensitive]."
        assert operator.event()["payload"]["text"] == f"You said: {said}"


def test_where_two_people_activate_skills_one_over_a_socket_is_not_enough(
    home: WsSkillServer,
) -> None:
    skill = home.skill("for-all")
    document = {"require_two_approvers": ["skill_activation"]}
    revision = replace(INITIAL, revision=2, document=document)
    with home.units.write() as unit:
        unit.revisions.add(revision, keep=3)
    with home.rpc("root") as client:
        public = {"id": skill.skill_id, "updates": {"visibility": "public"}}
        wrong = {"id": skill.skill_id, "updates": {"visibility": "public", "name": " "}}
        assert client.code("skills.update", wrong) == "INVALID_REQUEST"
        told = client.ok("skills.update", public)
        assert (told["ok"], told["waiting"]["state"]) == ("false", "waiting_for_second")
        assert client.ok("skills.update", public) == told
        assert home.stored("for-all").visibility is Visibility.PRIVATE
    _, home.tokens["eve"] = home.services.tokens.create(TOKEN_ADMIN, "eve", Role.ADMIN)
    with home.rpc("eve") as client:
        assert client.ok("skills.update", public) == {"ok": "true"}
    assert home.stored("for-all").visibility is Visibility.PUBLIC
