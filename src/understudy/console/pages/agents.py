"""Agents."""

from typing import Final

from understudy.console.page import Listing

PAGES: Final = Listing(
    name="agents",
    all="agents.list",
    one="agents.get",
    key="agent_id",
    columns=("agent_id", "display_name", "agent_type", "route", "updated_at_ms"),
    title="agent_id",
).pages()
