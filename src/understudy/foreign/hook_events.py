"""Coding agents whose hooks we answer, and the events that we act on."""

from enum import StrEnum


class HookTool(StrEnum):
    """A coding agent whose hooks we answer."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


class HookEvent(StrEnum):
    """An event that we act on; every other one is answered with nothing."""

    SESSION_START = "SessionStart"
    PROMPT = "UserPromptSubmit"
    TOOL_ASKED = "PreToolUse"
    TOOL_USED = "PostToolUse"
    TOOL_FAILED = "PostToolUseFailure"
    STOP = "Stop"
    SESSION_END = "SessionEnd"
