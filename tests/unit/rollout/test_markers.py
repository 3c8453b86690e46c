"""What an output is to contain, looked at before anything runs."""

from typing import Any

import pytest

from understudy.core.errors import Invalid
from understudy.learnings.guard import SecretGuard
from understudy.rollout.trials.trial import MAX_MARKER_CHARS, Markers, require_not_given
from understudy.skills.instructions import Params

EXAMPLE = "Bearer " + "abcdefghijklmnop"
SECRET = "client" + "Secret: hunter2" + "hunter2"


def told(act: Any, *given: Any) -> tuple[str, str | None]:
    with pytest.raises(Invalid) as problem:
        act(*given)
    assert SECRET not in problem.value.detail
    return problem.value.code, problem.value.errors[0].pointer


def test_a_marker_is_trimmed_and_says_something() -> None:
    assert Markers().check("  SCHED_OK\n") == "SCHED_OK"
    assert Markers().check("x" * MAX_MARKER_CHARS)
    for wrong in ("", " \t", "x" * (MAX_MARKER_CHARS + 1)):
        assert told(Markers().check, wrong, "/here") == ("invalid_marker", "/here")


def test_a_marker_tells_no_secret_by_its_looks_or_by_name() -> None:
    assert told(Markers().check, SECRET) == ("secret_marker", "/expected_output_contains")
    assert told(Markers().check, EXAMPLE) == ("secret_marker", "/expected_output_contains")
    named = Markers(SecretGuard(("the operators own word",)))
    assert told(named.check, "say the operators own word") == (
        "secret_marker",
        "/expected_output_contains",
    )


@pytest.mark.parametrize(
    "params",
    [
        SECRET,
        {"x": SECRET},
        {"x": [1, {"y": [SECRET]}]},
        {SECRET: 1},
        {"client" + "Secret": "hunter2" + "hunter2"},
    ],
)
def test_params_tell_no_secret_however_deep(params: Params) -> None:
    assert told(Markers().check_params, params) == ("secret_params", "/params")


def test_params_that_tell_none_are_fine() -> None:
    for params in (None, "", "version 1", {}, {"job": {"n": [1, True, None, "two"]}}):
        Markers().check_params(params)


@pytest.mark.parametrize(
    "params",
    [
        "print SCHED_OK",
        {"say": "SCHED_OK"},
        {"a": [{"b": "x SCHED_OK x"}]},
    ],
)
def test_words_that_a_run_is_given_are_nothing_to_look_for(params: Params) -> None:
    assert told(require_not_given, "SCHED_OK", params) == (
        "invalid_marker",
        "/expected_output_contains",
    )


def test_words_with_signs_are_found_as_they_were_written() -> None:
    for marker in ('a "b"\nc', 'a \\"b\\"\\nc'):
        assert told(require_not_given, marker, {"x": 'say a "b"\nc'})[0] == "invalid_marker"
    assert told(require_not_given, "42", {"x": [42]})[0] == "invalid_marker"
    assert told(require_not_given, "true", {"x": True})[0] == "invalid_marker"


def test_words_that_nobody_is_given_can_be_looked_for() -> None:
    require_not_given("SCHED_OK", {"say": "sched ok"})
    require_not_given(None, "anything")
    require_not_given("", "anything")
    require_not_given("SCHED_OK", None)


def test_what_parameters_are_called_can_be_looked_for() -> None:
    require_not_given("bo", {"book": "a"})
    require_not_given("SCHED_OK", {"SCHED_OK": [{"SCHED_OK": 1}]})
