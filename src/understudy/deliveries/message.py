"""What a webhook is told about a run that has ended."""

import json
from collections.abc import Sequence
from typing import Any

from understudy.runs.model import Run
from understudy.sessions.journal import JournalEvent


def message(delivery_id: str, run: Run, outputs: Sequence[JournalEvent]) -> bytes:
    """The body; the same run gives the same bytes each time."""
    told: dict[str, Any] = {
        "delivery_id": delivery_id,
        "run_id": run.run_id,
        "session_id": run.session_id,
        "status": str(run.status),
        "outputs": [{"text": str(event.data.get("text", ""))} for event in outputs],
        "finished_at_ms": run.finished_at_ms,
    }
    if run.error is not None:
        told["error"] = run.error
    # Odd characters stay escaped, so that half a surrogate is still JSON.
    return json.dumps(told, separators=(",", ":")).encode()
