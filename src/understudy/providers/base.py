"""The contract between the agent loop and model providers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from understudy.core.errors import UnderstudyError


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call of the model; `arguments` is the raw JSON text it sent."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """A text between files."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """An image or a document.

    An optional file is dropped when the provider rejects the request: a file of an earlier turn
    must not end a conversation.
    """

    media_type: str
    file_name: str
    data: bytes = field(repr=False)
    optional: bool = False


Part = TextPart | FilePart


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """A user message: `text` is its full text, `parts` the order of texts and files if any."""

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
    """A message of the model: text and tool calls."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it has neither text nor tool calls; servers reject such a message."""
        return not self.tool_calls and not self.text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage:
    """The result of a tool call."""

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
    """One model call."""

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    # Generation settings of the caller: temperature, top_p, max_tokens, seed, stop.
    generation: Mapping[str, object] = field(default_factory=dict)
    # The JSON schema of the answer, for providers that can hold a model to one.
    answer_schema: Mapping[str, object] | None = None
    run_id: str = ""
    # Tried once if the model fails; None means the route's fallback, if it has one.
    fallback_model: str | None = None
    # Whether an empty reply is valid, as the work is done; otherwise it is a failure.
    may_be_empty: bool = False
    # What somebody typed to start the run, without text of the daemon; None outside of runs.
    typed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token usage of one call, as counted by the provider."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A complete reply of the model."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    finish_reason: str = "stop"


# Called with each delta of text, and with None when a retry voids the text so far.
OnDelta = Callable[[str | None], None]

# Awaited before each outgoing request, retries and fallback included.
OnSend = Callable[[ModelRequest], Awaitable[None]]


class ProviderError(UnderstudyError):
    """A failed model call; `retryable` tells whether a retry may succeed."""

    def __init__(
        self, code: str, *, detail: str, retryable: bool, retry_after_s: float = 0
    ) -> None:
        super().__init__(code, domain="providers", detail=detail)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class Provider(Protocol):
    """Executes the model calls of one route."""

    async def complete(
        self, request: ModelRequest, *, on_delta: OnDelta, on_send: OnSend | None = None
    ) -> ModelReply:
        """Complete a request, streaming text through `on_delta`; raises `ProviderError`.

        An exception of `on_send` ends the call and propagates.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
