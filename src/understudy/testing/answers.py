"""Requests and answers of the fake model, independent of the wire format."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Dialect = Literal["openai", "anthropic"]
Role = Literal["system", "user", "assistant", "tool"]
PartKind = Literal["text", "image", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeCall:
    """A tool call of an answer; a `str` in `arguments` is sent unchanged, valid JSON or not."""

    name: str
    arguments: Mapping[str, object] | str = field(default_factory=dict)
    # None: derived from the conversation. "": no id at all, as some servers answer.
    call_id: str | None = None

    @property
    def raw_arguments(self) -> str:
        """The arguments as sent over the wire."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One reply of the fake model, including its failure modes."""

    text: str = ""
    # The chunks of the stream; by default one per word.
    pieces: tuple[str, ...] = ()
    calls: tuple[FakeCall, ...] = ()
    finish_reason: str = ""
    input_tokens: int = 10
    output_tokens: int = 5
    # Failure modes.
    status: int = 200
    error: str = "the fake model was told to fail"
    headers: Mapping[str, str] = field(default_factory=dict)
    garbage: bytes | None = None
    plain: bool = False  # one JSON body although a stream was requested
    cut: bool = False  # half of the stream, then the connection drops
    stall: bool = False  # half of the stream, then silence
    delay_s: float = 0.0  # before the first byte
    pause_s: float = 0.0  # between two pieces of the stream


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPart:
    """A part of a message: a text, or an image or file with its bytes."""

    kind: PartKind
    text: str = ""
    media_type: str = ""
    file_name: str = ""
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation, reduced to what rules need."""

    role: Role
    text: str
    calls: int = 0
    # The parts of the message, in order.
    parts: tuple[SeenPart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """A request that the fake model received."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    dialect: Dialect
    turns: tuple[Turn, ...]
    arrived_at_ms: int = 0

    @property
    def streams(self) -> bool:
        """Whether a stream was requested."""
        return self.body.get("stream") is True

    @property
    def model(self) -> str:
        """The requested model."""
        return str(self.body.get("model", ""))

    @property
    def last_user(self) -> str:
        """The last user message."""
        return next((t.text for t in reversed(self.turns) if t.role == "user"), "")

    @property
    def system(self) -> str:
        """The system prompt of the conversation."""
        return "\n".join(t.text for t in self.turns if t.role == "system")


def call(name: str, arguments: Mapping[str, object] | str | None = None, **more: str) -> Answer:
    """An answer with one tool call."""
    fake = FakeCall(name=name, arguments={} if arguments is None else arguments, **more)
    return Answer(calls=(fake,))


def call_id(fake: FakeCall, index: int, turns: int) -> str:
    """The id of a call, derived from the conversation only, so a restarted server repeats it."""
    return f"call_{turns}_{index}" if fake.call_id is None else fake.call_id


def pieces(answer: Answer) -> Sequence[str]:
    """The chunks of a text stream: words with the blank after them."""
    if answer.pieces:
        return answer.pieces
    words = answer.text.split(" ")
    return [f"{word} " for word in words[:-1]] + ([words[-1]] if words[-1] else [])
