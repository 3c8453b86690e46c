"""How commands end: one exit code for each kind of refusal."""

import inspect
import json
import re
from typing import Any

import pytest

from scripts.error_reference import errors_markdown
from understudy.cli.output import (
    BY_CODE,
    BY_STATUS,
    STEP_HINTS,
    ExitCode,
    error_lines,
    exit_code,
    problem_lines,
    report,
)
from understudy.client import errors
from understudy.rollout import guards

CODES = {
    400: 2, 401: 4, 403: 4, 404: 3, 409: 4, 412: 4, 413: 2, 422: 4, 429: 5, 500: 1, 502: 1, 503: 5,
}  # fmt: skip


@pytest.mark.parametrize(("status", "code"), CODES.items())
def test_a_status_has_its_exit_code(status: int, code: int) -> None:
    assert exit_code(errors.problem_of(status, b"{}")) == code


def test_every_status_that_the_client_tells_apart_has_an_exit_code() -> None:
    assert set(errors.BY_STATUS) == set(BY_STATUS)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UnreachableError("http://x", "refused"), ExitCode.UNREACHABLE),
        (errors.InvalidCall("no"), ExitCode.USAGE),
        (errors.AnswerError("what"), ExitCode.FAILED),
        (errors.WaitTimeout("long"), ExitCode.FAILED),
    ],
)
def test_what_never_reached_an_answer_has_an_exit_code(
    error: errors.ClientError, code: ExitCode
) -> None:
    assert exit_code(error) == code


@pytest.mark.parametrize("code", BY_CODE)
def test_a_rule_of_the_daemon_refuses_what_was_typed_well(code: str) -> None:
    told = {"status": 400, "code": code, "domain": "rollout", "detail": "not now"}
    assert exit_code(errors.problem_of(400, json.dumps(told).encode())) == ExitCode.REFUSED


def test_only_codes_that_there_are_have_an_exit_code_of_their_own() -> None:
    known = set(re.findall(r"\| `rollout` \| `(\w+)` \| 400 \|", errors_markdown()))
    assert known >= BY_CODE.keys()


def test_a_hint_names_the_skill_that_a_problem_is_about() -> None:
    problem: dict[str, Any] = {"code": "rollout_not_ready", "domain": "rollout", "detail": "no"}
    problem |= {"errors": [{"pointer": "/status", "code": "needs_verification", "detail": "no"}]}

    named = problem_lines({**problem, "params": {"skill_name": "team:notes"}})
    unnamed = problem_lines(problem)

    assert "rollouts trial team:notes --expect TEXT" in named[-1]
    assert "rollouts trial NAME --expect TEXT" in unnamed[-1]


@pytest.mark.parametrize(
    ("lacking", "advice"),
    [
        (["needs_verification", "needs_canary"], "rollouts trial NAME --expect TEXT"),
        (["needs_canary", "needs_replay"], "rollouts trial NAME --kind canary --expect TEXT"),
        (["needs_replay"], "rollouts trial NAME --case RUN --expect TEXT"),
        (["needs_canary", "rollout_held"], "rollouts release NAME"),
        (["canary_failed", "rollout_held"], "rollouts advance NAME --to draft"),
    ],
)
def test_a_step_that_is_refused_is_told_with_what_helps_first(
    lacking: list[str], advice: str
) -> None:
    missing = [{"pointer": "/status", "code": code, "detail": "no"} for code in lacking]
    problem = {"code": "rollout_not_ready", "domain": "rollout", "detail": "no", "errors": missing}
    assert advice in problem_lines(problem)[-1]


def test_every_reason_that_a_step_is_refused_with_has_its_advice() -> None:
    known = set(re.findall(r'code="(\w+)"', inspect.getsource(guards)))
    assert known == STEP_HINTS.keys()


def test_with_json_the_problem_is_printed_as_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    problem = {"status": 404, "code": "run_not_found", "domain": "runs", "detail": "no run 'x'"}

    code = report(errors.problem_of(404, json.dumps(problem).encode()), as_json=True)

    printed = capsys.readouterr()
    assert code == ExitCode.NOT_FOUND
    assert json.loads(printed.out) == problem
    assert "no run 'x'" in printed.err


def test_without_json_stdout_stays_empty(capsys: pytest.CaptureFixture[str]) -> None:
    report(errors.UnreachableError("http://x", "refused"), as_json=False)

    printed = capsys.readouterr()
    assert printed.out == ""
    assert "understudy serve" in printed.err


def test_an_unreachable_daemon_has_a_problem_too(capsys: pytest.CaptureFixture[str]) -> None:
    report(errors.UnreachableError("http://x", "refused"), as_json=True)

    problem = json.loads(capsys.readouterr().out)
    assert (problem["code"], problem["domain"]) == ("unreachable", "client")


def test_whoever_gave_a_token_is_not_told_to_give_one() -> None:
    error = errors.problem_of(401, b'{"code": "unauthorized", "domain": "auth"}')

    assert "give a token" in error_lines(error)[-1]
    assert "unknown or was deleted" in error_lines(error, has_token=True)[-1]


def test_wrong_fields_are_named_once() -> None:
    lines = problem_lines(
        {
            "code": "invalid",
            "domain": "api",
            "detail": "two values are wrong",
            "errors": [
                {"pointer": "/limit", "detail": "must be 1 or more"},
                {"pointer": "", "detail": "two values are wrong"},
            ],
        }
    )

    assert lines == ["error: two values are wrong (api/invalid)", "  /limit: must be 1 or more"]


def test_what_the_guard_found_is_listed_once_by_its_rules() -> None:
    found = {"pointer": "/files/SKILL.md", "code": "P1.sudo", "detail": "SKILL.md line 3: sudo"}
    problem = {"code": "skill_unsafe", "domain": "skills", "detail": "line 3: sudo (P1.sudo)"}

    lines = problem_lines({**problem, "errors": [found]})

    assert lines[:2] == [
        "error: the content guard refuses this (skills/skill_unsafe)",
        "  P1.sudo: SKILL.md line 3: sudo",
    ]
    assert "skills scan PATH" in lines[2]
    assert problem_lines(problem)[0] == "error: line 3: sudo (P1.sudo) (skills/skill_unsafe)"
