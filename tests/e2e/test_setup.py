"""`understudy setup` beside a daemon that runs, and where none does."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support import program
from tests.support.command_line_process import Cli
from tests.support.daemon import DaemonProcess
from tests.support.environment import without_settings

pytestmark = pytest.mark.e2e


def setup(home: Path, *words: str, stdin: str = "", code: int = 0) -> str:
    env = {**without_settings(os.environ), "UNDERSTUDY_HOME": str(home)}
    done = program.run(["setup", *words], env, stdin=stdin)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def now(home: Path) -> Any:
    return json.loads(setup(home, "--yes", "--json"))


def test_without_a_daemon_the_answers_are_written_and_shown_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = now(home)
    printed = setup(home, stdin="local\nqwen3\n\nno\nyes\n")

    assert (first["model"]["route_id"], first["skills"]) == ("scripted", False)
    assert "qwen3 on route local" in printed
    assert tomllib.loads((home / "config.toml").read_text())["default_route"] == "local"
    again = now(home)
    assert (again["model"]["model"], again["learning"], again["skills"]) == ("qwen3", False, True)
    assert not again["daemon_running"]
    setup(home, "--api-key-env", "sk-" + "abc", code=2)
    assert "sk-" not in (home / "config.toml").read_text()


def test_the_next_step_names_the_home_that_was_given(tmp_path: Path) -> None:
    home = tmp_path / "another home"
    done = program.run(["setup", "--yes", "--home", str(home)], without_settings(os.environ))
    assert f"understudy serve --home '{home}'" in done.stderr


def test_a_daemon_at_another_address_is_told_of(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with DaemonProcess(home):
        said = setup(home, "--yes", code=4)
    assert f"a daemon works in {home}" in said
    assert "--url" in said


def test_a_daemon_that_runs_is_told_over_its_api(live: DaemonWithModel) -> None:
    cli = Cli(live.daemon)

    told = cli.json("setup", "--skills", "--learning", "--yes")
    agent = cli.json("agents", "show", "default")
    policy = cli.json("policy", "show")["policy"]
    changed = cli("setup", "--provider", "anthropic", "--yes")

    assert (told["daemon_running"], told["restart_needed"]) == (True, False)
    assert agent["other_config"]["skill_evolve"] is True
    assert policy["capture"]["semantic_candidates"]["enabled"] is True
    assert "ANTHROPIC_API_KEY is not set here" in changed.stdout
    assert "restart it to use the new one" in changed.stderr
