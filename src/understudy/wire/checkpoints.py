"""Checkpoints on the wire."""

from understudy.wire.base import Omitted, View


class CheckpointView(View):
    """A summary that replaces everything in the journal up to `upto_offset` in prompts."""

    offset: int
    at_ms: int
    run_id: Omitted[str] = None
    summary: str
    upto_offset: int
    # Estimated tokens of the prompt that it was made for.
    tokens_before: int
    tokens_after: int
