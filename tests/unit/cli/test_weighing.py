"""Asking somebody about candidates, one after the other."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from tests.unit.cli.learning_parts import (
    WORKSPACE,
    item,
    item_document,
    learning_document,
    related_document,
)
from tests.unit.cli.waiting_parts import FakePerson
from tests.unit.client.fake_daemon import answers, client_of
from understudy.cli.review import review, upcoming
from understudy.client import UnreachableError
from understudy.learnings.candidates import NextReviewItem, ReviewItem

CONFLICT = {"code": "learning_conflict", "domain": "learnings", "detail": "lrn_9 says otherwise"}
INVALID = {"code": "secret_content", "domain": "learnings", "detail": "this looks like a secret"}
GONE = {"code": "candidate_not_found", "domain": "learnings", "detail": "no such candidate"}


def ok(document: Any) -> httpx2.Response:
    return httpx2.Response(200, json=document)


def refused(status: int, problem: dict[str, Any]) -> httpx2.Response:
    return httpx2.Response(status, json=problem)


def decide(
    person: FakePerson, items: Sequence[ReviewItem], *steps: httpx2.Response | Exception
) -> list[tuple[str, Any]]:
    """What the daemon was asked to do; it answers with these, in order."""
    handler, seen = answers(*steps)
    client, _ = client_of(handler, delays=())
    following = range(len(items) - 1, -1, -1)
    queue = [NextReviewItem(item=it, following=n) for it, n in zip(items, following, strict=True)]
    review(client, person, queue)
    return [(each.url.path.rpartition("/v1")[2], _sent(each)) for each in seen]


def _sent(request: httpx2.Request) -> Any:
    """What was sent, without the version: each decision names the one that was shown."""
    sent = json.loads(request.content or "{}")
    is_decision = request.url.path.endswith(("/publish", "/reject"))
    assert not is_decision or sent.pop("version") == 1
    return sent


PUBLISH = "/learning-candidates/cand_1/publish"
REJECT = "/learning-candidates/cand_1/reject"


@pytest.mark.parametrize(
    ("typed", "body"),
    [("a", {}), ("PUBLISH", {}), ("yes", {}), ("p", {"publish_tier": "provisional"})],
)
def test_a_candidate_is_published_as_it_is(typed: str, body: dict[str, str]) -> None:
    assert decide(FakePerson(typed), [item()], ok(learning_document())) == [(PUBLISH, body)]


def test_a_candidate_is_rejected_with_a_reason_or_without() -> None:
    document = item_document(state="rejected")

    assert decide(FakePerson("r", "not true"), [item()], ok(document)) == [
        (REJECT, {"reason": "not true"})
    ]
    assert decide(FakePerson("r", ""), [item()], ok(document)) == [(REJECT, {})]


def test_other_words_are_shown_as_a_difference_and_published() -> None:
    person = FakePerson("e", "a", edits=["Replies are brief\n"])

    sent = decide(person, [item()], ok(learning_document()))

    assert sent == [(PUBLISH, {"content": "Replies are brief"})]
    assert person.given == ["Replies are short"]
    assert "- Replies are short" in person.heard
    assert "+ Replies are brief" in person.heard
    assert "as edited" in person.prompts[-1]


def test_words_that_are_put_back_are_no_change() -> None:
    person = FakePerson("e", "other words", "e", "Replies are short", "a")

    assert decide(person, [item()], ok(learning_document())) == [(PUBLISH, {})]


def test_what_was_edited_outlives_a_refusal() -> None:
    person = FakePerson("e", "a secret", "a", "e", "a", edits=[None, "Replies are brief"])

    sent = decide(person, [item()], refused(400, INVALID), ok(learning_document()))

    assert [body for _, body in sent] == [
        {"content": "a secret"},
        {"content": "Replies are brief"},
    ]
    assert person.given == ["Replies are short", "a secret"]
    assert "this looks like a secret" in person.screen


def test_what_is_in_the_way_can_be_superseded() -> None:
    person = FakePerson("s")

    sent = decide(person, [item(conflicts_with=related_document())], ok(learning_document()))

    assert sent == [(PUBLISH, {"supersedes": "lrn_9"})]
    assert "[s] replace" in person.prompts[0]


def test_nothing_is_superseded_where_nothing_is_in_the_way() -> None:
    person = FakePerson("s", "j")

    assert decide(person, [item()]) == []
    assert "it conflicts with nothing" in person.screen
    assert "[s] replace" not in person.prompts[0]


def test_a_conflict_that_came_up_meanwhile_is_shown_and_asked_about() -> None:
    person = FakePerson("a", "s")
    now = item_document(conflicts_with=related_document())

    sent = decide(
        person, [item()], refused(409, CONFLICT), ok(now), ok(learning_document(supersedes="lrn_9"))
    )

    assert sent[-1] == (PUBLISH, {"supersedes": "lrn_9"})
    assert "lrn_9 (workspace:default, active): Replies are long" in person.screen
    assert "it takes the place of lrn_9" in person.screen
    assert person.heard[-1] == "1 published"


def test_what_edited_words_conflict_with_is_superseded_with_them() -> None:
    person = FakePerson("e", "a", "s", edits=["The port is 8081"])
    conflict = CONFLICT | {"params": {"learning_id": "lrn_9"}}

    sent = decide(
        person,
        [item()],
        refused(409, conflict),
        ok(item_document()),
        ok(learning_document("lrn_9", content="The port is 8080")),
        ok(learning_document(supersedes="lrn_9")),
    )

    assert sent[-1] == (PUBLISH, {"content": "The port is 8081", "supersedes": "lrn_9"})
    redrawn = person.screen.rpartition("lrn_9 says otherwise")[2]
    assert "The port is 8081" in redrawn
    assert "Replies are short" not in redrawn
    assert "lrn_9 (session:demo, active): The port is 8080" in redrawn
    assert "[s] replace" in person.prompts[-1]


def test_what_earlier_words_conflicted_with_is_not_superseded_with_later_ones() -> None:
    person = FakePerson("e", "a", "e", "s", "j", edits=["The port is 8081", "The host is blue"])

    sent = decide(
        person,
        [item()],
        refused(409, CONFLICT | {"params": {"learning_id": "lrn_9"}}),
        ok(item_document()),
        ok(learning_document("lrn_9")),
    )

    assert [path for path, _ in sent].count(PUBLISH) == 1
    assert "it conflicts with nothing" in person.screen


def test_a_learning_that_is_gone_is_no_longer_in_the_way() -> None:
    person = FakePerson("a", "s", "j")
    conflict = CONFLICT | {"params": {"learning_id": "lrn_9"}}

    decide(person, [item()], refused(409, conflict), ok(item_document()), refused(404, GONE))

    assert "it conflicts with nothing" in person.screen
    assert person.heard[-1] == "1 skipped"


def test_who_was_faster_is_named_and_the_next_one_follows() -> None:
    person = FakePerson("a", "j")

    theirs = item_document(state="rejected", decided_by="mai", decided_at_ms=1)
    decide(person, [item(), item("cand_2")], refused(409, CONFLICT), ok(theirs))

    assert "somebody was faster: cand_1 is rejected by mai 1970-01-01" in person.heard
    assert person.heard[-1] == "1 rejected meanwhile, 1 skipped"


def test_the_end_is_a_tally() -> None:
    person = FakePerson("a", "j", "r", "", "p", "a")
    items = [item(f"cand_{number}") for number in range(5)]

    decide(
        person,
        items,
        ok(learning_document()),
        ok(item_document(state="rejected")),
        ok(learning_document(status="provisional")),
        refused(404, GONE),
    )

    assert person.heard[-1] == (
        "1 published, 1 skipped, 1 rejected, 1 published as provisional, 1 gone"
    )


@pytest.mark.parametrize("lines", [["q"], [], ["r"]])
def test_who_leaves_decides_nothing(lines: list[str]) -> None:
    person = FakePerson(*lines)

    assert decide(person, [item()]) == []
    assert person.heard[-1] == "nothing decided; the rest goes on waiting"


def test_nothing_is_said_of_an_empty_queue() -> None:
    person = FakePerson()

    assert decide(person, []) == []
    assert person.heard == []


@pytest.mark.parametrize("typed", ["", "?", "please do", "publish it"])
def test_what_is_not_understood_decides_nothing(typed: str) -> None:
    person = FakePerson(typed, "j")

    assert decide(person, [item()]) == []
    assert "a  publish it for the scope" in person.screen
    assert "1-4  choose the scope" in person.screen


def test_a_daemon_that_dies_is_told_of_with_what_was_done_before() -> None:
    person = FakePerson("a", "a")

    with pytest.raises(UnreachableError) as problem:
        decide(
            person,
            [item(), item("cand_2")],
            ok(learning_document()),
            httpx2.ConnectError("refused"),
        )

    assert problem.value.__notes__ == ["before this: 1 published"]


def test_everything_that_a_decision_needs_is_shown() -> None:
    person = FakePerson("j")
    review_document = {
        "mode": "shadow",
        "action": "publish_active",
        "reviewed_at_ms": 1,
        "policy_revision": 7,
        "matched_rule_name": "stated preferences",
        "reason": "rule 'stated preferences' says publish_active",
        "judge": {"action": "manual_review", "judged_at_ms": 1, "reason": "too vague"},
    }
    rejected = {"candidate_id": "cand_0", "decided_at_ms": 1, "decided_by": "mai", "reason": "no"}
    revoked = {"learning_id": "lrn_6", "scope": WORKSPACE, "revoked_by": "an", "reason": "wrong"}
    shown = item(
        automation_review=review_document,
        conflicts_with=related_document("lrn_8", "Replies are long"),
        contradicts=[related_document("lrn_7", "Replies are polite")],
        rejected_before=[rejected],
        revoked_before=[revoked],
        reproposal_of="cand_0",
        declined_before=True,
        derived_from_untrusted=True,
        evidence_refs=[{"run_id": "run_1", "artifact_id": "art_1", "note": "source run artifact"}],
        sensitivity="sensitive",
        expired=True,
        quotes=["Please remember: replies are short."],
        quote="replies were short",
        quote_found=False,
        reaches=[HERE],
    )

    decide(person, [shown])

    for words in (
        *("Replies are short", "session:demo", "preference", "98", "said with a label"),
        *("run run_1, session demo", "run run_1, artifact art_1, source run artifact"),
        *("would publish it as active (mode shadow, policy revision 7", "stated preferences"),
        *("would leave it to a person: too vague", "lrn_8", "lrn_7", "Replies are polite"),
        *(
            "cand_0, by mai",
            ": no",
            "lrn_6, by an",
            ": wrong",
            "said the same and was declined",
            "no rule publishes it",
        ),
        *("its run had read what tools", "sensitive", "its time is over"),
        "“replies were short”, which the user did not type",
        *("“Please remember: replies are short.”", "session:demo: injected in this session only"),
    ):
        assert words in person.screen, words


@pytest.mark.parametrize(("origin", "is_limited"), [("daemon", True), ("api", False)])
def test_only_what_the_daemon_proposes_again_is_kept_from_the_rules(
    origin: str, is_limited: bool
) -> None:
    person = FakePerson("j")

    decide(person, [item(origin=origin, declined_before=True)])

    assert "a person said no to the same thing before" in person.screen
    assert ("before, so no rule publishes it" in person.screen) is is_limited


HOSTILE = "\x1b]0;owned\x07 red\x1b[31m \u202egnp.exe \x00 \u200bzero"


def test_nothing_that_could_drive_a_terminal_reaches_it() -> None:
    person = FakePerson("j")
    shown = item(
        content=HOSTILE,
        scope={"kind": "session", "id": HOSTILE},
        source={"run_id": HOSTILE},
        evidence_refs=[{"note": HOSTILE}],
        conflicts_with=related_document("lrn_8", HOSTILE),
        contradicts=[related_document("lrn_7", HOSTILE)],
        rejected_before=[{"candidate_id": "cand_0", "reason": HOSTILE}],
        revoked_before=[{"learning_id": "lrn_6", "scope": WORKSPACE, "reason": HOSTILE}],
        automation_review={
            "mode": "shadow",
            "action": "reject",
            "reviewed_at_ms": 1,
            "policy_revision": 1,
            "matched_rule_name": HOSTILE,
            "reason": HOSTILE,
            "judge": {"action": "reject", "judged_at_ms": 1, "reason": HOSTILE},
        },
    )

    decide(person, [shown])

    assert {letter for letter in person.screen if not letter.isprintable()} <= {"\n"}
    # Nothing is dropped either: who decides sees that it was there.
    assert person.screen.count("\\x1b[31m") == 11


@pytest.mark.parametrize(("mode", "words"), [("enabled", "chose to"), ("shadow", "would")])
def test_what_automation_did_and_what_it_would_do_are_told_apart(mode: str, words: str) -> None:
    review = {"action": "manual_review", "reviewed_at_ms": 1, "policy_revision": 1, "reason": "x"}
    person = FakePerson("j")

    decide(person, [item(automation_review={**review, "mode": mode})])

    assert f"{words} leave it to a person (mode {mode}" in person.screen


def test_what_waits_is_fetched_one_by_one_after_the_last() -> None:
    documents = [
        {"item": item_document("cand_1"), "following": 1},
        {"item": item_document("cand_2"), "following": 0},
    ]
    handler, seen = answers(*map(ok, documents), ok({"item": None, "following": 0}))
    client, _ = client_of(handler)

    found = [each.item and each.item.candidate_id for each in upcoming(client, {"kind": "fact"})]

    assert found == ["cand_1", "cand_2"]
    assert [each.url.params.get("after") for each in seen] == [None, "cand_1", "cand_2"]
    assert {each.url.params.get("kind") for each in seen} == {"fact"}


HERE = {"scope": {"kind": "session", "id": "demo"}, "words": "injected in this session only"}
ENDED = {**HERE, "unused": "the session has ended"}
ANNA = {
    "scope": {"kind": "persona", "id": "anna"},
    "words": "injected in every session of persona anna",
}
ALL = {"scope": WORKSPACE, "words": "injected in every session of this daemon"}


def test_each_candidate_is_shown_with_its_number() -> None:
    person = FakePerson("j", "j")

    decide(person, [item(), item("cand_2")])

    assert [line for line in person.heard if " of " in line][:2] == ["1 of 2", "2 of 2"]


def test_a_scope_is_chosen_by_number_and_said_in_words() -> None:
    person = FakePerson("2", "a")
    shown = item(reaches=[HERE, ANNA, ALL])

    sent = decide(person, [shown], ok(learning_document(reach=ANNA)))

    assert sent == [(PUBLISH, {"scope": ANNA["scope"]})]
    assert "[1-3] scope" in person.prompts[0]
    assert "2  persona:anna: injected in every session of persona anna" in person.screen
    assert "for persona:anna: injected in every session of persona anna" in person.heard


def test_the_suggested_scope_is_published_for_unless_another_is_chosen() -> None:
    shown = item(reaches=[HERE, {**ANNA, "suggested": True}, ALL], suggested_scope=ANNA["scope"])
    person = FakePerson("a")

    assert decide(person, [shown], ok(learning_document())) == [(PUBLISH, {"scope": ANNA["scope"]})]
    assert "> 2  persona:anna: injected in every session of persona anna" in person.screen
    assert "[a] publish for persona" in person.prompts[0]
    assert decide(FakePerson("1", "a"), [shown], ok(learning_document())) == [
        (PUBLISH, {"scope": HERE["scope"]})
    ]
    rivals = item(contradicts=[related_document()]).contradicts
    rival = replace(shown, contradicts=rivals)
    assert decide(FakePerson("s"), [rival], ok(learning_document())) == [
        (PUBLISH, {"scope": WORKSPACE, "supersedes": "lrn_9"})
    ]


@pytest.mark.parametrize("typed", ["0", "4", "", "²", "workspace"])
def test_no_scope_is_chosen_by_what_is_no_number_of_the_list(typed: str) -> None:
    person = FakePerson(typed, "a")

    sent = decide(person, [item(reaches=[HERE, ANNA, ALL])], ok(learning_document()))

    assert sent == [(PUBLISH, {})]
    assert "a  publish it for the scope" in person.screen


@pytest.mark.parametrize("key", ["a", "p"])
def test_nothing_is_published_silently_where_nobody_is_told(key: str) -> None:
    person = FakePerson(key, "x", "j")

    assert decide(person, [item(reaches=[ENDED, ALL], suggested_scope=ENDED["scope"])]) == []
    assert "no prompt would have it: the session has ended" in person.heard
    assert "1  session:demo: injected in this session only (the session has ended)" in person.heard


@pytest.mark.parametrize(("typed", "scope"), [("1", ENDED["scope"]), ("2", WORKSPACE)])
def test_who_insists_or_chooses_otherwise_publishes_there(typed: str, scope: Any) -> None:
    person = FakePerson("a", typed)

    sent = decide(
        person,
        [item(reaches=[ENDED, ALL], suggested_scope=ENDED["scope"])],
        ok(learning_document()),
    )

    assert sent == [(PUBLISH, {"scope": scope})]


def test_a_publication_says_whom_it_reaches() -> None:
    person = FakePerson("a")

    decide(person, [item()], ok(learning_document(reach=ENDED)))

    assert "  injected in this session only" in person.heard
    assert "  but no prompt has it: the session has ended" in person.heard


def test_what_says_otherwise_elsewhere_is_superseded_in_its_wider_scope() -> None:
    person = FakePerson("s")

    sent = decide(person, [item(contradicts=[related_document()])], ok(learning_document()))

    assert sent == [(PUBLISH, {"supersedes": "lrn_9", "scope": WORKSPACE})]


def test_one_of_several_is_chosen_to_be_superseded() -> None:
    here = {**related_document("lrn_8"), "scope": {"kind": "session", "id": "demo"}}
    rivals = [related_document("lrn_7"), here]
    person = FakePerson("s", "x", "s", "2")

    sent = decide(person, [item(contradicts=rivals)], ok(learning_document()))

    assert sent == [(PUBLISH, {"supersedes": "lrn_8"})]


@pytest.mark.parametrize(
    ("before", "keys", "body", "words"),
    [
        ("when_relevant", "ta", {"applies": "always"}, "injected into every prompt of its scope"),
        ("always", "ta", {"applies": "when_relevant"}, "injected when the input is about it"),
        ("always", "tta", {}, "injected into every prompt of its scope"),
    ],
)
def test_one_key_says_whether_it_is_told_always(
    before: str, keys: str, body: dict[str, str], words: str
) -> None:
    person = FakePerson(*keys)

    sent = decide(person, [item(applies=before)], ok(learning_document()))

    assert sent == [(PUBLISH, body)]
    assert words in person.heard


@pytest.mark.parametrize("applies", ["always", "when_relevant"])
def test_whoever_edits_what_is_told_always_is_told_that_it_stays_so(applies: str) -> None:
    person = FakePerson("e", "The door is green", "a")

    sent = decide(person, [item(applies=applies)], ok(learning_document()))

    assert sent == [(PUBLISH, {"content": "The door is green"})]
    assert ("still injected into every prompt of its scope; t changes that" in person.heard) == (
        applies == "always"
    )


@pytest.mark.parametrize("typed", ["n", "no"])
def test_one_key_rejects_without_a_reason(typed: str) -> None:
    sent = decide(FakePerson(typed), [item()], ok(item_document(state="rejected")))

    assert sent == [(REJECT, {})]
