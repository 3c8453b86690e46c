"""Versions of skills: none ever changes, any two can be compared, and all can be brought back."""

import hashlib

import pytest

from tests.support.skill_daemon import SkillDaemon, SkillUsers
from tests.support.skill_texts import ALL, MANIFEST, skill_md

pytestmark = pytest.mark.e2e


def folders(house: SkillDaemon, slug: str) -> list[str]:
    """What lies in the folder of a slug; on PostgreSQL, its versions."""
    if house.has_files:
        return sorted((it.name for it in (house.store / slug).iterdir()), key=int)
    versions = house.admin.get(f"{slug}/versions", params={"limit": 200})["items"]
    return [str(it["version"]) for it in reversed(versions)]


def test_a_companion_that_cannot_be_read_fails_the_patch(file_cast: SkillUsers) -> None:
    name = f"Damaged {file_cast.ann.user_id}"
    made = file_cast.ann.keep({MANIFEST: skill_md(name), "scripts/a.py": "print(1)\n"})
    slug = made["slug"]
    lies = file_cast.house.store / slug
    (lies / "1" / "scripts" / "a.py").unlink()
    answer = file_cast.ann.patch(slug, "numbers", "figures")

    assert answer.status_code in {409, 422, 500, 503}
    assert answer.headers["content-type"] == "application/problem+json"
    assert file_cast.ann.get(ALL, params={"query": slug})["items"][0]["version"] == 1
    assert [it.name for it in lies.iterdir()] == ["1"]


def test_a_link_that_somebody_planted_is_never_followed_copied_or_served(
    file_cast: SkillUsers,
) -> None:
    name = f"Planted {file_cast.ann.user_id}"
    made = file_cast.ann.keep({MANIFEST: skill_md(name), "scripts/a.py": "print(1)\n"})
    slug = made["slug"]
    lies = file_cast.house.store / slug
    secret = file_cast.house.daemon.home / f"secret-{slug}"
    secret.write_text("a marvellous secret")
    (lies / "1" / "leak.md").symlink_to(secret)
    (lies / "1" / "scripts" / "home").symlink_to(file_cast.house.daemon.home)

    one = f"{ALL}/{slug}"
    for path in ("leak.md", "scripts/home", f"scripts/home/secret-{slug}"):
        answer = file_cast.ann.call("GET", f"{one}/files/{path}")
        assert answer.status_code == 404, path
    listed = file_cast.ann.call("GET", f"{one}/files")
    exported = file_cast.ann.call("GET", f"{one}/export")
    file_cast.ann.patch(slug, "numbers", "figures")
    told = file_cast.ann.run(
        ("use_skill", {"name": slug}),
        ("use_skill", {"name": slug, "file": "leak.md"}),
        agent=file_cast.plain,
    )
    for text in (listed.text, exported.text, *told.results):
        assert "leak.md" not in text or "no file" in text
        assert "marvellous" not in text
    assert told.results[1].is_error
    copies = [path for path in lies.rglob("*") if path.is_symlink()]
    assert {path.relative_to(lies).parts[0] for path in copies} == {"1"}


@pytest.mark.parametrize("path", ["../1/SKILL.md", "%2e%2e/x", "..%2fx", "a/../../x", "/etc/x"])
def test_no_path_leads_out_of_a_version(file_cast: SkillUsers, path: str) -> None:
    slug = file_cast.ann.own()["slug"]
    # Sent as it is: a client would tidy it first.
    url = f"{file_cast.house.daemon.url}{ALL}/{slug}/files/{path}"
    answer = file_cast.ann.call("GET", url.replace("/..", "/%2e%2e"))

    assert answer.status_code in {400, 404}
    assert "content" not in answer.json()


def test_nothing_that_happens_later_changes_an_old_version(cast: SkillUsers) -> None:
    name = f"Fixed {cast.ann.user_id}"
    slug = cast.ann.keep({MANIFEST: skill_md(name), "scripts/a.py": "print(1)\n"})["slug"]

    def hashes() -> dict[str, str]:
        paths = (MANIFEST, "scripts/a.py")
        data = {path: cast.house.bytes_of(slug, 1, path) for path in paths}
        kept = {path: hashlib.sha256(it).hexdigest() for path, it in data.items()}
        versions = cast.ann.get(f"{slug}/versions")["items"]
        return {**kept, "digest": versions[-1]["digest"]}

    before = hashes()
    one = f"{ALL}/{slug}"
    cast.ann.patch(slug, "numbers", "figures")
    cast.ann.ok("POST", f"{one}/toggle", {"enabled": False})
    cast.ann.ok("POST", f"{one}/toggle", {"enabled": True})
    cast.ann.grant(slug, agent=cast.plain)
    cast.ann.ok("PUT", one, {"description": "Something else", "tags": ["x"]})
    cast.root.ok("POST", f"{ALL}/rescan-deps")
    cast.ann.ok("POST", f"{one}/restore", {"version": 1})

    assert hashes() == before
    assert cast.ann.get(slug)["version"] == 3
    assert cast.house.bytes_of(slug, 3) == cast.house.bytes_of(slug, 1)


def test_any_two_versions_can_be_compared_and_an_old_one_brought_back(cast: SkillUsers) -> None:
    slug = cast.ann.create(skill_md(f"Compared {cast.ann.user_id}", "The old way."))["slug"]
    cast.ann.patch(slug, "old", "new")
    diff = cast.ann.get(f"{slug}/diff", params={"from": 1, "to": 2})
    back = cast.ann.ok("POST", f"{ALL}/{slug}/restore", {"version": 1})

    [changed] = diff["files"]
    assert changed["path"] == MANIFEST
    assert "-The old way." in changed["diff"]
    assert "+The new way." in changed["diff"]
    assert back["version"] == 3
    assert "The old way." in cast.ann.get(slug)["instructions"]
    versions = cast.ann.get(f"{slug}/versions")
    assert ([it["version"] for it in versions["items"]], versions["current"]) == ([3, 2, 1], 3)
    assert cast.ann.status("POST", f"{ALL}/{slug}/restore", {"version": 9}) == 404


def test_a_deleted_skill_is_brought_back_from_the_trash(cast: SkillUsers) -> None:
    slug = cast.ann.own()["slug"]
    cast.ann.patch(slug, "numbers", "figures")
    cast.ann.grant(slug, user=cast.bob.user_id)
    gone = cast.ann.ok("DELETE", f"{ALL}/{slug}")["trash_name"]
    restore = f"{ALL}/trash/{gone}/restore"
    assert cast.bob.status("POST", restore) in {403, 404}
    back = cast.ann.ok("POST", restore)

    assert (back["slug"], back["version"], back["status"]) == (slug, 2, "active")
    assert (back["visibility"], cast.ann.grants(slug)) == ("private", set())
    assert folders(cast.house, slug) == ["1", "2"]
    assert cast.ann.get(f"{ALL}/trash")["items"] == []
