"""Sends calls over HTTP with safe retries, and parses the answers."""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from understudy.client.address import CONNECT_TIMEOUT_S
from understudy.client.calls import HttpCall, Json
from understudy.client.errors import (
    AnswerError,
    ClientError,
    SecondNeeded,
    UnavailableError,
    UnreachableError,
    problem_of,
    unreachable_because,
)

if TYPE_CHECKING:
    import httpx2

    from understudy.client.loopback import Loopback, LoopbackAnswer
    from understudy.client.operation import ClientOperation, PageOf

T = TypeVar("T")
Http = TypeVar("Http", "httpx2.Client", "httpx2.AsyncClient")
ACCEPTED: Final = 202
WAITING: Final = frozenset({"waiting_for_second", "waiting_for_two"})
RETRY_STATUS: Final = 503
MAX_RETRY_AFTER_S: Final = 5.0
# The daemon sends a comment every few seconds; a stream silent for this long is dead.
STREAM_SILENCE_S: Final = 60.0


async def _sleep(seconds: float) -> None:
    # Imported lazily: the command line needs no event loop.
    import asyncio

    await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """The number of retries, and the delay before each."""

    delays_s: tuple[float, ...] = (0.1, 0.3, 0.9)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncRetries:
    """The number of retries of an awaited call, and the delay before each."""

    delays_s: tuple[float, ...] = (0.1, 0.3, 0.9)
    sleep: Callable[[float], Awaitable[None]] = field(default=_sleep, repr=False)


class Exchange(Generic[Http]):
    """Builds the requests to one daemon and reads its answers; shared by both transports."""

    def __init__(
        self,
        connect: Callable[[], Http],
        *,
        on_answer: Callable[[Json], None] | None = None,
        is_light: bool = False,
    ) -> None:
        self._connect: Callable[[], Http] = connect
        self._on_answer = on_answer
        self._is_light = is_light
        self._last: Callable[[], None] | None = None

    @cached_property
    def http(self) -> Http:
        """The connection pool, made when it is needed."""
        return self._connect()

    @property
    def is_open(self) -> bool:
        """Whether there is a connection pool."""
        return "http" in vars(self)

    def request(self, call: HttpCall[T]) -> "httpx2.Request":
        """The request that a call is sent as."""
        headers = {"Idempotency-Key": call.idempotency_key} if call.idempotency_key else {}
        upload = call.upload
        if upload is None:
            content: dict[str, Any] = {"json": call.body}
        else:
            file = (upload.file_name, upload.content, upload.media_type)
            content = {"data": dict(upload.fields), "files": {"file": file}}
            headers["Content-Type"] = f"multipart/form-data; boundary={upload.boundary}"
        query = dict(call.query)
        return self.http.build_request(
            call.method, call.path, params=query, headers=headers, **content
        )

    def stream_request(self, path: str, last_event_id: str | None) -> "httpx2.Request":
        """The request for an event stream, from after an event if one is named."""
        import httpx2

        headers = {"Accept": "text/event-stream"}
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        timeout = httpx2.Timeout(STREAM_SILENCE_S, connect=CONNECT_TIMEOUT_S)
        return self.http.build_request("GET", path, headers=headers, timeout=timeout)

    def read(
        self,
        call: HttpCall[T],
        operation: "ClientOperation[Any, T]",
        response: "httpx2.Response | LoopbackAnswer",
    ) -> T:
        """The parsed answer of the daemon; raises a `ClientError` for a problem."""
        if not response.is_success:
            problem = problem_of(response.status_code, response.content)
            problem.retry_after_s = _seconds(response.headers.get("Retry-After"))
            raise problem
        if operation.answer in ("bytes", "str"):
            is_text = operation.answer == "str"
            return operation.read(
                response.content.decode("utf-8", errors="replace") if is_text else response.content
            )
        try:
            answer: Any = json.loads(response.content) if response.content else None
            if response.status_code == ACCEPTED and _waits(answer):
                raise SecondNeeded(answer)
            result = operation.read(answer, is_light=self._is_light)
        except ValueError as problem:
            raise AnswerError(_not_understood(call, problem)) from None
        self._last = partial(self._check, call, operation, answer) if self._is_light else None
        if self._on_answer is not None:
            self._on_answer(answer)
        return result

    def check_last(self) -> None:
        """Raise an `AnswerError` where the last answer, read lightly, is not what its model says.

        A light record holds whatever value was sent, and using a wrong one fails without telling
        which it was.
        """
        if self._last is not None:
            self._last()

    def _check(self, call: HttpCall[T], operation: "ClientOperation[Any, T]", answer: Any) -> None:
        try:
            operation.read(answer)
        except ValueError as problem:
            raise AnswerError(_not_understood(call, problem)) from None

    @contextmanager
    def reaching(self) -> Iterator[None]:
        """Turn a lost or refused connection into an `UnreachableError`."""
        import httpx2

        try:
            yield
        except httpx2.TransportError as problem:
            where = str(self.http.base_url).rstrip("/")
            raise UnreachableError(where, unreachable_because(problem)) from problem


class Transport(Exchange["httpx2.Client"]):
    """One connection pool to one daemon; `loopback` sends what it takes instead."""

    def __init__(
        self,
        connect: "Callable[[], httpx2.Client]",
        *,
        retries: Retries,
        on_answer: Callable[[Json], None] | None = None,
        loopback: "Loopback | None" = None,
        is_light: bool = False,
    ) -> None:
        super().__init__(connect, on_answer=on_answer, is_light=is_light)
        self.retries = retries
        self._loopback = loopback

    def send(self, call: HttpCall[T], operation: "ClientOperation[Any, T]") -> T:
        """Send a call and parse its answer; raises a `ClientError` on failure."""
        for delay in self.retries.delays_s if call.may_repeat else ():
            try:
                return self._send_once(call, operation)
            except (UnreachableError, UnavailableError) as problem:
                self.retries.sleep(pause_before_retry(problem, delay))
        return self._send_once(call, operation)

    def every(self, page: Callable[[str | None], "PageOf[T]"]) -> Iterator[T]:
        """All items of a list, fetched lazily page by page."""
        cursor: str | None = None
        while True:
            current = page(cursor)
            yield from current.items
            cursor = current.next_cursor
            if cursor is None:
                return

    def probe(self, path: str) -> bool:
        """Whether a path answers with a success; not sent again."""
        if self._loopback is not None:
            call: HttpCall[None] = HttpCall(method="GET", path=path)
            return self._loopback.send(call, timeout_s=CONNECT_TIMEOUT_S).is_success
        with self.reaching():
            return self.http.get(path, timeout=CONNECT_TIMEOUT_S).is_success

    @contextmanager
    def open_stream(self, path: str, last_event_id: str | None) -> Iterator[Iterator[bytes]]:
        """The bytes of an event stream, resuming after an event if one is given."""
        with self.reaching():
            response = self.http.send(self.stream_request(path, last_event_id), stream=True)
            try:
                if not response.is_success:
                    raise problem_of(response.status_code, response.read())
                yield response.iter_bytes()
            finally:
                response.close()

    def _send_once(self, call: HttpCall[T], operation: "ClientOperation[Any, T]") -> T:
        if self._loopback is not None and self._loopback.takes(call):
            return self.read(call, operation, self._loopback.send(call))
        with self.reaching():
            response = self.http.send(self.request(call))
        return self.read(call, operation, response)


class AsyncTransport(Exchange["httpx2.AsyncClient"]):
    """One connection pool to one daemon, for callers that await."""

    def __init__(
        self,
        connect: "Callable[[], httpx2.AsyncClient]",
        *,
        retries: AsyncRetries,
        on_answer: Callable[[Json], None] | None = None,
    ) -> None:
        super().__init__(connect, on_answer=on_answer)
        self.retries = retries

    async def send(self, call: HttpCall[T], operation: "ClientOperation[Any, T]") -> T:
        """Send a call and parse its answer; raises a `ClientError` on failure."""
        for delay in self.retries.delays_s if call.may_repeat else ():
            try:
                return await self._send_once(call, operation)
            except (UnreachableError, UnavailableError) as problem:
                await self.retries.sleep(pause_before_retry(problem, delay))
        return await self._send_once(call, operation)

    async def every(self, page: Callable[[str | None], Awaitable["PageOf[T]"]]) -> AsyncIterator[T]:
        """All items of a list, fetched lazily page by page."""
        cursor: str | None = None
        while True:
            current = await page(cursor)
            for each in current.items:
                yield each
            cursor = current.next_cursor
            if cursor is None:
                return

    async def probe(self, path: str) -> bool:
        """Whether a path answers with a success; no retries."""
        with self.reaching():
            return (await self.http.get(path, timeout=CONNECT_TIMEOUT_S)).is_success

    @asynccontextmanager
    async def open_stream(
        self, path: str, last_event_id: str | None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The bytes of an event stream, resuming after an event if one is given."""
        with self.reaching():
            response = await self.http.send(self.stream_request(path, last_event_id), stream=True)
            try:
                if not response.is_success:
                    raise problem_of(response.status_code, await response.aread())
                yield response.aiter_bytes()
            finally:
                await response.aclose()

    async def _send_once(self, call: HttpCall[T], operation: "ClientOperation[Any, T]") -> T:
        with self.reaching():
            response = await self.http.send(self.request(call))
        return self.read(call, operation, response)


def pause_before_retry(problem: ClientError, delay: float) -> float:
    """The seconds before a retry; raises the problem if a retry is unsafe or useless."""
    if not isinstance(problem, UnavailableError):
        return delay
    if problem.status != RETRY_STATUS:
        raise problem
    asked = problem.retry_after_s
    return delay if asked is None else min(max(asked, delay), MAX_RETRY_AFTER_S)


def _not_understood(call: HttpCall[Any], problem: ValueError) -> str:
    from pydantic import ValidationError

    if not isinstance(problem, ValidationError):
        return f"{call.method} {call.path} did not answer JSON; is that an Understudy daemon?"
    where = ".".join(str(part) for part in problem.errors()[0]["loc"])
    return (
        f"{call.method} {call.path} answered in a form that this client does not know"
        f" (at {where or 'the top'}); do the versions of client and daemon match?"
    )


def _seconds(value: str | None) -> float | None:
    return float(value) if value is not None and value.isascii() and value.isdigit() else None


def _waits(answer: Any) -> bool:
    """Whether a change is pending for one or two more approvals."""
    return isinstance(answer, dict) and answer.get("state") in WAITING
