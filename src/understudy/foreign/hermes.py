"""Conversations in the database of Hermes, read as lines are."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from understudy.core.errors import coded_error
from understudy.foreign.transcript_lines import arguments_of
from understudy.foreign.transcripts import (
    MAX_LINE_BYTES,
    AgentText,
    LinePart,
    Prompt,
    ReportedCall,
    ReportedResult,
    TranscriptLine,
    text_of,
)

# Where a person talks to the agent alone; elsewhere others may write, or programs.
OWN_SOURCES: Final = frozenset({"acp", "cli", "desktop", "tui"})
# A message that Hermes wrote in the place of the user.
NOT_TYPED: Final = ("_compressed_summary", "observed")
_TABLES: Final = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (?, ?)"
_MESSAGES: Final = "SELECT * FROM messages ORDER BY session_id, id"
_SESSIONS: Final = "SELECT id, source, parent_session_id FROM sessions"


def hermes_lines(path: Path) -> Iterator[TranscriptLine]:
    """The messages of a database, conversation by conversation; it is opened to be read alone."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LINE_BYTES)
            database.row_factory = sqlite3.Row
            # One broken text must not hide all the others.
            database.text_factory = partial(str, encoding="utf-8", errors="replace")
            # A view could compute for ever.
            if database.execute(_TABLES, ("messages", "sessions")).fetchone()[0] != 2:
                raise coded_error("foreign/no_transcript", pointer="/path")
            own = {
                row["id"]
                for row in database.execute(_SESSIONS)
                if row["source"] in OWN_SOURCES and row["parent_session_id"] is None
            }
            for row in database.execute(_MESSAGES):
                yield _line(dict(row), own)
    except sqlite3.Error:
        raise coded_error("foreign/no_transcript", pointer="/path") from None


def _line(row: Mapping[str, Any], own: set[Any]) -> TranscriptLine:
    at, conversation = row.get("timestamp"), text_of(row, "session_id")
    at_ms = round(at * 1000) if isinstance(at, int | float) and 0 < at < 2**40 else None
    parts = tuple(_parts(row, is_own=row.get("session_id") in own))
    return TranscriptLine(parts, conversation or None, at_ms)


def _parts(row: Mapping[str, Any], *, is_own: bool) -> Iterator[LinePart]:
    role, content = row.get("role"), text_of(row, "content")
    if role == "user":
        is_hidden = text_of(row, "display_kind") == "hidden"
        is_typed = is_own and not is_hidden and not any(row.get(name) for name in NOT_TYPED)
        yield Prompt(content, is_typed)
    elif role == "tool":
        yield ReportedResult(text_of(row, "tool_call_id"), content)
    elif role == "assistant":
        calls = arguments_of(f'{{"calls": {text_of(row, "tool_calls") or "[]"}}}').get("calls")
        for each in calls if isinstance(calls, list) else []:
            if isinstance(each, dict):
                named = each.get("function")
                function = named if isinstance(named, dict) else each
                arguments = arguments_of(function.get("arguments"))
                yield ReportedCall(text_of(each, "id"), text_of(function, "name"), arguments)
        yield AgentText(content)
