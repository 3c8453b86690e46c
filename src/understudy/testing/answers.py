"""What the fake model is asked and what it is told to say, independent of the wire."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Dialect = Literal["openai", "anthropic"]
Role = Literal["system", "user", "assistant", "tool"]
PartKind = Literal["text", "image", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeCall:
    """A tool call to answer with; a `str` in `arguments` goes out as it is, valid JSON or not."""

    name: str
    arguments: Mapping[str, object] | str = field(default_factory=dict)
    # None: an id made from the conversation. "": no id at all, as some servers answer.
    call_id: str | None = None

    @property
    def raw_arguments(self) -> str:
        """The arguments as the text that goes over the wire."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One reply of the fake model, including the ways in which a reply can go wrong."""

    text: str = ""
    # How a stream cuts the text; after every word when left out.
    pieces: tuple[str, ...] = ()
    calls: tuple[FakeCall, ...] = ()
    finish_reason: str = ""
    input_tokens: int = 10
    output_tokens: int = 5
    # What goes wrong.
    status: int = 200
    error: str = "the fake model was told to fail"
    headers: Mapping[str, str] = field(default_factory=dict)
    garbage: bytes | None = None
    plain: bool = False  # one JSON body although a stream was asked for
    cut: bool = False  # half of the stream, then the connection drops
    stall: bool = False  # half of the stream, then silence
    delay_s: float = 0.0  # before the first byte
    pause_s: float = 0.0  # between two pieces of the stream


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPart:
    """A piece of a message: a text, or an image or file with its bytes."""

    kind: PartKind
    text: str = ""
    media_type: str = ""
    file_name: str = ""
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation, reduced to what a rule needs to see."""

    role: Role
    text: str
    calls: int = 0
    # What the message consists of, in order.
    parts: tuple[SeenPart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """A request the fake model got."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    dialect: Dialect
    turns: tuple[Turn, ...]
    arrived_at_ms: int = 0

    @property
    def streams(self) -> bool:
        """Whether the caller asked for a stream."""
        return self.body.get("stream") is True

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.body.get("model", ""))

    @property
    def last_user(self) -> str:
        """The last thing the user said."""
        return next((t.text for t in reversed(self.turns) if t.role == "user"), "")

    @property
    def system(self) -> str:
        """The instructions that came with the conversation."""
        return "\n".join(t.text for t in self.turns if t.role == "system")


def call(name: str, arguments: Mapping[str, object] | str | None = None, **more: str) -> Answer:
    """An answer that asks for one tool."""
    fake = FakeCall(name=name, arguments={} if arguments is None else arguments, **more)
    return Answer(calls=(fake,))


def call_id(fake: FakeCall, index: int, turns: int) -> str:
    """The id of a call; it depends on the conversation only, so a restarted server repeats it."""
    return f"call_{turns}_{index}" if fake.call_id is None else fake.call_id


def pieces(answer: Answer) -> Sequence[str]:
    """The text in the pieces a stream sends: words with the blank that follows them."""
    if answer.pieces:
        return answer.pieces
    words = answer.text.split(" ")
    return [f"{word} " for word in words[:-1]] + ([words[-1]] if words[-1] else [])
