"""The last step of every provider: the parts of a reply are validated."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from understudy.core.ids import new_id
from understudy.providers.base import ModelReply, OnDelta, ToolCall, Usage
from understudy.providers.failures import DeltaWriter, RouteErrors, clean

# The largest integer that every JSON parser reads exactly.
MAX_TOKENS: Final = 2**53
# The longest arguments of a call that are remembered to be valid.
MAX_KEPT_CHARS: Final = 2_000
# Finish reasons of a model that ended its reply normally.
_ENDED: Final = frozenset({"stop", "end_turn"})


@dataclass(slots=True)
class CallParts:
    """A tool call while it is streamed."""

    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ReplyParts:
    """A reply while it is streamed."""

    def __init__(self, on_delta: OnDelta) -> None:
        self.calls: list[CallParts] = []
        self.usage = Usage()
        self.model = ""
        self.finish_reason = ""
        self._text: list[str] = []
        self._speaker = DeltaWriter(on_delta)

    def say(self, piece: str) -> None:
        """Add text, and emit it as a delta."""
        self._speaker.say(piece)
        self._text.append(piece)

    def finish(self, failures: RouteErrors, *, may_be_empty: bool = False) -> ModelReply:
        """The complete reply; raises if it is empty, unless the request permits that."""
        self._speaker.end()
        text = clean("".join(self._text))
        is_empty = not self.calls and not text.strip()
        if is_empty and not (may_be_empty and self.finish_reason in _ENDED):
            raise failures.empty(self.finish_reason)
        if any(not call.name for call in self.calls):
            raise failures.malformed("a tool call has no name")
        return ModelReply(
            text=text,
            tool_calls=_with_unique_ids(self.calls),
            usage=self.usage,
            model=clean(self.model),
            finish_reason=clean(self.finish_reason) or ("tool_calls" if self.calls else "stop"),
        )


def _with_unique_ids(calls: Iterable[CallParts]) -> tuple[ToolCall, ...]:
    """Tool calls with unique ids: results are matched by id, so duplicates get fresh ones."""
    taken: set[str] = set()
    finished = []
    for call in calls:
        call_id = clean(call.call_id)
        if not call_id or call_id in taken:
            call_id = new_id("call")
        taken.add(call_id)
        # Models omit the arguments of a tool that takes none.
        arguments = clean("".join(call.arguments).strip()) or "{}"
        finished.append(ToolCall(call_id=call_id, name=clean(call.name), arguments=arguments))
    return tuple(finished)


def valid_arguments(call: ToolCall) -> str:
    """The arguments as a JSON object, which servers require in a history."""
    # The calls of a run are in every request of it; long arguments are not kept in memory.
    is_short = len(call.arguments) <= MAX_KEPT_CHARS
    is_object = _is_known_object(call.arguments) if is_short else _is_object(call.arguments)
    return call.arguments if is_object else json.dumps({"invalid_arguments": call.arguments})


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


_is_known_object = lru_cache(maxsize=1024)(_is_object)


def token_count(value: object) -> int:
    """A token count of the provider as an integer; 0 if it is invalid."""
    try:
        count = int(value) if isinstance(value, int | float | str) else 0
    except (ValueError, OverflowError):
        return 0
    return count if 0 <= count <= MAX_TOKENS else 0
