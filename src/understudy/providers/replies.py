"""The last step of every provider: from the parts that arrived to a reply the loop can trust."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from understudy.core.ids import new_id
from understudy.providers.base import ModelReply, ToolCall, Usage
from understudy.providers.failures import Failures


@dataclass(slots=True)
class CallParts:
    """A tool call while it arrives."""

    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ReplyParts:
    """An answer while it arrives."""

    text: list[str] = field(default_factory=list)
    calls: list[CallParts] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    finish_reason: str = ""

    def finish(self, failures: Failures) -> ModelReply:
        """The complete reply; raises when there is nothing in it."""
        text = "".join(self.text)
        if not self.calls and not text.strip():
            raise failures.empty(self.finish_reason)
        if any(not call.name for call in self.calls):
            raise failures.malformed("a tool call has no name")
        return ModelReply(
            text=text,
            tool_calls=_with_unique_ids(self.calls),
            usage=self.usage,
            model=self.model,
            finish_reason=self.finish_reason or ("tool_calls" if self.calls else "stop"),
        )


def _with_unique_ids(calls: Iterable[CallParts]) -> tuple[ToolCall, ...]:
    """Results are matched to calls by id, so a missing or repeated one gets a fresh id."""
    taken: set[str] = set()
    finished = []
    for call in calls:
        call_id = call.call_id if call.call_id and call.call_id not in taken else new_id("call")
        taken.add(call_id)
        # Models leave the arguments out when a tool takes none.
        arguments = "".join(call.arguments).strip() or "{}"
        finished.append(ToolCall(call_id=call_id, name=call.name, arguments=arguments))
    return tuple(finished)


def valid_arguments(call: ToolCall) -> str:
    """The arguments as servers accept them in a history: a JSON object, whatever the model sent."""
    try:
        if isinstance(json.loads(call.arguments), dict):
            return call.arguments
    except ValueError:
        pass
    return json.dumps({"invalid_arguments": call.arguments})
