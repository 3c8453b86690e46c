"""Transcripts as files: what no file may do to the daemon."""

from typing import Any, cast

import pytest

from understudy.foreign.transcript_lines import claude_line
from understudy.foreign.transcripts import (
    MAX_FILE_BYTES,
    MAX_LINE_BYTES,
    LineTally,
    TranscriptTurns,
    turns_of,
)


class Endless:
    """What a small archive can unpack to: one line that never ends."""

    piece = b"x" * MAX_LINE_BYTES
    taken = 0

    def readline(self, limit: int) -> bytes:
        self.taken += 1
        return self.piece[:limit]


def test_a_line_without_an_end_is_given_up() -> None:
    file = Endless()
    turns = TranscriptTurns("claude-code", "talk")
    with pytest.raises(OSError, match="too long"):
        list(turns_of(cast("Any", file), claude_line, turns, LineTally()))
    assert file.taken <= MAX_FILE_BYTES // MAX_LINE_BYTES + 1
