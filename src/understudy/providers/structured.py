"""Model calls that must return a JSON object: for judging and extraction outside of runs."""

import asyncio
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

from understudy.core.errors import Unavailable, coded_error
from understudy.providers.base import ModelReply, ModelRequest, UserMessage
from understudy.providers.registry import Routes

if TYPE_CHECKING:
    from understudy.telemetry.metrics import Metrics

# The concurrency limit: runs, which people wait for, keep the provider's capacity.
AT_ONCE: Final = 2
# Far more than an answer with a few fields needs.
MAX_ANSWER_CHARS: Final = 64 * 1024
MAX_DEPTH: Final = 8
# More than any of our questions needs; a small model that repeats itself is stopped.
MAX_ANSWER_TOKENS: Final = 4_096
UNUSABLE: Final = "model_answer_unusable"
# The most opening braces tried: text around an answer may contain some.
MAX_STARTS: Final = 64


class StructuredModel:
    """Calls a route for a JSON object; with limited concurrency and a timeout for each call.

    Waiting in the queue does not count towards the timeout.
    """

    def __init__(
        self,
        providers: Routes,
        default_route: Callable[[], str],
        *,
        observer: "Metrics | None" = None,
        at_once: int = AT_ONCE,
    ) -> None:
        self._providers = providers
        # Reads the database, so it is called in a thread.
        self._default_route = default_route
        self._observer = observer
        self._places = asyncio.Semaphore(at_once)

    async def is_offline(self, route_id: str | None) -> bool:
        """Whether a route, or the default one, is the offline script, which cannot answer."""
        return self._providers.kind(await self.route(route_id)) == "scripted"

    async def ask(
        self,
        *,
        route_id: str | None,
        system: str,
        payload: Mapping[str, Any],
        timeout_ms: int,
        generation: Mapping[str, Any] | None = None,
        schema: Mapping[str, Any] | None = None,
        check: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> Mapping[str, Any]:
        """The JSON object that the model returns for a payload.

        An answer that cannot be read, or that `check` refuses, is asked for once more, with the reason.
        Raises `Unavailable` (`model_timeout`, `model_answer_unusable`) or the provider's error.
        """
        # Before the timeout starts: a slow database is not the model's fault.
        chosen = await self.route(route_id)
        request = self._request(chosen, system, payload, generation or {}, schema)
        async with self._places:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    try:
                        return _checked(await self._complete(chosen, request), check)
                    except Unavailable as problem:
                        if problem.code != UNUSABLE:
                            raise
                        told = {**payload, "problem_of_last_answer": problem.detail}
                    again = self._request(chosen, system, told, generation or {}, schema)
                    return _checked(await self._complete(chosen, again), check)
            except TimeoutError:
                raise coded_error("providers/model_timeout", timeout_ms=timeout_ms) from None

    async def route(self, route_id: str | None) -> str:
        """The route, or the default one now."""
        return await asyncio.to_thread(self._default_route) if route_id is None else route_id

    def _request(
        self,
        route_id: str,
        system: str,
        payload: Mapping[str, Any],
        generation: Mapping[str, Any],
        schema: Mapping[str, Any] | None,
    ) -> ModelRequest:
        wished = dict(generation)
        model = wished.pop("model", None) or self._providers.config(route_id).model
        return ModelRequest(
            model=str(model),
            system=system,
            # As JSON, so that no text in it can imitate another message (prompt injection).
            messages=(UserMessage(text=json.dumps(payload, ensure_ascii=False)),),
            generation={"max_tokens": MAX_ANSWER_TOKENS, **wished},
            answer_schema=schema,
        )

    async def _complete(self, route_id: str, request: ModelRequest) -> ModelReply:
        provider = await self._providers.provider(route_id)
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


def _checked(reply: ModelReply, check: Callable[[Mapping[str, Any]], None]) -> Mapping[str, Any]:
    answer = read_object(reply.text)
    check(answer)
    return answer


def _unheard(_: str | None) -> None:
    """Ignore the deltas of a stream."""


def read_object(text: str) -> dict[str, Any]:
    """The JSON object in an answer; `Unavailable` for none, or for more than one.

    Two are ambiguous: one may be a quotation of the prompt.
    """
    if len(text) > MAX_ANSWER_CHARS:
        raise coded_error(
            "providers/model_answer_unusable",
            why=f"it is longer than {MAX_ANSWER_CHARS} characters",
        )
    try:
        found = list(_objects(text))
    except (ValueError, RecursionError):
        raise coded_error(
            "providers/model_answer_unusable",
            why="its JSON has a field twice, a number out of bounds or no end",
        ) from None
    if len(found) != 1:
        raise coded_error(
            "providers/model_answer_unusable",
            why="it holds more than one JSON object" if found else "it holds no JSON object",
        )
    _check(found[0])
    return found[0]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost object; each character is parsed at most once."""
    at = text.find("{")
    for _ in range(MAX_STARTS):
        if at < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
            yield value
        except json.JSONDecodeError as problem:
            end = max(problem.pos, at + 1)
        at = text.find("{", end)
    raise ValueError("too many braces")


def _check(value: dict[str, Any]) -> None:
    if _depth(value) > MAX_DEPTH:
        raise coded_error("providers/model_answer_unusable", why="its JSON is nested too deeply")
    written = json.dumps(value, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        raise coded_error(
            "providers/model_answer_unusable", why="it holds half of a surrogate pair"
        ) from None
    if "\\u0000" in written:
        raise coded_error("providers/model_answer_unusable", why="it holds a NUL character")


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [inner for outer in level for inner in _inside(outer)]
    return depth


def _inside(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a field is there twice")
    return made


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("the number is too large")
    return number


def _no_constant(_: str) -> NoReturn:
    raise ValueError("no number")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_once, parse_float=_finite, parse_constant=_no_constant
)
