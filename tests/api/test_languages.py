"""Refusals in the language of whoever asked, over HTTP and over the WebSocket."""

from contextlib import AbstractContextManager

import pytest
from starlette.testclient import TestClient

from tests.api.live import Live
from tests.api.skill_users import ALL, Person, SkillUsers, bearer
from tests.support.rpc import rpc
from understudy.api.bodies import located
from understudy.api.problems import refusal_of
from understudy.core.errors import Unsafe, words_in
from understudy.schedules.requests import within_request
from understudy.ws.errors import error_of, within

SLUG = "weekly-report"


@pytest.mark.parametrize(
    ("header", "spoken"),
    [
        ("vi", "vi"),
        ("zh-Hans-CN, en;q=0.5", "zh"),
        ("fr, vi-VN;q=0.4", "vi"),
    ],
)
def test_an_owners_refusal_is_told_in_the_callers_language(
    users: SkillUsers, header: str, spoken: str
) -> None:
    made = users.ann.create()

    answer = users.bob.call("DELETE", f"{ALL}/{made['id']}", headers={"Accept-Language": header})

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (403, "skill_not_yours")
    assert problem["detail"] == words_in(spoken, "skills/skill_not_yours", {})
    assert answer.headers["content-language"] == spoken
    assert answer.headers["vary"] == "Accept-Language"


@pytest.mark.parametrize("header", [None, "en-GB", "fr", "*", ";;q=", "v" * 5_000])
def test_everybody_else_gets_english(users: SkillUsers, header: str | None) -> None:
    headers = {} if header is None else {"Accept-Language": header}

    answer = users.vera.call("POST", ALL, {"content": "x"}, headers=headers)

    assert answer.json()["detail"] == "this needs the operator role; you are viewer"
    assert answer.headers["content-language"] == "en"


def test_a_problem_without_words_stays_english_and_says_so(api: TestClient) -> None:
    answer = api.get("/v1/nowhere", headers={"Accept-Language": "vi"})

    assert answer.json()["code"] == "route_not_found"
    assert answer.json()["detail"] == "not found"
    assert answer.headers["content-language"] == "en"


def test_what_a_file_is_called_stands_in_the_words(api: TestClient) -> None:
    path, headers = "/v1/agents/default/files/SOUL.md", {"Accept-Language": "zh"}

    large = api.put(path, json={"content": "x" * 20_000}, headers=headers)
    missing = api.get("/v1/agents/nobody", headers=headers)

    assert large.json()["detail"] == words_in(
        "zh", "evolution/soul_too_large", {"limit_bytes": 16_384}
    )
    assert missing.json()["detail"] == words_in("zh", "agents/agent_not_found", {})


def test_the_audit_and_the_other_fields_do_not_depend_on_the_language(users: SkillUsers) -> None:
    users.ann.create()

    def refused(language: str) -> dict[str, object]:
        headers = {"Accept-Language": language}
        answer = users.bob.call("DELETE", f"{ALL}/{SLUG}", headers=headers)
        problem: dict[str, object] = answer.json()
        return {name: problem[name] for name in ("type", "title", "status", "code", "domain")}

    assert refused("en") == refused("vi")
    assert [entry["reason"] for entry in users.root.audit()][:2] == ["skills/skill_not_found"] * 2


def test_a_connection_is_answered_in_the_language_that_it_named(live: Live) -> None:
    address = str(live.client.base_url).replace("http:", "ws:").rstrip("/")
    asked = {"name": "no-such-skill"}
    with rpc(address, log_in=False) as client:
        client.ok("connect", {"locale": "vi-VN"})
        told = client.ask("skills.get", asked)["error"]
    with rpc(address, log_in=False, additional_headers={"Accept-Language": "zh"}) as client:
        early = client.ask("skills.get", asked)["error"]
        client.ok("connect", {})
        heard = client.ask("skills.get", asked)["error"]
    with rpc(address, log_in=False) as client:
        client.ok("connect", {"locale": "tlh"})
        plain = client.ask("skills.get", asked)["error"]

    assert (told["code"], told["message"]) == (
        "NOT_FOUND",
        words_in("vi", "skills/skill_not_found", {}),
    )
    assert early["message"] == words_in("zh", "auth/unauthorized", {})
    assert heard["message"] == words_in("zh", "skills/skill_not_found", {})
    assert "no-such-skill" in plain["message"]
    assert told["details"] == plain["details"]


# A refusal whose words say which file it is about.
LOCKED = Unsafe(
    "file_locked",
    domain="evolution",
    pointer="/name",
    detail="SOUL.md is locked: it cannot be changed from here",
    params={"name": "SOUL.md"},
)


def test_what_is_said_of_a_part_of_a_frame_stays_in_the_language() -> None:
    told = error_of(within(LOCKED, "/params"), "vi")

    assert told.message == words_in("vi", "evolution/file_locked", {"name": "SOUL.md"})
    assert told.details is not None
    assert told.details["errors"][0]["pointer"] == "/params/name"


@pytest.mark.parametrize("placing", [located("request"), within_request()])
def test_what_is_said_of_a_part_of_a_body_stays_in_the_language(
    placing: AbstractContextManager[None],
) -> None:
    scope = {"type": "http", "headers": [(b"accept-language", b"vi")]}
    with pytest.raises(Unsafe) as refused, placing:
        raise LOCKED

    told = refusal_of(refused.value).spoken(scope)

    assert (told.status, told.language) == (422, "vi")
    assert told.detail == words_in("vi", "evolution/file_locked", {"name": "SOUL.md"})
    assert told.errors[0].pointer == "/request/name"


def test_a_version_that_cannot_come_back_is_refused_in_the_language(users: SkillUsers) -> None:
    users.root.ok("POST", "/v1/agents", {"agent_id": "spoken", "agent_type": "predefined"})
    path = "/v1/agents/spoken/files/SOUL.md"
    users.root.ok("PUT", path, {"content": "Be calm."})
    users.root.ok("DELETE", path)

    answer = users.root.call(
        "POST", f"{path}/restore", {"version": 2}, headers={"Accept-Language": "zh"}
    )

    assert answer.json()["detail"].startswith(str(words_in("zh", "evolution/soul_blank", {})))
    assert answer.json()["errors"][0]["pointer"] == "/version"


@pytest.fixture(scope="module")
def vietnamese(furnished: SkillUsers) -> Person:
    """An operator whose token says what they read."""
    wanted = {"user_id": "van", "role": "operator", "locale": "vi-VN"}
    made = furnished.root.ok("POST", "/v1/tokens", wanted)
    assert made["locale"] == "vi"
    return Person(furnished.ann.client, bearer(made["token"]))


def test_a_token_keeps_a_language_and_shows_it(users: SkillUsers, vietnamese: Person) -> None:
    listed = users.root.ok("GET", "/v1/tokens?limit=100")["items"]

    assert [each["locale"] for each in listed if each["user_id"] == "van"] == ["vi"]
    assert all("locale" not in each for each in listed if each["user_id"] == "ann")
    for locale in ("fr", "", "tlh", 7, "v" * 65):
        body = {"user_id": "eve", "role": "viewer", "locale": locale}
        refused = users.root.call("POST", "/v1/tokens", body)
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["pointer"] == "/locale"


@pytest.mark.parametrize(
    ("headers", "spoken"),
    [({}, "vi"), ({"Accept-Language": "fr"}, "vi"), ({"Accept-Language": "zh"}, "zh")],
)
def test_a_refusal_speaks_the_language_of_the_token_where_the_header_names_none(
    users: SkillUsers, vietnamese: Person, headers: dict[str, str], spoken: str
) -> None:
    made = users.ann.create()

    answer = vietnamese.call("DELETE", f"{ALL}/{made['id']}", headers=headers)

    assert answer.json()["detail"] == words_in(spoken, "skills/skill_not_yours", {})
    assert answer.headers["content-language"] == spoken
