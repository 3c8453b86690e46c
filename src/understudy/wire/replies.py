"""What a run answers, and where the answer goes."""

from typing import Literal

from pydantic import Field

from understudy.wire.base import Omitted, Request, View


class ReplyTarget(Request):
    """Where an output is delivered: plugin `local`, or `http` with the address of a webhook."""

    plugin: str = Field(min_length=1, max_length=64)
    address: str = Field(max_length=4096)


class ReplyTargetView(View):
    """Where an output is delivered."""

    plugin: str
    address: str


class OutputView(View):
    """A text for the user."""

    text: str
    at_ms: int
    step: Omitted[int] = None
    run_id: Omitted[str] = None


class DeliveryView(View):
    """How an output fared on its way to one reply target."""

    plugin: str
    address: str
    # `pending`, `delivered`, `dead` or `skipped`.
    status: str
    attempts: int
    delivery_id: Omitted[str] = None
    next_attempt_at_ms: Omitted[int] = None
    delivered_at_ms: Omitted[int] = None
    last_error: Omitted[str] = None


class DeliveryTryView(View):
    """One try to deliver."""

    attempt: int
    at_ms: int
    outcome: Literal["delivered", "retry", "dead"]
    status_code: Omitted[int] = None
    error: Omitted[str] = None


class DeliveryLogView(DeliveryView):
    """A delivery with everything that was tried for it."""

    tries: list[DeliveryTryView] = Field(default_factory=list)
    actions: list[str] = Field(default_factory=list)


class WebhookSecretView(View):
    """A new secret. It is shown once: a repeat under the same idempotency key lacks it."""

    secret: Omitted[str] = None
