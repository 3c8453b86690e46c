"""W3C trace context: the trace that a caller's request belongs to, and that of a run."""

import hashlib
import re
from contextvars import ContextVar
from typing import Final

# The `traceparent` of the request that is answered, or of the run that works.
current_traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)
_VALID: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
HEADER: Final = "traceparent"


def valid_traceparent(header: str | None) -> str | None:
    """The header where it names a trace and a span; None for any other."""
    found = _VALID.fullmatch(header or "")
    is_named = found is not None and found[1].strip("0") and found[2].strip("0")
    return header if is_named and not str(header).startswith("ff") else None


def ids_in(traceparent: str) -> tuple[str, str]:
    """The trace and the span that a valid header names."""
    _, trace_id, span_id, *_ = traceparent.split("-")
    return trace_id, span_id


def trace_id_of(run_id: str, parent: str | None) -> str:
    """The trace of a run: that of its caller, else one of its own, the same at every execution."""
    return ids_in(parent)[0] if parent else _digest(run_id)[:32]


def span_id_of(*names: object) -> str:
    """The id of a span of a run, the same at every execution."""
    return _digest("span", *names)[:16]


def traceparent_of(run_id: str, parent: str | None) -> str:
    """The header that makes what a run calls a part of the run's own span."""
    return f"00-{trace_id_of(run_id, parent)}-{span_id_of(run_id)}-01"


def trace_headers() -> dict[str, str]:
    """The header for what is called now; none outside of a trace."""
    traceparent = current_traceparent.get()
    return {HEADER: traceparent} if traceparent else {}


def _digest(*names: object) -> str:
    return hashlib.sha256("\0".join(map(str, names)).encode()).hexdigest()
