"""Calling a tool the way a run does."""

import asyncio
from pathlib import Path

import pytest

from understudy.tools.base import Tool, ToolContext, ToolError


def context_in(workspace: Path) -> ToolContext:
    """The context of some call in a workspace."""
    return ToolContext(
        session_id="s",
        run_id="r",
        agent_id="a",
        user_id="u",
        call_id="c",
        call_key="call-key",
        workspace=workspace,
    )


def call(tool: Tool, workspace: Path, **arguments: object) -> str:
    """What the tool answers."""
    return asyncio.run(tool.call(tool.parameters(**arguments), context_in(workspace)))


def refusal(tool: Tool, workspace: Path, **arguments: object) -> ToolError:
    """How the tool says that it cannot."""
    with pytest.raises(ToolError) as refused:
        call(tool, workspace, **arguments)
    return refused.value
