"""The rules of the house that no linter knows."""

import ast
import os
import re
import socket
from pathlib import Path

import pytest

from tests.support.network import NetworkBlocked

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "understudy"
MAX_LINES = 600


def packages() -> list[Path]:
    # Alembic reads its scripts as files; they are no package.
    holding_code = {path.parent for path in SOURCE.rglob("*.py")}
    return sorted(path for path in holding_code if "migrations" not in path.parts)


def python_files() -> list[Path]:
    return sorted(path for top in ("src", "tests") for path in (ROOT / top).rglob("*.py"))


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.name)
def test_a_package_says_what_it_is_for(package: Path) -> None:
    start = package / "__init__.py"

    assert start.is_file(), f"{package} has no __init__.py"
    assert ast.get_docstring(ast.parse(start.read_text())), f"{start} has no docstring"


def test_no_file_is_too_long() -> None:
    lengths = {str(path): len(path.read_text().splitlines()) for path in python_files()}

    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_the_readme_names_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()

    assert "make run" in readme
    assert "make test" in readme


def test_continuous_integration_runs_the_two_commands_and_nothing_else() -> None:
    script = ROOT / ".ci" / "run"
    lines = [line.strip() for line in script.read_text().splitlines()]
    commands = [line for line in lines if line and not re.match(r"#|set -|cd ", line)]

    assert commands == ["make check", "make test"]
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_a_test_cannot_leave_the_machine(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as outward, pytest.raises(NetworkBlocked):
        outward.connect((host, 80))


def test_a_test_cannot_ask_for_a_name() -> None:
    with pytest.raises(NetworkBlocked):
        socket.getaddrinfo("example.com", 80)
