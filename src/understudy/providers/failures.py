"""Error messages of failed model calls: clear, bounded, without the API key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from understudy.core.text import Scrub
from understudy.providers.base import OnDelta, ProviderError

MAX_DETAIL_CHARS: Final = 300
# Far more than is shown, and little enough to scrub quickly.
_MAX_READ_CHARS: Final = 64 * 1024
# A shorter key is a placeholder; masking it would make every message unreadable.
_MIN_SECRET_CHARS: Final = 4
# A permanent rejection: a retry is useless.
REJECTED: Final = "provider_rejected"
_RETRYABLE_STATUS: Final = frozenset({408, 409, 425, 429})
_CODES: Final[Mapping[int, str]] = {
    401: "provider_unauthorized",
    403: "provider_unauthorized",
    404: "provider_not_found",
    408: "provider_timeout",
    429: "provider_rate_limited",
}
REPLACEMENT: Final = "\ufffd"


def as_it_is(text: str) -> str:
    """The identity, for routes without a scrubber."""
    return text


def bounded(detail: str) -> str:
    """The detail on one line, truncated to the limit."""
    line = " ".join(detail.split())
    return line if len(line) <= MAX_DETAIL_CHARS else line[: MAX_DETAIL_CHARS - 1] + "…"


@dataclass(frozen=True, slots=True)
class RouteErrors:
    """Builds the errors of one route, scrubbed of its API key and other secrets."""

    api_key: str | None = field(default=None, repr=False)
    scrub: Scrub = field(default=as_it_is, repr=False)

    def error(
        self, code: str, detail: str, *, retryable: bool = True, retry_after_s: float = 0
    ) -> ProviderError:
        """A provider error; scrubbed before it is truncated, so that no half of a secret stays."""
        detail = clean(detail[:_MAX_READ_CHARS])
        if self.api_key and len(self.api_key) >= _MIN_SECRET_CHARS:
            detail = detail.replace(self.api_key, "[key]")
        return ProviderError(
            code,
            detail=bounded(self.scrub(detail)),
            retryable=retryable,
            retry_after_s=retry_after_s,
        )

    def status(self, status: int, message: str, headers: Mapping[str, str]) -> ProviderError:
        """The error for an HTTP error status."""
        retryable = status >= 500 or status in _RETRYABLE_STATUS
        code = _CODES.get(status, "provider_unavailable" if retryable else REJECTED)
        said = f": {message}" if message else ""
        return self.error(
            code,
            f"the provider answered {status}{said}",
            retryable=retryable,
            retry_after_s=retry_after(headers),
        )

    def unreachable(self, problem: Exception) -> ProviderError:
        """The error for a failed or broken connection."""
        said = str(problem) or type(problem).__name__
        return self.error("provider_unavailable", f"the connection failed: {said}")

    def malformed(self, what: str) -> ProviderError:
        """The error for an invalid answer."""
        return self.error("provider_malformed", f"the answer cannot be read: {what}")

    def incomplete(self) -> ProviderError:
        """The error for a stream that ended early."""
        return self.error("provider_incomplete", "the stream ended in the middle of the answer")

    def empty(self, finish_reason: str) -> ProviderError:
        """The error for a reply without text and tool calls."""
        return self.error("provider_empty", f"the answer is empty (finished by {finish_reason!r})")


def retry_after(headers: Mapping[str, str]) -> float:
    """The seconds of a `Retry-After` header; 0 without one."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers.get("retry-after", 0)))
    except ValueError:
        return _until(headers.get("retry-after", ""))


def _until(date: str) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def clean(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class DeltaWriter:
    """Writes a text as deltas that concatenate to exactly the cleaned text."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._half = ""

    def say(self, piece: str) -> None:
        """Write a piece, holding back a surrogate at its end that the next piece may complete."""
        piece = self._half + piece
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        if self._half:
            piece = piece[:-1]
        if piece:
            self._on_delta(clean(piece))

    def end(self) -> None:
        """Write the surrogate that was held back."""
        if self._half:
            self._half = ""
            self._on_delta(REPLACEMENT)
