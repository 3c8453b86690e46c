"""The contract between the agent loop and whatever answers as a model."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from understudy.core.errors import UnderstudyError


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool the model wants to use; `arguments` is the raw JSON text it sent."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """A text among files."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """An image or a document.

    What is optional is left out when the provider refuses the request: a file of an earlier turn
    must not be the end of a conversation.
    """

    media_type: str
    file_name: str
    data: bytes = field(repr=False)
    optional: bool = False


Part = TextPart | FilePart


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """Something a user said: `text` is all of its words, `parts` their order among files if any."""

    text: str
    parts: tuple[Part, ...] = ()

    @classmethod
    def of(cls, parts: Sequence[Part]) -> "UserMessage":
        """The message of some parts in order."""
        text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
        has_files = any(isinstance(part, FilePart) for part in parts)
        return cls(text=text, parts=tuple(parts) if has_files else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """Something the model said or asked tools for."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it neither said nor asked for anything; servers refuse such a message."""
        return not self.tool_calls and not self.text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """The answer of a tool call."""

    call_id: str
    name: str
    content: str


Message = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as the model sees it; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call of the model."""

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    # Generation settings a caller may set: temperature, top_p, max_tokens, seed, stop.
    generation: Mapping[str, object] = field(default_factory=dict)
    run_id: str = ""
    # Tried once when the model cannot answer; None: the one of the route, if it has one.
    fallback_model: str | None = None
    # Whether the model may end without a word, as what it was to do is done; else that is a failure.
    may_be_empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens one call consumed, as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A complete answer of the model."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    finish_reason: str = "stop"


# Called with each piece of text as it arrives, and with None when what was said so far is void
# because the call is being tried again.
OnDelta = Callable[[str | None], None]

# Awaited before each request that goes out, tries and fallback included, with what goes out.
OnSend = Callable[[ModelRequest], Awaitable[None]]


class ProviderError(UnderstudyError):
    """A model call failed; `retryable` tells whether the same call may work later."""

    def __init__(
        self, code: str, *, detail: str, retryable: bool, retry_after_s: float = 0
    ) -> None:
        super().__init__(code, domain="providers", detail=detail)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class Provider(Protocol):
    """Answers model requests of one route."""

    async def complete(
        self, request: ModelRequest, *, on_delta: OnDelta, on_send: OnSend | None = None
    ) -> ModelReply:
        """Answer, speaking through `on_delta` on the way; raises `ProviderError`.

        What `on_send` raises ends the call and passes through.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
