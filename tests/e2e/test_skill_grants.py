"""Who is granted a skill, and what that makes of its visibility."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.support.skill_daemon import SkillUsers
from tests.support.skill_texts import ALL, SHIPPED

pytestmark = pytest.mark.e2e

ROUNDS = 50


def visibility(users: SkillUsers, slug: str) -> str:
    seen: str = users.ann.get(slug)["visibility"]
    return seen


def test_the_first_grant_opens_a_skill_and_the_last_revocation_closes_it(users: SkillUsers) -> None:
    for grantee in ({"agent": users.plain}, {"user": users.bob.user_id}):
        slug = users.ann.own()["slug"]
        seen = [visibility(users, slug)]
        users.ann.grant(slug, **grantee)
        seen.append(visibility(users, slug))
        users.ann.revoke(slug, **grantee)
        seen.append(visibility(users, slug))

        assert seen == ["private", "internal", "private"]


@pytest.mark.parametrize("first", ["agent", "user"])
def test_both_kinds_of_grant_count(users: SkillUsers, first: str) -> None:
    slug = users.ann.own()["slug"]
    grantees = [{"agent": users.plain}, {"user": users.bob.user_id}]
    for grantee in grantees:
        users.ann.grant(slug, **grantee)
    seen = []
    for grantee in sorted(grantees, key=lambda it: first not in it):
        users.ann.revoke(slug, **grantee)
        seen.append(visibility(users, slug))

    assert seen == ["internal", "private"]


def test_a_skill_is_internal_exactly_while_it_is_granted_however_calls_cross(
    users: SkillUsers,
) -> None:
    slug = users.ann.own()["slug"]
    agent = {"agent_id": users.plain}
    user = {"user_id": users.bob.user_id}
    calls = [
        ("POST", f"{ALL}/{slug}/grants/agent", agent),
        ("DELETE", f"{ALL}/{slug}/grants/agent/{users.plain}", None),
        ("POST", f"{ALL}/{slug}/grants/user", user),
        ("DELETE", f"{ALL}/{slug}/grants/user/{users.bob.user_id}", None),
    ]

    with ThreadPoolExecutor(len(calls)) as pool:
        rounds = [pool.submit(users.ann.status, *call) for _ in range(ROUNDS) for call in calls]
        codes = {it.result() for it in rounds}

    assert codes == {200, 201}
    is_granted = bool(users.ann.grants(slug))
    assert visibility(users, slug) == ("internal" if is_granted else "private")


def test_grants_leave_a_public_skill_public(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    users.root.ok("PUT", f"{ALL}/{slug}", {"visibility": "public"})
    users.ann.grant(slug, agent=users.plain)
    granted = visibility(users, slug)
    users.ann.revoke(slug, agent=users.plain)
    revoked = visibility(users, slug)
    users.ann.grant(slug, user=users.bob.user_id)
    users.root.ok("PUT", f"{ALL}/{slug}", {"visibility": "internal"})

    assert (granted, revoked, visibility(users, slug)) == ("public", "public", "internal")


def test_granting_twice_and_revoking_what_is_not_granted_both_succeed(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    for _ in range(2):
        users.ann.grant(slug, agent=users.plain)
        users.ann.grant(slug, user=users.bob.user_id)

    assert len(users.ann.get(f"{slug}/grants")["items"]) == 2
    for _ in range(2):
        users.ann.revoke(slug, agent=users.plain)
        users.ann.revoke(slug, user=users.bob.user_id)
    assert users.ann.grants(slug) == set()
    assert visibility(users, slug) == "private"


def test_a_skill_with_grants_is_not_made_private_and_one_without_not_internal(
    users: SkillUsers,
) -> None:
    slug = users.ann.own()["slug"]
    assert users.root.status("PUT", f"{ALL}/{slug}", {"visibility": "internal"}) == 409
    users.ann.grant(slug, agent=users.plain)
    assert users.root.status("PUT", f"{ALL}/{slug}", {"visibility": "private"}) == 409
    assert visibility(users, slug) == "internal"


def test_a_grant_is_revoked_by_path_by_query_and_by_body(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    for kind, whom in (("agent", users.plain), ("user", users.bob.user_id)):
        grants = f"{ALL}/{slug}/grants/{kind}"
        forms = [
            (f"{grants}/{whom}", None),
            (f"{grants}?{kind}_id={whom}", None),
            (grants, {f"{kind}_id": whom}),
        ]
        for path, body in forms:
            users.ann.grant(slug, **{kind: whom})
            assert users.ann.status("DELETE", path, body) == 200, path
            assert users.ann.grants(slug) == set(), path
        users.ann.grant(slug, **{kind: whom})
        assert users.ann.status("DELETE", grants) == 400
        assert users.ann.status("DELETE", grants, {}) == 400
        assert users.ann.grants(slug) == {whom}
        users.ann.revoke(slug, **{kind: whom})


def test_a_grant_without_somebody_to_have_it_is_refused(file_users: SkillUsers) -> None:
    grants = f"{ALL}/{file_users.ann.own()['slug']}/grants"

    for body in ({}, {"user_id": ""}, {"user_id": "x" * 256}, {"user_id": 7}):
        assert file_users.ann.status("POST", f"{grants}/user", body) == 400
    assert file_users.ann.status("POST", f"{grants}/user", {"user_id": "x" * 255}) == 201
    assert file_users.ann.status("POST", f"{grants}/agent", {}) == 400
    unknown = {"agent_id": "no-such-agent"}
    assert file_users.ann.status("POST", f"{grants}/agent", unknown) == 404


def test_the_skills_of_an_agent_are_listed_with_its_grants(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    other = users.ann.own()["slug"]
    users.ann.grant(slug, agent=users.plain)
    shown = {it["slug"]: it for it in users.ann.get(f"/v1/agents/{users.plain}/skills")["items"]}

    assert shown[slug]["granted"] is True
    assert shown[other]["granted"] is False
    assert shown[SHIPPED]["is_system"] is True
    fields = {"id", "name", "slug", "description", "visibility", "version", "granted", "is_system"}
    assert all(fields <= set(it) for it in shown.values())


def test_one_grant_is_kept_of_many_that_come_at_once(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    path, body = f"{ALL}/{slug}/grants/agent", {"agent_id": users.plain}

    with ThreadPoolExecutor(8) as pool:
        grant = partial(users.ann.status, "POST", path, body)
        codes = {it.result() for it in [pool.submit(grant) for _ in range(8)]}

    assert codes == {201}
    assert len(users.ann.get(f"{slug}/grants")["items"]) == 1
