"""Scopes, evidence and endings as they are typed."""

import pytest
import typer

from understudy.cli.learning_options import CandidateOptions, ending, evidence_of, scope_of

NOW = 1_000_000
DAY = 86_400_000


@pytest.mark.parametrize(
    ("typed", "kind", "name"),
    [
        ("workspace", "workspace", "default"),
        ("workspace:default", "workspace", "default"),
        ("session:demo", "session", "demo"),
        ("project:a:b", "project", "a:b"),
    ],
)
def test_a_scope_is_a_kind_and_an_id(typed: str, kind: str, name: str) -> None:
    assert scope_of(typed) == {"kind": kind, "id": name}
    assert CandidateOptions(scope=typed).fields() == {"scope_kind": kind, "scope_id": name}


@pytest.mark.parametrize("typed", ["", "session", "session:", ":demo", "team:a", "Session:demo"])
def test_what_is_no_scope_says_what_one_is(typed: str) -> None:
    with pytest.raises(typer.BadParameter, match="session:ID"):
        scope_of(typed)


def test_no_scope_does_not_narrow() -> None:
    assert scope_of(None) is None
    assert CandidateOptions(scope=None).fields() == {}


def test_evidence_is_a_run_or_an_artifact_of_one() -> None:
    assert evidence_of(["run_1", "run_2:art_3"]) == [
        {"run_id": "run_1"},
        {"run_id": "run_2", "artifact_id": "art_3"},
    ]
    assert evidence_of([]) is None


@pytest.mark.parametrize("typed", ["", ":art_1", "run_1:"])
def test_evidence_that_names_nothing_is_a_mistake(typed: str) -> None:
    with pytest.raises(typer.BadParameter, match="RUN:ARTIFACT"):
        evidence_of([typed])


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (None, None),
        ("30d", NOW + 30 * DAY),
        ("90s", NOW + 90_000),
        ("1893456000000", 1893456000000),
    ],
)
def test_something_ends_after_a_span_or_at_a_time(typed: str | None, expected: int | None) -> None:
    assert ending(typed, now_ms=NOW) == expected


@pytest.mark.parametrize("typed", ["", "tomorrow", "d", "3x", "-1d", "soon"])
def test_an_ending_that_is_none_names_its_option(typed: str) -> None:
    with pytest.raises(typer.BadParameter, match="--expires takes"):
        ending(typed, now_ms=NOW)
