"""Lists of tools that servers send."""

from typing import Any

import pytest

from understudy.mcp_client.tool_list import MAX_TOOLS, RawTool, read_listing


def raw(name: str = "tool", **fields: Any) -> RawTool:
    values: dict[str, Any] = {"description": "Does it.", "input_schema": {"type": "object"}}
    return RawTool(name=name, **(values | fields))


def test_a_tool_is_described_in_words_that_say_whose_they_are() -> None:
    (tool,) = read_listing("time", [raw(reads_only=True)]).tools

    assert tool.description == "[MCP server time] Does it."
    assert tool.schema == {"type": "object", "properties": {}, "additionalProperties": True}
    assert tool.reads_only


@pytest.mark.parametrize("description", [None, "", " \n "])
def test_a_tool_without_a_description_says_so(description: str | None) -> None:
    (tool,) = read_listing("time", [raw(description=description)]).tools

    assert tool.description == "[MCP server time] No description."


def test_a_long_description_is_cut_and_what_hides_in_it_shown_as_blank() -> None:
    (tool,) = read_listing("s", [raw(description="\u2066now\u200b" + "x" * 9000)]).tools

    assert tool.description.startswith("[MCP server s] now xxx")
    assert tool.description.endswith("…")
    assert len(tool.description) <= 1024 + len("[MCP server s] ")


@pytest.mark.parametrize(
    "name", ["", "a b", "a/b", "../x", "a\n", "ünder", "x" * 129, "tool;rm", "\u202etool", "a\x00"]
)
def test_a_tool_of_an_odd_name_is_left_out_and_the_others_stay(name: str) -> None:
    listing = read_listing("s", [raw(name), raw("good")])

    assert [tool.name for tool in listing.tools] == ["good"]
    assert len(listing.refused) == 1


def test_of_tools_with_one_name_none_is_taken() -> None:
    listing = read_listing("s", [raw("same"), raw("same", description="evil"), raw("other")])

    assert [tool.name for tool in listing.tools] == ["other"]
    assert listing.refused == ("same: its name is there twice",) * 2


def test_not_more_than_so_many_are_taken() -> None:
    listing = read_listing("s", [raw(f"t{n}") for n in range(MAX_TOOLS + 5)])

    assert len(listing.tools) == MAX_TOOLS
    assert listing.refused == (f"all after the first {MAX_TOOLS}",)


def test_a_tool_with_a_schema_that_cannot_be_used_is_left_out() -> None:
    unfit = raw("unfit", input_schema={"properties": {"a b": {}}})
    listing = read_listing("s", [unfit, raw("good")])

    assert [tool.name for tool in listing.tools] == ["good"]
    assert "a name that models do not take" in listing.refused[0]
