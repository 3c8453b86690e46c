"""Taking decisions of a review back, passing candidates over, and the keys of both faces."""

import time
from typing import Any

import pytest

from tests.unit.cli.learning_parts import (
    WORKSPACE,
    item,
    item_document,
    learning_document,
    related_document,
)
from tests.unit.cli.test_weighing import ALL, HERE, PUBLISH, REJECT, decide, ok, refused
from tests.unit.cli.waiting_parts import FakePerson
from understudy.cli.review import KEYS, help_lines

REOPEN = "/learning-candidates/cand_1/reopen"
SNOOZE = "/learning-candidates/cand_1/snooze"
ONE = "/learning-candidates/cand_1"


def test_a_candidate_is_put_off_until_tomorrow() -> None:
    person = FakePerson("w")
    before = time.time() * 1000

    [(path, body)] = decide(person, [item()], ok(item_document()))

    assert path == SNOOZE
    # The day on which clocks change has 25 hours.
    assert before < body["until_ms"] <= before + 25 * 3600 * 1000
    assert person.heard[-2:] == ["put off until tomorrow", "1 put off"]


def test_what_expires_before_it_wakes_is_said() -> None:
    person = FakePerson("w")

    decide(person, [item(expires_at_ms=1)], ok(item_document()))

    assert "put off until tomorrow, and it expires before that" in person.heard


@pytest.mark.parametrize(
    ("keys", "undone"),
    [
        ("a", (REOPEN, {"reason": "undone in review"})),
        ("n", (REOPEN, {"reason": "undone in review"})),
        ("w", (SNOOZE, {"until_ms": 0})),
    ],
)
def test_the_last_decision_is_taken_back_and_asked_again(keys: str, undone: Any) -> None:
    person = FakePerson(keys, "z", "j", "j")
    done = learning_document() if keys == "a" else item_document()

    sent = decide(
        person, [item(), item("cand_2")], ok(done), ok(item_document()), ok(item_document())
    )

    assert sent[1:] == [undone, (ONE, {})]
    assert "candidate cand_1 waits again" in person.heard
    assert person.heard[-1] == "2 skipped"
    headers = [it for it in person.heard if it in ("1 of 2", "2 of 2", "again")]
    assert headers == ["1 of 2", "2 of 2", "again", "2 of 2"]


def test_what_was_skipped_is_shown_again_and_the_decision_before_it_is_taken_back() -> None:
    person = FakePerson("n", "j", "k", "z", "j", "j", "j")
    items = [item(f"cand_{number}") for number in (1, 2, 3)]
    steps = [item_document(), item_document("cand_2"), item_document(), item_document()]

    sent = decide(person, items, *map(ok, steps))

    assert [path for path, _ in sent[1:]] == ["/learning-candidates/cand_2", REOPEN, ONE]
    assert person.heard[-1] == "3 skipped"


def test_a_decision_is_taken_back_over_what_was_skipped_since() -> None:
    person = FakePerson("n", "j", "z", "j", "j")
    items = [item(), item("cand_2"), item("cand_3")]

    sent = decide(person, items, ok(item_document()), ok(item_document()), ok(item_document()))

    assert [path for path, _ in sent] == [REJECT, REOPEN, ONE]
    assert person.heard[-1] == "3 skipped"


def test_nothing_is_shown_again_where_nothing_was_skipped() -> None:
    person = FakePerson("n", "k", "j")

    sent = decide(person, [item(), item("cand_2")], ok(item_document(state="rejected")))

    assert [path for path, _ in sent] == [REJECT]
    assert "none was skipped before this one; z takes the last decision back" in person.heard


@pytest.mark.parametrize("rival", ["contradicts", "conflicts_with"])
def test_both_are_kept_beside_each_other(rival: str) -> None:
    other: Any = related_document()
    found: dict[str, Any] = {rival: [other] if rival == "contradicts" else other}
    shown = item(reaches=[HERE, ALL], suggested_scope=WORKSPACE, **found)

    assert decide(FakePerson("b"), [shown], ok(learning_document())) == [
        (PUBLISH, {"scope": WORKSPACE, "beside": True})
    ]


def test_a_neighbour_is_replaced_that_only_a_person_sees_the_contradiction_with() -> None:
    near = {**related_document(), "score": 1.5, "relation": "unknown"}
    del near["status"]
    shown = item(reaches=[HERE, ALL], suggested_scope=WORKSPACE, neighbours=[near])

    sent = decide(FakePerson("s"), [shown], ok(learning_document()))

    assert sent == [(PUBLISH, {"scope": WORKSPACE, "supersedes": near["learning_id"]})]


def test_whoever_wants_to_look_is_told_the_pages_of_the_console() -> None:
    person = FakePerson("o", "j")

    decide(person, [item()])

    assert [line for line in person.heard if line.startswith("http")] == [
        "http://daemon.test/review/cand_1",
        "http://daemon.test/runs/run_1",
    ]


def test_every_key_of_a_terminal_is_in_the_list_of_the_console_or_its_own() -> None:
    listed = {line.partition("  ")[0] for line in help_lines()}
    letters = {key for key in KEYS if len(key) == 1} - {"y", "?"}

    assert listed == letters | {"1-4"}


def test_nothing_is_taken_back_before_the_first_decision() -> None:
    person = FakePerson("z", "j")

    assert decide(person, [item()]) == []
    assert "there is no decision to take back" in person.heard


def test_a_decision_that_others_built_on_stays() -> None:
    person = FakePerson("a", "z", "j")
    problem = {"code": "learning_superseded", "domain": "learnings", "detail": "it was replaced"}

    decide(person, [item(), item("cand_2")], ok(learning_document()), refused(409, problem))

    assert "it was replaced" in person.screen
    assert person.heard[-1] == "1 published, 1 skipped"
