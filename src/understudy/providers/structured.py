"""One model call that must answer a JSON object: for judging and extracting beside the runs."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from understudy.core.errors import Unavailable
from understudy.providers.base import ModelReply, ModelRequest, UserMessage
from understudy.providers.json_answers import read_object
from understudy.providers.registry import Routes

# So few that the runs, which people wait for, keep their provider.
AT_ONCE: Final = 2


class CallObserver(Protocol):
    """Somebody who counts calls and tokens."""

    def model_called(self, provider: str, *, outcome: str) -> None: ...

    def tokens_used(self, *, input_tokens: int, output_tokens: int) -> None: ...


class StructuredModel:
    """Asks a route for an object; a few calls at a time, each bounded in time.

    Waiting for a place in line is not the model's fault and does not count.
    """

    def __init__(
        self,
        providers: Routes,
        default_route: Callable[[], str],
        *,
        observer: CallObserver | None = None,
        at_once: int = AT_ONCE,
    ) -> None:
        self._providers = providers
        # Reads the database, so it is asked on a thread.
        self._default_route = default_route
        self._observer = observer
        self._places = asyncio.Semaphore(at_once)

    async def is_offline(self, route_id: str | None) -> bool:
        """Whether a route, or the default one, is the script that answers no questions."""
        return self._providers.config(await self._route(route_id)).provider == "scripted"

    async def ask(
        self,
        *,
        route_id: str | None,
        system: str,
        payload: Mapping[str, Any],
        timeout_ms: int,
        generation: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """The object that the model answers to a payload.

        Raises `Unavailable` (`model_timeout`, `model_answer_unusable`) or what the provider raised.
        """
        # Before the time counts: a database that is slow to answer is not the model's fault.
        chosen = await self._route(route_id)
        async with self._places:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    request = self._request(chosen, system, payload, generation or {})
                    reply = await self._complete(chosen, request)
            except TimeoutError:
                raise Unavailable(
                    "model_timeout",
                    domain="providers",
                    detail=f"the model gave no answer within {timeout_ms} ms",
                ) from None
        return read_object(reply.text)

    async def _route(self, route_id: str | None) -> str:
        return await asyncio.to_thread(self._default_route) if route_id is None else route_id

    def _request(
        self,
        route_id: str,
        system: str,
        payload: Mapping[str, Any],
        generation: Mapping[str, Any],
    ) -> ModelRequest:
        wished = dict(generation)
        model = wished.pop("model", None) or self._providers.config(route_id).model
        return ModelRequest(
            model=str(model),
            system=system,
            # As JSON, so that no text in it can speak for somebody else.
            messages=(UserMessage(text=json.dumps(payload, ensure_ascii=False)),),
            generation=wished,
        )

    async def _complete(self, route_id: str, request: ModelRequest) -> ModelReply:
        # A provider that was never used takes a while to load.
        provider = await asyncio.to_thread(self._providers.get, route_id)
        reply: ModelReply | None = None
        try:
            reply = await provider.complete(request, on_delta=_unheard)
        finally:
            self._count(route_id, reply)
        return reply

    def _count(self, route_id: str, reply: ModelReply | None) -> None:
        if self._observer is None:
            return
        kind = self._providers.config(route_id).provider
        self._observer.model_called(kind, outcome="error" if reply is None else "ok")
        if reply is not None:
            usage = reply.usage
            self._observer.tokens_used(
                input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
            )


def _unheard(_: str | None) -> None:
    """Nobody listens while it speaks."""
