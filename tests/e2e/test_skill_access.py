"""What each agent sees and uses for each user, on the very next turn."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.skill_daemon import Person, SkillUsers
from tests.support.skill_texts import ALL, SHIPPED, Call, manage, skill_md

pytestmark = pytest.mark.e2e


def use(slug: str) -> Call:
    return ("use_skill", {"name": slug})


def search(words: str, **more: int) -> Call:
    return ("skill_search", {"query": words, **more})


def test_everybody_sees_and_uses_what_the_matrix_says(users: SkillUsers) -> None:
    granted, other = users.learner, users.plain
    stranger = users.skill_daemon.person("eve", "operator")
    slugs = {
        kind: users.ann.create(skill_md(f"{kind} of {users.ann.user_id}", "Read me."))["slug"]
        for kind in ("private", "elsewhere", "agent", "user", "public")
    }
    users.ann.grant(slugs["elsewhere"], agent=users.skill_daemon.agent())
    users.ann.grant(slugs["agent"], agent=granted)
    users.ann.grant(slugs["user"], user=users.bob.user_id)
    users.root.ok("PUT", f"{ALL}/{slugs['public']}", {"visibility": "public"})
    slugs["system"] = SHIPPED
    open_to_all = {"public", "system"}
    matrix: list[tuple[Person, str, set[str]]] = [
        (users.ann, other, set(slugs)),
        (stranger, granted, open_to_all | {"agent"}),
        (users.bob, other, open_to_all | {"user"}),
        (stranger, other, open_to_all),
    ]

    for person, agent, kinds in matrix:
        # A person is offered what their agents are not, so only they count over the socket.
        known = kinds - ({"agent"} if person is stranger else set())
        expected = {slugs[kind] for kind in kinds}
        told = person.run(*map(use, slugs.values()), agent=agent)
        found = person.run(*map(search, slugs.values()), session=told.session_id)

        assert set(told.offered) & set(slugs.values()) == expected
        for slug, used, hits in zip(slugs.values(), told.results, found.results, strict=True):
            assert used.is_error is (slug not in expected), (person.user_id, slug, used)
            assert (f'"name": "{slug}"' in hits) is (slug in expected), (person.user_id, slug)
        listed = person.get(f"/v1/sessions/{told.session_id}/skills")["items"]
        assert {it["slug"] for it in listed} & set(slugs.values()) == expected
        with person.socket() as socket:
            for kind, slug in slugs.items():
                answer = socket.ask("skills.get", {"name": slug})
                assert answer["ok"] is (kind in known), (person.user_id, slug)
        for kind, slug in slugs.items():
            asked = {"agent_id": agent, "user_id": person.user_id}
            access = users.root.get(f"{slug}/access", params=asked)
            assert access["allowed"] is (kind in kinds), (person.user_id, slug, access)
    users.root.ok("DELETE", f"{ALL}/{slugs['public']}")


def test_the_answer_to_who_may_use_it_says_why(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    users.ann.grant(slug, agent=users.learner)
    users.ann.grant(slug, user=users.bob.user_id)

    def why(person: Person, agent: str) -> tuple[bool, str]:
        asked = {"agent_id": agent, "user_id": person.user_id}
        answer = users.ann.get(f"{slug}/access", params=asked)
        return answer["allowed"], answer["reason"]

    assert why(users.ann, users.plain) == (True, "owner")
    assert why(users.vic, users.learner) == (True, "agent_grant")
    assert why(users.bob, users.plain) == (True, "user_grant")
    assert why(users.vic, users.plain) == (False, "none")
    users.ann.ok("POST", f"{ALL}/{slug}/toggle", {"enabled": False})
    assert why(users.ann, users.plain) == (False, "disabled")


def test_the_very_next_turn_shows_a_grant_and_a_revocation(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    session = users.bob.session(users.plain)
    seen = [slug in users.bob.run(session=session).offered]
    users.ann.grant(slug, agent=users.plain)
    seen.append(slug in users.bob.run(session=session).offered)
    users.ann.revoke(slug, agent=users.plain)
    seen.append(slug in users.bob.run(session=session).offered)
    users.ann.grant(slug, user=users.bob.user_id)
    seen.append(slug in users.bob.run(session=session).offered)
    users.ann.revoke(slug, user=users.bob.user_id)
    last = users.bob.run(use(slug), search(slug), session=session)

    assert [*seen, slug in last.offered] == [False, True, False, True, False]
    assert last.results[0].is_error
    assert f'"name": "{slug}"' not in last.results[1]


def test_a_pinned_version_is_what_the_agent_gets(users: SkillUsers) -> None:
    slug = users.ann.create(skill_md(f"Pinned by {users.ann.user_id}", "The old way."))["slug"]
    body = {"agent_id": users.plain, "version": 1}
    assert users.ann.status("POST", f"{ALL}/{slug}/grants/agent", body) == 201
    assert users.ann.patch(slug, "old", "new").status_code == 200
    pinned = users.bob.run(use(slug), agent=users.plain)
    users.ann.grant(slug, agent=users.plain)
    current = users.bob.run(use(slug), agent=users.plain)

    assert "The old way." in pinned.result
    assert "The new way." in current.result
    body = {"agent_id": users.plain, "version": 9}
    assert users.ann.status("POST", f"{ALL}/{slug}/grants/agent", body) == 404


@contextmanager
def without_grants(home: Path) -> Iterator[None]:
    """While the table of grants to agents cannot be read."""
    with closing(sqlite3.connect(home / "understudy.db", timeout=30)) as database:
        database.execute("ALTER TABLE skill_agent_grants RENAME TO out_of_reach")
        database.commit()
        try:
            yield
        finally:
            database.execute("ALTER TABLE out_of_reach RENAME TO skill_agent_grants")
            database.commit()


def test_without_a_look_at_the_grants_only_what_is_open_to_all_is_offered(
    file_users: SkillUsers,
) -> None:
    slug = file_users.ann.own()["slug"]
    file_users.ann.grant(slug, agent=file_users.plain)
    public = file_users.ann.own()["slug"]
    file_users.root.ok("PUT", f"{ALL}/{public}", {"visibility": "public"})
    session = file_users.bob.session(file_users.plain)
    before = file_users.bob.run(session=session)
    with without_grants(file_users.skill_daemon.daemon.home):
        during = file_users.bob.run(use(slug), search(slug), session=session)
    after = file_users.bob.run(session=session)
    file_users.root.ok("DELETE", f"{ALL}/{public}")

    assert {slug, public} <= set(before.offered)
    assert public in during.offered
    assert slug not in during.offered
    assert during.results[0].is_error
    assert f'"name": "{slug}"' not in during.results[1]
    assert slug in after.offered


def test_a_skill_that_is_switched_off_is_gone_until_it_is_switched_on(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    session = users.ann.session(users.plain)
    toggle = f"{ALL}/{slug}/toggle"
    users.ann.ok("POST", toggle, {"enabled": False})
    off = users.ann.run(use(slug), search(slug), session=session)
    shown = users.ann.get(slug)
    users.ann.ok("POST", toggle, {"enabled": True})
    on = users.ann.run(use(slug), search(slug), session=session)
    users.ann.ok("DELETE", f"{ALL}/{slug}")

    assert slug not in off.offered
    assert off.results[0].is_error
    assert f'"name": "{slug}"' not in off.results[1]
    assert (shown["enabled"], shown["status"]) == (False, "active")
    assert slug in on.offered
    assert not on.results[0].is_error
    assert f'"name": "{slug}"' in on.results[1]
    for person in (users.ann, users.root):
        assert person.status("POST", toggle, {"enabled": True}) == 404


def test_a_search_looks_only_at_what_may_be_used(users: SkillUsers) -> None:
    word = f"zebra{users.ann.user_id.replace('-', '')}"
    hidden = {
        users.bob.create(skill_md(f"{word} {word} {number}", description=word * 1))["slug"]
        for number in range(30)
    }
    seen = {
        users.ann.create(
            skill_md(
                f"Plain {number} of {users.ann.user_id}",
                description=f"Does many other things and once in a while also a {word} or so",
            )
        )["slug"]
        for number in range(5)
    }
    told = users.ann.run(search(word, max_results=5), agent=users.plain)

    found = json.loads(told.result)
    assert {it["name"] for it in found["skills"]} == seen
    assert not any(slug in told.result or slug in told.system for slug in hidden)


def test_a_skill_made_by_a_run_is_there_on_its_next_turn_for_that_agent_only(
    users: SkillUsers,
) -> None:
    content = skill_md(f"Made by {users.ann.user_id}")
    first = users.ann.run(
        manage("create", content=content), agent=users.learner, words="Please make a skill of this."
    )
    slug = next(iter(users.ann.listed(owner_id=users.ann.user_id)))

    assert slug in users.ann.run(session=first.session_id).offered
    # Nobody else had used the agent, so it was granted to it.
    assert slug in users.bob.run(agent=users.learner).offered
    assert slug not in users.bob.run(agent=users.plain).offered
