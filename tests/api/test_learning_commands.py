"""`understudy candidates`, `learnings`, `review` and `policy` against a daemon."""

import json
import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.api.live import Live
from tests.support.command_line_in_process import Typed, typed
from tests.support.command_line_process import Terminal
from tests.support.environment import without_settings

CANDIDATES = "/v1/learning-candidates"
POLICY = "/v1/runtime/learning-policy"
# What a daemon comes with; a policy without any field is a mistake.
DEFAULT = {"policy": {"mode": "shadow"}}
NUMBERS = count(1)


def invoke(live: Live, *line: str, exit_code: int = 0, stdin: str | None = None) -> Typed:
    url = str(live.client.base_url)
    result = typed("--url", url, *line, stdin=stdin)
    assert result.exit_code == exit_code, result.output
    return result


def run(live: Live, *line: str, **more: Any) -> str:
    return invoke(live, *line, **more).stdout


def answer(live: Live, *line: str, **more: Any) -> Any:
    return json.loads(run(live, *line, "--json", **more))


@pytest.fixture
def scope(live: Live) -> str:
    """A session of its own, so that no test finds what another left."""
    name = f"scope{next(NUMBERS)}"
    live.session(name)
    return f"session:{name}"


@pytest.fixture
def policy(live: Live) -> Iterator[Live]:
    """A daemon with the policy that it came with, afterwards too."""
    live.ok("POST", POLICY, DEFAULT)
    yield live
    live.ok("POST", POLICY, DEFAULT)


def test_the_inbox_lists_what_waits_and_counts_it(live: Live, scope: str) -> None:
    candidate_id = propose(live, scope, "Doors are green")

    shown = invoke(live, "inbox", "--kind", "candidate", "--limit", "200")
    (item,) = [
        it
        for it in answer(live, "inbox", "--kind", "candidate", "--limit", "200")["items"]
        if it["id"] == candidate_id
    ]

    assert f"candidate  {candidate_id}" in shown.stdout
    assert "Doors are green (fact, session)" in shown.stdout
    assert "candidate" in shown.stderr.rpartition("waiting: ")[2]
    assert item["title"] == "Doors are green"
    assert "Nothing waits" in run(live, "inbox", "--kind", "skill_draft")
    invoke(live, "inbox", "--kind", "letters", exit_code=2)


def propose(live: Live, scope: str, content: str) -> str:
    kind, _, name = scope.partition(":")
    fields = {"scope": {"kind": kind, "id": name}, "kind": "fact", "content": content}
    candidate_id: str = live.ok("POST", CANDIDATES, fields)["candidate_id"]
    return candidate_id


def learn(live: Live, scope: str, content: str) -> str:
    path = f"{CANDIDATES}/{propose(live, scope, content)}/publish"
    learning_id: str = live.ok("POST", path)["learning_id"]
    return learning_id


def candidate(live: Live, candidate_id: str) -> Any:
    return live.ok("GET", f"{CANDIDATES}/{candidate_id}")


def test_a_candidate_is_proposed_looked_at_and_published(live: Live, scope: str) -> None:
    made = invoke(
        live,
        *(
            "candidates",
            "create",
            "The launch is on Monday",
            "--scope",
            scope,
            "--kind",
            "decision",
        ),
        *("--evidence", "run_1:art_2", "--evidence", "run_3", "--confidence", "91"),
        *("--expires", "30d", "--run", "run_1", "--sensitivity", "scoped"),
    )
    (listed,) = answer(live, "candidates", "list", "--scope", scope)["items"]
    candidate_id = listed["candidate_id"]

    assert listed["evidence_refs"] == [
        {"run_id": "run_1", "artifact_id": "art_2"},
        {"run_id": "run_3"},
    ]
    assert (listed["kind"], listed["confidence"]) == ("decision", 91)
    assert listed["source"] == {"run_id": "run_1"}
    assert listed["expires_at_ms"] - listed["created_at_ms"] in range(29 * 86_400_000, 2592000001)
    assert f"candidates publish {candidate_id}" in made.stderr
    shown = run(live, "candidates", "show", candidate_id)
    assert "The launch is on Monday" in shown
    assert "run run_1, artifact art_2" in shown
    learning_id = run(live, "candidates", "publish", candidate_id).strip()
    published = run(live, "candidates", "show", candidate_id)
    assert re.search(
        rf"published by local (just now|\d+s ago)\nlearning    {learning_id}", published
    )
    known = run(live, "learnings", "show", learning_id)
    assert "by operator, manual, tier active" in known
    assert "unverified" in known


def test_what_is_published_may_be_different_from_what_was_proposed(live: Live, scope: str) -> None:
    candidate_id = propose(live, scope, "The mascot is a cat")

    published = answer(
        live,
        *("candidates", "publish", candidate_id, "--content", "The mascot is a dog"),
        *("--kind", "preference", "--tier", "provisional", "--confidence", "50"),
    )

    assert published["content"] == "The mascot is a dog"
    assert (published["kind"], published["confidence"]) == ("preference", 50)
    assert published["status"] == "provisional"
    # A repeat tells what there is.
    again = invoke(live, "candidates", "publish", candidate_id)
    assert again.stdout.strip() == published["learning_id"]
    assert "injected nowhere while it is provisional; found in this session only" in again.stderr


def test_what_conflicts_is_refused_until_it_supersedes(live: Live, scope: str) -> None:
    first = learn(live, scope, "The port is 8080")
    second = propose(live, scope, "The port is 9090")

    assert f"conflicts with  {first}" in run(live, "candidates", "show", second)
    refused = invoke(live, "candidates", "publish", second, exit_code=4)
    assert "--supersedes" in refused.stderr
    taken = invoke(live, "candidates", "publish", second, "--supersedes", first)
    assert f"it takes the place of {first}" in taken.stderr
    lineage = run(live, "learnings", "lineage", first).splitlines()
    assert "superseded" in lineage[-3]
    assert lineage[-1].strip().startswith(f"└─ replaced by learning {taken.stdout.strip()}: active")


def test_what_another_scope_says_otherwise_is_told(live: Live, scope: str) -> None:
    wide = learn(live, "workspace:default", "The team mascot is a crow")

    told = invoke(live, "candidates", "publish", propose(live, scope, "The team mascot is a heron"))

    assert f"it contradicts {wide} (workspace:default, active): The team mascot" in told.stderr
    assert "the narrower scope wins" in told.stderr


def test_a_candidate_is_rejected_with_a_reason(live: Live, scope: str) -> None:
    candidate_id = propose(live, scope, "The moon is cheese")

    run(live, "candidates", "reject", candidate_id, "--reason", "it is not")

    assert "reason      it is not" in run(live, "candidates", "show", candidate_id)
    run(live, "candidates", "publish", candidate_id, exit_code=4)
    again = propose(live, scope, "The moon is cheese")
    assert f"rejected before  {candidate_id}, by local" in run(live, "candidates", "show", again)


def test_a_preview_says_what_would_be_refused_and_why(live: Live, scope: str) -> None:
    learn(live, scope, "The colour is red")
    fine, other = propose(live, scope, "Tea is at four"), propose(live, scope, "The colour is blue")

    seen = invoke(live, "candidates", "bulk", "publish", "--scope", scope, "--dry-run")

    lines = {line.split()[0]: line for line in seen.stdout.splitlines()}
    assert "would be published" in lines[fine]
    assert "would be refused" in lines[other]
    assert "learning_conflict" in lines[other]
    assert "1 would be published, 1 would be refused" in seen.stderr
    assert candidate(live, fine)["state"] == "pending"


def test_many_are_decided_by_id_or_by_filter(live: Live, scope: str) -> None:
    ids = [propose(live, scope, f"Room {number} is free") for number in range(3)]
    bulk = ("candidates", "bulk")

    published = answer(live, *bulk, "publish", ids[0], "--tier", "provisional", "--yes")
    refused = invoke(live, *bulk, "reject", ids[0], ids[1], "--yes", exit_code=4)
    rest = answer(live, *bulk, "reject", "--scope", scope, "--reason", "old", "--yes")

    assert published["done_count"] == 1
    assert "candidate_published" in refused.stdout
    assert [item["candidate_id"] for item in rest["items"]] == [ids[2]]
    assert candidate(live, ids[2])["decision_reason"] == "old"


@pytest.mark.parametrize("more", [[], ["cand_1", "--kind", "fact"], ["--kind", "fact"]])
def test_many_are_not_decided_by_leaving_something_out(live: Live, more: list[str]) -> None:
    # The last one says what, but nobody is there to be asked.
    run(live, "candidates", "bulk", "reject", *more, exit_code=2)


def test_a_person_is_shown_a_preview_and_asked(live: Live, scope: str) -> None:
    candidate_id = propose(live, scope, "The lift is slow")
    url = str(live.client.base_url)
    line = ["--url", url, "candidates", "bulk", "reject", "--scope", scope]
    terminal = Terminal(line, {**without_settings(os.environ), "TZ": "UTC"})
    try:
        terminal.wait_for("Reject 1 candidate?")
        assert candidate_id[: len("cand_") + 11] in terminal.screen
        terminal.type("n")
        assert terminal.process.wait(20) == 1
    finally:
        terminal.close()

    assert candidate(live, candidate_id)["state"] == "pending"


def test_a_policy_explains_itself_rule_by_rule(policy: Live, scope: str) -> None:
    rules = [
        {"name": "sure facts", "kind": "fact", "min_confidence": 99, "action": "publish_active"},
        {"name": "the rest", "action": "reject"},
    ]
    policy.ok("POST", POLICY, {"policy": {"publication": {"rules": rules}}})
    candidate_id = propose(policy, scope, "The bus is late")

    shown = run(policy, "candidates", "explain", candidate_id)

    assert "rule 'the rest' says reject" in shown
    assert "min_confidence: wants at least 99, is 80" in shown
    assert "decides" in shown


def test_learnings_are_listed_by_every_filter(live: Live, scope: str) -> None:
    learning_id = learn(live, scope, "The kettle is broken")

    for more in (
        ["--query", "KETTLE", "--scope", scope],
        ["--kind", "fact", "--scope", scope],
        ["--status", "active", "--scope", scope],
        ["--decision", "manual", "--actor", "operator", "--scope", scope],
    ):
        assert learning_id in run(live, "learnings", "list", *more)
    for more in (["--kind", "decision"], ["--rule", "none"], ["--status", "revoked"]):
        assert "Nothing matches" in run(live, "learnings", "list", "--scope", scope, *more)
    run(live, "learnings", "list", "--kind", "bogus", exit_code=2)
    run(live, "learnings", "show", "lrn_nothing", exit_code=3)


def test_a_learning_is_superseded_and_revoked(live: Live, scope: str) -> None:
    first = learn(live, scope, "The door code is on the wall")

    told = invoke(live, "learnings", "supersede", first, "The door code is on the desk")
    second = told.stdout.strip()

    assert f"it takes the place of {first}" in told.stderr
    invoke(live, "learnings", "revoke", second, "--reason", "moved again")
    shown = run(live, "learnings", "show", second)
    assert "moved again" in shown
    assert f"supersedes    {first}" in shown
    run(live, "learnings", "supersede", second, "The door code is lost", exit_code=4)
    run(live, "learnings", "supersede", first, exit_code=2)


def test_a_learning_says_in_which_sessions_it_is_told(live: Live, scope: str) -> None:
    learning_id = learn(live, scope, "The attic is locked")
    sensitive = learn(live, scope, "The cellar is locked")
    run(live, "learnings", "set", sensitive, "--sensitivity", "sensitive")

    assert f"{scope}: injected in this session only" in run(live, "learnings", "show", learning_id)
    assert f"{scope}: injected nowhere: it is sensitive" in run(
        live, "learnings", "show", sensitive
    )
    run(live, "learnings", "revoke", learning_id)
    assert "no longer injected, it is revoked" in run(live, "learnings", "show", learning_id)


def test_a_learning_is_told_always_when_somebody_says_so(live: Live, scope: str) -> None:
    learning_id = learn(live, scope, "The door code is on the wall")

    shown = run(live, "learnings", "set", learning_id, "--applies", "always")

    assert "always: injected into every prompt" in shown
    listed = ("learnings", "list", "--scope", scope, "--applies")
    assert learning_id in run(live, *listed, "always")
    assert "Nothing matches" in run(live, *listed, "when_relevant")
    run(live, "learnings", "set", learning_id, "--applies", "never", exit_code=2)
    run(live, "learnings", "set", learning_id, exit_code=2)


def test_all_that_match_are_revoked_or_only_listed(live: Live, scope: str) -> None:
    ids = [learn(live, scope, f"SkillUsers {number} is taken") for number in range(2)]
    line = ("learnings", "revoke-matching", "--scope", scope)

    seen = invoke(live, *line, "--dry-run")

    assert all(learning_id in seen.stdout for learning_id in ids)
    assert "2 learnings would be revoked" in seen.stderr
    run(live, *line, exit_code=2)  # nobody is there to be asked
    run(live, "learnings", "revoke-matching", "--yes", exit_code=2)
    run(live, *line, "--all", "--yes", exit_code=2)
    assert answer(live, *line, "--yes", "--reason", "moved")["count"] == 2
    assert live.ok("GET", f"/v1/learnings/{ids[0]}")["revoked_reason"] == "moved"


def test_answers_from_a_pipe_decide_what_waits(live: Live, scope: str) -> None:
    facts = ("The soup is hot", "The bread is new", "The salt is low", "The tea is weak")
    ids = [propose(live, scope, fact) for fact in facts]
    typed = "a\ne\nThe bread is fresh\na\nr\nsays who\n"

    told = invoke(live, "review", "next", "--scope", scope, "--limit", "3", stdin=typed)

    states = [candidate(live, each)["state"] for each in ids]
    assert states == ["published", "published", "rejected", "pending"]
    assert told.stdout == ""
    assert "The soup is hot" in told.stderr
    assert "The tea is weak" not in told.stderr
    assert told.stderr.rstrip().endswith("2 published, 1 rejected")
    assert "The bread is fresh" in run(live, "learnings", "list", "--scope", scope)
    # The input ends before there is an answer: nothing happens.
    left = invoke(live, "review", "next", "--scope", scope, "--once", stdin="")
    assert left.stderr.rstrip().endswith("nothing decided; the rest goes on waiting")
    assert candidate(live, ids[3])["state"] == "pending"
    run(live, "candidates", "reject", ids[3])
    empty = invoke(live, "review", "next", "--scope", scope, stdin="a\n")
    assert empty.stderr == "no candidate that waits fits\n"


def test_a_person_at_a_terminal_is_asked(live: Live, scope: str) -> None:
    candidate_id = propose(live, scope, "The gate is open")
    line = ["--url", str(live.client.base_url), "review", "next", "--scope", scope]
    terminal = Terminal(line, {**without_settings(os.environ), "TZ": "UTC"})
    try:
        terminal.wait_for("[q]uit  [?] ")
        assert "The gate is open" in terminal.screen
        terminal.type("r")
        terminal.wait_for("why not")
        terminal.type("it was closed")
        terminal.wait_for("1 rejected")
        assert terminal.process.wait(20) == 0
    finally:
        terminal.close()

    assert candidate(live, candidate_id)["decision_reason"] == "it was closed"


def press(terminal: Terminal, keys: str) -> None:
    """Type without Enter; what is waited for then comes after it."""
    terminal.screen = ""
    terminal.press(keys)


def test_one_key_without_enter_decides_and_takes_back(live: Live, scope: str) -> None:
    ids = [propose(live, scope, f"The {name} is open") for name in ("gate", "door", "shop")]
    line = ["--url", str(live.client.base_url), "review", "next", "--scope", scope]
    terminal = Terminal(line, {**without_settings(os.environ), "TZ": "UTC"})
    try:
        terminal.wait_for("1 of 3")
        terminal.wait_for("[?] ")
        # An arrow decides nothing, nor does what is pasted.
        press(terminal, "\x1b[A")
        press(terminal, "now publish")
        terminal.wait_for("'now publish' is not understood")
        press(terminal, "2")
        terminal.wait_for("for workspace:default: injected in every session of this daemon")
        terminal.wait_for("[?] ")
        press(terminal, "a")
        terminal.wait_for("injected in every session of this daemon")
        terminal.wait_for("2 of 3")
        terminal.wait_for("[?] ")
        press(terminal, "n")
        terminal.wait_for("3 of 3")
        terminal.wait_for("[?] ")
        press(terminal, "z")
        terminal.wait_for(f"candidate {ids[1]} waits again")
        terminal.wait_for("[?] ")
        press(terminal, "w")
        terminal.wait_for("put off until tomorrow")
        terminal.wait_for("[?] ")
        # Ctrl-D leaves the rest.
        press(terminal, "\x04")
        terminal.wait_for("1 published, 1 put off; the rest goes on waiting")
        assert terminal.process.wait(20) == 0
    finally:
        terminal.close()

    assert [candidate(live, each)["state"] for each in ids] == ["published", "pending", "pending"]
    listed = run(live, "candidates", "list", "--scope", scope)
    assert [line.split()[1] for line in listed.splitlines()[1:]] == ["snoozed", "pending"]
    assert ids[0] in run(live, "candidates", "list", "--scope", scope, "--state", "all")


def test_a_decision_is_taken_back_by_id(live: Live, scope: str) -> None:
    candidate_id = propose(live, scope, "The bell is loud")
    learning_id = run(live, "candidates", "publish", candidate_id).strip()

    told = invoke(live, "candidates", "reopen", candidate_id, "--reason", "too early")

    assert told.stderr == f"candidate {candidate_id} is pending again\n"
    assert live.ok("GET", f"/v1/learnings/{learning_id}")["revoked_reason"] == "too early"
    run(live, "candidates", "snooze", candidate_id, "--until", "2d")
    assert "snoozed" in run(live, "candidates", "show", candidate_id)
    run(live, "candidates", "snooze", candidate_id, "--until", "soon", exit_code=2)
    again = run(live, "candidates", "publish", candidate_id).strip()
    assert f"undone: learning {learning_id}" in run(live, "learnings", "lineage", again)


def test_twenty_one_candidates_are_decided_in_one_go(live: Live, scope: str) -> None:
    ids = [propose(live, scope, f"The room {number} is free") for number in range(21)]

    told = invoke(live, "review", "next", "--scope", scope, stdin="a\nn\np\n" * 7)

    assert "21 of 21" in told.stderr
    assert told.stderr.endswith("7 published, 7 rejected, 7 published as provisional\n")
    assert {candidate(live, each)["state"] for each in ids} == {"published", "rejected"}


def test_the_next_one_is_printed_for_programs(live: Live, scope: str) -> None:
    propose(live, scope, "The map is old")

    item = answer(live, "review", "next")["item"]

    assert item["state"] in ("pending", "escalated")
    assert item["contradicts"] == []
    assert answer(live, "review", "next", "--scope", scope)["item"]["content"] == "The map is old"
    run(live, "review", "next", "--once", "--limit", "2", exit_code=2)


def test_the_learning_policy_is_shown_changed_tried_and_brought_back(
    policy: Live, scope: str, tmp_path: Path
) -> None:
    candidate_id = propose(policy, scope, "The lamp is on")
    before = answer(policy, "policy", "show")
    file = tmp_path / "policy.json"
    rule = {"name": "all", "action": "publish_provisional", "expires_after_ms": 86_400_000}
    file.write_text(json.dumps({"publication": {"rules": [rule]}, "judge": {"enabled": False}}))

    tried = invoke(policy, "policy", "dry-run", "--file", str(file), "--days", "1")
    shown = run(policy, "policy", "edit", "--file", str(file))
    changed = run(policy, "policy", "set", "learning", "mode=manual_only")
    back = answer(policy, "policy", "rollback", "--to", str(before["revision"]))

    assert candidate_id in tried.stdout
    assert "publish_provisional (only noted)" in tried.stdout
    assert "neither the judge nor the evidence was asked" in tried.stderr
    assert "1. all: everything → publish_provisional, ends after 1d" in shown
    assert "manual_only: people decide" in changed
    assert "1. all" in changed
    assert back["policy"] == before["policy"]
    history = run(policy, "policy", "history").splitlines()
    assert 'mode: "manual_only" → "shadow"' in history[1]
    assert 'mode: "shadow" → "manual_only"' in history[2]


def test_a_wrong_policy_is_refused_with_its_places(policy: Live, tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text('{"mode": "on", "publication": {"rules": [{"action": "publish_active"}]}}')

    for verb in ("edit", "dry-run"):
        told = invoke(policy, "policy", verb, "--file", str(file), exit_code=2)
        assert "/policy/mode: must be" in told.stderr
        assert "/policy/publication/rules/0/kind: publish_active needs a kind" in told.stderr
    stale = ("--expected-revision", "1")
    run(policy, "policy", "edit", "--stdin", *stale, stdin='{"mode": "enabled"}', exit_code=4)
    for line in (
        ["show", "bogus"],
        ["dry-run"],
        ["edit", "--json"],
        ["edit", "--file", str(file), "--stdin"],
        ["set", "learning", "mode"],
        ["set", "learning", "no.such.field=1"],
        ["rollback", "learning", "--to", "word"],
    ):
        run(policy, "policy", *line, exit_code=2)
    run(policy, "policy", "rollback", "--to", "99999", exit_code=3)


def test_both_policies_are_edited_in_an_editor(
    policy: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/shadow/manual_only/")

    edited = run(policy, "policy", "edit")
    again = invoke(policy, "policy", "edit")
    monkeypatch.setenv("EDITOR", "sed -i s/32/33/")
    remembered = answer(policy, "policy", "show", "run-memory")["policy"]
    other = run(policy, "policy", "edit", "run-memory")
    run(policy, "policy", "set", "run-memory", "max_tracked_per_session=32")

    assert "manual_only: people decide" in edited
    assert again.stderr == "nothing changed\n"
    assert "max_tracked_per_session  33" in other
    assert answer(policy, "policy", "show", "run-memory")["policy"] == remembered


def test_a_session_tells_which_learnings_reach_its_prompt(live: Live, scope: str) -> None:
    session_id = scope.removeprefix("session:")
    told = learn(live, scope, "The ferry port is Harwich")
    gone = learn(live, scope, "The ferry leaves at dawn")
    run(live, "learnings", "revoke", gone)
    ended = live.run(session_id, "which ferry port do we use?")

    context = run(live, "memory", "context", session_id, "-q", "which ferry port?")
    explained = run(live, "memory", "explain", session_id, "-q", "which ferry port?")
    report = run(live, "memory", "explain", "--run", str(ended["run_id"]))
    lineage = run(live, "learnings", "lineage", told)

    assert f"{told}  fact" in context
    assert gone not in context
    lines = {line.split()[1]: line.split(maxsplit=7) for line in explained.splitlines()}
    assert lines[told][2:4] == ["yes", "1"]
    assert lines[told][7].startswith("content: ferry port")
    assert lines[gone][2] == "no"
    assert "it was revoked" in lines[gone][7]
    assert f"fact  {told}  yes" in report
    assert f"told to run {ended['run_id']}, session {session_id}, version 1" in lineage


def test_status_and_doctor_tell_of_learning_in_a_line(live: Live) -> None:
    assert "learning  mode shadow; " in run(live, "status")
    assert "ok       learning: mode shadow; " in invoke(live, "doctor").stdout


def test_a_message_that_begins_with_remember_is_suggested_and_not_said(
    live: Live, scope: str
) -> None:
    session_id = scope.removeprefix("session:")
    line = ("chat", "--session", session_id)

    told = invoke(live, *line, "/remember I prefer short emails.").stderr
    again = answer(live, *line, "/remember I prefer short emails.")
    brief = answer(live, *line, "/remember I am in Lisbon this week.")
    empty = invoke(live, *line, "/remember what is this?", exit_code=2).stderr

    assert "suggested to remember: understudy" in told
    assert (again["content"], again["scope"]["id"]) == ("I prefer short emails.", session_id)
    assert brief["expires_at_ms"] > brief["created_at_ms"]
    assert "expires_at_ms" not in again
    assert "give a statement to remember after /remember" in empty
    known = learn(live, f"session:{session_id}", "The gate code is Amber")
    contrary = invoke(live, *line, "/remember The gate code is Cobalt").stderr
    assert f"it contradicts {known}, review replaces it or keeps both" in contrary
    assert live.ok("GET", f"/v1/runs?session_id={session_id}")["items"] == []


def test_learn_proposes_and_publishes_for_the_workspace(live: Live, scope: str) -> None:
    content = f"The meeting room of {scope} is Blue."

    done = invoke(live, "learn", content)
    learning = live.ok("GET", f"/v1/learnings/{done.stdout.strip()}")
    again = invoke(live, "learn", content)
    kept = answer(live, "learn", "Call it Bob.", "--scope", scope, "--kind", "decision")
    wish = answer(live, "learn", "I prefer short replies.", "--scope", scope)

    assert (learning["content"], learning["kind"]) == (content, "fact")
    assert learning["scope"] == {"kind": "workspace", "id": "default"}
    assert "is active" in done.stderr
    assert again.stdout == done.stdout
    assert "known already (said again 1 time)" in again.stderr
    assert (kept["kind"], kept["scope"]["id"]) == ("decision", scope.removeprefix("session:"))
    assert wish["kind"] == "preference"
    refused = invoke(live, "learn", content.replace("Blue", "Red"), exit_code=4)
    assert "`--supersedes LEARNING`" in refused.stderr
    assert "`--beside`" in refused.stderr
    live.ok("POST", f"/v1/learnings/{learning['learning_id']}/revoke", {})
