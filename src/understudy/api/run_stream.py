"""Telling a run as it happens: what is said now and what the journal keeps, merged.

Joined, the deltas of a step equal the text of its message, for a reader who was there from the
start, one who came late, and one who lost the connection half-way.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from understudy.agent.stream import Spoken
from understudy.api.frames import Position, StreamFrame, digest_of, frame_of
from understudy.api.views.runs import step_of
from understudy.runs.lifecycle import TERMINAL
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.wire.events import DELTA, DELTA_RESET


@dataclass(slots=True)
class RunTelling:
    """Tells one run to one reader."""

    position: Position
    # The last step whose message stands in the journal.
    finished_step: int = 0
    is_over: bool = False

    def journal(self, event: JournalEvent) -> Iterator[StreamFrame]:
        """What to send for the next event of the journal."""
        if event.kind is EventKind.MESSAGE:
            yield from self._message(step_of(event), str(event.data.get("text", "")))
        elif event.kind is EventKind.RUN and event.data.get("status") in TERMINAL:
            yield from self._void(self.position.step)
            self.is_over = True
        if event.kind is EventKind.MESSAGE or not self.position.chars:
            self.position = Position(offset=event.offset)
        else:
            self.position = replace(self.position, offset=event.offset)
        frame = frame_of(event, event_id=str(self.position))
        if frame is not None:
            yield frame

    def spoken(self, spoken: Spoken) -> Iterator[StreamFrame]:
        """What to send of the text that the model is saying now.

        A call that is tried again often says the same, so what was sent is void only when the new
        text is long enough to show that it differs.
        """
        if spoken.step <= self.finished_step:
            return
        if not self._goes_on(spoken.step, spoken.text):
            yield from self._void(spoken.step)
        yield from self._rest(spoken)

    def _message(self, step: int | None, text: str) -> Iterator[StreamFrame]:
        if step is None:
            return
        cut_short = len(text) < self.position.chars
        if self._has_part_of(step) and (cut_short or not self._goes_on(step, text)):
            yield from self._void(step)
        yield from self._rest(Spoken(step=step, text=text, take=self.position.take))
        self.finished_step = step

    def _rest(self, spoken: Spoken) -> Iterator[StreamFrame]:
        """The part of a text that this reader does not have yet."""
        known = self.position.chars if self._has_part_of(spoken.step) else 0
        piece = spoken.text[known:]
        if not piece:
            return
        self.position = Position(
            offset=self.position.offset,
            step=spoken.step,
            take=spoken.take,
            chars=known + len(piece),
            digest=digest_of(piece, self.position.digest if known else 0),
        )
        data = {"text": piece, "step": spoken.step}
        yield StreamFrame(event=DELTA, data=data, id=str(self.position))

    def _void(self, step: int) -> Iterator[StreamFrame]:
        """Take back what was sent of a message that never came to be."""
        if not self._has_part_of(step):
            return
        self.position = Position(offset=self.position.offset)
        yield StreamFrame(event=DELTA_RESET, data={"step": step}, id=str(self.position))

    def _has_part_of(self, step: int) -> bool:
        return self.position.chars > 0 and self.position.step == step

    def _goes_on(self, step: int, text: str) -> bool:
        """Whether a text begins with what was sent; one that is shorter may still get there."""
        chars = self.position.chars
        if not self._has_part_of(step) or len(text) < chars:
            return True
        return digest_of(text[:chars]) == self.position.digest
