"""Which skills a session has: its scope first, then who asks; the same in the prompt and beside it."""

import json
import re
import shutil

import pytest

from tests.support.skill_daemon import SkillUsers
from tests.support.skill_texts import NUMBERS, SHIPPED, Told, skill_md

pytestmark = pytest.mark.e2e


def skills_named(users: SkillUsers, *names: str) -> dict[str, str]:
    """Skills of ann, whose slugs nobody else has, by the names that a test has for them."""
    number = next(NUMBERS)
    return {name: users.ann.create(skill_md(f"{name} {number}"))["slug"] for name in names}


def persona(users: SkillUsers, **scope: list[str]) -> str:
    """A persona that narrows what its sessions may see."""
    persona_id = f"persona-{next(NUMBERS)}"
    body = {"persona_id": persona_id, "display_name": "P", "capability_scope": scope}
    users.root.ok("POST", "/v1/personas", body)
    return persona_id


def listed(users: SkillUsers, session: str) -> set[str]:
    found = users.ann.get(f"/v1/sessions/{session}/skills", params={"limit": 200})["items"]
    return {it["slug"] for it in found}


def using(users: SkillUsers, session: str, *slugs: str) -> Told:
    return users.ann.run(*(("use_skill", {"name": slug}) for slug in slugs), session=session)


def test_a_session_has_what_both_it_and_its_persona_allow(users: SkillUsers) -> None:
    own = skills_named(users, "alpha", "beta", "gamma", "ex", "why")
    alpha, beta, gamma, ex, why = own.values()
    bound = persona(users, skill_allow=[alpha, beta], skill_deny=[ex])
    scope = {"skill_allow": [beta, gamma], "skill_deny": [why]}
    session = users.ann.session(users.plain, persona_id=bound, capability_scope=scope)
    told = using(users, session, *own.values())

    effective = users.ann.get(f"/v1/sessions/{session}")["effective_capability_scope"]
    assert effective["skill_allow"] == [beta]
    assert sorted(effective["skill_deny"]) == sorted([ex, why])
    assert listed(users, session) == {beta}
    assert told.offered == [beta]
    assert [result.is_error for result in told.results] == [True, False, True, True, True]


def test_a_session_whose_persona_allows_none_of_what_it_allows_has_no_skill(
    users: SkillUsers,
) -> None:
    own = skills_named(users, "alpha", "beta", "gamma")
    bound = persona(users, skill_allow=[own["alpha"]])
    session = users.ann.session(
        users.plain, persona_id=bound, capability_scope={"skill_allow": [own["beta"]]}
    )
    told = using(users, session, *own.values(), SHIPPED)
    found = users.ann.run(
        ("skill_search", {"query": " ".join(own.values())}), ("list_skills", {}), session=session
    )

    assert users.ann.get(f"/v1/sessions/{session}/skills")["items"] == []
    assert told.refusals
    assert told.offered == []
    assert "<available_skills>" not in told.system
    for slug in (*own.values(), SHIPPED):
        assert not any(f'"name": "{slug}"' in result for result in found.results)


def test_a_search_of_memory_finds_and_lists_only_the_skills_that_are_allowed(
    users: SkillUsers,
) -> None:
    own = skills_named(users, "allowed", "denied")
    session = users.ann.session(users.plain, capability_scope={"skill_deny": [own["denied"]]})
    ids = {slug: users.ann.get(slug)["id"] for slug in own.values()}
    foreign = users.bob.own("allowed")

    def results(**query: str) -> dict[str, dict[str, object]]:
        answer = users.ann.get(f"/v1/sessions/{session}/memory-search", params=query)
        return {it["source_id"]: it for it in answer["results"] if it["kind"] == "skill"}

    listed = results(limit="50")
    assert ids[own["allowed"]] in listed
    assert {ids[own["denied"]], foreign["id"]}.isdisjoint(listed)
    found = results(query="allowed")
    assert ids[own["allowed"]] in found
    assert foreign["id"] not in found
    assert found[ids[own["allowed"]]]["timestamp_ms"] == 0
    assert ids[own["denied"]] not in results(query="denied")


def test_what_memory_context_shows_is_what_the_prompt_gets(users: SkillUsers) -> None:
    own = skills_named(users, "shown", "hidden")
    session = users.ann.session(users.plain, capability_scope={"skill_deny": [own["hidden"]]})
    context = users.ann.get(f"/v1/sessions/{session}/memory-context", params={"query": "go on"})
    told = users.ann.run(session=session)

    visible = [it["slug"] for it in context["visible_skills"]]
    assert visible == told.offered
    assert own["shown"] in visible
    assert own["hidden"] not in visible
    assert context["effective_capability_scope"]["skill_deny"] == [own["hidden"]]
    assert context["learning_scopes"]
    for it in context["visible_skills"]:
        assert it["description"]
        assert it["description"] in told.system.replace("&amp;", "&").replace("&#x27;", "'")


def test_the_skills_of_a_session_are_found_by_words(file_users: SkillUsers) -> None:
    own = skills_named(file_users, "giraffe", "other")
    session = file_users.ann.session(file_users.plain)
    found = file_users.ann.get(f"/v1/sessions/{session}/skills", params={"query": "giraffe"})

    assert [it["slug"] for it in found["items"]] == [own["giraffe"]]


def test_more_skills_than_fit_are_left_to_the_search(file_users: SkillUsers) -> None:
    for number in range(40):
        file_users.ann.own(f"many {number}")
    told = file_users.ann.run(
        ("skill_search", {"query": "many 17"}), ("list_skills", {}), agent=file_users.plain
    )

    assert told.system.count("<skill ") == 0
    assert re.search(r"^## Skills$", told.system, re.MULTILINE)
    assert "skill_search" in told.system
    assert "many-17-" in told.results[0]
    assert "many-17-" in told.results[1]


def test_the_files_of_a_skill_are_read_one_at_a_time_on_demand(users: SkillUsers) -> None:
    body = "See {baseDir}/notes.md."
    name = f"Disclosed {users.ann.user_id}"
    files: dict[str, str | bytes] = {"SKILL.md": skill_md(name, body), "notes.md": "Deep inside."}
    slug = users.ann.keep(files)["slug"]
    told = users.ann.run(
        ("use_skill", {"name": slug}),
        ("use_skill", {"name": slug, "file": "notes.md"}),
        ("use_skill", {"name": slug, "file": "../../../etc/hostname"}),
        agent=users.plain,
    )

    assert body not in told.system
    assert "Deep inside." not in told.results[0]
    assert "notes.md" in told.results[0]
    assert "{baseDir}" not in told.results[0]
    assert "Deep inside." in told.results[1]
    assert told.results[2].is_error


def test_a_skill_that_forks_is_carried_out_beside_the_run(file_users: SkillUsers) -> None:
    name = f"Forked {file_users.ann.user_id}"
    files: dict[str, str | bytes] = {
        "SKILL.md": skill_md(name, "Count to ten."),
        "agents/understudy.yaml": "context: fork\n",
    }
    slug = file_users.ann.keep(files)["slug"]
    told = file_users.ann.run(("use_skill", {"name": slug}), agent=file_users.plain)

    assert told.answers
    assert "Count to ten." not in told.result
    assert "ok" in told.result
    asked = [it for it in file_users.skill_daemon.model.requests if "Count to ten." in it.last_user]
    assert asked
    assert "Count to ten." not in told.system


def test_a_skill_in_a_folder_of_the_workspace_takes_the_place_of_none_that_is_kept(
    file_users: SkillUsers,
) -> None:
    number = next(NUMBERS)
    slug = f"near-{number}"
    kept = file_users.ann.create(skill_md(f"Near {number}", "From the store.", slug=slug))
    folder = file_users.skill_daemon.workspace / "skills" / slug
    folder.mkdir(parents=True)
    content = f"---\nname: {slug}\ndescription: A local one\n---\nFrom the folder.\n"
    (folder / "SKILL.md").write_text(content)
    unsafe = file_users.skill_daemon.workspace / "skills" / f"bad-{number}"
    unsafe.mkdir()
    (unsafe / "SKILL.md").write_text(skill_md(f"bad-{number}", "`rm -" + "rf /`"))

    roots = [
        who.ok("POST", "/v1/skills/roots", {"path": str(folder.parent)})["root_id"]
        for who in (file_users.bob, file_users.ann)
    ]

    # Who does not know of the kept one is offered what lies there.
    told = file_users.bob.run(("use_skill", {"name": slug}), agent=file_users.plain)
    assert "From the folder." in told.result
    assert told.offered.count(slug) == 1
    assert f"bad-{number}" not in told.offered
    local = file_users.bob.get(f"local:{slug}")
    assert (local["origin"], local["actions"]) == ("local", [])
    hers = file_users.ann.run(("use_skill", {"name": slug}), agent=file_users.plain)
    assert "From the store." in hers.result
    assert file_users.ann.get(slug)["id"] == kept["id"]
    assert file_users.ann.status("GET", f"/v1/skills/local:{slug}") == 404
    assert file_users.root.status("DELETE", f"/v1/skills/local:{slug}") == 403
    plain, full = (who.ok("GET", "/v1/status") for who in (file_users.bob, file_users.root))
    # The unsafe one in either root, and what the kept one covers; they are not counted to others.
    assert [each["skills"]["local_left_out"] for each in (plain, full)] == [0, 4]
    assert str(file_users.skill_daemon.workspace) not in json.dumps(plain)
    codes = {each["code"] for each in full["skills"]["local_warnings"]}
    assert codes == {"unsafe", "slug_kept"}
    for root_id in roots:
        file_users.root.ok("DELETE", f"/v1/skills/roots/{root_id}")
    shutil.rmtree(file_users.skill_daemon.workspace / "skills")
