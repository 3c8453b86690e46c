"""Who hears over a WebSocket of what happens to skills."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.rpc import Rpc
from tests.support.ws_skill_server import WsSkillServer, ws_skill_server
from understudy.skills.events import SkillEventName
from understudy.skills.model import Skill
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
