"""Every command, walked as the reference does."""

import json

import pytest

from scripts.cli_reference import ReferenceEntry, entries
from tests.support.command_line_in_process import typed
from tests.support.tables import every_row
from understudy.cli.main import build_app

ENTRIES = entries(build_app())
COMMANDS = [entry for entry in ENTRIES if not entry.is_group]
CONTRACT = {
    "serve", "chat", "sessions", "runs", "approvals", "questions", "personas", "projects", "agents",
    "memory", "learnings", "candidates", "review", "policy", "schedules", "skills", "tokens",
    "status", "doctor", "config", "openapi",
}  # fmt: skip


def name(entry: ReferenceEntry) -> str:
    return entry.path


def test_the_words_of_the_contract_are_there() -> None:
    assert {entry.path.split()[1] for entry in COMMANDS} >= CONTRACT


@every_row("entry", COMMANDS, ids=name)
def test_every_command_that_answers_takes_the_shared_options(entry: ReferenceEntry) -> None:
    shared = {"--url", "--token", "--json"} & {option.names[0] for option in entry.options}

    assert len(shared) == (0 if entry.path == "understudy serve" else 3)


@every_row("entry", COMMANDS, ids=name)
def test_no_command_has_two_options_of_one_name(entry: ReferenceEntry) -> None:
    names = [each for option in entry.options for each in option.names]

    assert len(names) == len(set(names))


@every_row("entry", ENTRIES, ids=name)
def test_every_command_and_parameter_says_what_it_is_for(entry: ReferenceEntry) -> None:
    assert entry.help
    assert all(parameter.help for parameter in (*entry.arguments, *entry.options))


@pytest.mark.parametrize("place", ["before", "after"])
def test_json_may_stand_before_the_command_or_after_it(place: str) -> None:
    line = ["--json", "version"] if place == "before" else ["version", "--json"]

    result = typed(*line)

    assert list(json.loads(result.stdout)) == ["version"]


def test_an_unknown_command_is_a_usage_error() -> None:
    assert typed("bogus").exit_code == 2


def test_no_daemon_is_its_own_exit_code_and_a_problem_in_json() -> None:
    result = typed("--url", "http://127.0.0.1:9", "status", "--json")

    assert result.exit_code == 5
    assert json.loads(result.stdout)["code"] == "unreachable"


def test_doctor_without_a_daemon_says_how_to_start_one() -> None:
    result = typed("--url", "http://127.0.0.1:9", "doctor", "--json")

    report = json.loads(result.stdout)
    (check,) = [check for check in report["checks"] if check["severity"] == "error"]
    assert result.exit_code == 5
    assert report["ok"] is False
    assert "understudy serve" in check["fix"]


@pytest.mark.parametrize(
    "line",
    [
        ["serve", "--bind", "nowhere"],
        ["serve", "--bind", "127.0.0.1:99999"],
        ["config", "show", "--bind", "nowhere"],
    ],
)
def test_bad_settings_are_one_line_and_a_usage_error(line: list[str]) -> None:
    result = typed(*line)

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "HOST:PORT" in result.stderr


def test_a_bind_that_is_none_only_matters_when_it_names_the_daemon() -> None:
    environment = {"UNDERSTUDY_BIND": "junk", "UNDERSTUDY_URL": ""}

    assert typed("status", env=environment).exit_code == 2
    named = ["--url", "http://127.0.0.1:9", "status"]
    assert typed(*named, env=environment).exit_code == 5


def test_a_value_that_no_model_takes_is_a_usage_error() -> None:
    line = ["--url", "http://127.0.0.1:9", "tokens", "create", "ann", "--role", "king"]

    result = typed(*line)

    assert result.exit_code == 2
    assert "role" in result.stderr
