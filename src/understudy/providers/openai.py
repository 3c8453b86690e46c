"""The provider for every server with OpenAI's chat-completions API, with our own stream reader.

Built on aiohttp, which parses HTTP in C: a call through httpx2 costs six times its CPU, the official
client several times that.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from pydantic_core import to_json

from understudy.core.text import Scrub
from understudy.core.trace_context import trace_headers
from understudy.providers.base import ModelReply, ModelRequest, OnDelta, OnSend, ProviderError
from understudy.providers.connection import session_opener
from understudy.providers.failures import RouteErrors, as_it_is
from understudy.providers.files import has_files
from understudy.providers.openai_wire import add_document, request_body
from understudy.providers.replies import ReplyParts

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
MAX_ERROR_BYTES: Final = 64 * 1024
# A connection is reusable only if its last answer was read to the end.
_DRAIN_S: Final = 0.25
# The length from which aiohttp warns that bytes would hold the event loop.
_MAX_WHOLE_BYTES: Final = 1024 * 1024
MAX_REPLY_BYTES: Final = 32 * 1024 * 1024
_DONE: Final = b"[DONE]"


class OpenAIProvider:
    """Calls one server over reused connections; bound to one event loop."""

    def __init__(
        self, *, api_key: str | None, base_url: str | None, scrub: Scrub = as_it_is
    ) -> None:
        base = (base_url or DEFAULT_BASE_URL).rstrip("/")
        self._url = f"{base}/chat/completions"
        self._failures = RouteErrors(api_key, scrub)
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        # Credentials in the address become the same header.
        if api_key and "@" not in urlsplit(base).netloc:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._open_session = session_opener(base)
        # Opened by the first call: a session belongs to the event loop that it is opened on.
        self._session: aiohttp.ClientSession | None = None
        # OpenAI renamed the field; compatible servers know the old name.
        self._max_tokens_field = "max_tokens" if base_url else "max_completion_tokens"
        self._asks_usage = True
        self._sends_schema = True

    async def complete(
        self, request: ModelRequest, *, on_delta: OnDelta, on_send: OnSend | None = None
    ) -> ModelReply:
        """Complete a request, from a stream or the plain body of a server that cannot stream."""
        # Options that older servers do not know: one that is refused by name is omitted from then on.
        for _ in range(2):
            try:
                return await self._attempt(request, on_delta, on_send)
            except ProviderError as refused:
                if self._asks_usage and "stream_options" in refused.detail:
                    self._asks_usage = False
                elif self._sends_schema and _names_schema(refused.detail):
                    self._sends_schema = False
                else:
                    raise
        return await self._attempt(request, on_delta, on_send)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _attempt(
        self, request: ModelRequest, on_delta: OnDelta, on_send: OnSend | None
    ) -> ModelReply:
        # In a thread: encoding files takes long and would block the event loop.
        body = await asyncio.to_thread(self._body, request) if has_files(request) else None
        reader = AnswerReader(self._failures, on_delta)
        if on_send:
            await on_send(request)
        async with self._post(body or self._body(request)) as response:
            if not 200 <= response.status < 300:
                raise await self._refusal(response)
            pieces = response.content.iter_any()
            async for piece in pieces:
                reader.feed(piece)
                if reader.is_done:
                    await _drain(pieces)
                    break
            parts = reader.close(response.headers.get("content-type", ""))
        return parts.finish(self._failures, may_be_empty=request.may_be_empty)

    def _body(self, request: ModelRequest) -> bytes:
        body = request_body(
            request,
            max_tokens_field=self._max_tokens_field,
            with_usage=self._asks_usage,
            with_schema=self._sends_schema,
        )
        try:
            # Several times as fast, for a body that is mostly the same schemas of tools every time.
            return to_json(body)
        except ValueError:
            # Half a surrogate pair, which only the standard library can write.
            return json.dumps(body).encode()

    @asynccontextmanager
    async def _post(self, body: bytes) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            self._session = self._open_session()
        try:
            async with self._session.post(
                self._url,
                data=_sent(body),
                headers=self._headers | trace_headers(),
                allow_redirects=False,
            ) as response:
                yield response
        # Python's own codec refuses some names of hosts.
        except (aiohttp.ClientError, UnicodeError) as problem:
            raise self._failures.unreachable(_cause(problem)) from None

    async def _refusal(self, response: aiohttp.ClientResponse) -> ProviderError:
        body = b""
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > MAX_ERROR_BYTES:
                break
        try:
            message = error_message(json.loads(body))
        except (ValueError, RecursionError):
            message = ""
        return self._failures.status(response.status, message, response.headers)


def _names_schema(detail: str) -> bool:
    return "response_format" in detail or "json_schema" in detail


def _sent(body: bytes) -> bytes | BytesIO:
    """The body for aiohttp, which sends a file in pieces but bytes in one."""
    return BytesIO(body) if len(body) > _MAX_WHOLE_BYTES else body


def _cause(problem: Exception) -> Exception:
    """What went wrong, without the library's words and addresses, which may hold a password."""
    match problem:
        case aiohttp.ClientConnectorError():
            return problem.os_error
        case aiohttp.ClientHttpProxyError():
            return OSError(f"the proxy answered {problem.status}")
        case aiohttp.ClientResponseError():
            return OSError(problem.message)
        case aiohttp.InvalidURL():
            return OSError("the address is not valid")
    return problem


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Drain the rest of a stream, but do not wait for a server that keeps it open."""
    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(_DRAIN_S):
            async for _ in pieces:
                pass


class AnswerReader:
    """Parses one answer; `is_done` is whether the stream has ended."""

    def __init__(self, failures: RouteErrors, on_delta: OnDelta) -> None:
        self.is_done = False
        self._failures = failures
        self._parts = ReplyParts(on_delta)
        self._parser = EventParser()
        self._is_plain: bool | None = None
        self._plain: list[bytes] = []
        self._size = 0
        self._events = 0

    def feed(self, piece: bytes) -> None:
        """Parse the next bytes, and emit their text."""
        self._size += len(piece)
        if self._size > MAX_REPLY_BYTES:
            raise self._failures.malformed(f"it is longer than {MAX_REPLY_BYTES} bytes")
        # Detected by the first character, as content types are unreliable.
        if self._is_plain is None and (start := piece.lstrip()):
            self._is_plain = start[:1] in (b"{", b"[")
        if self._is_plain:
            self._plain.append(piece)
        else:
            self._take(self._parser.feed(piece))

    def close(self, content_type: str) -> ReplyParts:
        """The complete parts, once all bytes are read."""
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
        """The error in a stream that had begun with status 200."""
        said = error_message(document)
        return self._failures.error("provider_unavailable", f"the provider reported: {said}")


def error_message(document: object) -> str:
    """The provider's error message, in any of the formats that servers use."""
    error = document.get("error", document) if isinstance(document, dict) else document
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or ""
    return error if isinstance(error, str) else json.dumps(error)


class EventParser:
    """Splits a byte stream into the `data` of server-sent events; skips everything else."""

    def __init__(self) -> None:
        # Chunks of an unfinished line, joined only once so that long lines stay cheap.
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The events that a chunk completes."""
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
        self._rest.append(rest)
        for line in lines:
            if event := self._take(line.rstrip(b"\r")):
                yield event

    def close(self) -> Iterator[bytes]:
        """The last event, if the stream ends without a blank line."""
        rest = b"".join(self._rest)
        self._rest.clear()
        for line in (rest.rstrip(b"\r"), b""):
            if event := self._take(line):
                yield event

    def _take(self, line: bytes) -> bytes:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            event, self._data = b"\n".join(self._data), []
            return event
        return b""
