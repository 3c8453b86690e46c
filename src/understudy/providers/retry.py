"""Retries of model calls: a bounded number of attempts, each with a timeout."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from understudy.providers.base import (
    ModelReply,
    ModelRequest,
    OnDelta,
    OnSend,
    Provider,
    ProviderError,
)
from understudy.providers.failures import REJECTED, bounded
from understudy.providers.files import without_optional_files
from understudy.settings import RouteConfig

FIRST_WAIT_S: Final = 0.5
LONGEST_WAIT_S: Final = 20.0
# The cap on `Retry-After`: a run should fail rather than wait for hours.
LONGEST_RETRY_AFTER_S: Final = 60.0
# A refusal that is about the limit of output tokens.
_TOKENS: Final = re.compile(r"max(?:imum)?[_ ](?:completion|output)?[_ ]?tokens")

Sleep = Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class _Speech:
    """Forwards deltas and knows whether a retry must void some."""

    on_delta: OnDelta
    has_spoken: bool = False

    def __call__(self, piece: str | None) -> None:
        self.has_spoken = piece is not None
        self.on_delta(piece)

    def take_back(self) -> None:
        if self.has_spoken:
            self(None)


class RetryingProvider:
    """Retries retryable failures with back-off, then tries the fallback model once."""

    def __init__(
        self,
        inner: Provider,
        route: RouteConfig,
        *,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] | None = None,
        max_output_tokens: int | None = None,
    ) -> None:
        self._inner = inner
        self._route = route
        # For requests that name none: a small model that repeats itself is stopped.
        self._max_output_tokens = max_output_tokens
        self._sleep = sleep
        self._jitter = jitter or random.SystemRandom().random

    async def complete(
        self, request: ModelRequest, *, on_delta: OnDelta, on_send: OnSend | None = None
    ) -> ModelReply:
        """Return the first reply that succeeds; raises the last failure.

        A permanently rejected request is retried once without its optional files, or without the
        limit of output tokens if the model allows fewer.
        """
        limited = self._limited(request)
        try:
            return await self._answer(limited, on_delta, on_send)
        except ProviderError as refused:
            lighter = without_optional_files(limited)
            if limited is not request and _TOKENS.search(refused.detail):
                self._max_output_tokens, lighter = None, request
            if refused.code != REJECTED or lighter is None:
                raise
        return await self._answer(lighter, on_delta, on_send)

    def _limited(self, request: ModelRequest) -> ModelRequest:
        if self._max_output_tokens is None or request.generation.get("max_tokens") is not None:
            return request
        named = {**request.generation, "max_tokens": self._max_output_tokens}
        return replace(request, generation=named)

    async def close(self) -> None:
        """Close the wrapped provider."""
        await self._inner.close()

    async def _answer(
        self, request: ModelRequest, on_delta: OnDelta, on_send: OnSend | None
    ) -> ModelReply:
        speech = _Speech(on_delta)
        models = self._models(request)
        for number, model in enumerate(models, start=1):
            try:
                reply = await self._try(replace(request, model=model), speech, on_send)
                # Not every server reports its model.
                return reply if reply.model else replace(reply, model=model)
            except ProviderError as problem:
                if not problem.retryable or number == len(models):
                    raise _final(problem, model, number) from None
                speech.take_back()
                # Another model is not affected by this one's failure: no back-off.
                if models[number] == model:
                    await self._sleep(self._wait(number, problem))
        raise AssertionError("a route makes at least one attempt")

    def _models(self, request: ModelRequest) -> list[str]:
        fallback = request.fallback_model or self._route.fallback_model
        more = [fallback] if fallback and fallback != request.model else []
        return [request.model] * self._route.max_attempts + more

    async def _try(
        self, request: ModelRequest, speech: _Speech, on_send: OnSend | None
    ) -> ModelReply:
        limit = self._route.timeout_s
        try:
            async with asyncio.timeout(limit) as deadline:
                untimed = on_send and _untimed(on_send, deadline, limit)
                return await self._inner.complete(request, on_delta=speech, on_send=untimed)
        except TimeoutError:
            detail = f"there was no complete answer within {limit:g} s"
            raise ProviderError("provider_timeout", detail=detail, retryable=True) from None

    def _wait(self, number: int, problem: ProviderError) -> float:
        longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (number - 1))
        # Half of the back-off is jitter, so that many runs do not retry at the same moment.
        ours = longest * (0.5 + self._jitter() / 2)
        return max(ours, min(problem.retry_after_s, LONGEST_RETRY_AFTER_S))


def _untimed(on_send: OnSend, deadline: asyncio.Timeout, limit: float) -> OnSend:
    """An `on_send` outside the timeout: the timeout starts once it is done."""

    async def send(request: ModelRequest) -> None:
        deadline.reschedule(None)
        await on_send(request)
        deadline.reschedule(asyncio.get_running_loop().time() + limit)

    return send


def _final(problem: ProviderError, model: str, number: int) -> ProviderError:
    if number == 1:
        return problem
    # The count comes first, so that a long detail cannot push it over the limit.
    return ProviderError(
        problem.code,
        detail=bounded(f"{model}, attempt {number}: {problem.detail}"),
        retryable=problem.retryable,
        retry_after_s=problem.retry_after_s,
    )
