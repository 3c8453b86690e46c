"""The tool list of an MCP server: validation of its entries."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy.mcp_client.errors import one_line, tidy
from understudy.mcp_client.model import ListedTool
from understudy.mcp_client.schema import UnfitSchema, rebuild

MAX_TOOLS: Final = 200
MAX_DESCRIPTION_CHARS: Final = 1024
MAX_SHOWN_NAME_CHARS: Final = 40
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTool:
    """A tool as the server describes it, unvalidated except for types."""

    name: str
    description: str | None
    input_schema: Mapping[str, Any]
    reads_only: bool = False
    is_idempotent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolListing:
    """The valid tools, and the reasons why others were refused."""

    tools: tuple[ListedTool, ...]
    refused: tuple[str, ...] = ()


def read_listing(server: str, raw: Sequence[RawTool]) -> ToolListing:
    """Validate the tools one by one; an invalid one does not affect the others."""
    tools: dict[str, ListedTool] = {}
    refused: list[str] = []
    # Of two tools with one name neither is taken, as a call would be ambiguous.
    times = Counter(each.name for each in raw)
    for each in raw[:MAX_TOOLS]:
        try:
            tools[each.name] = _read(server, each, is_only_one=times[each.name] == 1)
        except UnfitSchema as problem:
            refused.append(f"{one_line(each.name, MAX_SHOWN_NAME_CHARS)}: {problem}")
    if len(raw) > MAX_TOOLS:
        refused.append(f"all after the first {MAX_TOOLS}")
    return ToolListing(tools=tuple(tools.values()), refused=tuple(refused))


def _read(server: str, raw: RawTool, *, is_only_one: bool) -> ListedTool:
    if not is_only_one:
        raise UnfitSchema("its name is there twice")
    if not _NAME.fullmatch(raw.name):
        raise UnfitSchema("its name is not one")
    said = tidy(raw.description or "", MAX_DESCRIPTION_CHARS) or "No description."
    return ListedTool(
        name=raw.name,
        # The prefix marks the text as the server's: it is untrusted and steers the model.
        description=f"[MCP server {server}] {said}",
        schema=rebuild(raw.input_schema),
        reads_only=raw.reads_only,
        is_idempotent=raw.is_idempotent,
    )
