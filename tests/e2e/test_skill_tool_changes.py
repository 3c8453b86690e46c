"""Skills that runs mend, remove and publish in the name of a person."""

import re
import time
from pathlib import Path

import pytest

from tests.support.skill_daemon import Person, SkillUsers
from tests.support.skill_texts import ALL, HARMFUL, Result, manage, skill_md

pytestmark = pytest.mark.e2e

LIMIT = 102_400
PLEASE = "Please make a skill of this."


def refused(result: Result) -> Result:
    """What a tool said that did nothing."""
    assert result.is_error, result
    return result


def test_a_patch_that_joins_two_harmless_halves_is_refused(users: SkillUsers) -> None:
    made = users.ann.create(skill_md("Two halves", "Run `rm -" + "rf` HERE` /` now."))
    calls = manage("patch", slug=made["slug"], find="` HERE`", replace="")
    told = users.ann.run(calls, agent=users.learner)

    assert "line" in refused(told.result)
    assert users.ann.get(made["slug"])["version"] == 1
    if users.skill_daemon.has_files:
        assert [it.name for it in (users.skill_daemon.store / made["slug"]).iterdir()] == ["1"]


def test_a_patch_makes_a_version_with_the_same_companions(users: SkillUsers) -> None:
    content = skill_md("Patched one", "Take the first number.")
    script = "print('hello')\n"
    made = users.ann.keep({"SKILL.md": content, "scripts/a.py": script})
    slug = made["slug"]
    told = users.ann.run(
        manage("patch", slug=slug, find="first", replace="second"),
        manage("patch", slug=slug, find="no such words", replace="x"),
        manage("patch", slug=slug, find="number", replace="number"),
        agent=users.learner,
    )

    assert "version 2" in told.results[0]
    refused(told.results[1])
    assert "version 3" not in told.results[2]
    assert users.ann.get(slug)["version"] == 2
    assert users.skill_daemon.bytes_of(slug, 1) == content.encode()
    assert users.skill_daemon.bytes_of(slug, 2) == content.replace("first", "second").encode()
    for number in (1, 2):
        assert users.skill_daemon.bytes_of(slug, number, "scripts/a.py") == script.encode()
    assert [it["version"] for it in users.ann.get(f"{slug}/versions")["items"]] == [2, 1]


def test_a_patch_that_would_break_the_skill_is_refused(users: SkillUsers) -> None:
    slug = users.ann.create(skill_md("Sturdy one", "Do HERE."))["slug"]
    told = users.ann.run(
        manage("patch", slug=slug, find="HERE", replace="x" * LIMIT),
        manage("patch", slug=slug, find="name: Sturdy one\n", replace=""),
        manage("patch", slug=slug, find="description", replace="slug: other-one\ndescription"),
        agent=users.learner,
    )

    assert str(LIMIT) in refused(told.results[0])
    assert "name" in refused(told.results[1])
    assert "slug" in refused(told.results[2])
    assert users.ann.get(slug)["version"] == 1


def test_a_changed_description_shows_in_lists_and_searches(users: SkillUsers) -> None:
    slug = users.ann.create(skill_md("Reworded", description="Sorts old receipts"))["slug"]
    session = users.ann.session(users.learner)
    patch = manage("patch", slug=slug, find="Sorts old receipts", replace="Waters the ficus")
    users.ann.run(patch, session=session)
    then = users.ann.run(
        ("skill_search", {"query": "ficus"}),
        ("skill_search", {"query": "receipts"}),
        session=session,
    )

    assert slug in then.results[0]
    assert slug not in then.results[1]
    assert "Waters the ficus" in then.system
    assert users.ann.get(ALL, params={"query": "ficus"})["items"][0]["slug"] == slug


def test_a_deleted_skill_lies_in_the_trash_with_all_versions_and_no_grants(
    users: SkillUsers,
) -> None:
    first = users.ann.run(
        manage("create", content=skill_md("Short lived")), agent=users.learner, words=PLEASE
    )
    users.ann.grant("short-lived", user=users.bob.user_id)
    users.ann.patch("short-lived", "numbers", "figures")
    before = time.time()
    told = users.ann.run(
        manage("delete", slug="short-lived"),
        session=first.session_id,
        words="Please delete the skill short-lived.",
    )
    then = users.ann.run(("use_skill", {"name": "short-lived"}), session=first.session_id)

    assert told.answers
    [gone] = users.ann.get(f"{ALL}/trash")["items"]
    named = re.fullmatch(r"short-lived\.(\d+)", gone["trash_name"])
    assert named is not None
    assert int(before) <= int(named[1]) <= time.time()
    assert (gone["slug"], gone["version"]) == ("short-lived", 2)
    if users.skill_daemon.has_files:
        assert not (users.skill_daemon.store / "short-lived").exists()
        lies = users.skill_daemon.trash / gone["trash_name"]
        assert sorted(it.name for it in lies.iterdir()) == ["1", "2"]
    assert "short-lived" not in then.offered
    refused(then.result)
    assert users.ann.status("GET", f"{ALL}/short-lived") == 404
    assert "short-lived" not in users.root.listed()


def test_deleting_twice_within_a_second_keeps_both(users: SkillUsers) -> None:
    content = skill_md("Twice gone")
    for _ in range(3):
        users.ann.create(content)
        users.ann.ok("DELETE", f"{ALL}/twice-gone")

    names = [it["trash_name"] for it in users.ann.get(f"{ALL}/trash")["items"]]
    assert len(set(names)) == 3
    assert all(name.startswith("twice-gone.") for name in names)
    if users.skill_daemon.has_files:
        lying = [
            users.skill_daemon.trash / name / str(number)
            for number, name in enumerate(names[::-1], 1)
        ]
        assert all((it / "SKILL.md").read_bytes() == content.encode() for it in lying)


def test_what_is_deleted_comes_back_only_as_something_new(users: SkillUsers) -> None:
    content = skill_md("Risen again")
    old = users.ann.create(content)
    users.ann.grant("risen-again", agent=users.plain)
    users.ann.grant("risen-again", user=users.bob.user_id)
    users.ann.ok("DELETE", f"{ALL}/risen-again")
    gone = users.ann.run(
        manage("patch", slug="risen-again", find="numbers", replace="x"),
        manage("delete", slug="risen-again"),
        agent=users.learner,
    )
    made = users.ann.create(content)
    alone = users.ann.get("risen-again")
    users.ann.ok("DELETE", f"{ALL}/risen-again")
    users.ann.run(manage("create", content=content), agent=users.learner, words=PLEASE)
    granted = users.ann.get("risen-again")

    assert gone.refusals
    assert (old["version"], made["version"], granted["version"]) == (1, 2, 3)
    assert (alone["visibility"], granted["visibility"]) == ("private", "internal")
    assert users.ann.grants("risen-again") == {users.learner}


def test_a_folder_is_published_also_by_an_agent_that_may_not_learn_skills(
    users: SkillUsers,
) -> None:
    content = skill_md("Published one")
    folder = users.skill_daemon.folder(
        {"SKILL.md": content, "scripts/a.py": "print('x')\n", ".DS_Store": b"\0"}
    )
    told = users.ann.run(
        ("publish_skill", {"path": folder}), agent=users.plain, words="Save as skill."
    )
    [waits] = users.ann.get("published-one/versions")["items"]
    then = users.ann.run(("use_skill", {"name": "published-one"}), session=told.session_id)

    assert "skill_manage" not in told.tools
    # Nobody knows who wrote the folder, so others wait for her to accept it.
    assert (waits["waiting_for_others"], waits["untrusted_path"]) == (True, ["workspace_file"])
    made = users.ann.get("published-one")
    assert (made["owner_id"], made["version"]) == (users.ann.user_id, 1)
    assert made["visibility"] == "internal"
    assert users.ann.grants("published-one") == {users.plain}
    assert users.skill_daemon.bytes_of("published-one", 1) == content.encode()
    files = [it["path"] for it in users.ann.get("published-one/files")["items"]]
    assert files == ["SKILL.md", "scripts/a.py"]
    assert "published-one" in then.offered
    assert "scripts/a.py" in then.result


def test_what_may_not_be_published_is_not(users: SkillUsers, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text(skill_md("Outsider"))
    linked = users.skill_daemon.folder({"notes.md": "x"})
    (users.skill_daemon.workspace / linked / "SKILL.md").symlink_to(outside / "SKILL.md")
    (users.skill_daemon.workspace / f"{linked}-link").symlink_to(outside)
    unsafe = users.skill_daemon.folder({"SKILL.md": skill_md("Unsafe", f"`{HARMFUL}`")})
    megabyte = b"\0" * 1024 * 1024
    large = users.skill_daemon.folder(
        {"SKILL.md": skill_md("Large"), **{f"{number}.bin": megabyte for number in range(21)}}
    )
    paths = [str(outside), "../../outside", linked, f"{linked}-link", unsafe, large, "", "nowhere"]
    told = users.ann.run(
        *(("publish_skill", {"path": path}) for path in paths),
        agent=users.plain,
        words="Save as skill.",
    )

    for path, result in zip(paths, told.results, strict=True):
        assert result.is_error, (path, result)
    assert not users.ann.listed(owner_id=users.ann.user_id)


def test_a_skill_of_somebody_is_changed_by_their_runs_and_an_admins_only(users: SkillUsers) -> None:
    def tries(person: Person, slug: str) -> list[Result]:
        return person.run(
            manage("patch", slug=slug, find="numbers", replace="figures"),
            manage("delete", slug=slug),
            agent=users.learner,
            words=f"Please delete the skill {slug}.",
        ).results

    slug = users.ann.own()["slug"]
    missing = tries(users.bob, "no-such-skill")
    foreign = tries(users.bob, slug)
    unchanged = users.ann.get(slug)
    done = tries(users.root, slug)

    for result in foreign:
        refused(result)
    assert [it.replace(slug, "no-such-skill") for it in foreign] == missing
    assert unchanged["version"] == 1
    assert not any(result.is_error for result in done), done
    assert users.ann.status("GET", f"{ALL}/{slug}") == 404
