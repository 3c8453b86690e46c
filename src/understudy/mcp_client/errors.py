"""Errors of MCP servers and calls, and their text without control characters."""

from typing import Final

from pydantic import ValidationError

from understudy.core.errors import UnderstudyError

MAX_REASON_CHARS: Final = 500
CUT: Final = "…"


class ServerDown(UnderstudyError):
    """A server cannot be used now; the detail says why."""

    def __init__(self, detail: str) -> None:
        super().__init__("mcp_server_down", domain="mcp", detail=detail)


class CallFailed(UnderstudyError):
    """The server returned an error or an invalid result."""

    def __init__(self, detail: str) -> None:
        super().__init__("mcp_call_failed", domain="mcp", detail=detail)


class CallTimedOut(CallFailed):
    """The call timed out."""


def describe(problem: BaseException) -> str:
    """The first error in nested exception groups, as text."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    match problem:
        case ServerDown():
            detail = problem.detail
        case ValidationError():
            detail = "it answered what is not an answer"
        case _:
            detail = str(problem) or type(problem).__name__
    return one_line(detail, MAX_REASON_CHARS)


def tidy(text: str, limit: int) -> str:
    """The text without invisible and bidirectional characters, truncated to `limit`."""
    # Only as much as could be kept is processed.
    seen = shown_characters(text[: limit * 2]).strip()
    return seen if len(seen) <= limit else seen[: limit - 1] + CUT


def shown_characters(text: str) -> str:
    """The text with spaces for invisible and bidirectional characters; tabs and lines stay."""
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)


def one_line(text: str, limit: int) -> str:
    """The tidy text on one line."""
    return tidy(" ".join(text[: limit * 2].split()), limit)
