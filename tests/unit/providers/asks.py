"""Requests, listeners and providers for the provider tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from understudy.providers.base import (
    Message,
    ModelReply,
    ModelRequest,
    Provider,
    ToolSpec,
    UserMessage,
)

# Assembled, so that no scanner takes it for a real one.
KEY = "sk-" + "test" * 5
WRITE_FILE = ToolSpec(
    name="write_file",
    description="Write a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
        "additionalProperties": False,
    },
)

MakeProvider = Callable[..., Provider]


@dataclass(slots=True)
class Listener:
    """Keeps what was said, and forgets it when told to."""

    pieces: list[str] = field(default_factory=list)
    resets: int = 0

    def __call__(self, piece: str | None) -> None:
        if piece is None:
            self.pieces.clear()
            self.resets += 1
        else:
            self.pieces.append(piece)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def ask(
    *messages: Message,
    model: str = "fake-1",
    system: str = "Be brief.",
    tools: tuple[ToolSpec, ...] = (WRITE_FILE,),
    generation: Mapping[str, object] | None = None,
) -> ModelRequest:
    return ModelRequest(
        model=model,
        system=system,
        messages=messages or (UserMessage(text="hello"),),
        tools=tools,
        generation=generation or {},
    )


async def complete(provider: Provider, request: ModelRequest | None = None) -> ModelReply:
    return await provider.complete(request or ask(), on_delta=lambda _: None)
