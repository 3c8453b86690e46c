"""Versions of skills: none ever changes, any two can be compared, and all can be brought back."""

import hashlib

import pytest

from tests.support.skill_daemon import SkillDaemon, SkillUsers
from tests.support.skill_texts import ALL, MANIFEST, skill_md

pytestmark = pytest.mark.e2e


def folders(skill_daemon: SkillDaemon, slug: str) -> list[str]:
    """What lies in the folder of a slug; on PostgreSQL, its versions."""
    if skill_daemon.has_files:
        return sorted((it.name for it in (skill_daemon.store / slug).iterdir()), key=int)
    versions = skill_daemon.admin.get(f"{slug}/versions", params={"limit": 200})["items"]
    return [str(it["version"]) for it in reversed(versions)]


def test_a_companion_that_cannot_be_read_fails_the_patch(file_users: SkillUsers) -> None:
    name = f"Damaged {file_users.ann.user_id}"
    made = file_users.ann.keep({MANIFEST: skill_md(name), "scripts/a.py": "print(1)\n"})
    slug = made["slug"]
    lies = file_users.skill_daemon.store / slug
    (lies / "1" / "scripts" / "a.py").unlink()
    answer = file_users.ann.patch(slug, "numbers", "figures")

    assert answer.status_code in {409, 422, 500, 503}
    assert answer.headers["content-type"] == "application/problem+json"
    assert file_users.ann.get(ALL, params={"query": slug})["items"][0]["version"] == 1
    assert [it.name for it in lies.iterdir()] == ["1"]


def test_a_link_that_somebody_planted_is_never_followed_copied_or_served(
    file_users: SkillUsers,
) -> None:
    name = f"Planted {file_users.ann.user_id}"
    made = file_users.ann.keep({MANIFEST: skill_md(name), "scripts/a.py": "print(1)\n"})
    slug = made["slug"]
    lies = file_users.skill_daemon.store / slug
    secret = file_users.skill_daemon.daemon.home / f"secret-{slug}"
    secret.write_text("a marvellous secret")
    (lies / "1" / "leak.md").symlink_to(secret)
    (lies / "1" / "scripts" / "home").symlink_to(file_users.skill_daemon.daemon.home)

    one = f"{ALL}/{slug}"
    for path in ("leak.md", "scripts/home", f"scripts/home/secret-{slug}"):
        answer = file_users.ann.call("GET", f"{one}/files/{path}")
        assert answer.status_code == 404, path
    listed = file_users.ann.call("GET", f"{one}/files")
    exported = file_users.ann.call("GET", f"{one}/export")
    file_users.ann.patch(slug, "numbers", "figures")
    told = file_users.ann.run(
        ("use_skill", {"name": slug}),
        ("use_skill", {"name": slug, "file": "leak.md"}),
        agent=file_users.plain,
    )
    for text in (listed.text, exported.text, *told.results):
        assert "leak.md" not in text or "no file" in text
        assert "marvellous" not in text
    assert told.results[1].is_error
    copies = [path for path in lies.rglob("*") if path.is_symlink()]
    assert {path.relative_to(lies).parts[0] for path in copies} == {"1"}


@pytest.mark.parametrize("path", ["../1/SKILL.md", "%2e%2e/x", "..%2fx", "a/../../x", "/etc/x"])
def test_no_path_leads_out_of_a_version(file_users: SkillUsers, path: str) -> None:
    slug = file_users.ann.own()["slug"]
    # Sent as it is: a client would tidy it first.
    url = f"{file_users.skill_daemon.daemon.url}{ALL}/{slug}/files/{path}"
    answer = file_users.ann.call("GET", url.replace("/..", "/%2e%2e"))

    assert answer.status_code in {400, 404}
    assert "content" not in answer.json()


def test_nothing_that_happens_later_changes_an_old_version(users: SkillUsers) -> None:
    name = f"Fixed {users.ann.user_id}"
    slug = users.ann.keep({MANIFEST: skill_md(name), "scripts/a.py": "print(1)\n"})["slug"]

    def hashes() -> dict[str, str]:
        paths = (MANIFEST, "scripts/a.py")
        data = {path: users.skill_daemon.bytes_of(slug, 1, path) for path in paths}
        kept = {path: hashlib.sha256(it).hexdigest() for path, it in data.items()}
        versions = users.ann.get(f"{slug}/versions")["items"]
        return {**kept, "digest": versions[-1]["digest"]}

    before = hashes()
    one = f"{ALL}/{slug}"
    users.ann.patch(slug, "numbers", "figures")
    users.ann.ok("POST", f"{one}/toggle", {"enabled": False})
    users.ann.ok("POST", f"{one}/toggle", {"enabled": True})
    users.ann.grant(slug, agent=users.plain)
    users.ann.ok("PUT", one, {"description": "Something else", "tags": ["x"]})
    users.root.ok("POST", f"{ALL}/rescan-deps")
    users.ann.ok("POST", f"{one}/restore", {"version": 1})

    assert hashes() == before
    assert users.ann.get(slug)["version"] == 4
    assert users.skill_daemon.bytes_of(slug, 4) == users.skill_daemon.bytes_of(slug, 1)


def test_any_two_versions_can_be_compared_and_an_old_one_brought_back(users: SkillUsers) -> None:
    slug = users.ann.create(skill_md(f"Compared {users.ann.user_id}", "The old way."))["slug"]
    users.ann.patch(slug, "old", "new")
    diff = users.ann.get(f"{slug}/diff", params={"from": 1, "to": 2})
    back = users.ann.ok("POST", f"{ALL}/{slug}/restore", {"version": 1})

    [changed] = diff["files"]
    assert changed["path"] == MANIFEST
    assert "-The old way." in changed["diff"]
    assert "+The new way." in changed["diff"]
    assert back["version"] == 3
    assert "The old way." in users.ann.get(slug)["instructions"]
    versions = users.ann.get(f"{slug}/versions")
    assert ([it["version"] for it in versions["items"]], versions["current"]) == ([3, 2, 1], 3)
    assert users.ann.status("POST", f"{ALL}/{slug}/restore", {"version": 9}) == 404


def test_a_deleted_skill_is_brought_back_from_the_trash(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    users.ann.patch(slug, "numbers", "figures")
    users.ann.grant(slug, user=users.bob.user_id)
    gone = users.ann.ok("DELETE", f"{ALL}/{slug}")["trash_name"]
    restore = f"{ALL}/trash/{gone}/restore"
    assert users.bob.status("POST", restore) in {403, 404}
    back = users.ann.ok("POST", restore)

    assert (back["slug"], back["version"], back["status"]) == (slug, 2, "active")
    assert (back["visibility"], users.ann.grants(slug)) == ("private", set())
    assert folders(users.skill_daemon, slug) == ["1", "2"]
    assert users.ann.get(f"{ALL}/trash")["items"] == []
