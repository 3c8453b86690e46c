"""What the shipped skills say of commands and routes is true."""

import re
from collections.abc import Iterator

import pytest

from scripts.cli_reference import entries
from tests.support.openapi import committed_document
from understudy.cli.main import build_app
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.shipped_skills import shipped_skills

SHIPPED = shipped_skills()
OPTIONS = {
    entry.path: {name for option in entry.options for name in option.names}
    for entry in entries(build_app())
}
ROUTE = re.compile(r"`(GET|POST|PUT|DELETE) (/v1/[^`?]*)")
LEADING = re.compile(r"understudy(?: [a-z][a-z-]*)*")


def code(bundle: Bundle) -> Iterator[str]:
    """Everything that is set as code, each on one line."""
    for data in bundle.values():
        text = data.decode()
        for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL):
            yield from block.splitlines()
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for inline in re.findall(r"`([^`]+)`", prose):
            yield " ".join(inline.split())


def is_true(line: str) -> bool:
    """Whether there is such a command, and it takes these options."""
    leading = LEADING.match(line)
    options = set(re.findall(r"--[a-z-]+", line))
    return leading is not None and leading[0] in OPTIONS and options <= OPTIONS[leading[0]]


@pytest.mark.parametrize("slug", sorted(SHIPPED))
def test_every_command_that_one_names_exists_with_its_options(slug: str) -> None:
    lines = [line for line in code(SHIPPED[slug]) if re.match(r"understudy [a-z]", line)]

    assert lines
    assert [line for line in lines if not is_true(line)] == []


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    assert is_true("understudy skills scan PATH")
    assert not is_true("understudy skills bless PATH")
    assert not is_true("understudy candidates publish CANDIDATE --quietly")


def test_every_route_that_one_names_exists() -> None:
    paths = committed_document()["paths"]
    there = {(method.upper(), shape(path)) for path, by in paths.items() for method in by}
    named = {
        (method, shape(path))
        for bundle in SHIPPED.values()
        for data in bundle.values()
        for method, path in ROUTE.findall(data.decode())
    }

    assert named
    assert named - there == set()


def shape(path: str) -> str:
    """A path whatever its parameters are called."""
    return re.sub(r"\{[\w:]+\}", "{}", path)
