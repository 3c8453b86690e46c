"""Outputs of runs, and their reply targets."""

from pydantic import Field

from understudy.wire.base import Omitted, RequestBody, View


class ReplyTargetBody(RequestBody):
    """Where an output is delivered: plugin `local`, or `http` with the address of a webhook."""

    plugin: str = Field(min_length=1, max_length=64)
    """`local` or `http`."""
    address: str = Field(max_length=4096)
    """A name for `local`, the URL of a webhook for `http`."""


class OutputView(View):
    """A text for the user."""

    text: str
    at_ms: int
    step: Omitted[int] = None
    run_id: Omitted[str] = None


class WebhookSecretView(View):
    """A new secret. It is shown once: a repeat under the same idempotency key lacks it."""

    secret: Omitted[str] = None
