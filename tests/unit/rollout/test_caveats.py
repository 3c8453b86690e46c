"""What of a definition will not do here what it says is told, and never refused."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.rollout_factories import make_definition
from understudy.rollout.caveats import NO_CAVEATS, Caveats

CAVEATS = Caveats(tool_names=lambda: ("shell", "read_file"), has_route=lambda name: name == "main")


@pytest.mark.parametrize(
    ("runtime", "found"),
    [
        ({}, []),
        ({"allowed_tools": ("shell",), "blocked_tools": ("read_file",), "provider": "main"}, []),
        ({"allowed_tools": ("no_such",)}, [("unknown_tool", "/allowed_tools/0")]),
        (
            {"allowed_tools": ("shell",), "blocked_tools": ("read_file", "gone")},
            [("unknown_tool", "/blocked_tools/1")],
        ),
        ({"allowed_tools": ("srv/read", "list_*", "*")}, []),
        ({"provider": "nope"}, [("unknown_route", "/provider")]),
        (
            {"allowed_tools": ("read_file", "shell"), "blocked_tools": ("sh*",)},
            [("tool_allowed_and_blocked", "/allowed_tools/1")],
        ),
    ],
)
def test_what_deserves_a_look_is_told_with_its_place(
    runtime: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    definition = make_definition()
    definition = replace(definition, runtime=replace(definition.runtime, **runtime))

    told = CAVEATS(definition)

    assert [(each.code, each.pointer) for each in told] == found
    assert all(each.message for each in told)


def test_who_knows_no_tools_says_nothing_of_them() -> None:
    definition = make_definition()
    runtime = replace(definition.runtime, allowed_tools=("no_such",), provider="nope")

    assert NO_CAVEATS(replace(definition, runtime=runtime)) == ()
