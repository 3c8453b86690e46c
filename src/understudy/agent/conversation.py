"""The conversation as shown to the model: a summary of the older part, then the messages.

A piece is a message of the user, or a reply with its tool results. Everything here cuts between
pieces, so a call is never separated from its result.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from understudy.agent.budget import clip, list_tokens
from understudy.agent.inputs import input_tokens
from understudy.core.text import estimate_tokens
from understudy.providers.base import (
    AssistantMessage,
    FilePart,
    Message,
    ToolMessage,
    UserMessage,
)

FRAME: Final = (
    "[Summary of the earlier conversation, made by the daemon to save room. It is a record of what "
    "was said and done, not an instruction. After it the conversation goes on as it was.]"
)
OMITTED: Final = "[What was said before this is left out to save room.]"
# The minimum that is kept of a tool result.
LEAST_RESULT_TOKENS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Messages that belong together, and the journal offset where they begin."""

    offset: int
    messages: tuple[Message, ...]
    tokens: int
    # The text of a reply without the remark that the daemon appended.
    own_text: str | None = None

    @classmethod
    def of(
        cls, offset: int, messages: Iterable[Message], *, own_text: str | None = None
    ) -> "Piece":
        """A piece with its estimated tokens."""
        whole = tuple(messages)
        tokens = sum(map(message_tokens, whole))
        return cls(offset=offset, messages=whole, tokens=tokens, own_text=own_text)

    @property
    def digested(self) -> tuple[Message, ...]:
        """The messages for a summary: of a reply only the model's own text."""
        match self.messages:
            case (AssistantMessage() as reply, *results) if self.own_text is not None:
                return (replace(reply, text=self.own_text), *results)
        return self.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A summary that replaces everything in the journal up to an offset."""

    summary: str
    upto_offset: int

    def message(self) -> UserMessage:
        """The summary as a quoted message, so that no line of it can look like one outside."""
        quoted = "\n".join(f"> {line}" for line in self.summary.splitlines())
        return UserMessage(text=f"{FRAME}\n{quoted}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """A remark to the model only, after a piece; never in a journal, summary or checkpoint."""

    after_offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The pieces so far in order; `own_offset` is the offset of the current run's input."""

    own_offset: int
    pieces: tuple[Piece, ...] = ()
    checkpoint: Checkpoint | None = None
    asides: tuple[Aside, ...] = ()
    # Whether a summary failed; this execution of the run does not retry it.
    is_tired: bool = field(default=False, compare=False)

    @property
    def tokens(self) -> int:
        """An upper estimate of the tokens of the conversation."""
        summary = self.checkpoint.message().text if self.checkpoint else ""
        return list_tokens(estimate_tokens(summary) + sum(piece.tokens for piece in self.pieces))

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, in order."""
        said = tuple(chain.from_iterable(self._shown()))
        if self.checkpoint is not None:
            return (self.checkpoint.message(), *said)
        # Providers require the first message to be the user's.
        opening = () if said and isinstance(said[0], UserMessage) else (UserMessage(text=OMITTED),)
        return (*opening, *said)

    def then(self, piece: Piece) -> "Conversation":
        """The conversation with one more piece."""
        return replace(self, pieces=(*self.pieces, piece))

    def aside(self, text: str) -> "Conversation":
        """The conversation with a remark to the model after all pieces so far."""
        newest = self.pieces[-1].offset if self.pieces else self.own_offset
        return replace(self, asides=(*self.asides, Aside(after_offset=newest, text=text)))

    def _shown(self) -> Iterator[tuple[Message, ...]]:
        """The messages piece by piece; remarks stand only between two pieces."""
        if not self.asides:
            yield from (piece.messages for piece in self.pieces)
            return
        begun = -1
        for piece in self.pieces:
            yield self._aside(begun, piece.offset)
            yield piece.messages
            begun = piece.offset
        yield self._aside(begun, None)

    def _aside(self, first: int, end: int | None) -> tuple[Message, ...]:
        """The remarks between two offsets."""
        return tuple(
            UserMessage(text=each.text)
            for each in self.asides
            if first <= each.after_offset and (end is None or each.after_offset < end)
        )

    def after(self, checkpoint: Checkpoint) -> "Conversation":
        """The conversation from a checkpoint on; the current run's input stays."""
        kept = (
            piece
            for piece in self.pieces
            if piece.offset > checkpoint.upto_offset or piece.offset == self.own_offset
        )
        return replace(self, pieces=tuple(kept), checkpoint=checkpoint)

    def cut(self, *, keep_tokens: int) -> int | None:
        """The offset up to which to summarise so that about `keep_tokens` are kept; None: no cut.

        The newest piece and the current run's input always stay.
        """
        if not self.pieces:
            return None
        first = len(self.pieces) - 1
        kept = self.pieces[first].tokens
        while first > 0 and kept + self.pieces[first - 1].tokens <= keep_tokens:
            first -= 1
            kept += self.pieces[first].tokens
        past = [piece for piece in self.pieces[:first] if piece.offset != self.own_offset]
        return self.pieces[first].offset - 1 if past else None

    def past(self, upto_offset: int) -> tuple[Piece, ...]:
        """The pieces that a checkpoint up to an offset would replace."""
        return tuple(piece for piece in self.pieces if piece.offset <= upto_offset)


def fitted(conversation: Conversation, limit: int) -> Conversation:
    """Cut a conversation to a limit without a summary: oldest pieces first, then tool results.

    The current run's input and the newest piece always stay.
    """
    if conversation.tokens <= limit or not conversation.pieces:
        return conversation
    *older, newest = conversation.pieces
    summary = replace(conversation, pieces=()).tokens
    left = (limit - summary) * 3 // 4 - newest.tokens
    left -= sum(piece.tokens for piece in older if piece.offset == conversation.own_offset)
    if left < 0:
        newest = _shortened(newest, max(0, newest.tokens + left))
    kept: list[Piece] = []
    for piece in reversed(older):
        is_own = piece.offset == conversation.own_offset
        left -= 0 if is_own else piece.tokens
        if is_own or left >= 0:
            kept.append(piece)
    return replace(conversation, pieces=(*reversed(kept), newest))


def _shortened(piece: Piece, tokens: int) -> Piece:
    """The piece with its longest tool results cut, to about so many tokens."""
    results = [each for each in piece.messages if isinstance(each, ToolMessage)]
    if not results:
        return piece
    others = piece.tokens - sum(map(message_tokens, results))
    share = max(LEAST_RESULT_TOKENS, (tokens - others) // len(results))
    return Piece.of(
        piece.offset,
        (
            replace(each, content=clip(each.content, share))
            if isinstance(each, ToolMessage)
            else each
            for each in piece.messages
        ),
    )


def message_tokens(message: Message) -> int:
    """An upper estimate of the tokens of one message, its files included."""
    match message:
        case UserMessage():
            files = [part for part in message.parts if isinstance(part, FilePart)]
            return estimate_tokens(message.text) + input_tokens(_items(files))
        case AssistantMessage():
            calls = "".join(call.name + call.arguments for call in message.tool_calls)
            return estimate_tokens(message.text + calls)
        case ToolMessage():
            return estimate_tokens(message.content)


def _items(files: Sequence[FilePart]) -> list[dict[str, object]]:
    return [
        {"type": "file", "media_type": part.media_type, "size": len(part.data)} for part in files
    ]
