"""Skills over HTTP: made, read, changed, deleted, brought back; and whose they are."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from skills_ref import validate

from tests.api.skill_users import ALL, ONE, SkillUsers, packed
from tests.support.skill_service_harness import HARMFUL, OK_MD, SLUG, skill_md

FIELDS = {
    *("id", "slug", "name", "description", "origin", "owner_id", "visibility", "status"),
    *("enabled", "version", "is_system", "tags", "missing_deps", "frontmatter", "created_at_ms"),
    *("updated_at_ms", "actions", "digest", "size", "is_draft"),
}


def test_a_new_skill_is_its_makers_and_private(users: SkillUsers) -> None:
    made = users.ann.call("POST", ALL, {"content": OK_MD})
    assert made.status_code == 201
    view = made.json()
    assert set(view) == FIELDS | {"unchanged"}
    assert (view["slug"], view["version"], view["owner_id"]) == (SLUG, 1, "ann")
    assert (view["visibility"], view["status"], view["origin"]) == ("private", "active", "managed")
    assert view["id"].startswith("skl_")
    assert "delete" in view["actions"]


def test_a_skill_has_its_id_and_its_slug_for_an_address(users: SkillUsers) -> None:
    made = users.ann.create()
    by_slug, by_id = users.ann.ok("GET", ONE), users.ann.ok("GET", f"{ALL}/{made['id']}")
    assert by_slug == by_id
    assert by_slug["instructions"].startswith("# Weekly report")
    assert by_slug["runtime"] == {"context": "inline", "allowed_tools": [], "blocked_tools": []}
    assert "path" not in by_slug
    assert users.root.ok("GET", ONE)["path"].endswith("weekly-report/1")


def test_the_same_again_is_no_new_version_and_something_else_is(users: SkillUsers) -> None:
    users.ann.create()
    again = users.ann.create()
    assert (again["version"], again["unchanged"]) == (1, True)
    other = users.ann.create(OK_MD + "More.\n")
    assert (other["version"], other["unchanged"]) == (2, False)


def test_a_list_is_narrowed_by_what_is_asked_for(users: SkillUsers) -> None:
    users.ann.create()
    users.ann.create(skill_md("Invoices", tags="[money]"), slug="bills")
    users.ann.ok("POST", f"{ALL}/bills/toggle", {"enabled": False})
    for query, slugs in {
        "": ["bills", SLUG],
        "query=MONEY": ["bills"],
        "enabled=true": [SLUG],
        "origin=managed&visibility=private&owner_id=ann": ["bills", SLUG],
        "owner_id=bob": [],
        "status=archived": [],
        "limit=1": ["bills"],
    }.items():
        found = users.ann.ok("GET", f"{ALL}?{query}")
        assert [skill["slug"] for skill in found["items"]] == slugs, query
    first = users.ann.ok("GET", f"{ALL}?limit=1")
    assert set(first["items"][0]) == FIELDS | {"recent_use"}
    rest = users.ann.ok("GET", f"{ALL}?limit=1&cursor={first['next_cursor']}")
    assert [skill["slug"] for skill in rest["items"]] == [SLUG]
    assert users.ann.refused("GET", f"{ALL}?origin=nowhere")[0] == 400


def test_a_patch_is_a_new_version_that_can_be_compared_and_undone(users: SkillUsers) -> None:
    users.ann.upload(packed({"SKILL.md": OK_MD, "scripts/a.py": "print(1)\n"}))
    patched = users.ann.ok("POST", f"{ONE}/patch", {"find": "numbers", "replace": "figures"})
    assert (patched["version"], patched["matches"], patched["replaced"]) == (2, 1, 1)
    diff = users.ann.ok("GET", f"{ONE}/diff?from=1&to=2")
    assert [file["path"] for file in diff["files"]] == ["SKILL.md"]
    assert "+1. Collect the figures" in diff["files"][0]["diff"]
    back = users.ann.ok("POST", f"{ONE}/restore", {"version": 1})
    assert back["version"] == 3
    shown = users.ann.ok("GET", f"{ONE}/versions")
    assert [each["version"] for each in shown["items"]] == [3, 2, 1]
    assert (shown["current"], shown["items"][0]["restored_from"]) == (3, 1)
    assert users.ann.ok("GET", f"{ONE}/diff?from=1&to=3")["files"] == []


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"find": "absent", "replace": "x"}, (409, "skill_text_not_found")),
        ({"find": "the", "replace": "a", "strict": True}, (409, "skill_text_ambiguous")),
        ({"find": "the", "replace": "a", "expected_version": 7}, (409, "skill_changed")),
        ({"find": "", "replace": "a"}, (400, "skill_find_missing")),
        ({"find": "the", "replace": HARMFUL}, (422, "skill_unsafe")),
        ({"find": "name: Weekly report", "replace": ""}, (400, "skill_name_missing")),
        ({"find": "the"}, (400, "bad_request")),
        ({"find": "the", "replace": "a", "owner_id": "bob"}, (400, "bad_request")),
    ],
)
def test_a_patch_that_does_not_fit_changes_nothing(
    users: SkillUsers, body: dict[str, Any], answer: tuple[int, str]
) -> None:
    users.ann.create()
    assert users.ann.refused("POST", f"{ONE}/patch", body) == answer
    assert users.ann.ok("GET", ONE)["version"] == 1


def test_the_guard_report_quotes_the_line_of_each_finding(users: SkillUsers) -> None:
    users.ann.create()
    users.ann.ok("POST", f"{ONE}/patch", {"find": "# Weekly", "replace": "# The weekly"})

    clean = users.ann.ok("GET", f"{ONE}/guard-report?version=1")

    assert (clean["findings"], clean["problems"], clean["is_whole"]) == ([], [], True)
    assert (clean["slug"], clean["version"], clean["files"]) == (SLUG, 1, 1)
    assert users.ann.ok("GET", f"{ONE}/guard-report")["version"] == 2
    assert users.bob.refused("GET", f"{ONE}/guard-report") == (404, "skill_not_found")
    assert users.ann.refused("GET", f"{ONE}/guard-report?version=9") == (
        404,
        "skill_version_not_found",
    )


def test_a_list_tells_how_often_each_skill_was_used(users: SkillUsers) -> None:
    users.ann.create()

    [item] = users.ann.ok("GET", ALL)["items"]

    assert set(item) == FIELDS | {"recent_use"}
    assert item["recent_use"] == {
        "offered": 0,
        "used": 0,
        "succeeded": 0,
        "failed": 0,
        "abandoned": 0,
    }


def test_files_are_listed_and_read_by_version(users: SkillUsers) -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\xff"
    users.ann.upload(packed({"SKILL.md": OK_MD, "scripts/a.py": "print(1)\n", "b.png": picture}))
    users.ann.create(OK_MD + "More.\n")
    first = users.ann.ok("GET", f"{ONE}/files?version=1")
    assert [(file["path"], file["name"], file["is_dir"]) for file in first["items"]] == [
        ("SKILL.md", "SKILL.md", False),
        ("b.png", "b.png", False),
        ("scripts/a.py", "a.py", False),
    ]
    script = users.ann.ok("GET", f"{ONE}/files/scripts/a.py?version=1")
    assert script == {
        "path": "scripts/a.py",
        "size": 9,
        "encoding": "utf-8",
        "content": "print(1)\n",
    }
    shown = users.ann.ok("GET", f"{ONE}/files/b.png?version=1")
    assert (shown["encoding"], shown["content"]) == ("base64", "iVBORw0KGgoA/w==")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("files/%2e%2e/1/SKILL.md", (400, "invalid_skill_path")),
        ("files/a/%2e%2e/%2e%2e/%2e%2e/understudy.db", (400, "invalid_skill_path")),
        ("files/%2Fetc%2Fpasswd", (400, "invalid_skill_path")),
        ("files/a%5Cb", (400, "invalid_skill_path")),
        ("files/", (400, "invalid_skill_path")),
        ("files/" + "x" * 3000, (400, "value_too_long")),
        ("files/scripts", (404, "skill_file_not_found")),
        ("files/.DS_Store", (404, "skill_file_not_found")),
        ("files/none.md", (404, "skill_file_not_found")),
        ("files?version=9", (404, "skill_version_not_found")),
        ("files?version=0", (400, "bad_request")),
        ("files?version=99999999999999999999999", (400, "bad_request")),
        ("files?version=one", (400, "bad_request")),
        ("diff?from=1&to=9", (404, "skill_version_not_found")),
        ("diff?from=1", (400, "bad_request")),
        ("export?version=9", (404, "skill_version_not_found")),
    ],
)
def test_what_is_not_a_file_of_the_skill_is_not_shown(
    users: SkillUsers, path: str, answer: tuple[int, str]
) -> None:
    users.ann.upload(packed({"SKILL.md": OK_MD, "scripts/a.py": "print(1)\n"}))
    assert users.ann.refused("GET", f"{ONE}/{path}") == answer


def test_a_link_that_somebody_planted_is_not_followed(users: SkillUsers) -> None:
    users.ann.create()
    folder = users.store / SLUG / "1"
    (folder / "linked.md").symlink_to("/etc/hosts")
    assert users.ann.refused("GET", f"{ONE}/files/linked.md") == (404, "skill_file_not_found")
    listed = users.ann.ok("GET", f"{ONE}/files")["items"]
    assert [file["path"] for file in listed] == ["SKILL.md"]


def test_an_export_carries_what_was_set_beside_the_file(users: SkillUsers, tmp_path: Path) -> None:
    users.ann.create()
    first = users.ann.call("GET", f"{ONE}/export").content
    users.ann.create(OK_MD + "More.\n")
    words = {"name": "Ours: weekly", "description": "For us.\n" * 200, "tags": ["a", "b c"]}
    set_to = users.ann.ok("PUT", ONE, words)
    exported = users.ann.call("GET", f"{ONE}/export")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        archive.extractall(tmp_path)
    assert validate(tmp_path / SLUG) == []
    # An earlier version says what it said.
    assert users.ann.call("GET", f"{ONE}/export?version=1").content == first
    users.ann.ok("DELETE", ONE)
    assert users.bob.upload(exported.content).status_code == 201
    back = users.bob.ok("GET", ONE)
    assert {key: back[key] for key in words} == {key: set_to[key] for key in words}


def test_an_export_is_an_archive_that_the_standard_takes(users: SkillUsers, tmp_path: Path) -> None:
    users.ann.upload(packed({"SKILL.md": OK_MD, "scripts/a.py": "print(1)\n"}))
    answer = users.ann.call("GET", f"{ONE}/export")
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == 'attachment; filename="weekly-report-1.zip"'
    assert "sandbox" in answer.headers["content-security-policy"]
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path / "out")
    assert validate(tmp_path / "out" / SLUG) == []
    again = users.bob.upload(answer.content, slug="taken-over")
    assert again.status_code == 201, again.text


def test_only_four_fields_can_be_set(users: SkillUsers) -> None:
    users.ann.create()
    body = {"name": "Report", "description": "Weekly", "tags": ["a"]}
    changed = users.ann.ok("PUT", ONE, body)
    assert changed["ok"] == "true"
    assert {name: changed[name] for name in body} == body
    before = users.root.ok("GET", ONE)
    for field, value in {
        "id": "skl_x",
        "owner_id": "bob",
        "is_system": True,
        "file_path": "/etc",
        "version": 9,
        "slug": "other",
        "status": "deleted",
        "file_hash": "0",
        "enabled": False,
    }.items():
        for person in (users.ann, users.root):
            assert person.refused("PUT", ONE, {field: value, "name": "X"})[0] == 400
    assert users.root.ok("GET", ONE) == before


def test_only_an_admin_makes_a_skill_public(users: SkillUsers) -> None:
    users.ann.create()
    public = {"visibility": "public"}
    assert users.ann.refused("PUT", ONE, public) == (403, "skill_visibility_needs_admin")
    assert users.root.ok("PUT", ONE, public)["visibility"] == "public"
    assert users.vera.ok("GET", ONE)["visibility"] == "public"
    assert users.root.ok("PUT", ONE, {"visibility": "private"})["visibility"] == "private"


def test_a_skill_is_switched_off_and_on(users: SkillUsers) -> None:
    users.ann.create()
    off = users.ann.ok("POST", f"{ONE}/toggle", {"enabled": False})
    assert (off["ok"], off["enabled"], off["status"]) == (True, False, "active")
    assert users.ann.ok("POST", f"{ONE}/toggle", {"enabled": True})["enabled"] is True
    assert users.ann.refused("POST", f"{ONE}/toggle", {"enabled": "no"})[0] == 400


def test_a_deleted_skill_is_in_the_trash_and_comes_back(users: SkillUsers) -> None:
    made = users.ann.create()
    gone = users.ann.ok("DELETE", ONE)
    assert (gone["ok"], gone["deleted"]) == ("true", True)
    for ref in (SLUG, made["id"]):
        assert users.ann.refused("GET", f"{ALL}/{ref}") == (404, "skill_not_found")
        assert users.ann.refused("DELETE", f"{ALL}/{ref}") == (404, "skill_not_found")
        toggle = users.ann.refused("POST", f"{ALL}/{ref}/toggle", {"enabled": True})
        assert toggle == (404, "skill_not_found")
    (trashed,) = users.ann.ok("GET", f"{ALL}/trash")["items"]
    assert (trashed["slug"], trashed["trash_name"]) == (SLUG, gone["trash_name"])
    assert users.bob.ok("GET", f"{ALL}/trash")["items"] == []
    restore = f"{ALL}/trash/{gone['trash_name']}/restore"
    assert users.bob.refused("POST", restore) == (404, "skill_trash_not_found")
    assert users.bob.refused("POST", f"{ALL}/trash/none.1/restore") == (
        404,
        "skill_trash_not_found",
    )
    assert users.ann.ok("POST", restore)["version"] == 1
    assert users.ann.ok("GET", ONE)["id"] == made["id"]


@pytest.mark.parametrize(
    ("content", "slug", "answer"),
    [
        ("   ", None, (400, "skill_blank")),
        ("No front matter.", None, (400, "skill_name_missing")),
        (OK_MD, "No Slug", (400, "invalid_slug")),
        (OK_MD, "runtimes", (400, "invalid_slug")),
        (OK_MD, "../x", (400, "invalid_slug")),
        (OK_MD + f"\n{HARMFUL}\n", None, (422, "skill_unsafe")),
        (OK_MD + "x" * 102_400, None, (413, "skill_too_large")),
        (OK_MD + "x" * 102_400 + HARMFUL, None, (413, "skill_too_large")),
        (f"{HARMFUL}\n", "No Slug", (422, "skill_unsafe")),
        ("No front matter.", "No Slug", (400, "skill_name_missing")),
    ],
)
def test_what_is_no_skill_is_refused_in_a_fixed_order(
    users: SkillUsers, content: str, slug: str | None, answer: tuple[int, str]
) -> None:
    body = {"content": content, **({} if slug is None else {"slug": slug})}
    assert users.ann.refused("POST", ALL, body) == answer
    assert users.ann.ok("GET", ALL)["items"] == []
    assert not users.store.exists() or list(users.store.iterdir()) == []


def test_a_refusal_of_the_guard_names_every_line_and_rule(users: SkillUsers) -> None:
    text = OK_MD + f"{HARMFUL}\nharmless\n{HARMFUL}\n"
    answer = users.ann.call("POST", ALL, {"content": text})
    assert answer.status_code == 422
    problem = answer.json()
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line == HARMFUL]
    for number in lines:
        assert f"line {number}:" in problem["detail"]
    assert len(problem["errors"]) >= 2
    assert {error["pointer"] for error in problem["errors"]} == {"/files/SKILL.md"}
    assert all(error["code"] and error["detail"] for error in problem["errors"])


@pytest.mark.parametrize("ref", ["Not-A-Slug", "a", "skl_", "a_b", "a..b", "x" * 70, "%00"])
def test_what_is_neither_an_id_nor_a_slug_is_a_mistake(users: SkillUsers, ref: str) -> None:
    for method, path, body in CHANGES:
        answer = users.root.refused(method, path.format(ref=ref), body)
        assert answer[0] == 400, (method, path, answer)


CHANGES: tuple[tuple[str, str, object], ...] = (
    ("PUT", ALL + "/{ref}", {"name": "X"}),
    ("DELETE", ALL + "/{ref}", None),
    ("POST", ALL + "/{ref}/toggle", {"enabled": False}),
    ("POST", ALL + "/{ref}/patch", {"find": "the", "replace": "some"}),
    ("POST", ALL + "/{ref}/restore", {"version": 1}),
    ("POST", ALL + "/{ref}/grants/agent", {"agent_id": "default"}),
    ("POST", ALL + "/{ref}/grants/user", {"user_id": "eve"}),
    ("DELETE", ALL + "/{ref}/grants/agent/default", None),
    ("DELETE", ALL + "/{ref}/grants/user/eve", None),
    ("DELETE", ALL + "/{ref}/grants/agent?agent_id=default", None),
    ("DELETE", ALL + "/{ref}/grants/user", {"user_id": "eve"}),
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change[0]} {change[1]}")
def test_a_skill_is_changed_by_its_owner_and_by_an_admin_only(
    users: SkillUsers, change: tuple[str, str, object]
) -> None:
    made = users.ann.create()
    method, path, body = change
    by_id = path.format(ref=made["id"])
    before = users.root.ok("GET", ONE)
    assert users.nobody.call(method, by_id, body).status_code == 401
    assert users.vera.refused(method, by_id, body) == (403, "forbidden")
    assert users.bob.refused(method, by_id, body) == (403, "skill_not_yours")
    # Who only guesses the slug learns nothing.
    missing = users.bob.call(method, path.format(ref="no-such"), body).json()
    hidden = users.bob.call(method, path.format(ref=SLUG), body).json()
    for problem, ref in ((missing, "no-such"), (hidden, SLUG)):
        problem["detail"] = problem["detail"].replace(ref, "…")
        problem.pop("instance")
    assert hidden == missing
    assert hidden["code"] == "skill_not_found"
    assert users.root.ok("GET", ONE) == before
    for person in (users.root, users.ann):
        assert person.call(method, by_id, body).status_code in (200, 201)
        if person is users.root and path.endswith("{ref}") and method == "DELETE":
            users.ann.create()
            by_id = path.format(ref=SLUG)


def test_nobody_says_who_they_are_but_an_admin(users: SkillUsers) -> None:
    made = users.ann.create()
    claim = {"X-Understudy-User-Id": "ann"}
    path = f"{ALL}/{made['id']}"
    assert users.bob.call("DELETE", path, headers=claim).status_code == 403
    assert users.ann.ok("GET", ONE)["id"] == made["id"]
    theirs = users.root.ok("POST", ALL, {"content": skill_md("For Ann")}, headers=claim)
    assert theirs["owner_id"] == "ann"


def test_a_slug_of_somebody_else_cannot_be_taken(users: SkillUsers) -> None:
    users.ann.create()
    # One that Bob may not know of is like a reserved word, and his own gets another slug.
    for slug in (SLUG, "upload"):
        wanted = {"content": OK_MD, "slug": slug}
        assert users.bob.refused("POST", ALL, wanted) == (400, "invalid_slug")
    assert users.bob.create()["slug"].startswith(f"{SLUG}-")
    users.ann.ok("POST", f"{ONE}/grants/user", {"user_id": "bob"})
    before = users.ann.ok("GET", ONE)
    assert users.bob.refused("POST", ALL, {"content": OK_MD}) == (403, "skill_slug_taken")
    upload = users.bob.upload(packed({"SKILL.md": OK_MD}))
    assert (upload.status_code, upload.json()["code"]) == (403, "skill_slug_taken")
    assert users.ann.ok("GET", ONE) == before


def test_a_repeat_under_a_key_changes_nothing_twice(users: SkillUsers) -> None:
    key = {"Idempotency-Key": "k1"}
    first = users.ann.ok("POST", ALL, {"content": OK_MD}, headers=key)
    users.ann.create(OK_MD + "More.\n")
    again = users.ann.call("POST", ALL, {"content": OK_MD}, headers=key)
    assert (again.status_code, again.json()) == (201, first)
    assert again.headers["idempotency-replayed"] == "true"
    assert users.ann.ok("GET", ONE)["version"] == 2


PRIVATE = ("", "/versions", "/files", "/files/SKILL.md", "/export", "/access", "/grants")


@pytest.mark.parametrize("path", [*PRIVATE, "/diff?from=1&to=1", "/files?version=7"])
def test_a_private_skill_of_somebody_else_looks_like_a_missing_one(
    users: SkillUsers, path: str
) -> None:
    made = users.ann.create()
    for person in (users.bob, users.vera):
        for ref, other in ((SLUG, "no-such"), (made["id"], made["id"][:-1] + "_")):
            hidden = person.call("GET", f"{ALL}/{ref}{path}")
            missing = person.call("GET", f"{ALL}/{other}{path}")
            assert (hidden.status_code, hidden.json()["code"]) == (404, "skill_not_found")
            said = (hidden.json()["detail"].replace(ref, ""), hidden.json()["title"])
            assert said == (missing.json()["detail"].replace(other, ""), missing.json()["title"])
    assert users.bob.ok("GET", ALL)["items"] == []
    assert users.bob.ok("GET", "/v1/agents/default/skills")["items"] == []
