"""The RPC over a WebSocket: the handshake, what can be asked about skills, and by whom."""

import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.contract.conftest import empty
from tests.support.skill_factories import make_skill
from tests.support.ws_skill_server import WsSkillServer, ws_skill_server
from understudy import __version__
from understudy.access.tokens import TOKEN_ADMIN
from understudy.core.audit import AuditOutcome
from understudy.core.errors import words_in
from understudy.core.principal import Role
from understudy.skills.model import Skill, SkillOrigin, Visibility
from understudy.storage.engine import open_engine
from understudy.ws.limits import MAX_FRAME_BYTES
from understudy.ws.methods import METHODS, Method

pytestmark = pytest.mark.one_database

HOSTILE_FIELDS = {
    "id": "skl_other",
    "owner_id": "bob",
    "is_system": True,
    "file_path": "/etc/passwd",
    "version": 9,
    "slug": "other",
    "status": "deleted",
    "file_hash": "0",
    "enabled": False,
}


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WsSkillServer]:
    """One daemon for all of these tests, on each kind of database."""
    folder = tmp_path_factory.mktemp("ws")
    if request.param == "sqlite":
        path = folder / "understudy.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        url = f"sqlite:///{path}"
    else:
        url = request.getfixturevalue("postgres_shared")
        empty(request.getfixturevalue("postgres_engine"))
    engine = open_engine(url)
    with ws_skill_server(engine, folder) as opened:
        yield opened
    engine.dispose()


def test_who_connects_learns_who_they_are(home: WsSkillServer) -> None:
    with home.rpc(None) as client:
        said = client.ok("connect", {"token": home.tokens["ann"], "locale": "vi-VN"})

    assert said == {
        "protocol": 3,
        "role": "operator",
        "user_id": "ann",
        "tenant_id": None,
        "cross_tenant": False,
        "server": {"name": "understudy", "version": __version__},
    }


@pytest.mark.parametrize("method", ["skills.list", "skills.update", "no.such", "connected"])
def test_nothing_is_answered_before_connect(home: WsSkillServer, method: str) -> None:
    with home.rpc(None) as client:
        assert client.code(method, {}) == "UNAUTHORIZED"


@pytest.mark.parametrize("params", [{}, {"token": "wrong"}, {"token": ""}, {"user_id": "root"}])
def test_a_wrong_token_opens_nothing(home: WsSkillServer, params: dict[str, str]) -> None:
    with home.rpc(None) as client:
        assert client.code("connect", params) == "UNAUTHORIZED"
        assert client.code("skills.list") == "UNAUTHORIZED"

    last = home.audit("ws")[-1]
    assert (last.action, last.actor, last.outcome) == (
        "ws.connect",
        "anonymous",
        AuditOutcome.REFUSED,
    )


@pytest.mark.every_database
@pytest.mark.parametrize(
    ("params", "header", "spoken"),
    [({}, {}, "vi"), ({}, {"Accept-Language": "zh"}, "zh"), ({"locale": "zh-CN"}, {}, "zh")],
)
def test_a_connection_speaks_the_language_of_its_token_where_nothing_else_is_said(
    home: WsSkillServer, params: dict[str, str], header: dict[str, str], spoken: str
) -> None:
    _, secret = home.services.tokens.create(TOKEN_ADMIN, "van", Role.VIEWER, locale="vi")

    with home.rpc(None, additional_headers=header) as client:
        client.ok("connect", {"token": secret, **params})
        refused = client.ask("skills.get", {"name": "no-such-skill"})["error"]

    assert refused["message"] == words_in(spoken, "skills/skill_not_found", {})


def test_a_token_may_come_with_the_request_that_opens_the_socket(home: WsSkillServer) -> None:
    header = {"Authorization": f"Bearer {home.tokens['vic']}"}
    with home.rpc(None, additional_headers=header) as client:
        assert client.ok("connect")["role"] == "viewer"


def test_only_an_admin_acts_for_somebody_else(home: WsSkillServer) -> None:
    with home.rpc(None) as client:
        params = {"token": home.tokens["ann"], "user_id": "bob"}
        assert client.code("connect", params) == "UNAUTHORIZED"
        assert client.ok("connect", params | {"user_id": "ann"})["user_id"] == "ann"
    with home.rpc(None) as client:
        params = {"token": home.tokens["root"], "user_id": "bob"}
        assert client.ok("connect", params)["user_id"] == "bob"


def test_refusals_before_a_connection_are_counted_and_not_stored_one_by_one(
    home: WsSkillServer,
) -> None:
    params = {"token": home.tokens["ann"], "user_id": "bob"}
    before = len(home.audit("ws"))
    for _ in range(5):
        with home.rpc(None) as client:
            assert client.code("connect", params) == "UNAUTHORIZED"

    # One for each minute, of which two may have been under way.
    assert len(home.audit("ws")) - before <= 2


def test_a_list_shows_the_state_of_each_skill(home: WsSkillServer) -> None:
    skill = home.skill("listed")
    with home.units.write() as unit:
        changed = replace(skill, enabled=False, missing_deps=("pip:x",), revision=2)
        unit.skills.update(changed, expected_version=1)
    with home.rpc("ann") as client:
        shown = {each["slug"]: each for each in client.ok("skills.list")["skills"]}

    assert shown["listed"] == {
        "id": skill.skill_id,
        "slug": "listed",
        "name": "listed",
        "description": "About listed",
        "source": "managed",
        "version": 1,
        "visibility": "private",
        "tags": [],
        "is_system": False,
        "enabled": False,
        "status": "active",
        "author": "Ann",
        "missing_deps": ["pip:x"],
    }


@pytest.mark.every_database
def test_a_long_list_comes_in_pages(home: WsSkillServer) -> None:
    for number in range(3):
        home.skill(f"paged-{number}")
    with home.rpc("ann") as client:
        found: list[str] = []
        params: dict[str, object] = {"limit": 2}
        while True:
            page = client.ok("skills.list", params)
            assert len(page["skills"]) <= 2
            found += [each["slug"] for each in page["skills"]]
            if "next_cursor" not in page:
                break
            params["cursor"] = page["next_cursor"]

    assert {f"paged-{number}" for number in range(3)} <= set(found)
    assert len(found) == len(set(found))


def test_a_list_that_no_frame_can_hold_comes_in_shorter_pages(home: WsSkillServer) -> None:
    slugs = [f"wordy-{number}" for number in range(8)]
    with home.units.write() as unit:
        for slug in slugs:
            unit.skills.add(make_skill(slug, owner_id="bob", description="ü" * 60_000))
    found: list[str] = []
    with home.rpc("bob", max_size=MAX_FRAME_BYTES) as client:
        page = client.ok("skills.list")
        while True:
            found += [each["slug"] for each in page["skills"]]
            if "next_cursor" not in page:
                break
            page = client.ok("skills.list", {"cursor": page["next_cursor"]})

    assert set(slugs) <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.every_database
def test_a_skill_comes_with_its_instructions_and_without_its_front_matter(
    home: WsSkillServer,
) -> None:
    skill = home.skill("told", body="Say it.")
    with home.rpc("ann") as client:
        for ref in ("told", skill.skill_id):
            shown = client.ok("skills.get", {"name": ref})
            assert (shown["content"].strip(), shown["slug"]) == ("Say it.", "told")


def test_a_skill_is_found_by_its_display_name_unless_several_have_it(home: WsSkillServer) -> None:
    with home.rpc("ann") as client:
        home.skill("ws-one", name="Ws One", body="Say one.")
        assert client.ok("skills.get", {"name": " ws  ONE"})["slug"] == "ws-one"
        home.skill("ws-two", name="Ws One", body="Say two.")
        refused = client.ask("skills.get", {"name": "Ws One"})["error"]
        assert "ws-one" in refused["message"]
        assert "ws-two" in refused["message"]
        assert client.ok("skills.get", {"name": "ws-two"})["slug"] == "ws-two"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("skills.get", {"name": "no-such-skill"}, "NOT_FOUND"),
        ("skills.get", {"name": "skl_nothing"}, "NOT_FOUND"),
        ("skills.get", {"name": "../escape"}, "NOT_FOUND"),
        ("skills.get", {"name": ""}, "INVALID_REQUEST"),
        ("skills.get", {}, "INVALID_REQUEST"),
        ("skills.get", {"name": 7}, "INVALID_REQUEST"),
        ("skills.get", {"name": "a", "extra": 1}, "INVALID_REQUEST"),
        ("skills.list", {"cursor": "nonsense"}, "INVALID_REQUEST"),
        ("skills.list", {"limit": -1}, "INVALID_REQUEST"),
        ("skills.update", {"updates": {"name": "x"}}, "INVALID_REQUEST"),
        ("skills.update", {"name": "a", "id": "b", "updates": {"name": "x"}}, "INVALID_REQUEST"),
        ("skills.update", {"name": "no-such-skill", "updates": {}}, "INVALID_REQUEST"),
        ("skills.update", {"name": "no-such-skill"}, "INVALID_REQUEST"),
        ("skills.update", {"id": "not an id", "updates": {"name": "x"}}, "INVALID_REQUEST"),
        ("skills.update", {"id": "skl_nothing", "updates": {"name": "x"}}, "NOT_FOUND"),
        ("skills.update", {"name": "no-such-skill", "updates": {"name": "x"}}, "NOT_FOUND"),
        ("no.such.method", {}, "INVALID_REQUEST"),
        ("agents.files.delete", {}, "INVALID_REQUEST"),
    ],
)
def test_a_mistake_is_told(home: WsSkillServer, method: str, params: object, code: str) -> None:
    with home.rpc("ann") as client:
        assert client.code(method, params) == code


def test_an_answer_repeats_the_id_of_its_request(home: WsSkillServer) -> None:
    with home.rpc("vic") as client:
        for frame_id in ("7", "a b", "ü" * 128, 7, -1):
            assert client.ask("skills.list", id=frame_id)["id"] == frame_id
        assert client.ask("no.such", id="x")["id"] == "x"


def test_the_owner_and_an_admin_change_a_skill_by_id_and_by_name(home: WsSkillServer) -> None:
    skill = home.skill("changing")
    for number, who in enumerate(("ann", "root")):
        with home.rpc(who) as client:
            by_name = {"name": "changing", "updates": {"description": f"By name {number}"}}
            assert client.ok("skills.update", by_name) == {"ok": "true"}
            assert home.stored("changing").description == f"By name {number}"
            by_id = {"id": skill.skill_id, "updates": {"tags": [f"by-id-{number}"]}}
            assert client.ok("skills.update", by_id) == {"ok": "true"}
            assert home.stored("changing").tags == (f"by-id-{number}",)

    changes = [entry for entry in home.audit() if entry.resource_id == skill.skill_id][1:]
    assert [entry.actor for entry in changes] == ["ann", "ann", "admin", "admin"]
    assert [(entry.action, entry.version) for entry in changes] == [
        ("skills.update", number) for number in (2, 3, 4, 5)
    ]
    assert all(entry.request_id.startswith("req_") for entry in changes)


@pytest.mark.every_database
def test_nobody_else_changes_a_skill(home: WsSkillServer) -> None:
    skill = home.skill("steady")
    updates = {"description": "Mine now"}
    for who, ref in (("bob", {"name": "steady"}), ("bob", {"id": skill.skill_id})):
        with home.rpc(who) as client:
            assert not client.ask("skills.update", {**ref, "updates": updates})["ok"]
    with home.rpc("vic") as client:
        assert (
            client.code("skills.update", {"name": "steady", "updates": updates}) == "UNAUTHORIZED"
        )

    assert home.stored("steady") == skill
    refused = [entry for entry in home.audit() if entry.outcome is AuditOutcome.REFUSED]
    about = {(entry.actor, entry.reason) for entry in refused if "steady" in entry.resource_id}
    assert about == {("bob", "skills/skill_not_found"), ("vic", "auth/forbidden")}
    by_id = [entry.reason for entry in refused if entry.resource_id == skill.skill_id]
    assert by_id == ["skills/skill_not_yours"]


@pytest.mark.parametrize("field", HOSTILE_FIELDS)
def test_a_field_that_is_not_for_people_changes_nothing(home: WsSkillServer, field: str) -> None:
    slug = f"guarded-{field.replace('_', '-')}"
    skill = home.skill(slug)
    updates = {"description": "Changed", field: HOSTILE_FIELDS[field]}
    for who in ("ann", "root"):
        with home.rpc(who) as client:
            answer = client.ask("skills.update", {"name": slug, "updates": updates})
        assert answer["error"]["code"] == "INVALID_REQUEST"
        assert answer["error"]["details"]["errors"][0]["pointer"] == f"/params/updates/{field}"

    assert home.stored(slug) == skill


@pytest.mark.every_database
def test_only_an_admin_makes_a_skill_public(home: WsSkillServer) -> None:
    home.skill("shown")
    public = {"name": "shown", "updates": {"visibility": "public"}}
    with home.rpc("ann") as client:
        assert client.code("skills.update", public) == "UNAUTHORIZED"
        assert home.stored("shown").visibility is Visibility.PRIVATE
    with home.rpc("root") as client:
        client.ok("skills.update", public)
    assert home.stored("shown").visibility is Visibility.PUBLIC


def test_a_wrong_value_is_found_by_its_place(home: WsSkillServer) -> None:
    home.skill("placed")
    with home.rpc("ann") as client:
        answer = client.ask("skills.update", {"name": "placed", "updates": {"name": "  "}})

    (wrong,) = answer["error"]["details"]["errors"]
    assert (answer["error"]["code"], wrong["pointer"]) == (
        "INVALID_REQUEST",
        "/params/updates/name",
    )


def test_nobody_changes_a_skill_of_the_product(home: WsSkillServer) -> None:
    skill = as_system(home, home.skill("shipped"))
    for who in ("ann", "root"):
        with home.rpc(who) as client:
            params = {"name": "shipped", "updates": {"description": "Ours now"}}
            assert client.code("skills.update", params) == "UNAUTHORIZED"

    assert home.stored("shipped") == skill


def test_a_private_skill_looks_like_a_missing_one(home: WsSkillServer) -> None:
    skill = home.skill("secret-plan")
    with home.rpc("bob") as client:
        assert "secret-plan" not in {s["slug"] for s in client.ok("skills.list")["skills"]}
        for method, params in (("skills.get", {}), ("skills.update", {"updates": {"name": "x"}})):
            there = client.ask(method, {"name": "secret-plan", **params})["error"]
            missing = client.ask(method, {"name": "secret-none", **params})["error"]
            there["message"] = there["message"].replace("plan", "none")
            assert (there, there["code"]) == (missing, "NOT_FOUND")
        assert client.code("skills.get", {"name": skill.skill_id}) == "NOT_FOUND"


def test_a_daemon_that_stops_changes_nothing_more(home: WsSkillServer) -> None:
    home.skill("late")
    with home.rpc("ann") as client:
        home.switch.state = "draining"
        try:
            refused = client.ask("skills.update", {"name": "late", "updates": {"name": "x"}})
            assert client.ok("skills.get", {"name": "late"})
        finally:
            home.switch.state = None

    error = refused["error"]
    assert (error["code"], error["details"]["code"]) == ("UNAVAILABLE", "daemon_draining")
    assert (error["retryable"], error["retryAfterMs"]) == (True, 1000)


def test_what_nobody_thought_about_only_an_admin_may() -> None:
    some = METHODS["skills.list"]
    assert Method(params=some.params, answer=some.answer).role is Role.ADMIN


@pytest.mark.parametrize("name", METHODS)
def test_whatever_changes_something_needs_more_than_a_viewer(name: str) -> None:
    method = METHODS[name]
    assert (method.action is None) is (method.role is Role.VIEWER)


def as_system(home: WsSkillServer, skill: Skill) -> Skill:
    """Have a skill be one that came with the product."""
    with home.units.write() as unit:
        changed = replace(skill, origin=SkillOrigin.SYSTEM, revision=skill.revision + 1)
        unit.skills.update(changed, expected_version=skill.revision)
    return home.stored(skill.slug)
