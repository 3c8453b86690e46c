"""Asking somebody about one tool call."""

import json

import httpx2
import pytest

from tests.unit.cli.waiting_parts import WRITE, FakePerson, approval
from tests.unit.client.fake_daemon import answers, client_of, run_document
from understudy.cli.decisions import settle
from understudy.cli.person import Left
from understudy.wire.approvals import ApprovalResolution, ApprovalView

REFUSED = {"code": "approval_invalid_input", "domain": "approvals", "detail": "path is missing"}


def decide(person: FakePerson, view: ApprovalView, *refusals: int) -> ApprovalResolution | None:
    """What the person decides about a call; the daemon refuses so often before it takes it."""
    taken = httpx2.Response(200, json=run_document())
    steps = [httpx2.Response(status, json=REFUSED) for status in refusals]
    client, _ = client_of(answers(*steps, taken)[0])
    settled = settle(client, person, view)
    return None if settled is None else settled[0]


def test_a_call_is_shown_with_the_rule_that_asks_before_it_is_decided() -> None:
    person = FakePerson("a")

    resolution = decide(person, approval())

    assert resolution is not None
    assert resolution.model_dump(exclude_unset=True) == {
        "request_id": "apr_1",
        "behavior": "allow",
    }
    assert "write_file" in person.screen
    assert "we look first" in person.screen
    assert "    content  buy milk" in person.heard


def test_a_denial_needs_a_reason() -> None:
    person = FakePerson("deny", "", "d", "not in this directory")

    resolution = decide(person, approval())

    assert resolution is not None
    assert resolution.model_dump(exclude_unset=True) == {
        "request_id": "apr_1",
        "behavior": "deny",
        "reason": "not in this directory",
    }
    assert "a reason is needed" in person.screen


def test_arguments_are_edited_shown_as_a_diff_and_allowed() -> None:
    edited = {**WRITE, "path": "other.txt"}
    person = FakePerson("e", "a", edits=[json.dumps(edited)])

    resolution = decide(person, approval())

    assert resolution is not None
    assert resolution.updated_input == edited
    assert json.loads(person.given[0]) == WRITE
    assert "-path     notes.txt" in person.heard
    assert "+path     other.txt" in person.heard
    assert "as edited" in person.prompts[-1]


def test_without_an_editor_the_arguments_are_typed() -> None:
    person = FakePerson("e", '{"path": "x"}', "a")

    resolution = decide(person, approval())

    assert resolution is not None
    assert resolution.updated_input == {"path": "x"}
    assert json.dumps(WRITE) in person.screen


@pytest.mark.parametrize("bad", ["{", "[1]", '{"a": NaN}', '{"a": "\\ud800"}'])
def test_an_edit_that_is_no_object_changes_nothing_and_can_be_mended(bad: str) -> None:
    person = FakePerson("e", "e", "a", edits=[bad, json.dumps(WRITE)])

    resolution = decide(person, approval())

    assert resolution is not None
    assert resolution.updated_input is None
    assert person.given[1] == bad
    assert "nothing changed" in person.screen


def test_other_words_decide_nothing_and_are_said_not_to_be_understood() -> None:
    person = FakePerson("and then write the report", "w")

    assert decide(person, approval()) is None
    assert "'and then write the report' is not understood" in person.heard
    assert "let it run" in person.screen


@pytest.mark.parametrize("typed", ["?", ""])
def test_who_asks_for_help_gets_it_without_reproach(typed: str) -> None:
    person = FakePerson(typed, "w")

    assert decide(person, approval()) is None
    assert "let it run" in person.screen
    assert "not understood" not in person.screen


@pytest.mark.parametrize(
    ("typed", "behavior"),
    [(["y"], "allow"), (["Yes"], "allow"), (["n", "no thanks"], "deny"), (["no", "why"], "deny")],
)
def test_yes_and_no_are_understood(typed: list[str], behavior: str) -> None:
    resolution = decide(FakePerson(*typed), approval())

    assert resolution is not None
    assert resolution.behavior == behavior


def test_every_key_is_in_the_prompt() -> None:
    person = FakePerson("w")
    decide(person, approval())

    assert all(f"[{key}]" in person.prompts[0] for key in "aedvwq?")


def test_an_edit_that_the_daemon_refuses_is_kept_for_another_try() -> None:
    wrong, right = '{"content": "x"}', '{"content": "x", "path": "y"}'
    person = FakePerson("e", "a", "e", "a", edits=[wrong, right])

    resolution = decide(person, approval(), 400)

    assert resolution is not None
    assert resolution.updated_input == json.loads(right)
    assert person.given[1] == wrong
    assert "path is missing" in person.screen
    assert "as edited" in person.prompts[2]


def test_a_long_call_can_be_seen_whole() -> None:
    content = "\n".join(f"line {number}" for number in range(200))
    person = FakePerson("v", "q")

    with pytest.raises(Left):
        decide(person, approval(input={"content": content}))

    assert any("NOT SHOWN" in line for line in person.heard)
    assert "         line 199" in person.heard


def test_somebody_who_leaves_has_not_decided() -> None:
    with pytest.raises(Left):
        decide(FakePerson(), approval())
