"""Reads an answer on OpenAI's wire from its bytes, streamed or in one piece."""

import json
from collections.abc import Iterable
from typing import Any, Final

from understudy.providers.base import OnDelta, ProviderError
from understudy.providers.failures import Failures
from understudy.providers.openai_wire import add_document
from understudy.providers.replies import ReplyParts
from understudy.providers.sse import EventParser

MAX_REPLY_BYTES: Final = 32 * 1024 * 1024
_DONE: Final = b"[DONE]"


class AnswerReader:
    """Collects one answer; `is_done` tells when the stream said that it is over."""

    def __init__(self, failures: Failures, on_delta: OnDelta) -> None:
        self.is_done = False
        self._failures = failures
        self._parts = ReplyParts(on_delta)
        self._parser = EventParser()
        self._is_plain: bool | None = None
        self._plain: list[bytes] = []
        self._size = 0
        self._events = 0

    def feed(self, piece: bytes) -> None:
        """Take the next bytes, and speak as far as they go."""
        self._size += len(piece)
        if self._size > MAX_REPLY_BYTES:
            raise self._failures.malformed(f"it is longer than {MAX_REPLY_BYTES} bytes")
        # Content types lie; the first character does not.
        if self._is_plain is None and (start := piece.lstrip()):
            self._is_plain = start[:1] in (b"{", b"[")
        if self._is_plain:
            self._plain.append(piece)
        else:
            self._take(self._parser.feed(piece))

    def close(self, content_type: str) -> ReplyParts:
        """The parts of the answer once all bytes are there."""
        self._take([b"".join(self._plain)] if self._is_plain else self._parser.close())
        if self.is_done or self._is_plain or self._parts.finish_reason:
            return self._parts
        if self._events:
            raise self._failures.incomplete()
        kind = content_type or "no content type"
        raise self._failures.malformed(f"{self._size} bytes of {kind}, neither a stream nor JSON")

    def _take(self, events: Iterable[bytes]) -> None:
        for event in events:
            self._events += 1
            if event.strip() == _DONE:
                self.is_done = True
            elif said := self._said(event):
                self._parts.say(said)

    def _said(self, event: bytes) -> str:
        try:
            document = json.loads(event)
            if document.get("error"):
                raise self._reported(document)
            return add_document(self._parts, document)
        except (ValueError, RecursionError):
            raise self._failures.malformed("it is not valid JSON") from None
        except (AttributeError, LookupError, TypeError):
            raise self._failures.malformed("the JSON has an unexpected shape") from None

    def _reported(self, document: dict[str, Any]) -> ProviderError:
        """A failure that was noticed after the answer had begun with status 200."""
        said = error_message(document)
        return self._failures.error("provider_unavailable", f"the provider reported: {said}")


def error_message(document: object) -> str:
    """The provider's own words, in any of the shapes that servers use."""
    error = document.get("error", document) if isinstance(document, dict) else document
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or ""
    return error if isinstance(error, str) else json.dumps(error)
