"""Skills that many change at once, that are large, or whose daemon is killed: none is half made."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.conftest import skill_daemon_at
from tests.support.skill_daemon import Person, SkillDaemon, SkillUsers
from tests.support.skill_texts import ALL, MANIFEST, skill_md
from understudy.api.scan_queue import MAX_OF_ONE

pytestmark = pytest.mark.e2e

LIMIT = 20 * 1024 * 1024
# No more at once than one user may have in line for the content guard.
LINES = [f"Line {number:02} is old." for number in range(MAX_OF_ONE)]


def folders(skill_daemon: SkillDaemon, slug: str) -> list[str]:
    """What lies in the folder of a slug; on PostgreSQL, its versions."""
    if skill_daemon.has_files:
        return sorted((it.name for it in (skill_daemon.store / slug).iterdir()), key=int)
    versions = skill_daemon.admin.get(f"{slug}/versions", params={"limit": 200})["items"]
    return [str(it["version"]) for it in reversed(versions)]


def at_once(acts: list[Callable[[], httpx2.Response]]) -> list[httpx2.Response]:
    with ThreadPoolExecutor(len(acts)) as pool:
        return [it.result() for it in [pool.submit(act) for act in acts]]


def test_patches_that_come_at_once_are_all_in_the_last_version(users: SkillUsers) -> None:
    slug = users.ann.create(skill_md(f"Crowded {users.ann.user_id}", "\n".join(LINES)))["slug"]

    def patch(line: str) -> Callable[[], httpx2.Response]:
        return lambda: users.ann.patch(slug, line, line.replace("old", "new"))

    answers = at_once([patch(line) for line in LINES])

    done = [it.json()["version"] for it in answers if it.status_code == 200]
    assert {it.status_code for it in answers} <= {200, 409}
    assert sorted(done) == list(range(2, len(done) + 2))
    assert users.ann.get(slug)["version"] == len(done) + 1
    assert folders(users.skill_daemon, slug) == [str(number) for number in range(1, len(done) + 2)]
    last = users.skill_daemon.bytes_of(slug, len(done) + 1).decode()
    for line, answer in zip(LINES, answers, strict=True):
        changed = line.replace("old", "new") in last
        assert changed is (answer.status_code == 200), line


def test_a_patch_of_a_version_that_is_no_longer_current_is_a_conflict(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    assert users.ann.patch(slug, "numbers", "figures", expected_version=1).status_code == 200
    late = users.ann.patch(slug, "down", "up", expected_version=1)

    assert late.status_code == 409
    assert users.ann.get(slug)["version"] == 2


def test_skills_created_at_once_under_one_slug_are_versions_of_it(users: SkillUsers) -> None:
    slug = f"race-{users.ann.user_id}"
    texts = [skill_md(f"Racer {number}", f"Run {number}.") for number in range(MAX_OF_ONE)]

    def create(text: str) -> Callable[[], httpx2.Response]:
        return lambda: users.ann.call("POST", ALL, {"content": text, "slug": slug})

    answers = at_once([create(text) for text in texts])

    assert {it.status_code for it in answers} == {201}
    numbers = {it.json()["version"]: text for it, text in zip(answers, texts, strict=True)}
    assert sorted(numbers) == list(range(1, MAX_OF_ONE + 1))
    for number, text in numbers.items():
        assert users.skill_daemon.bytes_of(slug, number) == text.encode()
    row = users.ann.get(slug)
    last = numbers[MAX_OF_ONE].split("---\n")[2]
    assert (row["version"], row["instructions"]) == (MAX_OF_ONE, last)


def test_of_two_owners_who_want_one_slug_exactly_one_gets_it(users: SkillUsers) -> None:
    slug = f"duel-{users.ann.user_id}"

    def create(person: Person, number: int) -> Callable[[], httpx2.Response]:
        text = skill_md(f"Duel {number}", f"By {person.user_id}.")
        return lambda: person.call("POST", ALL, {"content": text, "slug": slug})

    people = [users.ann, users.bob] * 5
    answers = at_once([create(person, number) for number, person in enumerate(people)])

    winners = {
        person.user_id
        for person, answer in zip(people, answers, strict=True)
        if answer.status_code == 201
    }
    # The loser may not know of the winner's skill: its slug is refused like a reserved word.
    assert {it.json().get("code", it.status_code) for it in answers} == {201, "invalid_slug"}
    assert winners == {users.root.get(slug)["owner_id"]}
    assert folders(users.skill_daemon, slug) == ["1", "2", "3", "4", "5"]


def test_twenty_megabytes_of_companions_are_copied_and_one_byte_more_is_refused(
    file_users: SkillUsers,
) -> None:
    part = os.urandom(LIMIT // 4)
    files: dict[str, str | bytes] = {f"{number}.bin": part for number in range(4)}
    name = f"Heavy {file_users.ann.user_id}"
    folder = file_users.skill_daemon.folder({MANIFEST: skill_md(name, "Weigh it."), **files})
    told = file_users.ann.run(
        ("publish_skill", {"path": folder}), agent=file_users.plain, words="Save as skill."
    )
    slug = next(iter(file_users.ann.listed(owner_id=file_users.ann.user_id)))
    assert told.answers
    file_users.ann.ok("POST", f"{ALL}/{slug}/versions/1/accept")
    assert file_users.ann.patch(slug, "Weigh", "Lift").status_code == 200
    lies = file_users.skill_daemon.store / slug
    assert all((lies / "2" / path).read_bytes() == data for path, data in files.items())

    (file_users.skill_daemon.workspace / folder / "more.bin").write_bytes(b"x")
    more = file_users.ann.run(
        ("publish_skill", {"path": folder}), agent=file_users.plain, words="Save as skill."
    )
    assert more.refusals
    assert sorted(it.name for it in lies.iterdir()) == ["1", "2"]
    assert file_users.ann.get(slug)["version"] == 2
    # It is much to look through for the tests that look through all skills.
    file_users.ann.ok("DELETE", f"{ALL}/{slug}")


def busy(person: Person, number: int, stop: threading.Event) -> Iterator[tuple[str, int]]:
    """Create, patch and delete one skill after another; what was answered is done."""
    while not stop.is_set():
        for step in range(3):
            slug = f"busy-{person.user_id}-{number}-{step}"
            text = skill_md(f"Busy {number} {step}", "At 0.")
            yield slug, person.call("POST", ALL, {"content": text, "slug": slug}).json()["version"]
            for times in range(3):
                answer = person.patch(slug, f"At {times}", f"At {times + 1}")
                yield slug, answer.json()["version"]
        person.call("DELETE", f"{ALL}/busy-{person.user_id}-{number}-2")


def test_a_killed_daemon_leaves_every_skill_whole(users: SkillUsers) -> None:
    skill_daemon, ann = users.skill_daemon, users.ann
    stop, enough = threading.Event(), threading.Event()
    known: list[tuple[str, int]] = []

    def work(number: int) -> None:
        with suppress(httpx2.TransportError):
            for done in busy(ann, number, stop):
                known.append(done)
                if len(known) > 24:
                    enough.set()

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    skill_daemon.daemon.kill()
    stop.set()
    for thread in threads:
        thread.join(30)
    skill_daemon.daemon.start(60)

    slugs = ann.listed(owner_id=ann.user_id)
    assert slugs
    for slug in slugs:
        told = [version for it, version in known if it == slug]
        _check_whole(skill_daemon, ann, slug, max(told, default=1))


def _check_whole(skill_daemon: SkillDaemon, ann: Person, slug: str, known: int) -> None:
    """The row points to a complete version, and the next one gets a number that is unused."""
    row = ann.get(slug)
    assert row["version"] >= known
    text = skill_daemon.bytes_of(slug, row["version"]).decode()
    assert text.endswith(row["instructions"])
    used = {int(name) for name in folders(skill_daemon, slug)}
    assert row["version"] in used
    answer: Any = ann.patch(slug, "At ", "Then at ").json()
    assert answer["version"] > max(used | {row["version"]})
    assert ann.call("GET", f"{ALL}/{slug}/export").status_code == 200


@pytest.mark.postgres
def test_two_daemons_on_one_database_see_the_same_skills(
    database_skill_daemon: SkillDaemon, tmp_path: Path
) -> None:
    users = SkillUsers(database_skill_daemon)
    with skill_daemon_at(tmp_path / "home", database_skill_daemon.database_url) as other:
        there = Person(other, users.ann.user_id, users.ann.token)
        content = skill_md(f"Shared {users.ann.user_id}", "\n".join(LINES))
        slug = users.ann.keep({MANIFEST: content, "scripts/a.py": "print(1)\n"})["slug"]
        told = there.run(
            ("use_skill", {"name": slug}),
            ("use_skill", {"name": slug, "file": "scripts/a.py"}),
            agent=users.plain,
        )

        def patch(number: int) -> Callable[[], httpx2.Response]:
            line, person = LINES[number], (users.ann, there)[number % 2]
            return lambda: person.patch(slug, line, line.replace("old", "new"))

        answers = at_once([patch(number) for number in range(len(LINES))])

        assert slug in told.offered
        assert "print(1)" in told.answers[1]
        done = [it for it in answers if it.status_code == 200]
        last = there.get(slug)
        assert last["version"] == len(done) + 1
        assert last["instructions"].count("new") == len(done)
        assert last["digest"] == users.ann.get(slug)["digest"]
        users.ann.ok("DELETE", f"{ALL}/{slug}")
        assert there.status("GET", f"{ALL}/{slug}") == 404
