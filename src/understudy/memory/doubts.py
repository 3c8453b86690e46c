"""Why a record that can be read is still not believed: it does not fit the run it is of."""

from typing import Final

from understudy.core.clock import DAY_MS
from understudy.memory.record import RunMemoryRecord

# So far the clocks of those who write and read may be apart.
AHEAD_MS: Final = DAY_MS


def doubt(record: RunMemoryRecord, *, session_id: str) -> str | None:
    """What speaks against the record of a run of that session; None when nothing does."""
    return None if record.session_id == session_id else "the record names another session"


def doubt_at_start(record: RunMemoryRecord, *, session_id: str, now_ms: int) -> str | None:
    """The same of one that was put there from outside: one that never grows old is no record.

    Readers do not ask for this, for a clock that is set back must not cost what is kept.
    """
    if record.memory.recorded_at_ms > now_ms + AHEAD_MS:
        return "the record is of a time to come"
    return doubt(record, session_id=session_id)
