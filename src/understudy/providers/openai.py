"""Whatever speaks OpenAI's chat-completions wire, over our own reader of it.

Written on httpx2 because the official client costs several times the CPU of everything else that
a model call needs.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import httpx2

from understudy.providers.base import ModelReply, ModelRequest, OnDelta, OnSend, ProviderError
from understudy.providers.connection import open_client
from understudy.providers.failures import Failures, Scrub, as_it_is
from understudy.providers.files import has_files
from understudy.providers.openai_reader import AnswerReader, error_message
from understudy.providers.openai_wire import request_body

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
MAX_ERROR_BYTES: Final = 64 * 1024
# A connection can be used again only if its last answer was read to the end.
_DRAIN_S: Final = 0.25


class OpenAIProvider:
    """Answers from one server, reusing its connections; belongs to one event loop."""

    def __init__(
        self, *, api_key: str | None, base_url: str | None, scrub: Scrub = as_it_is
    ) -> None:
        base = (base_url or DEFAULT_BASE_URL).rstrip("/")
        self._url = f"{base}/chat/completions"
        self._failures = Failures(api_key, scrub)
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._client = open_client(httpx2.AsyncClient, base)
        # OpenAI renamed the field; the servers that copy its wire know the old name.
        self._max_tokens_field = "max_tokens" if base_url else "max_completion_tokens"
        self._asks_usage = True

    async def complete(
        self, request: ModelRequest, *, on_delta: OnDelta, on_send: OnSend | None = None
    ) -> ModelReply:
        """Answer, from a stream or from the plain body of a server that does not stream."""
        try:
            return await self._attempt(request, on_delta, on_send)
        except ProviderError as refused:
            if not self._asks_usage or "stream_options" not in refused.detail:
                raise
        # An older server that does not know the option: ask without it from now on.
        self._asks_usage = False
        return await self._attempt(request, on_delta, on_send)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _attempt(
        self, request: ModelRequest, on_delta: OnDelta, on_send: OnSend | None
    ) -> ModelReply:
        # Files take long to write down, and the loop has others to serve.
        body = await asyncio.to_thread(self._body, request) if has_files(request) else None
        reader = AnswerReader(self._failures, on_delta)
        if on_send:
            await on_send(request)
        async with self._post(body or self._body(request)) as response:
            if not response.is_success:
                raise await self._refusal(response)
            pieces = response.aiter_bytes()
            async for piece in pieces:
                reader.feed(piece)
                if reader.is_done:
                    await _drain(pieces)
                    break
            parts = reader.close(response.headers.get("content-type", ""))
        return parts.finish(self._failures, may_be_empty=request.may_be_empty)

    def _body(self, request: ModelRequest) -> bytes:
        body = request_body(
            request, max_tokens_field=self._max_tokens_field, with_usage=self._asks_usage
        )
        return json.dumps(body).encode()

    @asynccontextmanager
    async def _post(self, body: bytes) -> AsyncIterator[httpx2.Response]:
        try:
            async with self._client.stream(
                "POST", self._url, content=body, headers=self._headers
            ) as response:
                yield response
        except (httpx2.RequestError, httpx2.InvalidURL) as problem:
            raise self._failures.unreachable(problem) from None

    async def _refusal(self, response: httpx2.Response) -> ProviderError:
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_ERROR_BYTES:
                break
        try:
            message = error_message(json.loads(body))
        except (ValueError, RecursionError):
            message = ""
        return self._failures.status(response.status_code, message, response.headers)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what follows the end of the answer, but wait for no server that keeps the line open."""
    with suppress(TimeoutError, httpx2.RequestError):
        async with asyncio.timeout(_DRAIN_S):
            async for _ in pieces:
                pass
