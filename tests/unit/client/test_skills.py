"""Calls about skills, and the form that an upload is."""

import json
from typing import Any

import httpx2
import pytest

from tests.unit.client.fake_daemon import answers, client_of, pages
from understudy.client import Client, RefusedError, UnsafeError
from understudy.wire.skills import (
    AcknowledgedFinding,
    CreateSkill,
    PatchSkill,
    UpdateSkill,
)

SKILL = {
    "id": "skl_1",
    "slug": "weather",
    "name": "Weather",
    "description": "Tells the weather.",
    "origin": "managed",
    "owner_id": "ann",
    "visibility": "private",
    "status": "active",
    "enabled": True,
    "is_draft": False,
    "version": 1,
    "is_system": False,
    "tags": [],
    "missing_deps": [],
    "frontmatter": {"name": "Weather"},
    "digest": "d",
    "size": 10,
    "created_at_ms": 1,
    "updated_at_ms": 2,
    "actions": [],
}
KEPT = {**SKILL, "unchanged": False}
PATCHED = {**KEPT, "matches": 2, "replaced": 1}
CHANGED = {**SKILL, "ok": "true"}
VERSION = {
    "version": 1,
    "state": "served",
    "derived_from_untrusted": False,
    "digest": "d",
    "size": 10,
    "actor": "ann",
    "created_at_ms": 1,
}
TRASHED = {
    "trash_name": "weather.1",
    "id": "skl_1",
    "slug": "weather",
    "name": "Weather",
    "owner_id": "ann",
    "version": 1,
    "deleted_by": "ann",
    "deleted_at_ms": 3,
}
NOTHING: dict[str, Any] = {"items": [], "next_cursor": None}


def talking(*documents: Any) -> tuple[Client, list[httpx2.Request]]:
    handler, seen = answers(*(httpx2.Response(200, json=each) for each in documents))
    return client_of(handler)[0], seen


def asked(request: httpx2.Request) -> str:
    return f"{request.method} {request.url.raw_path.decode()}"


def test_a_skill_is_created_patched_and_changed_with_what_was_given_alone() -> None:
    client, seen = talking(KEPT, PATCHED, CHANGED, {**SKILL, "ok": True})

    client.skills.create(CreateSkill(content="# Hi"), key="k1")
    patched = client.skills.patch("weather", PatchSkill(find="a", replace="", strict=True))
    client.skills.update("weather", UpdateSkill(tags=[]))
    client.skills.toggle("weather", enabled=False)

    assert [asked(each) for each in seen] == [
        "POST /v1/skills",
        "POST /v1/skills/weather/patch",
        "PUT /v1/skills/weather",
        "POST /v1/skills/weather/toggle",
    ]
    assert [json.loads(each.content) for each in seen] == [
        {"content": "# Hi"},
        {"find": "a", "replace": "", "strict": True},
        {"tags": []},
        {"enabled": False},
    ]
    assert seen[0].headers["Idempotency-Key"] == "k1"
    assert (patched.replaced, patched.matches) == (1, 2)


def test_an_upload_is_a_form_with_the_file_and_what_belongs_to_it() -> None:
    client, seen = talking(KEPT)
    finding = AcknowledgedFinding(rule_id="P1.sudo", path="SKILL.md", line=3, reason="CI")

    client.skills.upload("weather.zip", b"PK-bytes", slug="weather", acknowledged=[finding])

    (request,) = seen
    assert request.headers["Content-Type"].startswith("multipart/form-data; boundary=")
    text = request.content.decode()
    assert 'name="file"; filename="weather.zip"' in text
    assert "application/zip" in text
    assert "PK-bytes" in text
    assert 'name="slug"\r\n\r\nweather\r\n' in text
    (told,) = [line for line in text.split("\r\n") if line.startswith("[")]
    assert json.loads(told) == [
        {"rule_id": "P1.sudo", "path": "SKILL.md", "line": 3, "reason": "CI"}
    ]


def test_an_upload_that_is_sent_again_is_the_same_to_the_last_byte() -> None:
    handler, seen = answers(httpx2.ConnectError("gone"), httpx2.Response(201, json=KEPT))
    client, pauses = client_of(handler)

    client.skills.upload("weather.zip", b"PK-bytes")

    assert len(pauses) == 1
    assert seen[0].content == seen[1].content
    assert seen[0].headers["Idempotency-Key"] == seen[1].headers["Idempotency-Key"]
    assert seen[0].headers["Content-Type"] == seen[1].headers["Content-Type"]


def test_versions_files_and_differences_are_asked_for_by_number() -> None:
    diff = {
        "from_version": 1,
        "to_version": 2,
        "from_digest": "a",
        "to_digest": "b",
        "files": [],
    }
    file = {"path": "a b/c.md", "size": 1, "encoding": "utf-8", "content": "x"}
    client, seen = talking(
        {"items": [VERSION], "next_cursor": None, "current": 1}, diff, KEPT, NOTHING, file
    )

    assert [each.version for each in client.skills.versions("weather")] == [1]
    client.skills.diff("weather", 1, 2)
    client.skills.restore("weather", 1)
    assert list(client.skills.files("weather", version=2)) == []
    client.skills.read_file("weather", "a b/../c.md")

    assert [asked(each) for each in seen] == [
        "GET /v1/skills/weather/versions",
        "GET /v1/skills/weather/diff?from=1&to=2",
        "POST /v1/skills/weather/restore",
        "GET /v1/skills/weather/files?version=2",
        "GET /v1/skills/weather/files/a%20b%2F..%2Fc.md",
    ]


def test_an_export_is_bytes() -> None:
    handler, seen = answers(httpx2.Response(200, content=b"PK"))

    assert client_of(handler)[0].skills.export("weather", version=3) == b"PK"
    assert asked(seen[0]) == "GET /v1/skills/weather/export?version=3"


def test_grants_are_taken_back_by_ids_of_any_form() -> None:
    client, seen = talking(CHANGED, CHANGED, CHANGED, CHANGED)
    grants = client.skill_grants

    grants.give_agent("weather", "writer", version=2)
    grants.give_user("weather", "ann/b")
    grants.take_agent("weather", "writer")
    grants.take_user("weather", "ann/b")

    assert [asked(each) for each in seen] == [
        "POST /v1/skills/weather/grants/agent",
        "POST /v1/skills/weather/grants/user",
        "DELETE /v1/skills/weather/grants/agent?agent_id=writer",
        "DELETE /v1/skills/weather/grants/user?user_id=ann%2Fb",
    ]
    assert json.loads(seen[0].content) == {"agent_id": "writer", "version": 2}


def test_lists_go_on_from_page_to_page() -> None:
    handler, seen = answers(*pages([SKILL], [SKILL]), *pages([TRASHED], [TRASHED]))
    client = client_of(handler)[0]

    assert len(list(client.skills.list(origin="managed", enabled=False))) == 2
    assert [each.trash_name for each in client.skill_trash.list()] == ["weather.1"] * 2
    assert asked(seen[0]) == "GET /v1/skills?origin=managed&enabled=false"
    assert "cursor=c0" in asked(seen[1])


def test_what_the_guard_refuses_is_an_error_of_its_own_with_every_finding() -> None:
    found = {"pointer": "/files/SKILL.md", "code": "P1.sudo", "detail": "SKILL.md line 3: sudo"}
    problem = {"code": "skill_unsafe", "domain": "skills", "detail": "no", "errors": [found]}
    client = client_of(answers(httpx2.Response(422, json=problem))[0])[0]

    with pytest.raises(UnsafeError) as refused:
        client.skills.upload("weather.zip", b"PK")

    assert isinstance(refused.value, RefusedError)
    assert [each.code for each in refused.value.errors] == ["P1.sudo"]
