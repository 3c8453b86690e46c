"""The offline model: it plays a script (see `script`) or makes small talk, and needs no key."""

import asyncio
from collections.abc import Sequence
from typing import Final

from understudy.providers import small_talk
from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelReply,
    ModelRequest,
    OnDelta,
    OnSend,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from understudy.providers.retry import Sleep
from understudy.providers.script import Script, Step

MODEL_NAME: Final = "scripted"
# So many pieces that speech is visible, so few that a long text does not take forever.
_MAX_PIECES: Final = 80
_CHARS_PER_TOKEN: Final = 4


class ScriptedProvider:
    """Answers the same to the same conversation, word by word."""

    def __init__(
        self, script: Script | None = None, *, pause_s: float = 0.01, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._script = script
        self._pause_s = pause_s
        self._sleep = sleep

    async def complete(
        self, request: ModelRequest, *, on_delta: OnDelta, on_send: OnSend | None = None
    ) -> ModelReply:
        """Answer with the next step of whatever fits the conversation."""
        if on_send:
            await on_send(request)
        step = self._next_step(request)
        for piece in _pieces(step.text):
            on_delta(piece)
            await self._sleep(self._pause_s)
        calls = tuple(
            ToolCall(
                # Made from the conversation, so that a repeat of the call is the same call.
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
            return small_talk.sum_up(_last_results(exchange))
        return small_talk.answer(request, _last_user_text(exchange))

    def _scripted(self, request: ModelRequest, exchange: Sequence[Message]) -> Step | None:
        """The step of the first rule that fits the newest user text that any rule fits."""
        rules = self._script.reply if self._script else ()
        for position, message in reversed(list(enumerate(exchange))):
            if not isinstance(message, UserMessage):
                continue
            rule = next((rule for rule in rules if rule.fits(message.text)), None)
            if rule is not None:
                played = sum(isinstance(m, AssistantMessage) for m in exchange[position:])
                if played >= len(rule.steps):
                    return small_talk.sum_up(_last_results(exchange))
                return _fill(_with_known_tools(rule.steps[played], request), message, exchange)
        return None


def _current_exchange(messages: Sequence[Message]) -> Sequence[Message]:
    """What was said since the last answer that asked for no tool."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, AssistantMessage) and not message.tool_calls:
            return messages[position + 1 :] or (UserMessage(text=""),)
    return messages or (UserMessage(text=""),)


def _last_user_text(exchange: Sequence[Message]) -> str:
    return next((m.text for m in reversed(exchange) if isinstance(m, UserMessage)), "")


def _last_results(exchange: Sequence[Message]) -> list[ToolMessage]:
    """The results since the model last spoke."""
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
