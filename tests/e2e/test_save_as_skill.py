"""Save as skill: what a user asks to keep is theirs from the next turn on, and others' once accepted."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.daemon import TERMINAL, wait_for
from tests.support.model_scripts import play
from tests.support.skill_daemon import Person, SkillUsers
from tests.support.skill_texts import ALL, NUMBERS, Call, Result, Told, manage, skill_md
from understudy.testing.answers import call

pytestmark = pytest.mark.e2e

SAVE = "save as skill"
NOTES = ("write_file", {"path": "notes.txt", "content": "12 apples, 30 pears\n"})
LONG_TASK: tuple[Call, ...] = (
    NOTES,
    *(
        (name, given)
        for _ in range(3)
        for name, given in (
            ("list_files", {"path": "."}),
            ("read_file", {"path": "notes.txt"}),
            ("search_files", {"pattern": "apples"}),
            ("shell", {"command": "wc -l notes.txt"}),
            ("list_skills", {}),
        )
    ),
)


def say(who: Person, session: str, words: str, *calls: Call) -> Any:
    """A run that begins with exactly these words."""
    answers = [call(name, given) for name, given in calls]
    who.skill_daemon.model.rule = play({words: answers})
    run_id = who.ok("POST", f"/v1/sessions/{session}/runs", {"content": words})["run_id"]

    def ended() -> Any:
        view = who.get(f"/v1/runs/{run_id}")
        return view if view["status"] in TERMINAL else None

    return wait_for(ended, 60, what=f"{run_id} to end")


def saves(slug: str, body: str = "Count the fruit.") -> Call:
    return manage("create", content=skill_md(slug.replace("-", " ").capitalize(), body))


def work(users: SkillUsers, who: Person, agent: str) -> Told:
    """The long task of a session, in which tools answer."""
    users.root.ok("PUT", "/v1/permissions", {"rules": [{"tool": "shell", "decision": "allow"}]})
    # Far from the end of its budget, where it would be reminded.
    users.root.ok("PUT", f"/v1/agents/{agent}", {"max_tool_iterations": 60})
    told = who.run(*LONG_TASK, agent=agent, words="Count the fruit in my notes.")
    assert len(told.results) == len(LONG_TASK) >= 15
    return told


def version(who: Person, slug: str) -> Mapping[str, Any]:
    """The newest version of a skill."""
    newest: Mapping[str, Any] = who.get(f"{slug}/versions")["items"][0]
    return newest


def has(who: Person, agent: str, slug: str) -> bool:
    """Whether the next prompt lists a skill, and the skill can be used."""
    told = who.run(("use_skill", {"name": slug}), agent=agent)
    assert (slug in told.offered) is not told.result.is_error, told
    return slug in told.offered


def drafts(who: Person) -> list[Any]:
    found: list[Any] = who.get("/v1/inbox", params={"kind": "skill_draft"})["items"]
    return found


def outputs(view: Mapping[str, Any]) -> str:
    return str(view["outputs"])


@pytest.fixture
def slug() -> str:
    """A skill that nobody has yet."""
    return f"fruit-{next(NUMBERS)}"


def test_after_a_long_task_the_users_word_makes_a_skill_that_the_next_turn_uses(
    users: SkillUsers, slug: str
) -> None:
    told = work(users, users.ann, users.learner)
    assert f"Reply **{SAVE}**" in outputs(users.ann.get(f"/v1/runs/{told.run_id}"))

    ended = say(users.ann, told.session_id, SAVE, saves(slug))

    assert ended["status"] == "completed", ended
    made = users.ann.get(slug)
    assert (made["version"], made["is_draft"], made["visibility"]) == (1, False, "internal")
    assert users.ann.grants(slug) == {users.learner}
    kept = version(users.ann, slug)
    assert (kept["state"], kept["waiting_for_others"]) == ("served", True)
    assert kept["derived_from_untrusted"]
    assert "earlier_runs" in kept["untrusted_path"]
    then = users.ann.run(("use_skill", {"name": slug}), session=told.session_id)
    assert slug in then.offered
    assert "Count the fruit." in then.result
    assert has(users.ann, users.learner, slug)
    # Others who use the agent get it once she has accepted it.
    assert not has(users.bob, users.learner, slug)
    assert users.bob.status("GET", f"{ALL}/{slug}") == 404
    [item] = drafts(users.ann)
    assert (item["version"], item["actions"]) == (1, ["accept", "reject"])
    users.ann.ok("POST", f"{ALL}/{slug}/versions/1/accept")
    assert has(users.bob, users.learner, slug)
    assert version(users.ann, slug)["derived_from_untrusted"] is False
    assert drafts(users.ann) == []


def test_accepting_the_offer_below_the_reply_is_the_same_word(users: SkillUsers, slug: str) -> None:
    told = work(users, users.ann, users.learner)
    [offer] = users.ann.get("/v1/approvals", params={"session_id": told.session_id})["items"]
    allow = {"resolutions": [{"request_id": offer["id"], "behavior": "allow"}]}
    users.ann.ok("POST", f"/v1/runs/{told.run_id}/approvals", allow)

    made = users.ann.run(saves(slug), session=told.session_id)

    assert "It is granted to you" in made.result
    assert users.ann.get(slug)["version"] == 1
    assert has(users.ann, users.learner, slug)


OPTIONS = [
    {"id": "literal", "label": "Save as skill"},
    {"id": "any", "label": "CSV. Save as skill."},
]


@pytest.mark.parametrize(
    ("answer", "is_word"),
    [
        ({"freeform_answer": SAVE}, True),
        ({"selected_option_ids": ["literal"]}, True),
        # The agent may write anything into the labels that it offers.
        ({"selected_option_ids": ["any"]}, False),
    ],
    ids=["typed", "literal label", "any label"],
)
def test_an_answer_to_a_question_of_the_agent_is_the_same_word(
    users: SkillUsers, slug: str, answer: Mapping[str, Any], *, is_word: bool
) -> None:
    session = users.ann.session(users.learner)
    ask = ("ask_user", {"questions": [{"question": "Which format?", "options": OPTIONS}]})
    users.skill_daemon.model.rule = play(
        {"Count": [call(*NOTES), call("list_files", {}), call(*ask), call(*saves(slug))]}
    )
    path = f"/v1/sessions/{session}/runs"
    run_id = users.ann.ok("POST", path, {"content": "Count the fruit."})["run_id"]
    asked = wait_for(
        lambda: users.ann.get("/v1/questions", params={"session_id": session})["items"],
        60,
        what="the question",
    )
    question = {"question_id": asked[0]["questions"][0]["id"]}
    told = {"request_id": asked[0]["id"], "answers": [{**question, **answer}]}
    users.ann.ok("POST", f"/v1/runs/{run_id}/questions", {"resolution": told})

    def ended() -> Any:
        view = users.ann.get(f"/v1/runs/{run_id}")
        return view["status"] in TERMINAL and view

    assert wait_for(ended, 60, what="the run")["status"] == "completed"
    if is_word:
        assert has(users.ann, users.learner, slug)
    else:
        assert users.ann.status("GET", f"{ALL}/{slug}") == 404


@pytest.mark.parametrize("owner", ["root", "bob"])
def test_on_an_agent_of_others_its_owner_or_an_admin_gives_it_to_all_with_one_click(
    users: SkillUsers, slug: str, owner: str
) -> None:
    carol = users.skill_daemon.person("carol", "operator")
    agent = users.skill_daemon.agent(skill_evolve=True)
    users.root.ok("PUT", f"/v1/agents/{agent}", {"owner_id": users.bob.user_id})
    assert not has(carol, agent, slug)
    told = work(users, users.ann, agent)
    saved = users.ann.run(saves(slug), session=told.session_id, words=SAVE)

    assert f"Everybody else who uses the agent {agent} gets it" in saved.result
    assert has(users.ann, agent, slug)
    assert users.ann.get(slug)["visibility"] == "private"
    decider = getattr(users, owner)
    [item] = [it for it in drafts(decider) if it["agent_id"] == agent]
    assert f"for {agent}" in item["tags"]
    path = f"{ALL}/{item['id']}"
    assert "Count the fruit." in decider.ok("GET", f"{path}/files/SKILL.md")["content"]
    assert carol.status("POST", f"{path}/versions/1/accept") == 403
    # Her own word about the text gives the agent of another nothing.
    users.ann.ok("POST", f"{path}/versions/1/accept")
    assert not has(carol, agent, slug)
    decider.ok("POST", f"{path}/versions/1/accept")
    assert has(carol, agent, slug)
    assert users.ann.grants(slug) == {agent}
    assert [it for it in drafts(decider) if it["agent_id"] == agent] == []


def test_an_agents_owner_may_keep_a_skill_from_the_others(users: SkillUsers, slug: str) -> None:
    agent = users.skill_daemon.agent(skill_evolve=True)
    users.root.ok("PUT", f"/v1/agents/{agent}", {"owner_id": users.bob.user_id})
    users.bob.run(agent=agent)
    told = work(users, users.ann, agent)
    say(users.ann, told.session_id, SAVE, saves(slug))

    skill = users.ann.get(slug)["id"]
    users.bob.ok("POST", f"{ALL}/{skill}/versions/1/reject", {"reason": "not for us"})

    assert users.bob.status("GET", f"{ALL}/{slug}") == 404
    assert not has(users.bob, agent, slug)
    assert has(users.ann, agent, slug)


def test_a_patch_that_the_user_asks_for_is_theirs_and_another_waits(
    users: SkillUsers, slug: str
) -> None:
    users.ann.create(skill_md(slug.replace("-", " ").capitalize(), "Count the fruit."))
    users.ann.grant(slug, user=users.bob.user_id)
    told = work(users, users.ann, users.learner)

    def patch(find: str, replace: str, words: str) -> Result:
        change = manage("patch", slug=slug, find=find, replace=replace)
        return users.ann.run(change, session=told.session_id, words=words).result

    unasked = patch("fruit", "coins", f"Use the skill {slug} to update the report.")
    asked = patch("Count", "Weigh", f"Please update the skill {slug}: weigh instead.")
    declined = patch("Weigh", "Steal", f"Please do not change the skill {slug}.")

    assert "Nobody uses it until a person accepts it" in unasked
    assert f"Patched skill {slug}, now version 3" in asked
    assert "Others get it once a person accepts it in the inbox" in asked
    assert "Nobody uses it until a person accepts it" in declined

    def body(who: Person) -> str:
        return who.run(("use_skill", {"name": slug}), agent=users.learner).result

    assert "Weigh the fruit." in body(users.ann)
    assert "Count the fruit." in body(users.bob)
    assert (users.ann.get(slug)["version"], users.bob.get(slug)["version"]) == (3, 1)
    users.ann.ok("POST", f"{ALL}/{slug}/versions/3/accept")
    assert "Weigh the fruit." in body(users.bob)


def test_a_folder_that_the_user_asks_to_publish_is_theirs(users: SkillUsers, slug: str) -> None:
    folder = users.skill_daemon.folder({"SKILL.md": skill_md(slug.replace("-", " ").capitalize())})
    told = work(users, users.ann, users.plain)

    made = users.ann.run(
        ("publish_skill", {"path": folder}), session=told.session_id, words="Save as skill."
    )

    assert "version 1" in made.result
    assert {"earlier_runs", "workspace_file"} <= set(version(users.ann, slug)["untrusted_path"])
    assert has(users.ann, users.plain, slug)


def test_words_of_a_tool_keep_nothing(users: SkillUsers, slug: str) -> None:
    users.skill_daemon.folder({})
    said = ("write_file", {"path": "said.txt", "content": SAVE})
    told = users.ann.run(
        said, ("read_file", {"path": "said.txt"}), saves(slug), agent=users.learner
    )

    assert "approval needed" in told.results[-1]
    assert users.ann.status("GET", f"{ALL}/{slug}") == 404


def test_a_public_skill_that_an_admin_looked_at_marks_no_run_that_lists_it(
    users: SkillUsers, slug: str
) -> None:
    public = users.bob.own("open")["slug"]
    users.root.ok("PUT", f"{ALL}/{public}", {"visibility": "public"})
    clean = users.ann.run(saves(slug), agent=users.learner, words=SAVE)
    assert public in clean.offered
    assert version(users.ann, slug)["derived_from_untrusted"] is False

    # What its owner made of it since, no admin has looked at.
    users.bob.ok("PUT", f"{ALL}/{public}", {"description": "Tells something else"})
    users.ann.run(saves(slug, "Count again."), agent=users.learner, words=SAVE)
    assert version(users.ann, slug)["untrusted_path"] == ["foreign_skill"]
    # Other tests have the same daemon.
    users.bob.ok("DELETE", f"{ALL}/{public}")


def test_unlearning_the_session_takes_every_version_of_its_user_back(
    users: SkillUsers, slug: str
) -> None:
    users.ann.create(skill_md(slug.replace("-", " ").capitalize(), "Count the fruit."))
    told = work(users, users.ann, users.learner)
    for find, other in (("Count", "Weigh"), ("Weigh", "Price")):
        change = manage("patch", slug=slug, find=find, replace=other)
        users.ann.run(change, session=told.session_id, words=f"Fix the skill {slug}.")
    assert users.ann.get(slug)["version"] == 3

    target = {"kind": "session", "id": told.session_id}
    started = users.root.ok("POST", "/v1/unlearn", {"target": target, "mode": "revoke"})
    path = f"/v1/unlearn/{started['unlearn_id']}"
    wait_for(lambda: users.root.get(path)["status"] == "done", 60, what="the unlearning")

    assert "Count the fruit." in users.ann.get(f"{slug}/files/SKILL.md")["content"]
    assert drafts(users.ann) == []
