"""Drafts of skills over HTTP and on the command line."""

from itertools import count

import pytest

from tests.api.live import Live
from tests.api.skill_users import ALL, ONE, SkillUsers
from tests.api.test_skill_commands import invoke, run, skill_text
from tests.support.skill_service_harness import OK_MD, SLUG
from understudy.core.principal import Principal, Role
from understudy.daemon.services import Services
from understudy.skills.access import Author

NUMBERS = count(1)


def drafted(services: Services, user_id: str, content: str) -> int:
    """The number of a version that a run of somebody made of what a tool told it."""
    tainted = Author(
        principal=Principal(user_id=user_id, role=Role.OPERATOR),
        agent_id="default",
        run_id="run_1",
        untrusted=("tool_result",),
    )
    return services.skills.service.create(tainted, content).version.number


def test_a_draft_waits_in_the_inbox_of_its_owner_and_is_accepted(users: SkillUsers) -> None:
    users.ann.create()
    number = drafted(users.daemon.services, "ann", OK_MD + "More.\n")

    (item,) = users.ann.ok("GET", "/v1/inbox?kind=skill_draft")["items"]
    assert (item["version"], item["actions"]) == (number, ["accept", "reject"])
    assert users.bob.ok("GET", "/v1/inbox?kind=skill_draft")["items"] == []
    assert "skill_draft" not in users.vera.ok("GET", "/v1/inbox")["counts"]
    path = f"{ALL}/{item['id']}/versions/{number}"
    assert users.ann.ok("GET", ONE)["version"] == 1
    assert users.vera.refused("POST", f"{path}/accept") == (403, "forbidden")
    assert users.bob.refused("POST", f"{path}/accept") == (403, "skill_not_yours")
    accepted = users.ann.ok("POST", f"{path}/accept", {"reason": "read it"})

    assert accepted["version"] == number
    newest = users.ann.ok("GET", f"{ONE}/versions")["items"][0]
    assert (newest["state"], newest["derived_from_untrusted"]) == ("served", False)
    assert (newest["untrusted_path"], newest["decided_by"]) == (["tool_result"], "ann")
    (entry,) = [
        it
        for it in users.root.audit()
        if it["action"] == "skills.accept" and it["outcome"] == "done"
    ]
    assert entry["reason"] == f"{SLUG} read it"
    assert users.ann.refused("POST", f"{path}/reject") == (409, "skill_version_decided")
    assert users.ann.refused("POST", f"{ONE}/versions/9/accept") == (404, "skill_version_not_found")


def test_a_new_draft_is_missing_for_others_and_can_be_rejected(users: SkillUsers) -> None:
    drafted(users.daemon.services, "ann", OK_MD)

    assert users.ann.ok("GET", ONE)["is_draft"]
    assert users.bob.refused("GET", ONE) == (404, "skill_not_found")
    assert users.ann.refused("GET", f"{ONE}/export") == (409, "skill_version_not_served")
    assert users.ann.ok("GET", f"{ONE}/access?agent_id=default")["reason"] == "draft"
    users.ann.ok("POST", f"{ONE}/versions/1/reject")

    assert users.ann.ok("GET", f"{ONE}/versions")["items"][0]["state"] == "rejected"
    assert users.ann.ok("GET", "/v1/inbox")["counts"]["skill_draft"] == 0


@pytest.fixture
def slug() -> str:
    return f"draft-{next(NUMBERS)}"


def test_drafts_are_listed_accepted_and_rejected_on_the_command_line(live: Live, slug: str) -> None:
    services = live.daemon.services
    drafted(services, "local", skill_text(slug))

    assert "draft, untrusted" in run(live, "versions", slug)
    assert f"{slug} now serves version 1" in invoke(live, "accept", slug).stderr
    drafted(services, "local", skill_text(slug, "Look up."))
    told = invoke(live, "reject", slug, "2", "--reason", "no").stderr
    assert f"version 2 of {slug} is rejected" in told
    assert f"{slug} has no draft" in invoke(live, "accept", slug, exit_code=2).output
