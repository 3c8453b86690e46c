"""What the offline model says without a script: enough to see the daemon at work on a plane."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from understudy.core.text import preview
from understudy.providers.base import ModelRequest, ToolMessage, ToolSpec
from understudy.providers.script import ScriptCall, Step

_SHOWN_CHARS: Final = 600
_ABOUT: Final = (
    "I am Understudy's offline script, not a real model: I need no key and no network. "
    "Try “list files”, “write buy milk to notes.txt”, “read notes.txt”, “run date”, which asks for "
    "your approval, or “ask me something”. "
    "For a real model set OPENAI_API_KEY or ANTHROPIC_API_KEY, or add a route to config.toml, "
    "and start the daemon again."
)
_GREETING: Final = re.compile(
    r"\s*(hi|hello|hey|help|good (morning|afternoon|evening))\b|who are you|what can you do",
    re.IGNORECASE,
)
_LIST: Final = re.compile(r"\b(list|show|which|what)\b.{0,30}\bfiles\b|^\s*ls\s*$", re.IGNORECASE)
_WRITE: Final = re.compile(
    r"\b(?:write|save|note|put)\b(?: down)?:?\s+(?P<content>.+?)\s+(?:in)?to\s+"
    r"(?:the file\s+|a file called\s+)?(?P<path>\S+)\s*$",
    re.IGNORECASE | re.DOTALL,
)
_READ: Final = re.compile(
    r"\b(?:read|open|cat)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?(?P<path>\S+)", re.IGNORECASE
)
_RUN: Final = re.compile(
    r"^\s*(?:please\s+)?(?:run|execute):?\s+(?:the command\s+)?(?P<command>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_ASK: Final = re.compile(r"\bask me\b", re.IGNORECASE)
_QUESTION: Final = {
    "header": "Drinks",
    "question": "What shall I write on the list?",
    "options": [
        {"label": "Tea", "description": "leaves, hot water, patience"},
        {"label": "Coffee", "description": "beans, hot water, haste"},
    ],
}
_QUOTES: Final = "\"'`“”"

Arguments = Mapping[str, object]


def _list_arguments(_: re.Match[str]) -> Arguments:
    return {"path": "."}


def _write_arguments(found: re.Match[str]) -> Arguments:
    return {"path": _path(found), "content": found["content"].strip(_QUOTES)}


def _read_arguments(found: re.Match[str]) -> Arguments:
    return {"path": _path(found)}


def _run_arguments(found: re.Match[str]) -> Arguments:
    return {"command": found["command"].strip().strip("`")}


def _ask_arguments(_: re.Match[str]) -> Arguments:
    return {"questions": [_QUESTION]}


def _path(found: re.Match[str]) -> str:
    return found["path"].rstrip(".,;:!?").strip(_QUOTES)


_INTENTS: Final[tuple[tuple[re.Pattern[str], str, Callable[[re.Match[str]], Arguments]], ...]] = (
    (_RUN, "shell", _run_arguments),
    (_ASK, "ask_user", _ask_arguments),
    (_WRITE, "write_file", _write_arguments),
    (_LIST, "list_files", _list_arguments),
    (_READ, "read_file", _read_arguments),
)


def answer(request: ModelRequest, user_text: str) -> Step:
    """Call the tool that the text asks for, else say what this is."""
    for pattern, name, read_arguments in _INTENTS:
        if found := pattern.search(user_text):
            return _use(request.tools, name, read_arguments(found))
    if _GREETING.search(user_text) or not user_text.strip():
        return Step(text=f"Hello! {_ABOUT}")
    return Step(text=f"You said: “{preview(user_text)}” {_ABOUT}")


def _use(tools: Iterable[ToolSpec], name: str, arguments: Arguments) -> Step:
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        return Step(text=f"I would use the tool {name} for this, but this agent does not have it.")
    known = tool.parameters.get("properties", {})
    if isinstance(known, dict):
        arguments = {key: value for key, value in arguments.items() if key in known}
    return Step(tool_calls=(ScriptCall(name=name, arguments=json.dumps(arguments)),))


def sum_up(results: Iterable[ToolMessage]) -> Step:
    """What the tools answered, in short."""
    lines = [f"{result.name} answered:\n{_shown(result.content)}" for result in results]
    return Step(text="\n\n".join(lines) or "Done.")


def _shown(content: str) -> str:
    return preview(content, _SHOWN_CHARS) or "(nothing)"
