"""What the model is shown of a session: a summary of what is long past, then message by message.

A piece is a message of the user, or a reply together with what its tools answered. Everything here
cuts between pieces, so a call is never parted from its result.
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
# What remains of a tool's answer where nothing else helps.
LEAST_RESULT_TOKENS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Messages that belong together, and where in the journal they begin."""

    offset: int
    messages: tuple[Message, ...]
    tokens: int
    # A reply from the journal, without what the daemon put below it.
    own_text: str | None = None

    @classmethod
    def of(
        cls, offset: int, messages: Iterable[Message], *, own_text: str | None = None
    ) -> "Piece":
        """A piece with its estimated size."""
        whole = tuple(messages)
        tokens = sum(map(message_tokens, whole))
        return cls(offset=offset, messages=whole, tokens=tokens, own_text=own_text)

    @property
    def digested(self) -> tuple[Message, ...]:
        """What a summary is made of: of a reply only the model's own words."""
        match self.messages:
            case (AssistantMessage() as reply, *results) if self.own_text is not None:
                return (replace(reply, text=self.own_text), *results)
        return self.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A summary that stands for everything in the journal up to an offset."""

    summary: str
    upto_offset: int

    def message(self) -> UserMessage:
        """The summary as the model is shown it; no line of it can look like one outside."""
        quoted = "\n".join(f"> {line}" for line in self.summary.splitlines())
        return UserMessage(text=f"{FRAME}\n{quoted}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Words for the model alone, behind a piece: no journal, summary or checkpoint ever has them."""

    after_offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The pieces so far in order; `own_offset` is where the input of the run at hand stands."""

    own_offset: int
    pieces: tuple[Piece, ...] = ()
    checkpoint: Checkpoint | None = None
    asides: tuple[Aside, ...] = ()
    # Whether making a summary failed; it is not tried again in this execution of the run.
    is_tired: bool = field(default=False, compare=False)

    @property
    def tokens(self) -> int:
        """An upper guess of the tokens of all that is shown."""
        summary = self.checkpoint.message().text if self.checkpoint else ""
        return list_tokens(estimate_tokens(summary) + sum(piece.tokens for piece in self.pieces))

    @property
    def messages(self) -> tuple[Message, ...]:
        """Everything that is shown, in order."""
        said = tuple(chain.from_iterable(self._shown()))
        if self.checkpoint is not None:
            return (self.checkpoint.message(), *said)
        # Providers want the user to speak first.
        opening = () if said and isinstance(said[0], UserMessage) else (UserMessage(text=OMITTED),)
        return (*opening, *said)

    def then(self, piece: Piece) -> "Conversation":
        """The conversation with one more piece."""
        return replace(self, pieces=(*self.pieces, piece))

    def aside(self, text: str) -> "Conversation":
        """The conversation with something said to the model behind all there is so far."""
        newest = self.pieces[-1].offset if self.pieces else self.own_offset
        return replace(self, asides=(*self.asides, Aside(after_offset=newest, text=text)))

    def _shown(self) -> Iterator[tuple[Message, ...]]:
        """The messages piece by piece, what is said aside only ever between two of them."""
        begun = -1
        for piece in self.pieces:
            yield self._aside(begun, piece.offset)
            yield piece.messages
            begun = piece.offset
        yield self._aside(begun, None)

    def _aside(self, first: int, end: int | None) -> tuple[Message, ...]:
        """What was said aside from one offset on, up to another."""
        return tuple(
            UserMessage(text=each.text)
            for each in self.asides
            if first <= each.after_offset and (end is None or each.after_offset < end)
        )

    def after(self, checkpoint: Checkpoint) -> "Conversation":
        """The conversation from a checkpoint on; the input of the run at hand stays."""
        kept = (
            piece
            for piece in self.pieces
            if piece.offset > checkpoint.upto_offset or piece.offset == self.own_offset
        )
        return replace(self, pieces=tuple(kept), checkpoint=checkpoint)

    def cut(self, *, keep_tokens: int) -> int | None:
        """Up to which offset to summarise so that about so many tokens are kept; None: not at all.

        The newest piece always stays, and so does the input of the run at hand.
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
        """The pieces that a checkpoint up to an offset would stand for."""
        return tuple(piece for piece in self.pieces if piece.offset <= upto_offset)


def fitted(conversation: Conversation, limit: int) -> Conversation:
    """What fits a limit without a summary: the oldest pieces go first, then tool answers are cut.

    The input of the run at hand and the newest piece always stay.
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
    """The piece with its longest tool answers cut, so that all of it takes about so many tokens."""
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
    """An upper guess of the tokens of one message, its files included."""
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
