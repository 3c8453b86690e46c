"""The provider for Anthropic's models, over pydantic-ai."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import anthropic
import httpx2
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider as TheirProvider

from understudy.core.text import Scrub
from understudy.core.trace_context import trace_headers
from understudy.providers.anthropic_messages import (
    add_response,
    to_messages,
    to_parameters,
    to_settings,
)
from understudy.providers.base import ModelReply, ModelRequest, OnDelta, OnSend, ProviderError
from understudy.providers.connection import TIMEOUT, open_client
from understudy.providers.failures import RouteErrors, as_it_is
from understudy.providers.replies import ReplyParts

DEFAULT_BASE_URL: Final = "https://api.anthropic.com"
# Exceptions that the library raises for a malformed body.
_WRONG_SHAPE: Final = (
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    AssertionError,
    RecursionError,
)


class AnthropicProvider:
    """Calls one server over reused connections; bound to one event loop."""

    def __init__(
        self, *, api_key: str | None, base_url: str | None, scrub: Scrub = as_it_is
    ) -> None:
        base = base_url or DEFAULT_BASE_URL
        self._failures = RouteErrors(api_key, scrub)
        self._client = anthropic.AsyncAnthropic(
            # A server behind a base URL may need no key, but the client requires one.
            api_key=api_key or "none",
            base_url=base,
            timeout=TIMEOUT,
            max_retries=0,
            open_telemetry=False,
            http_client=open_client(PlainOrStreamClient, base),
        )
        self._provider = TheirProvider(anthropic_client=self._client)
        self._models: dict[str, AnthropicModel] = {}

    async def complete(
        self, request: ModelRequest, *, on_delta: OnDelta, on_send: OnSend | None = None
    ) -> ModelReply:
        """Complete a request, from a stream or the plain body of a server that cannot stream."""
        parts = ReplyParts(on_delta)
        if on_send:
            await on_send(request)
        try:
            async with model_request_stream(
                self._model(request.model),
                to_messages(request),
                model_settings=to_settings(request.generation),
                model_request_parameters=to_parameters(request),
                instrument=False,
            ) as stream:
                await _listen(stream, parts)
                add_response(parts, stream.get())
        except (ModelAPIError, UnexpectedModelBehavior) as problem:
            raise self._failure(problem) from None
        except (httpx2.RequestError, anthropic.APIError) as problem:
            raise self._failures.unreachable(problem) from None
        except _WRONG_SHAPE:
            raise self._failures.malformed("it has an unexpected shape") from None
        if not parts.finish_reason:
            raise self._failures.incomplete()
        return parts.finish(self._failures, may_be_empty=request.may_be_empty)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _model(self, name: str) -> AnthropicModel:
        if name not in self._models:
            self._models[name] = AnthropicModel(name, provider=self._provider)
        return self._models[name]

    def _failure(self, problem: ModelAPIError | UnexpectedModelBehavior) -> ProviderError:
        if isinstance(problem, ModelHTTPError):
            return self._failures.status(
                problem.status_code, _message(problem.body), problem.headers or {}
            )
        if isinstance(problem, ModelConnectionError):
            return self._failures.unreachable(problem)
        return self._failures.malformed(problem.message)


async def _listen(stream: StreamedResponse, parts: ReplyParts) -> None:
    async for event in stream:
        said = ""
        if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
            said = event.part.content
        elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            said = event.delta.content_delta
        if said:
            parts.say(said)


def _message(body: object) -> str:
    error = body.get("error") if isinstance(body, dict) else None
    return str(error.get("message", "")) if isinstance(error, dict) else ""


class PlainOrStreamClient(httpx2.AsyncClient):
    """Converts a successful plain answer into the events that the stream reader expects."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send the request, and convert the answer if it is plain."""
        request.headers.update(trace_headers())
        response = await super().send(request, **options)
        kind = response.headers.get("content-type", "")
        if response.status_code != 200 or not kind.startswith("application/json"):
            return response
        try:
            events = b"".join(_events(json.loads(await response.aread())))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            # Not a valid answer: the stream reader reports the error.
            return response
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=events, request=request)


def _events(message: Mapping[str, Any]) -> Iterator[bytes]:
    yield _event("message_start", message=dict(message) | {"content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        yield _event("content_block_start", index=index, content_block=block)
        yield _event("content_block_stop", index=index)
    stop = {"stop_reason": message.get("stop_reason") or "end_turn", "stop_sequence": None}
    yield _event("message_delta", delta=stop, usage=message["usage"])
    yield _event("message_stop")


def _event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()
