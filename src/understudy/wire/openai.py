"""Requests in the shapes of OpenAI's API: what is honoured, what has no effect, what is refused."""

import json
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from understudy.wire.base import Id, Int32, JsonObject, Metadata, RequestBody
from understudy.wire.generation import Stop

MAX_MESSAGES: Final = 4_096
# The key of the metadata that names a session.
SESSION_KEY: Final = "session_id"
# Taken, and without effect. Who calls is told by the token, and never by `user`.
UNUSED: Final = frozenset(
    {
        *("parallel_tool_calls", "prompt_cache_key", "prompt_cache_options", "reasoning"),
        *("prompt_cache_retention", "reasoning_effort", "safety_identifier", "service_tier"),
        *("truncation", "user", "verbosity", "include_obfuscation"),
    }
)
# Of what nobody declares here, these ask for nothing.
OFF: Final[tuple[Any, ...]] = (None, False, 0, [], {})


def _parts(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def _items(given: Any) -> Any:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _ref(named: Any) -> Any:
    return {"id": named} if isinstance(named, str) else named


def _kept(store: Any) -> Any:
    if store is False:
        raise PydanticCustomError("unsupported", "must not be false: every run is kept")
    return store


class SentPart(RequestBody):
    """A piece of text of a message."""

    model_config = ConfigDict(extra="ignore")
    type: Literal["text", "input_text", "output_text"]
    text: str


class SentMessage(RequestBody):
    """One message of a conversation; what else a client keeps with it is ignored."""

    model_config = ConfigDict(extra="ignore")
    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Annotated[list[SentPart], BeforeValidator(_parts)] = Field(default_factory=list)
    tool_calls: list[JsonObject] | None = None

    @property
    def text(self) -> str:
        """The texts of the message, and the calls in it."""
        calls = (json.dumps(call, ensure_ascii=False) for call in self.tool_calls or ())
        return "\n".join((*(part.text for part in self.content), *calls)).strip()


class _Settings(RequestBody):
    """Settings; one that is off, or has no effect, may be there."""

    @model_validator(mode="before")
    @classmethod
    def _asked(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        known = cls.model_fields
        return {
            name: it
            for name, it in given.items()
            if name in known or not (name in UNUSED or it in OFF)
        }


class TextFormat(RequestBody):
    """The only format of an answer."""

    type: Literal["text"]


class TextConfig(_Settings):
    """How an answer is written."""

    format: TextFormat | None = None


class StreamOptions(_Settings):
    """Options of a streamed answer."""

    include_usage: bool | None = None


class Reference(RequestBody):
    """Something by its id."""

    id: Id


Messages = Annotated[list[SentMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
Limit = Annotated[Int32 | None, Field(ge=1)]


class OpenAIBody(_Settings):
    """What both kinds of requests have in common."""

    model: Id
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    metadata: Metadata | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    tool_choice: Literal["none", "auto"] | None = None

    @property
    def named_session(self) -> str | None:
        """The session that the metadata name."""
        named = (self.metadata or {}).get(SESSION_KEY)
        return None if named is None else str(named)

    def settings(self, max_tokens: int | None, *names: str) -> dict[str, Any]:
        """The settings of the model's calls."""
        given = {name: getattr(self, name) for name in ("temperature", "top_p", *names)}
        given["max_tokens"] = max_tokens
        return {name: value for name, value in given.items() if value is not None}


class ChatBody(OpenAIBody):
    """The body of `POST /openai/v1/chat/completions`."""

    messages: Messages
    max_tokens: Limit = None
    max_completion_tokens: Limit = None
    seed: int | None = None
    stop: Stop | None = None
    n: Literal[1] | None = None
    modalities: list[Literal["text"]] | None = None
    response_format: TextFormat | None = None
    # To keep or not is no question of a chat: its run is in its session.
    store: bool | None = None


class ResponsesBody(OpenAIBody):
    """The body of `POST /openai/v1/responses`."""

    input: Annotated[Messages, BeforeValidator(_items)]
    instructions: str | None = None
    conversation: Annotated[Reference | None, BeforeValidator(_ref)] = None
    previous_response_id: Id | None = None
    background: bool | None = None
    max_output_tokens: Limit = None
    store: Annotated[bool | None, BeforeValidator(_kept)] = None
    text: TextConfig | None = None
