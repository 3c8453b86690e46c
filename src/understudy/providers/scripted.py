"""The offline model: plays a script (see `script`) or canned answers, and needs no key."""

import asyncio
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from understudy.core.mistakes import words_of
from understudy.core.text import preview
from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelReply,
    ModelRequest,
    OnDelta,
    OnSend,
    ProviderError,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from understudy.providers.retry import Sleep
from understudy.settings import SettingsError

MODEL_NAME: Final = "scripted"
# Enough pieces that streaming is visible, few enough that a long text ends soon.
_MAX_PIECES: Final = 80
_CHARS_PER_TOKEN: Final = 4


class ScriptCall(BaseModel):
    """A tool call of a step."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    arguments: dict[str, Any] | str = Field(default_factory=dict)

    @property
    def raw_arguments(self) -> str:
        """The arguments as a model sends them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, default=str)  # TOML has dates, JSON has none


class Step(BaseModel):
    """One reply of a script."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = ""
    tool_calls: tuple[ScriptCall, ...] = ()
    # The message of an error, instead of a reply.
    failure: str = ""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.text and not self.tool_calls and not self.failure:
            raise ValueError("needs a text, tool_calls or a failure")
        return self


class ScriptedRule(BaseModel):
    """The steps of the reply to user texts that match a pattern."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    when: str = ""
    steps: tuple[Step, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _one_step_written_inline(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "steps" in value:
            return value
        inline = {key: value[key] for key in ("text", "tool_calls", "failure") if key in value}
        return {key: value[key] for key in value if key not in inline} | {"steps": [inline]}

    @model_validator(mode="after")
    def _expression_compiles(self) -> Self:
        try:
            self.fits("")
        except re.error as problem:
            raise ValueError(f"when is not a regular expression: {problem}") from None
        return self

    def fits(self, text: str) -> bool:
        """Whether the rule matches the text."""
        if len(self.when) > 2 and self.when.startswith("/") and self.when.endswith("/"):
            return re.search(self.when[1:-1], text, re.IGNORECASE) is not None
        return self.when.casefold() in text.casefold()


class Script(BaseModel):
    """The schema of a script file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reply: tuple[ScriptedRule, ...] = Field(min_length=1)


def load_script(path: Path) -> Script:
    """Load a script; `SettingsError` names the invalid line or key."""
    try:
        return Script.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"script {path} cannot be read: {problem}") from None
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"script {path} is not valid TOML: {problem}") from None
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"script {path}: {key}: {words_of(first)}") from None


class ScriptedProvider:
    """A deterministic provider: the same conversation gives the same reply."""

    def __init__(
        self, script: Script | None = None, *, pause_s: float = 0.01, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._script = script
        self._pause_s = pause_s
        self._sleep = sleep

    async def complete(
        self, request: ModelRequest, *, on_delta: OnDelta, on_send: OnSend | None = None
    ) -> ModelReply:
        """Reply with the next step of the rule that matches the conversation."""
        if on_send:
            await on_send(request)
        step = self._next_step(request)
        if step.failure:
            raise ProviderError("provider_unavailable", detail=step.failure, retryable=False)
        for piece in _pieces(step.text):
            on_delta(piece)
            await self._sleep(self._pause_s)
        calls = tuple(
            ToolCall(
                # Derived from the conversation, so that a retry makes the same call.
                call_id=f"call_{len(request.messages)}_{index}",
                name=call.name,
                arguments=call.raw_arguments,
            )
            for index, call in enumerate(step.tool_calls)
        )
        return ModelReply(
            text=step.text,
            tool_calls=calls,
            usage=_usage(request, step),
            model=MODEL_NAME,
            finish_reason="tool_calls" if calls else "stop",
        )

    async def close(self) -> None:
        """Nothing is open."""

    def _next_step(self, request: ModelRequest) -> Step:
        exchange = _current_exchange(request.messages)
        scripted = self._scripted(request, exchange) if self._script else None
        if scripted is not None:
            return scripted
        if isinstance(exchange[-1], ToolMessage):
            return sum_up(_last_results(exchange))
        text = _last_user_text(exchange) if request.typed is None else request.typed
        return answer(request, text)

    def _scripted(self, request: ModelRequest, exchange: Sequence[Message]) -> Step | None:
        """The step of the first rule that matches the newest user text that any rule matches."""
        rules = self._script.reply if self._script else ()
        for position, message in reversed(list(enumerate(exchange))):
            if not isinstance(message, UserMessage):
                continue
            rule = next((rule for rule in rules if rule.fits(message.text)), None)
            if rule is not None:
                played = sum(isinstance(m, AssistantMessage) for m in exchange[position:])
                if played >= len(rule.steps):
                    return sum_up(_last_results(exchange))
                return _fill(_with_known_tools(rule.steps[played], request), message, exchange)
        return None


def _current_exchange(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages since the last reply without tool calls."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, AssistantMessage) and not message.tool_calls:
            return messages[position + 1 :] or (UserMessage(text=""),)
    return messages or (UserMessage(text=""),)


def _last_user_text(exchange: Sequence[Message]) -> str:
    return next((m.text for m in reversed(exchange) if isinstance(m, UserMessage)), "")


def _last_results(exchange: Sequence[Message]) -> list[ToolMessage]:
    """The tool results since the model's last message."""
    results: list[ToolMessage] = []
    for message in reversed(exchange):
        if isinstance(message, AssistantMessage):
            break
        if isinstance(message, ToolMessage):
            results.insert(0, message)
    return results


def _with_known_tools(step: Step, request: ModelRequest) -> Step:
    offered = {tool.name for tool in request.tools}
    kept = tuple(call for call in step.tool_calls if call.name in offered)
    if len(kept) == len(step.tool_calls):
        return step
    missing = ", ".join(call.name for call in step.tool_calls if call.name not in offered)
    note = f"(The script asks for {missing}, which this agent does not have.)"
    return Step(text=f"{step.text} {note}".strip(), tool_calls=kept)


def _fill(step: Step, user: UserMessage, exchange: Sequence[Message]) -> Step:
    results = _last_results(exchange)
    last = results[-1].content if results else ""
    text = step.text.replace("{user}", user.text).replace("{result}", last)
    return step.model_copy(update={"text": text})


def _pieces(text: str) -> list[str]:
    words = [f"{word} " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    size = -(-len(words) // _MAX_PIECES)
    joined = ("".join(words[start : start + size]) for start in range(0, len(words), size))
    return [piece for piece in joined if piece]


def _usage(request: ModelRequest, step: Step) -> Usage:
    read = len(request.system) + sum(len(_content(message)) for message in request.messages)
    return Usage(
        input_tokens=read // _CHARS_PER_TOKEN, output_tokens=len(step.text) // _CHARS_PER_TOKEN
    )


def _content(message: Message) -> str:
    return message.content if isinstance(message, ToolMessage) else message.text


_SHOWN_CHARS: Final = 600
# As much of a message as is searched for an order: the patterns hold the interpreter.
_READ_CHARS: Final = 8_000
_ABOUT: Final = (
    "I am Understudy's offline script, not a real model: I need no key and no network. "
    "Try “list files”, “write buy milk to notes.txt”, “read notes.txt”, “run date”, which asks for "
    "your approval, “ask me something”, or “please remember: I like short answers”. "
    "For a real model set OPENAI_API_KEY or ANTHROPIC_API_KEY, or add a route to config.toml, "
    "and start the daemon again."
)
_BRIEF: Final = "I am the offline script."
_NOT_TYPED: Final = (
    "I am Understudy's offline script: I answer what a person types to me, and take part in "
    "nothing else. A real model would work on this."
)
# The one standing wish that the script obeys.
_LIKES_BRIEF: Final = re.compile(
    r"\b(?:short|brief|concise)(?:er)? (?:answers?|repl(?:y|ies))\b", re.IGNORECASE
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
_REMEMBER: Final = re.compile(
    r"(?:^|[.,;!:]\s+|\bplease\s+)remember(?:\s+that\b|:)\s*"
    r"(?P<content>[^?\n]+?)(?:[.!](?=\s|$)|$)",
    re.IGNORECASE | re.MULTILINE,
)
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


def _path(found: re.Match[str]) -> str:
    return found["path"].rstrip(".,;:!?").strip(_QUOTES)


_INTENTS: Final[tuple[tuple[re.Pattern[str], str, Callable[[re.Match[str]], Arguments]], ...]] = (
    (_REMEMBER, "remember", lambda found: {"content": found["content"].strip(_QUOTES)}),
    (_RUN, "shell", lambda found: {"command": found["command"].strip().strip("`")}),
    (_ASK, "ask_user", lambda found: {"questions": [_QUESTION]}),
    (
        _WRITE,
        "write_file",
        lambda found: {"path": _path(found), "content": found["content"].strip(_QUOTES)},
    ),
    (_LIST, "list_files", lambda found: {"path": "."}),
    (_READ, "read_file", lambda found: {"path": _path(found)}),
)


def answer(request: ModelRequest, user_text: str) -> Step:
    """A call of the tool that the text asks for, else an introduction."""
    if request.typed == "":
        return Step(text=_NOT_TYPED)
    user_text = user_text[:_READ_CHARS]
    for pattern, name, read_arguments in _INTENTS:
        if found := pattern.search(user_text):
            return _use(request.tools, name, read_arguments(found))
    about = _BRIEF if _LIKES_BRIEF.search(_learned(request.system)) else _ABOUT
    if _GREETING.search(user_text) or not user_text.strip():
        return Step(text=f"Hello! {about}")
    return Step(text=f"You said: “{preview(user_text)}” {about}")


def _learned(system: str) -> str:
    """The learnings in a prompt."""
    _, found, rest = system.rpartition("\n## learned_context\n")
    return rest.partition("\n## ")[0] if found else ""


def _use(tools: Iterable[ToolSpec], name: str, arguments: Arguments) -> Step:
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        return Step(text=f"I would use the tool {name} for this, but this agent does not have it.")
    known = tool.parameters.get("properties", {})
    if isinstance(known, dict):
        arguments = {key: value for key, value in arguments.items() if key in known}
    return Step(tool_calls=(ScriptCall(name=name, arguments=json.dumps(arguments)),))


def sum_up(results: Iterable[ToolMessage]) -> Step:
    """A short summary of the tool results."""
    lines = [
        # What follows the first sentence is for a model.
        f"{result.content.partition('. ')[0].rstrip('.').capitalize()}."
        if result.name == "remember"
        else f"{result.name} answered:\n{_shown(result.content)}"
        for result in results
    ]
    return Step(text="\n\n".join(lines) or "Done.")


def _shown(content: str) -> str:
    return preview(content, _SHOWN_CHARS) or "(nothing)"
