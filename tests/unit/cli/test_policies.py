"""Policies as they are typed, compared and edited."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.unit.cli.waiting_parts import FakePerson
from understudy.cli.policy import Editing, changes
from understudy.cli.policy_documents import changed, document, one_source
from understudy.client.errors import ConflictError, InvalidError

POLICY: dict[str, Any] = {"mode": "shadow", "judge": {"enabled": False, "model": None}}
WRONG = {
    "detail": "mode: must be shadow",
    "code": "invalid_learning_policy",
    "domain": "runtime",
    "errors": [
        {"pointer": "/policy/mode", "detail": "must be shadow"},
        {"pointer": "/policy", "detail": "is too much"},
    ],
}


def test_fields_are_changed_by_their_way_and_the_others_stay() -> None:
    after = changed(POLICY, ["judge.enabled=true", "mode=enabled", 'judge.model={"provider": "x"}'])

    assert after == {"mode": "enabled", "judge": {"enabled": True, "model": {"provider": "x"}}}
    assert POLICY == {"mode": "shadow", "judge": {"enabled": False, "model": None}}


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("a=1", 1),
        ("a=0.5", 0.5),
        ("a=true", True),
        ("a=null", None),
        ('a=["x"]', ["x"]),
        ("a=word", "word"),
        ("a=x=y", "x=y"),
        ("a=", ""),
        ("a=NaN", "NaN"),
        ("a=1e999", "1e999"),
    ],
)
def test_a_value_is_json_or_a_word(typed: str, value: object) -> None:
    assert changed({}, [typed]) == {"a": value}


@pytest.mark.parametrize("typed", ["a", "=1", ".a=1", "a.=1", "a..b=1", ""])
def test_what_is_no_pair_is_a_mistake(typed: str) -> None:
    with pytest.raises(typer.BadParameter, match="KEY=VALUE"):
        changed({}, [typed])


def test_a_document_may_be_what_the_api_answers(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    for text in (json.dumps(POLICY), json.dumps({"policy": POLICY, "revision": 3})):
        file.write_text(text)
        assert document(file) == POLICY
    file.write_text("[]")
    with pytest.raises(typer.BadParameter, match=r"policy\.json must be a JSON object"):
        document(file)
    with pytest.raises(typer.BadParameter, match="not both"):
        one_source(file, stdin=True)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (POLICY, POLICY, ""),
        ({"a": 1}, {"a": 2}, "a: 1 → 2"),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, "a.b[1].c: 2 → 3"),
        ({"rules": []}, {"rules": [{"name": "x"}]}, 'rules[0]: – → {"name": "x"}'),
        ({"rules": [{"name": "x"}]}, {"rules": []}, 'rules[0]: {"name": "x"} → –'),
        ({"a": None}, {"a": {"b": 1}}, 'a: null → {"b": 1}'),
        ({"a": "\x1b[1m"}, {"a": 1, "b": "z" * 500}, 'a: "\\u001b[1m" → 1; b: – → "' + "z" * 118),
    ],
)
def test_a_revision_says_what_it_changed(before: Any, after: Any, told: str) -> None:
    assert changes(before, after).startswith(told)
    assert bool(changes(before, after)) is bool(told)


class Daemon:
    """Takes a policy unless it has something against it."""

    def __init__(self, *refusals: Exception) -> None:
        self._refusals = [*refusals]
        self.given: list[dict[str, Any]] = []

    def __call__(self, policy: dict[str, Any]) -> None:
        self.given.append(policy)
        if self._refusals:
            raise self._refusals.pop(0)


def refusal(kind: type[InvalidError | ConflictError], problem: dict[str, Any]) -> Exception:
    return kind(400, problem)


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def kept(tmp_path: Path) -> list[str]:
    return [file.read_text() for file in tmp_path.glob("learning-policy-*.json")]


def test_an_edited_policy_is_put_in_force(tmp_path: Path) -> None:
    person, daemon = FakePerson(edits=['{"mode": "enabled"}']), Daemon()

    assert Editing(person, "learning", may_ask=True).edit(POLICY, daemon)

    assert daemon.given == [{"mode": "enabled"}]
    assert json.loads(person.given[0]) == POLICY
    assert kept(tmp_path) == []


def test_a_policy_that_was_not_touched_is_not_sent() -> None:
    daemon = Daemon()
    person = FakePerson(edits=[json.dumps(POLICY, indent=2)])

    assert not Editing(person, "learning", may_ask=True).edit(POLICY, daemon)
    assert daemon.given == []


def test_what_is_wrong_is_told_with_its_place_and_edited_again() -> None:
    person = FakePerson("e", "", edits=["{", '{"mode": "x"}', '{"mode": "enabled"}'])
    daemon = Daemon(refusal(InvalidError, WRONG))

    assert Editing(person, "learning", may_ask=True).edit(POLICY, daemon)

    assert person.given[1:] == ["{", '{"mode": "x"}']
    assert "what was written is not JSON" in person.screen
    assert "  /mode: must be shadow" in person.heard
    assert "  /: is too much" in person.heard


@pytest.mark.parametrize(("lines", "may_ask"), [(["q"], True), ([], True), ([], False)])
def test_what_was_written_is_kept_by_who_leaves(
    lines: list[str], may_ask: bool, tmp_path: Path
) -> None:
    person = FakePerson(*lines, edits=['{"mode": "x"}'])

    with pytest.raises(typer.Exit) as left:
        Editing(person, "learning", may_ask=may_ask).edit(
            POLICY, Daemon(refusal(InvalidError, WRONG))
        )

    assert left.value.exit_code == 2
    assert kept(tmp_path) == ['{"mode": "x"}']
    assert "policy edit learning --file" in person.heard[-1]


def test_what_was_written_is_kept_when_somebody_else_was_first(tmp_path: Path) -> None:
    person = FakePerson(edits=['{"mode": "x"}'])
    stale = {"code": "runtime_revision_conflict", "domain": "runtime", "detail": "it is 4 by now"}

    with pytest.raises(ConflictError) as problem:
        Editing(person, "learning", may_ask=True).edit(
            POLICY, Daemon(refusal(ConflictError, stale))
        )

    assert "what you wrote is kept" in problem.value.__notes__[0]
    assert kept(tmp_path) == ['{"mode": "x"}']


def test_without_an_editor_nothing_is_kept_and_nothing_sent(tmp_path: Path) -> None:
    person, daemon = FakePerson(edits=[None]), Daemon()

    with pytest.raises(typer.Exit):
        Editing(person, "learning", may_ask=True).edit(POLICY, daemon)

    assert "EDITOR" in person.screen
    assert (daemon.given, kept(tmp_path)) == ([], [])
