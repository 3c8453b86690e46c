"""Names of tools as models may be told them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from understudy.tools.base import Approval, Effect, ToolContext, ToolError
from understudy.tools.files import ListFiles, ReadFile
from understudy.tools.registry import ToolRegistry, wire_name

WIRE = re.compile(r"[a-zA-Z0-9_-]{1,64}")
SERVERS = st.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True)
TOOLS = st.from_regex(r"[A-Za-z0-9._-]{1,128}", fullmatch=True)


class Nothing(BaseModel):
    """No parameters."""


class Named:
    """A tool that is only there."""

    description = "x"
    effect = Effect.READ
    approval = Approval.NEVER
    parameters: type[BaseModel] = Nothing

    def __init__(self, name: str) -> None:
        self.name = name

    async def call(self, arguments: Nothing, context: ToolContext) -> str:
        return self.name


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("read_file", "read_file"),
        ("time/get_current_time", "time__get_current_time"),
        ("a-b/c", "a-b__c"),
        ("a/" + "b" * 61, "a__" + "b" * 61),
    ],
)
def test_a_name_that_fits_is_only_joined(name: str, spelled: str) -> None:
    assert wire_name(name) == spelled


@pytest.mark.parametrize("name", ["a/b.c", "a/" + "b" * 62, "server/" + "x" * 128, "a/b/c"])
def test_a_name_that_does_not_fit_ends_in_a_hash(name: str) -> None:
    spelled = wire_name(name)

    assert WIRE.fullmatch(spelled)
    assert re.search(r"_[0-9a-f]{10}$", spelled)


def test_names_that_differ_only_in_what_is_lost_stay_apart() -> None:
    alike = ["a/b.c", "a/b_c", "a/b-c", "a/" + "x" * 70, "a/" + "x" * 71]

    assert len({wire_name(name) for name in alike}) == len(alike)


@given(st.lists(st.tuples(SERVERS, TOOLS), unique=True, max_size=8))
def test_every_name_of_a_server_and_a_tool_has_a_spelling_of_its_own(
    pairs: list[tuple[str, str]],
) -> None:
    spelled = [wire_name(f"{server}/{tool}") for server, tool in pairs]

    assert all(WIRE.fullmatch(name) for name in spelled)
    assert len(set(spelled)) == len(pairs)


def test_a_registry_finds_a_tool_by_either_spelling() -> None:
    registry = ToolRegistry([ReadFile()]).extended([Named("far/off.tool")])

    assert registry.names() == ("read_file", "far/off.tool")
    for spelling in ("far/off.tool", registry.wire_name("far/off.tool")):
        assert registry.canonical(spelling) == "far/off.tool"
        assert registry.get(spelling).name == "far/off.tool"
        assert registry.schema(spelling)["type"] == "object"
        assert registry.validate(spelling, "{}") == Nothing()
    assert registry.wire_name("read_file") == registry.canonical("read_file") == "read_file"


def test_extending_a_registry_leaves_it_as_it_was() -> None:
    registry = ToolRegistry([ReadFile()])
    longer = registry.extended([ListFiles()])

    assert (registry.names(), longer.names()) == (("read_file",), ("read_file", "list_files"))
    assert registry.extended([]) is registry


def test_an_unknown_name_stays_unknown() -> None:
    registry = ToolRegistry([Named("far/tool")])

    assert registry.canonical("nowhere") == "nowhere"
    with pytest.raises(ToolError, match="available: far/tool"):
        registry.get("nowhere")


def test_two_tools_with_one_spelling_are_refused() -> None:
    with pytest.raises(ValueError, match="for models"):
        ToolRegistry([Named("a/b"), Named("a__b")])
